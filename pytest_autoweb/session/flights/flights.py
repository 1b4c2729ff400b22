"""Many cells in flight in one process, while pytest runs its items strictly one after another."""

import asyncio
import os
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import greenlet  # type: ignore[import-untyped]
import psutil
import pytest
from playwright.sync_api import Browser, Error, Page

from pytest_autoweb.base import waiting
from pytest_autoweb.base.errors import BrowserError
from pytest_autoweb.base.waiting.hub import CancelledFlight, Flight, Hub
from pytest_autoweb.base.waiting.playwright_internals import DRIVER_ENDED, can_share_loop, driver_of
from pytest_autoweb.browser.egress.browser_watch import EACH_MB, LOST_S, WATCH, is_lost
from pytest_autoweb.models.model_spec import DEFAULT_PARALLEL, ModelSpec
from pytest_autoweb.results.records import CellResult
from pytest_autoweb.session.browser_replacement import (
    dead_part,
    end_fixture,
    forgotten_if_failed,
    new_page,
    too_large,
)
from pytest_autoweb.session.flights.flight_bounds import item_bound, session_bound
from pytest_autoweb.session.flights.item_order import ItemOrder

FLIGHTS: pytest.StashKey["Flights | None"] = pytest.StashKey()
ALONE_KEY = "autoweb-alone"
"""Where xdist workers leave how many cells ran alone, and why."""
NO_BROWSER = "there was no browser to share"
_LOOK_S = 1.0
"""How often the main greenlet looks whether more may be begun, although nothing has ended."""
_WINDOW = 4
"""How many times more cells may have ended ahead of their turn than may be in flight."""

OpenPage = Callable[[dict[str, Any]], Page]


class FlownCell:
    """One cell that was begun, whether its turn has come or not.

    Attributes:
        item: the pytest item of the cell.
        flight: its greenlet; None until it is launched.
        result: what came of it, once it has ended.
        error: what it raised instead; its item raises it in its turn.
    """

    def __init__(self, item: pytest.Item) -> None:
        self.item = item
        self.flight: Flight | None = None
        self.result: CellResult | None = None
        self.error: BaseException | None = None

    @property
    def ended(self) -> bool:
        return self.result is not None or self.error is not None

    @property
    def waits(self) -> bool:
        """Tell whether it waits for its turn to run alone."""
        return self.flight is not None and self.flight.wants_turn


