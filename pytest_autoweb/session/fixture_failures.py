"""What becomes of a cell whose fixtures fail, or skip it, before or after it runs."""

from typing import Any, NoReturn

import pytest

from pytest_autoweb.cases.case import secret_value
from pytest_autoweb.errors import first_line, named_line
from pytest_autoweb.redaction import Redactor, redact_keys
from pytest_autoweb.report.ci_formats import junit_properties
from pytest_autoweb.results import CellResult, Failure
from pytest_autoweb.run.pipeline import broken_cell, skipped_cell
from pytest_autoweb.runs.run_folder import saved_cell
from pytest_autoweb.runs.saving import save_cell
from pytest_autoweb.session.items import SESSION, CellItem, kept_result, tell_end
from pytest_autoweb.session.single_runs import note_end


def note_setup(item: CellItem, error: BaseException) -> None:
    """Save that a cell could not begin, because a fixture failed or skipped it."""
    session = item.config.stash[SESSION]
    # It has run in this session, or a resumed run keeps what it has.
    before = saved_cell(session.run_folder, item.cell.folder)
    if isinstance(before, CellResult) and (not session.settings.resume or kept_result(item)):
        return
    resources = session.cell_resources(item.cell.nodeid, _no_page)
    if isinstance(error, pytest.skip.Exception):
        result = skipped_cell(item.cell, resources, f"skipped: {_masked(item, first_line(error))}")
    else:
        result = broken_cell(item.cell, resources, _failure(item, "setup", error))
    _finish(item, result)


def note_teardown(item: CellItem, error: BaseException) -> None:
    """Save that a fixture failed after a cell, which then proves no success."""
    session = item.config.stash[SESSION]
    result = saved_cell(session.run_folder, item.cell.folder)
    if not isinstance(result, CellResult) or result.outcome not in ("passed", "healed"):
        return
    failure = _failure(item, "teardown", error)
    changed = {"outcome": "broken", "reason": failure.message, "failure": failure}
    broken = result.model_copy(update=changed)
    save_cell(session.run_folder, broken)
    _finish(item, broken)


def _finish(item: CellItem, result: CellResult) -> None:
    session = item.config.stash[SESSION]
    note_end(item.config, session, item.cell, result)
    session.deliver(item.cell.folder, keep=False)
    tell_end(session, item.cell, result)
    own = dict(junit_properties(result))
    kept = [pair for pair in item.user_properties if pair[0] not in own]
    item.user_properties[:] = [*kept, *own.items()]
    item.config.hook.pytest_autoweb_cell_finished(result=result)


def _failure(item: CellItem, when: str, error: BaseException) -> Failure:
    return Failure(kind="fixture", message=f"{when} failed: {_masked(item, named_line(error))}")


def _masked(item: CellItem, text: str) -> str:
    """Return text of the project's own code without the values of the case's secrets."""
    environ = item.config.stash[SESSION].environ
    values = {name: secret_value(one, environ) for name, one in item.cell.case.secrets.items()}
    return redact_keys(Redactor({name: value for name, value in values.items() if value})(text))


def _no_page(_: Any) -> NoReturn:
    raise AssertionError("the cell does not begin")
