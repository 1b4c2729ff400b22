"""Browser calls that are triggered by an event but must not block its other handlers."""

import asyncio
from collections.abc import Callable

import greenlet  # type: ignore[import-untyped]


def run_after_event(work: Callable[[], None]) -> None:
    """Do blocking work as soon as every handler of the current event has run.

    A handler that waits for the browser suspends the handlers after it, such as the one of
    `expect_download` in the code under test. So the work gets a greenlet of its own, which
    Playwright's event loop starts. The work must not raise, because nothing could catch the error.
    """
    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:
        work()
        return
    loop.call_soon(lambda: greenlet.greenlet(work).switch())