class Flights:
    """The cells of this process that are in flight.

    Pytest runs item after item and asks for each of them `result_of`. That call lets all cells in
    flight run until the one that is asked for has ended, and while it waits it begins the cells of
    coming items, as many as may be in flight. So most items find that their cell was begun, or has
    even ended, before their turn. Everything that pytest does for an item (reports, fixtures,
    `-x`) still happens in the item's turn; `flight_bounds` says which cells this allows.

    Order of calls: `result_of` for each item in pytest's order; `cancel` when the session ends
    before all cells have, after which `result_of` may be called again.

    State of a cell, which is in `_cells` from `_begin` until `result_of` returns it:

    - in flight: it runs, or waits for the browser, a model or a lane;
    - waiting for its turn (`waits`): it needs what only its own item can get, a new browser for
      instance. No further cell is begun then. When all that are in flight wait too, the cell whose
      item pytest runs continues alone;
    - alone: it was given its turn, and no other cell is begun until it has ended;
    - ended: it has a result or an error.

    Invariants:

    - At most `most` cells are in flight, and at most `_WINDOW * most` are begun ahead.
    - The main greenlet is always in `result_of` or in pytest; only it opens browsers, gives turns
      and begins cells. It waits for news (`_tell`): a cell has ended, or waits for its turn. Now
      and then it looks without any, because an order may let more be in flight, and a worker of
      xdist may have been sent more items.
    - All cells in flight share one browser, and its driver's loop (see `Hub`). When that driver has
      ended, no cell can be resumed by the loop: each is thrown an error (`_end_of_driver`) and
      then either ends or waits for its turn, in which it gets a new browser.
    - The hub is open only while cells are in flight, so between them everything blocks as usual.

    Args:
        session: pytest's.
        most: returns how many may be in flight at once by now.
        run: runs a cell with the function that opens its pages.
        tell_end: keeps on disk why a cell in flight was not finished.
        gap: why the proxy does not see all traffic of a browser elsewhere; "" if it does.
    """

    def __init__(
        self,
        session: pytest.Session,
        most: Callable[[], int],
        run: Callable[[pytest.Item, OpenPage], CellResult],
        tell_end: Callable[[pytest.Item, str], None],
        gap: str = "",
    ) -> None:
        self._gap = gap
        self._most, self._run, self._tell_end = most, run, tell_end
        self._order = ItemOrder(session)
        self._bound = session_bound(session.config)
        self._cells: dict[pytest.Item, FlownCell] = {}
        self._hub = Hub(self._tell, max(1, _cores() // processes_of(session.config)))
        self._news: asyncio.Future[None] | None = None
        self._browser: Browser | None = None
        self._no_browser: Exception = BrowserError(NO_BROWSER)
        self._renews = False
        self._context_args: dict[str, Any] = {}
        self.alone: Counter[str] = Counter()
        """How many cells ran alone for which reason."""

    def result_of(
        self, request: pytest.FixtureRequest, run_alone: Callable[[], CellResult]
    ) -> CellResult:
        """Return the result of the item whose turn it is, when it has ended.

        Args:
            request: the item's.
            run_alone: runs its cell as if this were the only one.
        """
        item: pytest.Item = request.node
        if item not in self._cells:
            why = self._bound or item_bound(item, item)
            if why or not self._opened(request):
                self.alone[why or self._bound or NO_BROWSER] += 1
                return run_alone()
            self._begin(item)
        try:
            self._fly_until_ended(self._cells[item], request)
        except BaseException:
            self.cancel("interrupted while it ran")
            raise
        cell = self._cells.pop(item)
        if cell.error is not None:
            raise cell.error
        assert cell.result is not None
        return cell.result

    def has_begun(self, item: pytest.Item) -> bool:
        """Tell whether an item's cell was begun ahead of its turn."""
        return item in self._cells

    @property
    def _flying(self) -> list[FlownCell]:
        return [cell for cell in self._cells.values() if not cell.ended]

    # -- the turn ----------------------------------------------------------------------

    def _fly_until_ended(self, cell: FlownCell, request: pytest.FixtureRequest) -> None:
        """Let the cells in flight run until this one has ended."""
        while not cell.ended:
            others = [one for one in self._flying if one is not cell]
            if cell.waits and all(one.waits for one in others):
                self._give_turn(cell, request)
            elif not cell.waits and not self._alone:
                self._begin_next(request.node)
            self._await_news()
            if self._hub.dead:
                self._end_of_driver()
            for one in self._cells.values():
                if one.error is not None and not isinstance(one.error, Exception):
                    raise one.error
        self._renews = self._renews or too_large(EACH_MB * self._most())
        if not self._flying:
            dead = self._dead_part(request)
            if self._renews or dead:
                self._end_fixture(request, dead or "browser")
            self._hub.close()

    @staticmethod
    def _dead_part(request: pytest.FixtureRequest) -> str:
        """Return the fixture to end, if any; see `dead_part`.

        The item of a cell that was begun ahead of its turn has not asked for the browser yet, and
        nobody can end what its request does not know.
        """
        with suppress(Exception), forgotten_if_failed(request):
            request.getfixturevalue("browser")
        return dead_part(request)

    @property
    def _alone(self) -> bool:
        """Tell whether a cell runs alone, or waits for its turn to."""
        return any(c.waits or (c.flight is not None and c.flight.alone) for c in self._flying)

    def _give_turn(self, cell: FlownCell, request: pytest.FixtureRequest) -> None:
        """Resume a cell that runs alone from here on, with a live browser."""
        self._opened(request)
        assert cell.flight is not None
        flight = cell.flight
        flight.alone, flight.wants_turn = True, False
        if not self._hub.dead:
            self._hub.loop.call_soon(flight.fiber.switch)
        else:
            flight.fiber.switch()

    def _begin_next(self, item: pytest.Item) -> None:
        """Begin cells ahead of their turn, in their order, as many as may be in flight."""
        most = self._most()
        flying = most if self._renews else len(self._flying)
        for place, coming in enumerate(self._order.after(item)):
            if flying >= most or place >= _WINDOW * most:
                return
            if coming in self._cells:
                continue
            if not hasattr(coming, "cell") or item_bound(coming, item):
                return
            self._begin(coming)
            flying += 1

    def _begin(self, item: pytest.Item) -> None:
        cell = self._cells[item] = FlownCell(item)

        def fly() -> None:
            try:
                cell.result = self._run(item, self._new_page)
            except BaseException as error:
                # Nobody else would catch it here; the item raises it in its turn.
                cell.error = error
            finally:
                self._hub.flights.pop(greenlet.getcurrent(), None)
                self._tell()

        cell.flight = self._hub.launch(fly)

    @property
    def browser(self) -> Browser | None:
        """The browser that cells in flight share, if it lives."""
        return self._browser

    def _new_page(self, context_args: dict[str, Any]) -> Page:
        """Open a page for a cell in flight, whose browser may have died under all of them."""
        if self._browser is not None:
            try:
                return new_page(self._browser, self._context_args, context_args)
            except Error:
                if self._browser is not None and not is_lost(self._browser):
                    raise
        waiting.wait_until_alone()
        if self._browser is None:
            raise self._no_browser
        return new_page(self._browser, self._context_args, context_args)

    # -- the loop ----------------------------------------------------------------------

    def _tell(self) -> None:
        if self._news is not None and not self._news.done():
            self._news.set_result(None)

    def _await_news(self) -> None:
        """Wait until a cell has ended, or wants its turn, or it is time to look again."""
        if self._hub.dead:
            return
        self._news = self._hub.loop.create_future()
        again = self._hub.loop.call_later(_LOOK_S, self._tell)
        # The loop may end with Playwright's driver; the caller checks for that next.
        try:
            with suppress(Error):
                self._hub.wait(self._news)
        finally:
            again.cancel()

    def _opened(self, request: pytest.FixtureRequest) -> bool:
        """Make sure of a living browser, and let cells in flight share it.

        Returns:
            False if there is none; whoever opens a page then is told why.
        """
        try:
            if dead := self._dead_part(request):
                self._end_fixture(request, dead)
            with forgotten_if_failed(request):
                browser = request.getfixturevalue("browser")
                self._context_args = request.getfixturevalue("browser_context_args")
                remote = bool(request.getfixturevalue("connect_options"))
        except Exception as error:
            self._browser, self._no_browser = None, error
            return False
        if remote or self._gap or browser.browser_type.name != "chromium":
            # This process then answers the browser's requests itself, and must do so at any time.
            self._bound = "the browser does not send everything through the proxy"
            return False
        driver = driver_of(browser)
        if driver is None:
            return False
        self._browser = browser
        self._hub.open(driver)
        return True

    def _end_fixture(self, request: pytest.FixtureRequest, name: str) -> None:
        self._browser, self._renews = None, False
        end_fixture(request, name)
        WATCH.reason = ""

    def _end_of_driver(self) -> None:
        """Fail every cell in flight: the driver's loop, which would resume them, has ended."""
        for cell in self._flying:
            flight = cell.flight
            if flight is None or flight.wants_turn:
                continue
            flight.fiber.parent = greenlet.getcurrent()
            if not flight.fiber:
                # It has not started yet, so it can still run later, alone.
                flight.wants_turn = True
                continue
            with self._hub.as_if_running():
                flight.fiber.throw(Error(DRIVER_ENDED))
            if not cell.ended and not flight.wants_turn:
                cell.error = BrowserError(DRIVER_ENDED)

    def cancel(self, why: str) -> None:
        """End all cells in flight before they are finished.

        Args:
            why: the reason for readers; "" if the cells are to count as never begun.
        """
        flying = self._flying
        for cell in flying:
            if not self._hub.dead:
                self._hub.loop.call_soon(_end, cell)
            elif cell.flight is not None and cell.flight.fiber:
                # Forgotten instead, it would be ended by Python, and saved as a cell that broke.
                cell.flight.fiber.parent = greenlet.getcurrent()
                with self._hub.as_if_running():
                    _end(cell)
        over: list[bool] = []
        if flying and not self._hub.dead:

            def give_up() -> None:
                over.append(True)
                self._tell()

            self._hub.loop.call_later(LOST_S, give_up)
            while self._flying and not over and not self._hub.dead:
                self._await_news()
        for cell in flying:
            self._tell_end(cell.item, why)
        self._cells.clear()
        self._hub.flights.clear()
        self._hub.close()


def _end(cell: FlownCell) -> None:
    if cell.flight is not None and not cell.ended:
        cell.flight.fiber.throw(CancelledFlight())


MOST = 16
"""The most cells in flight in one process that `auto` chooses."""
_CELL_MB = 60
"""Memory for which `auto` looks: a context takes 20 MB, its page more, its worker another 15."""


def processes_of(config: pytest.Config) -> int:
    """Return how many processes of the session run tests."""
    workers: int = getattr(config, "workerinput", {}).get("workercount", 1)
    return workers


def how_many(asked: int, specs: Sequence[ModelSpec], processes: int) -> int:
    """Return how many cells each process may have in flight; one if they cannot share a loop.

    Args:
        asked: the number that was asked for; 0 means as many as make sense.
        specs: the models of the run.
        processes: how many test processes there are.
    """
    if not can_share_loop():
        return 1
    if asked:
        return asked
    # Controls never wait for a model, and what computes all the time gains nothing.
    called = [spec for spec in specs if spec.provider != "builtin"]
    answered = sum(spec.max_parallel or DEFAULT_PARALLEL for spec in called)
    most = min(MOST, answered // processes, _available_mb() // _CELL_MB // processes)
    return max(1, most)


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _available_mb() -> int:
    """Return the memory that is free for new processes; plenty where that cannot be read."""
    with suppress(OSError, ValueError, psutil.Error):
        return psutil.virtual_memory().available >> 20
    return MOST * _CELL_MB
