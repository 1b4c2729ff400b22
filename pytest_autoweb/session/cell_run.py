"""Runs the cell of an item: by its fixtures, or in flight beside others."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from msgspec.structs import replace

from pytest_autoweb.agents.outside.agent_process import agent_folder
from pytest_autoweb.base import waiting
from pytest_autoweb.base.errors import SettingsError, first_line
from pytest_autoweb.base.waiting.playwright_internals import can_share_loop
from pytest_autoweb.browser.egress.browser_watch import WATCH
from pytest_autoweb.cell.cell_inputs import Cell, CellResources
from pytest_autoweb.cell.cell_record import unsaved_cell
from pytest_autoweb.report.junit_properties import junit_properties
from pytest_autoweb.results.records import CellResult, Failure
from pytest_autoweb.results.runs.saving import mark_started, unmark_started
from pytest_autoweb.session.axes import shown_name
from pytest_autoweb.session.browser_replacement import (
    begin_close,
    close_contexts,
    leave_living,
    made_browser,
    open_apart,
    open_living,
)
from pytest_autoweb.session.flights.flights import FLIGHTS, Flights, OpenPage, processes_of
from pytest_autoweb.session.flights.prefetched_page import prefetched_page_of
from pytest_autoweb.session.guarded_run import files_of_held_browser, is_outside, run_or_break
from pytest_autoweb.session.items import CellItem
from pytest_autoweb.session.lent_resources import resources_of
from pytest_autoweb.session.pytest_outcome import policy_of, raise_outcome
from pytest_autoweb.session.recordings import RECORDED_IN, is_recorded, recordings_of_secrets
from pytest_autoweb.session.resuming import ResumedCells
from pytest_autoweb.session.run_session import SESSION, RunSession
from pytest_autoweb.session.shared_pages import sharing_of
from pytest_autoweb.session.single_runs import first_result, note_end
from pytest_autoweb.session.steered_cells import steered_cells
from pytest_autoweb.session.until import UNTIL

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext, Page

    from pytest_autoweb.browser.egress.guarded_page import ReadyPage

HIDDEN: pytest.StashKey[waiting.HiddenLoop] = pytest.StashKey()
"""What hides Playwright's loop between cells."""
_RESUMED: pytest.StashKey[ResumedCells] = pytest.StashKey()
_TURN: pytest.StashKey[bool] = pytest.StashKey()
"""Whether an item's turn has come."""


def run_item(request: pytest.FixtureRequest) -> None:
    """Run a cell with Playwright's loop shown, which is hidden from all that runs around it."""
    with request.config.stash[HIDDEN].shown():
        _run_once(request)


def run_item_again(request: pytest.FixtureRequest) -> None:
    """Run a cell once more, by order; whatever comes of it decides nothing about a test."""
    with request.config.stash[HIDDEN].shown():
        item, session = request.node, request.config.stash[SESSION]
        if is_recorded(request.config):
            item.stash[RECORDED_IN] = Path(request.getfixturevalue("output_path"))
        item.stash[_TURN] = True
        alone = partial(_run_unless_stopped, item.cell, session, request)
        flights = _flights(request)
        result = flights.result_of(request, alone) if flights else alone()
        note_end(item.config, session, item.cell, result)
        item.stash[_TURN] = False


def _run_once(request: pytest.FixtureRequest) -> None:
    """Run a cell once, however often other plugins run its item."""
    item = request.node
    session = request.config.stash[SESSION]
    if is_recorded(request.config):
        item.stash[RECORDED_IN] = Path(request.getfixturevalue("output_path"))
    flights = _flights(request)
    # A cell in flight may have ended before its turn.
    item.stash[_TURN] = True
    begun = flights is not None and flights.has_begun(item)
    if not begun and (first := first_result(item.config, session, item.cell)) is not None:
        raise_outcome(first, policy_of(request.config, session.settings))
        return
    result = kept_result(item)
    if result is None:
        alone = partial(_run_unless_stopped, item.cell, session, request)
        result = flights.result_of(request, alone) if flights else alone()
        with waiting.loop_hidden():
            request.config.hook.pytest_autoweb_cell_finished(result=result)
    else:
        told = shown_name(item.cell), "end", result.outcome, item.cell.folder
        session.progress.emit(*told)
    note_end(item.config, session, item.cell, result)
    item.stash[_TURN] = False
    item.user_properties.extend(junit_properties(result))
    if kept := recordings_of_secrets(item):
        item.user_properties.append(("autoweb_contains_secrets", kept))
        item.warn(pytest.PytestWarning(f"{item.name}: files of {kept} contain secrets of the case"))
    raise_outcome(result, policy_of(request.config, session.settings))


