"""Cells in flight, each in a greenlet of its own, and the loop from which all are resumed."""

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import greenlet  # type: ignore[import-untyped]

from pytest_autoweb.base.waiting.lanes import Lanes
from pytest_autoweb.base.waiting.playwright_internals import Driver, ended_error
from pytest_autoweb.base.waiting.switches import SWITCHES

T = TypeVar("T")


class CancelledFlight(BaseException):
    """Thrown into a cell in flight that is not to be finished; nothing may take it for a fault."""


class Flight:
    """One cell in flight, as seen by whoever waits for it or measures its time.

    A flight is in one of three states:

    - it runs, or waits for the browser (`elsewhere` is false);
    - it waits for something else, such as a model, a lane or a pause (`elsewhere` is true), and is
      resumed by the future that it waits for;
    - it waits until it may run alone (`wants_turn` and `elsewhere` are true), and is resumed by
      whoever sets `alone` and takes `wants_turn` back. From then on it queues for nothing.

    Its time is measured by the hub, which is told of every switch between greenlets: `held_s` is
    what the flight itself held the thread for. All that others held it for, and all that it queued
    for a lane, is not its own.

    Attributes:
        fiber: the greenlet in which it runs.
        elsewhere: whether it waits for something other than the browser.
        wants_turn: whether it waits until it may run alone.
        alone: whether it runs alone.
        held_s: the seconds for which it held the thread.
    """

    def __init__(self, hub: "Hub", run: Callable[[], None]) -> None:
        self.fiber = greenlet.greenlet(run)
        self.elsewhere = self.wants_turn = self.alone = False
        self.held_s = self._queued_s = 0.0
        self._hub = hub
        self._queues_since: tuple[float, float] | None = None

    def others_s(self) -> float:
        """Return the seconds for which others held the thread, counted from any fixed moment.

        What the flight waited for a lane counts as well. Other threads may ask, too.
        """
        return self._others_held_s() + self._queued_s + self._queue_s()

    def queue_up(self) -> None:
        self._queues_since = time.monotonic(), self._others_held_s()

    def leave_queue(self) -> None:
        queued, self._queues_since = self._queue_s(), None
        self._queued_s += queued

    def _others_held_s(self) -> float:
        return self._hub.held_s(but=self) - self.held_s

    def _queue_s(self) -> float:
        """Return the seconds in the queue, less those in which other cells held the thread."""
        if (since := self._queues_since) is None:
            return 0.0
        began, held = since
        return max(0.0, time.monotonic() - began - (self._others_held_s() - held))


