"""How this process waits: it blocks, or lets the other cells in flight go on meanwhile.

Playwright's sync API runs an event loop in a greenlet of its own, to which each of its calls
switches until it is answered. With several cells in flight each of them is a greenlet too, and
whatever else takes time does as those calls do, by the functions here. Where nothing is in flight,
and in every greenlet that is no cell's (handlers of a page's events), they simply block.

Only one greenlet runs at a time. The time for which others ran is not a cell's own, so limits are
measured without it.
"""

import asyncio
import queue
import select
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any, TypeAlias, TypeVar

import greenlet  # type: ignore[import-untyped]
from filelock import BaseFileLock, Timeout

from pytest_autoweb.base.waiting.lanes import Lanes

# Late imports: models are called without any browser, and Playwright takes long to import.

T = TypeVar("T")
LOCK_POLL_S = 0.05
# Below this it does not matter who held the thread.
_LEAST_S = 0.005
DRIVER_ENDED = "Playwright's driver ended"


Listener: TypeAlias = Callable[[str, tuple[Any, Any]], None]
"""What is told of a switch: the event, and the greenlets that were left and entered."""


class _Switches(threading.local):
    """The switches between the greenlets of a thread, told to whoever listens.

    greenlet has one trace function for a thread. If each listener put itself in its place and the
    one before back, those that do not end in the reverse order would bring one another back.
    """

    def __init__(self) -> None:
        self._listeners: tuple[Listener, ...] = ()
        self._before: Listener | None = None

    def add(self, listener: Listener) -> None:
        """Tell a listener of each switch from now on."""
        if not self._listeners:
            self._before = greenlet.settrace(self._switched)
        self._listeners += (listener,)

    def remove(self, listener: Listener) -> None:
        """Tell a listener nothing more."""
        self._listeners = tuple(one for one in self._listeners if one != listener)
        if not self._listeners:
            greenlet.settrace(self._before)

    def _switched(self, event: str, ends: tuple[Any, Any]) -> None:
        for listener in self._listeners:
            listener(event, ends)
        if self._before is not None:
            self._before(event, ends)


SWITCHES = _Switches()


class CancelledFlight(BaseException):
    """Thrown into a cell in flight that is not to be finished; nothing may take it for a fault."""


class Flight:
    """One cell in flight, seen by whoever waits for it or measures its time.

    Attributes:
        fiber: the greenlet in which it runs.
        elsewhere: whether it waits for something else than the browser.
        wants_turn: whether it waits until it may go on alone.
        alone: whether it goes on alone.
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
        """Begin to wait for a lane."""
        self._queues_since = time.monotonic(), self._others_held_s()

    def leave_queue(self) -> None:
        """Wait for a lane no longer."""
        queued, self._queues_since = self._queue_s(), None
        self._queued_s += queued

    def _others_held_s(self) -> float:
        return self._hub.held_s(but=self) - self.held_s

    def _queue_s(self) -> float:
        """Return for how long the flight has been in the queue while nobody held the thread."""
        if (since := self._queues_since) is None:
            return 0.0
        began, held = since
        return max(0.0, time.monotonic() - began - (self._others_held_s() - held))


class Hub:
    """Playwright's event loop as the place from which whoever waits is resumed.

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

    def open(self, browser: Any) -> None:
        """Use the loop of this browser, and measure from now on who holds the thread.

        Playwright has no public name for either; both are where its calls find them.
        """
        global _hub
        self.loop, self.fiber = browser._loop, browser._dispatcher_fiber
        self._since, self._runs = time.monotonic(), greenlet.getcurrent()
        if _hub is not self:
            SWITCHES.add(self._switched)
            _hub = self

    def close(self) -> None:
        """Block again."""
        global _hub
        if _hub is self:
            SWITCHES.remove(self._switched)
            _hub = None

    @property
    def dead(self) -> bool:
        """Tell whether the loop ended, as it does with Playwright's driver."""
        return self.fiber is None or bool(self.fiber.dead)

    def held_s(self, *, but: Flight) -> float:
        """Return the seconds for which any greenlet but the loop's held the thread so far."""
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
        """Wait for a future of the loop while others go on, in any greenlet but the loop's.

        Raises:
            Error: the loop ended, as it does with Playwright's driver.
        """
        return _wait_on(self.loop, self.fiber, future)

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
        """Let others go on; whoever knows this greenlet resumes it."""
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


_driver: list[Any] = []
"""The greenlet in which Playwright's loop runs, as the last browser that was seen named it."""


