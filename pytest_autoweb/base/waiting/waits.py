"""Ways to wait for something other than the browser while other cells in flight continue.

Where nothing is in flight, and in every greenlet that is no cell's (handlers of a page's events),
they simply block.
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
from typing import TypeVar

from filelock import BaseFileLock, Timeout

from pytest_autoweb.base.waiting.calls import Ended, ended_call, returned_or_raised
from pytest_autoweb.base.waiting.hidden_loop import loop_hidden
from pytest_autoweb.base.waiting.hub import (
    CancelledFlight,
    Flight,
    Hub,
    current_flight,
    flight_on_loop,
    settle,
)
from pytest_autoweb.base.waiting.playwright_internals import DRIVER_ENDED

T = TypeVar("T")
LOCK_POLL_S = 0.05


def others_in_flight() -> bool:
    """Tell whether the caller is a cell in flight that does not run alone."""
    found = current_flight()
    return found is not None and not found[1].alone


@contextmanager
def in_lane() -> Iterator[None]:
    """Work in a lane, as a cell in flight, from its beginning to its end; see `Lanes`."""
    found = flight_on_loop()
    if found is None:
        yield
        return
    hub, flight = found
    _take_lane(hub, flight)
    try:
        yield
    finally:
        hub.lanes.end(flight)


def call_model(call: Callable[[], T]) -> T:
    """Make a call that blocks while somebody else computes, such as a model; see `blocking`.

    A cell in flight gives its lane to another one for the time of the call.
    """
    found = flight_on_loop()
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
        hub.lanes.take(flight, hub.loop, partial(hub.wait_elsewhere, flight))
    except Exception:
        # Without Playwright's driver nobody queues; what the cell does next says why.
        if not hub.dead:
            raise


def blocking(call: Callable[[], T]) -> T:
    """Make a call that blocks; for a cell in flight a thread makes it."""
    found = flight_on_loop()
    if found is None:
        with loop_hidden():
            return call()
    hub, flight = found
    future: asyncio.Future[Ended] = hub.loop.create_future()

    def run() -> None:
        ended = ended_call(call)
        # The loop may have ended in the meantime.
        with suppress(RuntimeError):
            hub.loop.call_soon_threadsafe(settle, future, ended)

    _in_a_thread(run)
    value: T = returned_or_raised(hub.wait_elsewhere(flight, future))
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
    found = flight_on_loop()
    if found is None:
        time.sleep(seconds)
        return
    hub, flight = found
    future: asyncio.Future[None] = hub.loop.create_future()
    hub.loop.call_later(seconds, settle, future, None)
    hub.wait_elsewhere(flight, future)


def readable(descriptor: int, seconds: float, *, patient: bool = True) -> bool:
    """Wait until a pipe has something to read, or its end, for at most so many seconds.

    Args:
        descriptor: the pipe's.
        seconds: how long to wait.
        patient: whether other cells may continue until then.

    Raises:
        NotImplementedError: Windows cannot wait for a pipe with a time limit.
    """
    if sys.platform == "win32":
        raise NotImplementedError
    found = flight_on_loop() if patient else None
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    if found is None:
        return bool(poll.poll(max(0.0, seconds) * 1000))
    if poll.poll(0) or seconds <= 0:
        return bool(poll.poll(0))
    hub, flight = found
    until = time.monotonic() + seconds
    future: asyncio.Future[None] = hub.loop.create_future()
    timer = hub.loop.call_later(seconds, settle, future, None)
    hub.loop.add_reader(descriptor, settle, future, None)
    try:
        hub.wait_elsewhere(flight, future)
    except Exception as error:
        # Nothing else can continue without the driver, but the worker may still say what happened.
        if DRIVER_ENDED not in str(error):
            raise
        return bool(poll.poll(max(0.0, until - time.monotonic()) * 1000))
    finally:
        timer.cancel()
        hub.loop.remove_reader(descriptor)
    return bool(poll.poll(0))


@contextmanager
def file_lock(lock: BaseFileLock) -> Iterator[None]:
    """Hold the lock of a file; a cell in flight that waits for it does not hold the others up."""
    if current_flight() is None:
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


def wait_until_alone() -> None:
    """Wait, as a cell in flight, until nothing else is in flight and pytest runs this very item.

    From then on the cell is alone until it ends. Whoever gives it its turn is `Flights`.
    """
    found = current_flight()
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
