"""A browser that is started before anything asks for it, while the modules that run cells load.

Nobody waits for it until it is needed. The module is also a plugin: its fixture hands the browser
out, if the session would have started one in just this way; otherwise it is closed.
"""

from collections.abc import Callable
from contextlib import suppress
from typing import Any, NamedTuple

import pytest
from playwright.sync_api import Browser, BrowserType, Error

from pytest_autoweb.base import waiting
from pytest_autoweb.session.driver_ahead import hide_loop, start_driver


class Launch(NamedTuple):
    """How a browser is started."""

    kind: str
    """`chromium`, or another of Playwright's kinds."""
    args: dict[str, Any]
    """What Playwright's `launch` is given."""


class _Ahead:
    """What was started ahead in this process, for its fixture.

    Attributes:
        started: waits for the browser that nobody has asked for yet, and returns it.
        launch: how it was started.
        note: is told how each browser of the session is started.
    """

    started: Callable[[], Browser] | None = None
    launch: Launch | None = None
    note: Callable[[Launch], None] | None = None


_AHEAD = _Ahead()


def start_browser(launch: Launch) -> None:
    """Begin to start a browser for the fixture to hand out.

    If it does not start, whoever needs one says so.

    Raises:
        Exception: Playwright's driver does not start.
    """
    driver = start_driver()
    kind: BrowserType = getattr(driver, launch.kind)
    # Where it cannot be begun without waiting, its failure is known here.
    with suppress(Error):
        _AHEAD.started = waiting.start_call(driver, lambda: kind.launch(**launch.args))
        _AHEAD.launch = launch
    hide_loop()


def note_launches(note: Callable[[Launch], None]) -> None:
    """Tell a function how each browser of this process is started, or would have been."""
    _AHEAD.note = note


def is_started() -> bool:
    """Tell whether there is a browser that nobody has asked for yet."""
    return _AHEAD.started is not None


def forget_browser() -> None:
    """Forget the browser, which ends with its driver."""
    _AHEAD.started = None


def _taken() -> Browser | None:
    """Return the browser once it runs; None if there is none, or it did not start."""
    started, _AHEAD.started = _AHEAD.started, None
    # The driver may have been started anew since; its loop is closed then.
    with suppress(Error, RuntimeError):
        return started() if started else None
    return None


@pytest.fixture(scope="session")
def launch_browser(
    launch_browser: Callable[..., Browser],
    browser_type: BrowserType,
    browser_type_launch_args: dict[str, Any],
    connect_options: dict[str, Any] | None,
) -> Callable[..., Browser]:
    """Hand out the browser that is running already, once, if it was started in the same way."""
    if connect_options:
        return launch_browser

    def launch(**more: Any) -> Browser:
        wanted = Launch(browser_type.name, {**browser_type_launch_args, **more})
        if _AHEAD.note:
            _AHEAD.note(wanted)
        if (ready := _taken()) is not None:
            same = _AHEAD.launch == wanted and ready.browser_type is browser_type
            if same and ready.is_connected():
                return ready
            with suppress(Error):
                ready.close()
        return launch_browser(**more)

    return launch
