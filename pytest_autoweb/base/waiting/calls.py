"""Calls to the browser that are started, and waited for later."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeAlias, TypeVar

import greenlet  # type: ignore[import-untyped]

from pytest_autoweb.base.waiting.hub import flight_of, open_hub, settle, wait_on
from pytest_autoweb.base.waiting.playwright_internals import driver_of

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
