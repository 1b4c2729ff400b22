"""The pause after a failed attempt, in which a person looks at the page that it left."""

import select
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from pytest_autoweb.report.wording import one_line
from pytest_autoweb.results import Attempt

if TYPE_CHECKING:
    from playwright.sync_api import Page

_POLL_MS = 200.0


def pause_of(config: pytest.Config) -> "Callable[[Attempt, Page], None]":
    """Return the function that waits, with the page open, until a person presses Enter.

    pytest's capture is off meanwhile, as it is for its debugger. Where nobody can press a key,
    because standard input is closed, the run goes on at once.
    """
    capture = config.pluginmanager.getplugin("capturemanager")

    def pause(attempt: Attempt, page: "Page") -> None:
        capture.suspend(in_=True)
        try:
            print(f"\n\n{_why(attempt, page)}\nPress Enter to go on.", flush=True)
            while not select.select([sys.stdin], [], [], 0)[0]:
                # The page answers only while Playwright's loop runs.
                page.wait_for_timeout(_POLL_MS)
            sys.stdin.readline()
        finally:
            capture.resume()

    return pause


def _why(attempt: Attempt, page: "Page") -> str:
    if (failure := attempt.failure) is None:
        return f"Paused at {one_line(page.url, 200)}: no check could be evaluated"
    line = f" (line {failure.line})" if failure.line else ""
    return f"Paused at {one_line(page.url, 200)}{line}\n{one_line(failure.message, 500)}"


def refuse_with_others(config: pytest.Config, concurrency: int) -> None:
    """Refuse to pause where other cells would run meanwhile.

    Raises:
        pytest.UsageError: there are xdist workers, or cells in flight.
    """
    if config.getoption("numprocesses", None):
        raise pytest.UsageError("--autoweb-pause needs the terminal for itself: leave -n out")
    if concurrency > 1:
        raise pytest.UsageError(
            "--autoweb-pause needs cells one after another: leave --autoweb-concurrency out"
        )