def kept_result(item: CellItem) -> CellResult | None:
    """Return the result of a cell that is not to run, as it is kept or not needed; else None."""
    session, config = item.config.stash[SESSION], item.config
    if item.cell.again:
        return None
    if (away := session.away) is not None:
        # The session's machine counts a cell as begun from the next line on.
        steered_cells(config).wait(item.cell)
        if (ended := away.begin(item.cell.folder, item.nodeid)) is not None:
            return ended
    if session.settings.resume and _RESUMED not in config.stash:
        folder, told = session.run_folder, session.shared.resumed_file
        config.stash[_RESUMED] = ResumedCells(config, folder, told)
    resumed, until = config.stash.get(_RESUMED, None), config.stash.get(UNTIL, None)
    may_be_left_out = until is not None and (resumed is None or resumed.never_ran(item.cell))
    if until and may_be_left_out and (left_out := until.refusal(item.cell)) is not None:
        return left_out
    kept = resumed.kept(item.cell, session.settings) if resumed else None
    if kept is not None and until:
        until.note_kept(item.cell, kept)
    return kept


def _run_unless_stopped(
    cell: Cell, session: RunSession, request: pytest.FixtureRequest
) -> CellResult:
    """Run a cell by its fixtures when the session goes on, unless somebody has stopped it."""
    if (left_out := steered_cells(request.config).await_start(cell)) is not None:
        tell_end(session, cell, left_out)
        return left_out
    return run_with_fixtures(cell, session, request)


def run_with_fixtures(
    cell: Cell, session: RunSession, request: pytest.FixtureRequest
) -> CellResult:
    """Run a cell on contexts made by pytest-playwright's `new_context`.

    The fixture is requested while the cell runs, so that a browser that cannot be started makes a
    `broken` cell like any other infrastructure failure.
    """
    outside = is_outside(cell)
    held = files_of_held_browser(cell, session.settings)
    open_page_of = partial(open_apart, held=held) if outside else open_living

    def open_page(context_args: dict[str, Any]) -> "Page":
        page = open_page_of(request, context_args)
        opened.append(page.context)
        session.see_browser(page.context.browser, remote=connected or pool is not None)
        return page

    def ready_page() -> "ReadyPage | None":
        ready = prefetched.take(request) if prefetched else None
        if ready is not None:
            opened.append(ready.page.context)
            session.see_browser(ready.page.context.browser, remote=False)
        return ready

    def before_page(folder: Path) -> None:
        # The browser uploads what the agent has put into its own folder, and cannot be told later.
        if held is not None:
            held.append(str(agent_folder(folder)))

    opened: list[BrowserContext] = []
    closings: list[Callable[[], object]] = []
    pool, connected = session.browsers, bool(request.getfixturevalue("connect_options"))
    remote = connected or (pool is not None and not pool.reaches_proxy)
    launched_here = not (outside or connected or pool)
    prefetched = prefetched_page_of(request) if launched_here else None
    try:
        lent = resources_of(cell, session, request.config, open_page, remote=remote)
    except (SettingsError, OSError) as error:
        return _without_place(cell, error)
    resources = replace(
        lent,
        browser=lambda: made_browser(request) if launched_here else None,
        ready_page=ready_page,
        before_page=before_page,
        leave_page=lambda page: closings.append(begin_close(page.context)),
        sharing=None if cell.called else sharing_of(request.node),
    )
    with WATCH.on():
        try:
            result = _run_noted(cell, resources, request.config)
        finally:
            for wait in closings:
                wait()
            leave_living(request, opened)
    session.deliver(cell.folder, keep=is_recorded(request.config))
    tell_end(session, cell, result)
    return result