class Hub:
    """Playwright's event loop as the place from which every waiting greenlet is resumed.

    Playwright starts its loop in a greenlet of its own (the driver's fiber). A call to a page
    switches there, and the loop switches back when the answer has come. Flights wait in the same
    way, so while one of them waits, the loop resumes whichever is ready.

    The order of calls: `open` with the driver of a browser, `launch` for each cell, `wait` in the
    main greenlet for news of them, `close` when none is in flight; then `open` again, perhaps with
    another driver. At most one hub of a process is open, and while one is, all functions of this
    package act on it.

    Invariants:

    - Only one greenlet runs at a time, so nothing here needs a lock. What other threads may call
      (`held_s`) reads single attributes only.
    - `flights` has every greenlet that works for a cell: its own from `launch` until it has ended,
      and those of calls that were started for it. What a greenlet in `flights` holds the thread
      for is that cell's time.
    - `_held_s` is what all greenlets but the driver's held the thread for until `_since`, the
      moment of the last switch; from then on `_runs` holds it.
    - Once the driver's fiber is dead, no future of the loop is ever settled. `wait` then raises,
      and a greenlet that has nothing more to wait for switches to `_home`, the main one.

    Args:
        told: is called when a flight begins to wait for its turn.
        cores: how many processors the flights may use.
    """

    def __init__(self, told: Callable[[], None], cores: int) -> None:
        self.flights: dict[Any, Flight] = {}
        self.loop: asyncio.AbstractEventLoop
        self.fiber: Any = None
        self.told = told
        self.lanes = Lanes(cores)
        self._home = greenlet.getcurrent()
        self._held_s, self._since, self._runs = 0.0, time.monotonic(), self._home

    def open(self, driver: Driver) -> None:
        """Use the loop of this driver, and measure from now on who holds the thread."""
        global _open_hub
        self.loop, self.fiber = driver
        self._since, self._runs = time.monotonic(), greenlet.getcurrent()
        if _open_hub is not self:
            SWITCHES.add(self._switched)
            _open_hub = self

    def close(self) -> None:
        """Return to blocking calls: cells then run one at a time."""
        global _open_hub
        if _open_hub is self:
            SWITCHES.remove(self._switched)
            _open_hub = None

    @property
    def dead(self) -> bool:
        """Tell whether the loop ended, as it does with Playwright's driver."""
        return self.fiber is None or bool(self.fiber.dead)

    def held_s(self, *, but: Flight) -> float:
        """Return the seconds for which any greenlet but the loop's held the thread so far.

        Args:
            but: the flight whose present hold does not count yet.
        """
        runs = self._runs
        own = runs is self.fiber or self.flights.get(runs) is but
        now = 0.0 if own else time.monotonic() - self._since
        return self._held_s + max(0.0, now)

    def launch(self, run: Callable[[], None]) -> Flight:
        """Begin a flight as soon as the loop runs."""
        flight = Flight(self, run)
        self.flights[flight.fiber] = flight
        # What is not counted before its start must not be counted as its own.
        flight.held_s = 0.0
        self.loop.call_soon(flight.fiber.switch)
        return flight

    def wait(self, future: "asyncio.Future[T]") -> T:
        """Wait for a future of the loop while others run, in any greenlet but the loop's.

        Raises:
            Error: the loop ended, as it does with Playwright's driver.
        """
        return wait_on(self.loop, self.fiber, future)

    def wait_elsewhere(self, flight: Flight, future: "asyncio.Future[T]") -> T:
        """Wait, as a flight, for something other than the browser; see `wait`."""
        before, flight.elsewhere = flight.elsewhere, True
        try:
            return self.wait(future)
        finally:
            flight.elsewhere = before

    @contextmanager
    def as_if_running(self) -> Iterator[None]:
        """Let Playwright's calls fail as they do on a loop, although it has ended.

        Some of them make a future of the running loop for their error.
        """
        asyncio._set_running_loop(self.loop)
        try:
            yield
        finally:
            asyncio._set_running_loop(None)

    def leave(self) -> None:
        """Switch to the loop's greenlet; returns when this one is switched to again."""
        (self._home if self.dead else self.fiber).switch()

    def _switched(self, event: str, ends: tuple[Any, Any]) -> None:
        origin, target = ends
        now = time.monotonic()
        if origin is not self.fiber:
            spent = now - self._since
            self._held_s += spent
            if flight := self.flights.get(origin):
                flight.held_s += spent
        self._since, self._runs = now, target


_open_hub: Hub | None = None


def open_hub() -> Hub | None:
    """Return the hub of this process that is open, if one is."""
    return _open_hub


def flight_of(fiber: Any) -> Flight | None:
    """Return the cell in flight that runs in this greenlet, if any."""
    return _open_hub.flights.get(fiber) if _open_hub is not None else None


def current_flight() -> tuple[Hub, Flight] | None:
    """Return the hub and the flight of the calling cell; None unless it is in flight."""
    flight = flight_of(greenlet.getcurrent())
    return (_open_hub, flight) if _open_hub is not None and flight is not None else None


def flight_on_loop() -> tuple[Hub, Flight] | None:
    """Return the caller with its hub if it is a cell in flight and the loop still runs for it.

    When the loop has ended with Playwright's driver, whoever waits just blocks: what is left to do
    is to save what there is, and to wait until the cell may run alone.
    """
    found = current_flight()
    return None if found is None or found[0].dead else found


def wait_on(loop: asyncio.AbstractEventLoop, fiber: Any, future: "asyncio.Future[T]") -> T:
    """Wait for a future of a loop that runs in another greenlet.

    Args:
        loop: the loop.
        fiber: the greenlet in which it runs.
        future: what to wait for.

    Raises:
        Error: the loop ended, as it does with Playwright's driver.
    """
    me, waits = greenlet.getcurrent(), [True]

    def resume(_: "asyncio.Future[T]") -> None:
        if waits:
            me.switch()

    future.add_done_callback(resume)
    try:
        # Whatever is left over from an earlier wait may resume this greenlet too early.
        while not future.done():
            # A switch to a greenlet that has ended returns at once, so this would never end.
            if fiber is None or fiber.dead:
                raise ended_error()
            fiber.switch()
    except BaseException:
        # Otherwise an answer that nobody wants any more would be reported as lost.
        future.cancel()
        raise
    finally:
        waits.clear()
        future.remove_done_callback(resume)
        if fiber is not None and not fiber.dead:
            # The loop is in the middle of its run; Playwright's calls mark it in the same way.
            asyncio._set_running_loop(loop)
    return future.result()


def settle(future: "asyncio.Future[T]", value: T) -> None:
    """Give a future its value, unless it has one or nobody waits for it any more."""
    if not future.done():
        future.set_result(value)
