"""What the selected cases need: secrets, files and variables of this machine, and able hands."""

import os
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import pytest

from pytest_autoweb.base.errors import CaseError, joined_errors
from pytest_autoweb.cases.loader import LoadedCase
from pytest_autoweb.cell.cell_inputs import Cell
from pytest_autoweb.cell.hands import lacking_told, needs_of
from pytest_autoweb.cell.strategies import ACT, BY_REFS, BY_REFS_IN_TURNS, strategy_of
from pytest_autoweb.report.foreign_text import one_line
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


_NAMED = 3


def lacking_in(cells: Iterable[Cell]) -> Iterator[str]:
    """Yield a sentence for each model with cases that may need what its strategy cannot do."""
    able: list[_Able] = []
    for cell in cells:
        by_refs = cell.strategy == "codegen" and cell.spec.dialect == "refs"
        who = f"{cell.spec.name} ({'the dialect refs' if by_refs else cell.strategy})"
        able.append(_Able(who, strategy_of(cell.strategy, cell.spec).lacks, cell.case))
    return _lacking(able)


def lacking_anywhere(cases: Iterable[LoadedCase]) -> Iterator[str]:
    """Yield a sentence for each way of working that lacks what cases may need.

    Only the ways that the cases themselves allow count: that of their agent, or else all.
    """
    ways = {
        "act": ("act", ACT.lacks),
        "the dialect refs": ("codegen", BY_REFS_IN_TURNS.lacks),
        "the dialect refs of small models": ("codegen", BY_REFS.lacks),
    }
    return _lacking(
        _Able(who, lacks, case)
        for who, (strategy, lacks) in ways.items()
        for case in cases
        if case.strategy in {None, strategy}
    )


class _Able(NamedTuple):
    """Who may be asked to solve a case, and what that one cannot do."""

    who: str
    lacks: frozenset[str]
    case: LoadedCase


def _lacking(able: Iterable[_Able]) -> Iterator[str]:
    found: dict[tuple[str, frozenset[str]], dict[str, None]] = {}
    for who, lacks, case in able:
        if lacks and (lacking := needs_of(case.shape) & lacks):
            found.setdefault((who, lacking), {})[case.id] = None
    for (who, lacking), cases in found.items():
        named = ", ".join(list(cases)[:_NAMED])
        more = f" and {len(cases) - _NAMED} more" if len(cases) > _NAMED else ""
        where = f"{'case' if len(cases) == 1 else 'cases'} {named}{more}"
        yield lacking_told(lacking, one_line(who, 100), where)


def _fetch_variables(session: pytest.Session) -> None:
    """Fetch, on a node of a cluster, the environment variables that the selected cases name."""
    away = session.config.stash[SESSION].away
    cases = (item.cell.case for item in session.items if isinstance(item, CellItem))
    if away is not None and (names := {name for case in cases for name in case.variables}):
        os.environ.update(away.variables(sorted(names - os.environ.keys())))