def _run_noted(cell: Cell, resources: CellResources, config: pytest.Config) -> CellResult:
    """Run a cell, and tell what may end the session early."""
    steered = steered_cells(config)
    if (until := config.stash.get(UNTIL, None)) is None or cell.again:
        return steered.ended(run_or_break(cell, resources))
    until.begin(cell)
    return until.end(cell, steered.ended(run_or_break(cell, resources)))


def _without_place(cell: Cell, error: Exception) -> CellResult:
    """Return the result of a cell whose run folder cannot be made."""
    return unsaved_cell(cell, Failure(kind="internal", message=first_line(error)))


def tell_end(session: RunSession, cell: Cell, result: CellResult) -> None:
    """Report a cell's outcome and cost to the progress display."""
    name = shown_name(cell)
    if cost := result.total_usage.cost_usd:
        session.progress.emit(name, "spent", str(cost), cell.folder)
    session.progress.emit(name, "end", result.outcome, cell.folder)


def _run_in_flight(item: pytest.Item, open_page: OpenPage) -> CellResult:
    """Run a cell on contexts of a shared browser, whose other cells may proceed first."""

    def opening(context_args: dict[str, Any]) -> "Page":
        page = open_page(context_args)
        opened.append(page.context)
        session.see_browser(page.context.browser, remote=session.browsers is not None)
        return page

    assert isinstance(item, CellItem)
    session = item.config.stash[SESSION]
    # Of the item whose turn it is, this is known already.
    is_next = item.stash.get(_TURN, False)
    if not is_next and (first := first_result(item.config, session, item.cell)) is not None:
        return first
    if (kept := kept_result(item)) is not None:
        return kept
    if (left_out := steered_cells(item.config).await_start(item.cell)) is not None:
        tell_end(session, item.cell, left_out)
        return left_out
    opened: list[BrowserContext] = []
    with WATCH.on(), waiting.in_lane():
        try:
            try:
                lent = resources_of(item.cell, session, item.config, opening, remote=False)
            except (SettingsError, OSError) as error:
                return _without_place(item.cell, error)
            flights = item.config.stash[FLIGHTS]
            browser = flights.browser if flights else None
            resources = replace(lent, browser=lambda: browser, sharing=sharing_of(item))
            result = _run_noted(item.cell, resources, item.config)
        finally:
            close_contexts(opened)
    session.deliver(item.cell.folder, keep=is_recorded(item.config))
    tell_end(session, item.cell, result)
    return result


def _flights(request: pytest.FixtureRequest) -> Flights | None:
    """Return this process's cells in flight; None if cells run one by one."""
    stash, steered = request.config.stash, steered_cells(request.config)
    flights, decided = stash.get(FLIGHTS, None), FLIGHTS in stash
    ordered = steered.course.in_flight is not None and can_share_loop()
    if flights is not None or (decided and not ordered):
        return flights
    at_first = 1 if decided else stash[SESSION].concurrency(processes_of(request.config))

    def most() -> int:
        return steered.most_in_flight(at_first)

    if (most() if ordered else at_first) > 1:
        pool = stash[SESSION].browsers
        gap = pool.gap if pool else ""
        flights = Flights(request.session, most, _run_in_flight, _unfinished, gap)
    stash[FLIGHTS] = flights
    return flights


def _unfinished(item: pytest.Item, why: str) -> None:
    """Save why a cell in flight was not finished; without a reason, it never began."""
    assert isinstance(item, CellItem)
    folder = item.config.stash[SESSION].run_folder
    if why and item.cell.folder not in steered_cells(item.config).held:
        mark_started(folder, item.cell.folder, why)
    else:
        unmark_started(folder, item.cell.folder)
        if (away := item.config.stash[SESSION].away) is not None:
            away.forget(item.cell.folder)
