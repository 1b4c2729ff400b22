"""Asks the browser something from within an event, without holding the event up."""

import asyncio
from collections.abc import Callable

import greenlet  # type: ignore[import-untyped]


def aside(work: Callable[[], None]) -> None:
    """Do work that waits for the browser as soon as the event has been handled by everyone.

    A handler that waits suspends the handlers after it, such as that of `expect_download` in the
    code under test. So the work gets a greenlet of its own, started by Playwright's event loop.
    What it raises is not for anyone to catch: it must not raise.
    """
    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:
        work()
        return
    loop.call_soon(lambda: greenlet.greenlet(work).switch())