def see_driver(browser: Any) -> None:
    """Remember where the loop of a browser runs; Playwright has no public name for it."""
    _driver[:] = [getattr(browser, "_dispatcher_fiber", None)]


class HiddenLoop:
    """Playwright's event loop while it stands still, hidden from code with loops of its own.

    Playwright's sync API keeps its loop in a greenlet and leaves it marked as running between its
    calls, so that no other loop can run in this thread. The mark is removed, and set again as soon
    as Playwright's greenlet is entered.
    """

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._home: Any = None

    def hide(self) -> None:
        """Remove the mark, if there is one."""
        loop = asyncio._get_running_loop()
        if loop is None:
            return
        if self._loop is None:
            SWITCHES.add(self._switched)
        # Otherwise another Playwright has left its mark since.
        self._loop, self._home = loop, greenlet.getcurrent()
        asyncio._set_running_loop(None)

    def show(self) -> None:
        """Set the mark again, if it was removed."""
        if self._loop is None:
            return
        loop, self._loop = self._loop, None
        SWITCHES.remove(self._switched)
        if not loop.is_closed():
            asyncio._set_running_loop(loop)

    def _switched(self, _: str, ends: tuple[Any, Any]) -> None:
        # Another Playwright, of the user's own, has a greenlet and a loop of its own.
        if ends[1] in _driver if any(_driver) else ends[1] is not self._home:
            self.show()

    @contextmanager
    def shown(self) -> Iterator[None]:
        """Set the mark again for the block, and remove it afterwards."""
        self.show()
        try:
            yield
        finally:
            self.hide()


_hidden: dict[Any, HiddenLoop] = {}
"""What hides the loop from the user's code that runs in a greenlet."""


@contextmanager
def loop_hidden() -> Iterator[None]:
    """Let the user's code in the block run loops of its own, until it uses Playwright itself."""
    home, hidden = greenlet.getcurrent(), HiddenLoop()
    outer = _hidden.get(home)
    _hidden[home] = hidden
    hidden.hide()
    try:
        yield
    finally:
        hidden.show()
        if outer is None:
            _hidden.pop(home, None)
        else:
            _hidden[home] = outer


@contextmanager
def loop_hidden_again() -> Iterator[None]:
    """Let the block use Playwright for the user's code, and hide the loop again where it was."""
    hidden, before = _hidden.get(greenlet.getcurrent()), asyncio._get_running_loop()
    try:
        yield
    finally:
        if hidden is not None:
            hidden.hide()
            # The user's code may be within a loop of its own.
            asyncio._set_running_loop(before)


def _wait_on(loop: asyncio.AbstractEventLoop, driver: Any, future: "asyncio.Future[T]") -> T:
    """Wait for a future as `Hub.wait` does; `driver` is the greenlet in which the loop runs."""
    me, waits = greenlet.getcurrent(), [True]

    def resume(_: "asyncio.Future[T]") -> None:
        if waits:
            me.switch()

    future.add_done_callback(resume)
    try:
        # Whatever is left over from an earlier wait may resume this greenlet too early.
        while not future.done():
            if driver is None or driver.dead:
                from playwright.sync_api import Error

                raise Error(DRIVER_ENDED)
            driver.switch()
    except BaseException:
        # Otherwise an answer that nobody wants any more would be reported as lost.
        future.cancel()
        raise
    finally:
        waits.clear()
        future.remove_done_callback(resume)
        if driver is not None and not driver.dead:
            asyncio._set_running_loop(loop)
    return future.result()


_hub: Hub | None = None


def is_shared() -> bool:
    """Tell whether cells may be in flight in this process."""
    return _hub is not None


def flight_of(fiber: Any) -> Flight | None:
    """Return the cell in flight that runs in a greenlet, if there is one."""
    return _hub.flights.get(fiber) if _hub is not None else None


def in_company() -> bool:
    """Tell whether the caller is a cell in flight, and others are in flight as well."""
    flight = flight_of(greenlet.getcurrent())
    return flight is not None and not flight.alone


def others() -> Callable[[], float]:
    """Return a function that tells for how many seconds others held the thread.

    It speaks of the cell that asked for it, and may be called in any greenlet or thread.
    """
    flight = flight_of(greenlet.getcurrent())
    return flight.others_s if flight else _none


def own_clock() -> Callable[[], float]:
    """Return a clock in seconds that stands still while others hold the thread; see `others`."""
    held = others()
    return time.monotonic if held is _none else lambda: time.monotonic() - held()


def now() -> float:
    """Return the caller's own time in seconds."""
    return own_clock()()


