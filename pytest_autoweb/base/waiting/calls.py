"""Calls to the browser: started and waited for later, or ended when they take too long."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeAlias, TypeVar

import greenlet  # type: ignore[import-untyped]

from pytest_autoweb.base.waiting.hub import flight_of, open_hub, settle, wait_on
from pytest_autoweb.base.waiting.own_time import OwnTimer, time_of_others
from pytest_autoweb.base.waiting.playwright_internals import Driver, driver_of

T = TypeVar("T")

Ended: TypeAlias = tuple[Any, BaseException | None]
"""What a call returned, or raised."""


def ended_call(call: Callable[[], Any]) -> Ended:
    """Make a call, and return what became of it."""
    try:
        return call(), None
    except BaseException as error:
        return None, error


def returned_or_raised(ended: Ended) -> Any:
    """Return what a call returned, or raise what it raised."""
    value, problem = ended
    if problem is not None:
        raise problem
    return value


def run_later(browser: object, seconds: float, run: Callable[[], None]) -> None:
    """Run a function after a while, beside whoever waits for this browser then.

    It runs on the loop of Playwright's sync API, in a greenlet of its own, and continues only while
    somebody calls the browser. Where that loop cannot be found it never runs.
    """
    if (driver := driver_of(browser)) is not None:
        fiber = greenlet.greenlet(run, parent=driver.fiber)
        driver.loop.call_later(seconds, fiber.switch)


def start_call(owner: object, call: Callable[[], T]) -> Callable[[], T]:
    """Start a call to the browser, and return a function that waits for its end.

    The function returns what the call returns, or raises what it raises; whoever starts a call also
    waits for it, since even an interruption (Ctrl-C) may be what it raises. In the meantime the
    caller may make other calls, which the browser gets after this one. It counts as the caller's
    work.

    Args:
        owner: what is called, such as a page; the call is made at once where nothing of
            Playwright's answers it beside others.
        call: makes the call, in a greenlet of its own.
    """
    driver, hub = driver_of(owner), open_hub()
    if driver is None:
        value = call()
        return lambda: value
    if driver.ended:
        return call
    loop, parent = driver
    future: asyncio.Future[Ended] = loop.create_future()

    def run() -> None:
        ended = ended_call(call)
        # The loop may have ended in the meantime, with nobody left to tell.
        with suppress(RuntimeError):
            settle(future, ended)
            if hub is not None:
                # Later, since its last moments are the cell's own time as well.
                loop.call_soon(hub.flights.pop, fiber, None)

    fiber = greenlet.greenlet(run, parent=parent)
    if hub is not None and (flight := flight_of(greenlet.getcurrent())) is not None:
        hub.flights[fiber] = flight
    begun: asyncio.Future[None] = loop.create_future()
    loop.call_soon(fiber.switch)
    loop.call_soon(settle, begun, None)
    # Whoever waits for the end is told if the driver has ended.
    with suppress(Exception):
        wait_on(loop, parent, begun)
    return lambda: returned_or_raised(wait_on(loop, parent, future))


class CallEnded(BaseException):
    """Thrown into a call that exceeded its limit; not an `Exception`, so nothing swallows it."""


class _Limit:
    """The limit of one call, from its beginning until `close`.

    A timer on the loop is the only thing that can end a call. Neither a thread nor a trace function
    can interrupt one that waits for the browser; a signal can, but does not exist on Windows. When
    the timer rings, the limit moves by what does not count, else the browser is told to stop, and
    is given some time for that, else the call is ended.
    """

    def __init__(
        self,
        driver: Driver,
        seconds: float,
        not_counted: Callable[[], float],
        stop: Callable[[], float] | None,
    ) -> None:
        self.stopped = False
        self._over = False
        self._loop, self._stop = driver.loop, stop
        self._caller, self._others = greenlet.getcurrent(), time_of_others()
        self._not_counted, self._moved = not_counted, not_counted()
        self._set(seconds, self._ring)

    def _set(self, seconds: float, call: Callable[[], object]) -> None:
        self._timer = OwnTimer(self._loop, seconds, self._others, call)

    def _ring(self) -> None:
        if self._over:
            return
        if (more := self._not_counted() - self._moved) > 0:
            self._moved += more
            self._set(more, self._ring)
        elif self._stop is None:
            self._end()
        else:
            self.stopped = True
            self._set(self._stop(), self._end)

    def _end(self) -> None:
        if not self._over:
            self._caller.throw(CallEnded())

    def close(self) -> None:
        """End nothing any more."""
        self._over = True
        self._timer.cancel()


def bounded_call(
    owner: object,
    seconds: float,
    call: Callable[[], T],
    *,
    not_counted: Callable[[], float] = lambda: 0.0,
    stop: Callable[[], float] | None = None,
) -> T:
    """Make a call to the browser that has no timeout of its own, such as `evaluate`.

    Where Playwright's loop cannot be found, it takes as long as it takes.

    Args:
        owner: what is called, such as a page.
        seconds: how long the call may take, in the cell's own time.
        call: makes the call.
        not_counted: returns the seconds spent so far on what does not count, such as model calls.
        stop: asks the browser to stop, and returns how many seconds it gets for that.

    Raises:
        CallEnded: the call was ended, or failed after it was stopped.
    """
    driver = driver_of(owner)
    if driver is None or driver.loop.is_closed():
        return call()
    limit = _Limit(driver, seconds, not_counted, stop)
    try:
        return call()
    except Exception:
        if limit.stopped:
            raise CallEnded from None
        raise
    finally:
        limit.close()
