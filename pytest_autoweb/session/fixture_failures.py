"""What becomes of a cell whose fixtures or hooks fail, or skip it, before or after it runs."""

from typing import Any, NoReturn

import pytest

from pytest_autoweb.base.errors import first_line, named_line
from pytest_autoweb.base.redaction import Redactor, redact_keys
from pytest_autoweb.cases.case import secret_value
from pytest_autoweb.cell.cell_record import broken_cell, skipped_cell
from pytest_autoweb.report.junit_properties import junit_properties
from pytest_autoweb.results.records import CellResult, Failure
from pytest_autoweb.results.runs.run_folder import saved_cell
from pytest_autoweb.results.runs.saving import save_cell
from pytest_autoweb.session.cell_run import kept_result, tell_end
from pytest_autoweb.session.items import CellItem
from pytest_autoweb.session.pytest_outcome import CellEnded
from pytest_autoweb.session.run_session import SESSION
from pytest_autoweb.session.single_runs import BegunBefore, has_ended, note_end


def note_failure(item: CellItem, when: str, error: BaseException) -> None:
    """Save what an error outside a cell makes of it.

    Args:
        item: the cell's.
        when: the phase of pytest's in which it was raised: setup, call or teardown.
        error: what was raised; how a cell itself ends is no such error.
    """
    if isinstance(error, (CellEnded, BegunBefore)):
        return
    if when == "setup" or (when == "call" and not has_ended(item.config, item.cell)):
        _note_before(item, error)
    elif not isinstance(error, pytest.skip.Exception):
        _note_after(item, when, error)


def _note_before(item: CellItem, error: BaseException) -> None:
    """Save that a cell could not begin, because something failed or skipped it."""
    session = item.config.stash[SESSION]
    # It has run in this session, or a resumed run keeps what it has.
    before = saved_cell(session.run_folder, item.cell.folder)
    if isinstance(before, CellResult) and (not session.settings.resume or kept_result(item)):
        return
    resources = session.cell_resources(item.cell.nodeid, item.cell.folder, _no_page)
    if isinstance(error, (pytest.skip.Exception, pytest.xfail.Exception)):
        result = skipped_cell(item.cell, resources, f"skipped: {_masked(item, first_line(error))}")
    else:
        result = broken_cell(item.cell, resources, _failure(item, "setup", error))
    _finish(item, result)


def _note_after(item: CellItem, when: str, error: BaseException) -> None:
    """Save that something failed after a cell, which then proves no success."""
    session = item.config.stash[SESSION]
    result = saved_cell(session.run_folder, item.cell.folder)
    if not isinstance(result, CellResult) or result.outcome not in ("passed", "healed"):
        return
    failure = _failure(item, when, error)
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