def _none() -> float:
    return 0.0


class OwnTimer:
    """A timer that counts a cell's own time; while others hold the thread it stands still.

    Args:
        loop: the event loop that rings it.
        seconds: when.
        others: tells for how many seconds others held the thread; see the function of this name.
        call: is called then.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        seconds: float,
        others: Callable[[], float],
        call: Callable[[], object],
    ) -> None:
        self._loop, self._others, self._call = loop, others, call
        self._set(seconds)

    def _set(self, seconds: float) -> None:
        self._held = self._others()
        self._handle = self._loop.call_later(seconds, self._ring)

    def _ring(self) -> None:
        # What came meanwhile is read only after this.
        if (more := self._others() - self._held) > _LEAST_S:
            self._set(more)
        else:
            self._call()

    def cancel(self) -> None:
        """Never ring."""
        self._handle.cancel()


@contextmanager
def working() -> Iterator[None]:
    """Work in a lane, as a cell in flight, from its beginning to its end; see `Lanes`."""
    found = _on_the_loop()
    if found is None:
        yield
        return
    hub, flight = found
    _take_lane(hub, flight)
    try:
        yield
    finally:
        hub.lanes.end(flight)


def asking(call: Callable[[], T]) -> T:
    """Make a call that blocks while somebody else works, such as a model; see `blocking`.

    A cell in flight lets another one have its lane meanwhile.
    """
    found = _on_the_loop()
    if found is None:
        return blocking(call)
    hub, flight = found
    hub.lanes.give_back(flight)
    try:
        return blocking(call)
    finally:
        # A cell that is cancelled is not to wait for anything any more.
        if not hub.dead and not isinstance(sys.exception(), CancelledFlight):
            _take_lane(hub, flight)


def _take_lane(hub: Hub, flight: Flight) -> None:
    if flight.alone:
        return
    try:
        hub.lanes.take(flight, hub.loop, partial(_wait, hub, flight))
    except Exception:
        # Without Playwright's driver nobody queues; what the cell does next says why.
        if not hub.dead:
            raise


def beside(browser: Any, seconds: float, run: Callable[[], None]) -> None:
    """Run a function after a while beside whoever waits for this browser then.

    It runs on the loop of Playwright's sync API, in a greenlet of its own, and goes on only while
    somebody calls the browser.
    """
    fiber = greenlet.greenlet(run, parent=browser._dispatcher_fiber)
    browser._loop.call_later(seconds, fiber.switch)


def aside(owner: Any, call: Callable[[], T]) -> Callable[[], T]:
    """Begin a call to the browser, and return a function that waits for its end.

    The function returns what the call returns, or raises what it raises; whoever begins a call also
    waits for it, since even an interruption (Ctrl-C) may be what it raises. Meanwhile the caller
    may make other calls, which the browser gets after this one. It counts as the caller's work.

    Args:
        owner: what is called, such as a page; one that is not Playwright's is waited for at once.
        call: makes the call, in a greenlet of its own.
    """
    loop, hub = getattr(owner, "_loop", None), _hub
    if loop is None:
        value = call()
        return lambda: value
    driver = owner._dispatcher_fiber
    if loop.is_closed() or driver.dead:
        return call
    future: asyncio.Future[_Outcome] = loop.create_future()

    def run() -> None:
        outcome = _outcome(call)
        # The loop may have ended meanwhile, with nobody left to tell.
        with suppress(RuntimeError):
            _set(future, outcome)
            if hub is not None:
                # Later, since its last moments are the cell's own time as well.
                loop.call_soon(hub.flights.pop, fiber, None)

    fiber = greenlet.greenlet(run, parent=driver)
    if hub is not None and (flight := flight_of(greenlet.getcurrent())) is not None:
        hub.flights[fiber] = flight
    begun: asyncio.Future[None] = loop.create_future()
    loop.call_soon(fiber.switch)
    loop.call_soon(_set, begun, None)
    # Whoever waits for the end is told if the driver has ended.
    with suppress(Exception):
        _wait_on(loop, driver, begun)
    return lambda: _returned_or_raised(_wait_on(loop, driver, future))


def blocking(call: Callable[[], T]) -> T:
    """Make a call that blocks; for a cell in flight a thread makes it."""
    found = _on_the_loop()
    if found is None:
        with loop_hidden():
            return call()
    hub, flight = found
    future: asyncio.Future[_Outcome] = hub.loop.create_future()

    def run() -> None:
        outcome = _outcome(call)
        # The loop may have ended meanwhile.
        with suppress(RuntimeError):
            hub.loop.call_soon_threadsafe(_set, future, outcome)

    _in_a_thread(run)
    value: T = _returned_or_raised(_wait(hub, flight, future))
    return value


_Outcome: TypeAlias = tuple[Any, BaseException | None]
"""What a call returned, or raised."""


def _outcome(call: Callable[[], Any]) -> _Outcome:
    try:
        return call(), None
    except BaseException as error:
        return None, error


def _returned_or_raised(outcome: _Outcome) -> Any:
    value, problem = outcome
    if problem is not None:
        raise problem
    return value


_idle: list[queue.SimpleQueue[Callable[[], None]]] = []


def _in_a_thread(run: Callable[[], None]) -> None:
    """Run a function in a thread that has nothing to do, or in a new one.

    The threads of `concurrent.futures` would keep a session that ends waiting for their calls.
    """
    if _idle:
        _idle.pop().put(run)
        return
    tasks: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
    tasks.put(run)

    def work() -> None:
        while True:
            tasks.get()()
            _idle.append(tasks)

    threading.Thread(target=work, name="autoweb-waiting", daemon=True).start()


def sleep(seconds: float) -> None:
    """Do nothing for a while."""
    found = _on_the_loop()
    if found is None:
        time.sleep(seconds)
        return
    hub, flight = found
    future: asyncio.Future[None] = hub.loop.create_future()
    hub.loop.call_later(seconds, _set, future, None)
    _wait(hub, flight, future)


def readable(descriptor: int, seconds: float, *, patient: bool = True) -> bool:
    """Wait until a pipe has something to read, or its end, for at most so many seconds.

    Args:
        descriptor: the pipe's.
        seconds: how long to wait.
        patient: whether others may go on meanwhile.
    """
    found = _on_the_loop() if patient else None
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    if found is None:
        return bool(poll.poll(max(0.0, seconds) * 1000))
    if poll.poll(0) or seconds <= 0:
        return bool(poll.poll(0))
    hub, flight = found
    until = time.monotonic() + seconds
    future: asyncio.Future[None] = hub.loop.create_future()
    timer = hub.loop.call_later(seconds, _set, future, None)
    hub.loop.add_reader(descriptor, _set, future, None)
    try:
        _wait(hub, flight, future)
    except Exception as error:
        # Nobody else can go on without the driver, but the worker may still say what happened.
        if DRIVER_ENDED not in str(error):
            raise
        return bool(poll.poll(max(0.0, until - time.monotonic()) * 1000))
    finally:
        timer.cancel()
        hub.loop.remove_reader(descriptor)
    return bool(poll.poll(0))


@contextmanager
def held(lock: BaseFileLock) -> Iterator[None]:
    """Hold the lock of a file; a cell in flight that waits for it does not hold the others up."""
    if _waiting_cell() is None:
        lock.acquire()
    else:
        while not _acquired(lock):
            sleep(LOCK_POLL_S)
    try:
        yield
    finally:
        lock.release()


def _acquired(lock: BaseFileLock) -> bool:
    try:
        lock.acquire(blocking=False)
    except Timeout:
        return False
    return True


def own_turn() -> None:
    """Wait, as a cell in flight, until it is the cell's own turn and nothing else is in flight."""
    found = _waiting_cell()
    if found is None:
        return
    hub, flight = found
    if flight.alone:
        return
    hub.lanes.give_back(flight)
    flight.wants_turn = flight.elsewhere = True
    try:
        hub.told()
        while flight.wants_turn:
            hub.leave()
    finally:
        flight.wants_turn = flight.elsewhere = False


def _on_the_loop() -> tuple[Hub, Flight] | None:
    """Return the caller with its hub if it is a cell in flight and the loop still runs for it.

    When the loop has ended with Playwright's driver, whoever waits just blocks: what is left to do
    is to save what there is, and to wait for the cell's own turn.
    """
    found = _waiting_cell()
    return None if found is None or found[0].dead else found


def _waiting_cell() -> tuple[Hub, Flight] | None:
    """Return the caller with its hub if it is a cell in flight."""
    hub = _hub
    if hub is None or (flight := hub.flights.get(greenlet.getcurrent())) is None:
        return None
    return hub, flight


def _wait(hub: Hub, flight: Flight, future: "asyncio.Future[T]") -> T:
    before, flight.elsewhere = flight.elsewhere, True
    try:
        return hub.wait(future)
    finally:
        flight.elsewhere = before


def _set(future: "asyncio.Future[T]", value: T) -> None:
    if not future.done():
        future.set_result(value)
