"""Runs a cell so that whatever is raised becomes its result, except for what ends the session."""

import pytest

from pytest_autoweb.agents.outside.adapters import settings_of
from pytest_autoweb.agents.outside.agent_reach import level_of
from pytest_autoweb.base.errors import SettingsError, named_line
from pytest_autoweb.cell.cell_inputs import Cell, CellResources
from pytest_autoweb.cell.cell_record import broken_cell, skipped_cell
from pytest_autoweb.cell.pipeline import run_cell
from pytest_autoweb.cell.strategies import strategy_of
from pytest_autoweb.results.analysis.controls import ORACLE
from pytest_autoweb.results.records import CellResult, Failure
from pytest_autoweb.results.runs.saving import mark_started
from pytest_autoweb.settings.run_settings import Settings

NO_SECRETS = (
    "the case has secrets, which an outside agent is told only with `secrets: true` in its settings"
)
NO_ORACLE = "the case has no `oracle` script, so nothing shows that its checks can pass"
INTERRUPTED = "interrupted while it ran"
"""The reason recorded for a cell that Ctrl-C ended."""


def run_or_break(cell: Cell, resources: CellResources) -> CellResult:
    """Run a cell, or skip it; what is raised becomes a broken result.

    Raises:
        KeyboardInterrupt: the session is to end; the cell then counts as begun.
    """
    if cell.spec.name == ORACLE and not cell.case.has_oracle:
        return skipped_cell(cell, resources, NO_ORACLE)
    if _lacks_secrets(cell):
        return skipped_cell(cell, resources, NO_SECRETS)
    try:
        return run_cell(cell, resources)
    except KeyboardInterrupt:
        mark_started(resources.run_folder, cell.folder, INTERRUPTED)
        raise
    except pytest.fail.Exception as error:
        # pytest-timeout raises this from a signal handler, wherever the cell is.
        if "pytest-timeout" not in str(error):
            raise
        message = f"timed out by pytest-timeout: {error}"
        return broken_cell(cell, resources, Failure(kind="killed", message=message))
    except Exception as error:
        if _was_interrupted(error):
            mark_started(resources.run_folder, cell.folder, INTERRUPTED)
            raise KeyboardInterrupt from error
        # The browser's fixture may have failed, or this package has a bug. Neither must stop other
        # cells.
        from_browser = "playwright" in type(error).__module__ or "Browser" in type(error).__name__
        failure = Failure(
            kind="browser" if from_browser else "internal",
            message=named_line(error),
        )
        return broken_cell(cell, resources, failure)


def is_outside(cell: Cell) -> bool:
    return strategy_of(cell.strategy, cell.spec).outside is not None


def files_of_held_browser(cell: Cell, settings: Settings) -> list[str] | None:
    """Return the files that the browser of a held agent may upload, or None if it is not held."""
    outside = strategy_of(cell.strategy, cell.spec).outside
    try:
        agent = settings_of(outside, cell.spec, cell.case.command) if outside else None
    except SettingsError:
        # The attempt says what is missing.
        agent = None
    if agent is None or level_of(agent, settings.sandbox) == "off":
        return None
    base = cell.case.path.parent if cell.case.path else settings.rootdir
    return [str(base / name) for name in cell.case.shape.files]


def _lacks_secrets(cell: Cell) -> bool:
    """Tell whether an outside agent would have to use secrets that it may not know."""
    outside = strategy_of(cell.strategy, cell.spec).outside
    if outside is None or not cell.case.has_secrets:
        return False
    return not settings_of(outside, cell.spec, cell.case.command).secrets


def _was_interrupted(error: BaseException) -> bool:
    """Tell whether an exception arose while another one, Ctrl-C, was on its way.

    In a terminal, Ctrl-C also ends the browser, so closing a page raises another error instead.
    """
    seen: BaseException | None = error
    # For a lost connection Playwright raises the same error object again, so the chain is circular.
    known = set[int]()
    while seen is not None and id(seen) not in known and not isinstance(seen, KeyboardInterrupt):
        known.add(id(seen))
        seen = seen.__cause__ or seen.__context__
    return isinstance(seen, KeyboardInterrupt)
