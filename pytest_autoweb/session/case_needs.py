"""What the selected cases need of this machine: secrets, files, environment variables."""

import os

import pytest

from pytest_autoweb.base.errors import CaseError, joined_errors
from pytest_autoweb.session.collection import BAD_CASES
from pytest_autoweb.session.items import CellItem
from pytest_autoweb.session.run_session import SESSION


def report_unmet(session: pytest.Session) -> None:
    """Report missing requirements of the selected cases as collection errors.

    Only now is the selection known: a run that leaves out the cases with secrets does not need the
    secrets.
    """
    _fetch_variables(session)
    unmet: dict[str, list[CaseError]] = {}
    met: list[pytest.Item] = []
    known: dict[int, tuple[CaseError, ...]] = {}
    for item in session.items:
        errors: tuple[CaseError, ...] = ()
        if isinstance(item, CellItem):
            case = item.cell.case
            if id(case) not in known:
                known[id(case)] = case.unmet(os.environ, session.config.rootpath)
            errors = known[id(case)]
        if errors:
            unmet.setdefault(item.nodeid.partition("::")[0], []).extend(errors)
        else:
            met.append(item)
    # xdist runs everything else that was collected, as does --continue-on-collection-errors.
    session.items[:] = met
    for nodeid, found in unmet.items():
        text = f"{BAD_CASES}\n{joined_errors(found)}"
        report = pytest.CollectReport(nodeid, "failed", longrepr=text, result=[])
        session.config.hook.pytest_collectreport(report=report)


def _fetch_variables(session: pytest.Session) -> None:
    """Fetch, on a node of a cluster, the environment variables that the selected cases name."""
    away = session.config.stash[SESSION].away
    cases = (item.cell.case for item in session.items if isinstance(item, CellItem))
    if away is not None and (names := {name for case in cases for name in case.variables}):
        os.environ.update(away.variables(sorted(names - os.environ.keys())))
