"""Playwright's driver, started before the first test with a page asks for it.

The module is also a plugin: its fixture hands out the driver that is running already. Until then
the driver's event loop is hidden, because tests that come first may run loops of their own.
"""

import os
from collections.abc import Generator, Mapping

import pytest
from playwright.sync_api import Playwright, sync_playwright

from pytest_autoweb.base.cache_folder import cache_folder
from pytest_autoweb.base.waiting.hidden_loop import HiddenLoop, see_driver

_OF_NO_CONCERN = ("PYTEST_", "AUTOWEB_", "_AUTOWEB_")
"""How the names of variables begin that neither the driver nor a browser looks at."""
_YOUNG_MB = 4
"""Each of the three parts in which Node keeps young objects; V8's own limit is 16."""


class _Ahead:
    """The driver of this process, which has at most one.

    Attributes:
        driver: it, while it is running.
        environ: the environment variables that it and its browsers were started with.
        loop: hides its event loop.
    """

    driver: Playwright | None = None
    environ: Mapping[str, str] = {}
    loop = HiddenLoop()


_AHEAD = _Ahead()


def _for_node(environ: Mapping[str, str]) -> dict[str, str]:
    """Return variables by which the driver starts in two thirds of the time, and takes less memory.

    Node keeps what it has compiled of the driver, for the next one. And a driver of many pages
    would let 48 MB of messages that it has passed on lie about before it looks for garbage.
    """
    options = environ.get("NODE_OPTIONS", "")
    return {
        "NODE_COMPILE_CACHE": environ.get("NODE_COMPILE_CACHE") or str(cache_folder("driver")),
        # The last one counts, so the user's own comes last.
        "NODE_OPTIONS": f"--max-semi-space-size={_YOUNG_MB} {options}".rstrip(),
    }


def start_driver() -> Playwright:
    """Return the driver with its event loop shown.

    It is started unless it is running with the environment variables as they are now: a session's
    fixture or hook may have set some for it.

    Raises:
        Exception: Playwright's driver does not start.
    """
    environ = {k: v for k, v in os.environ.items() if not k.startswith(_OF_NO_CONCERN)}
    if environ != _AHEAD.environ:
        stop_driver()
    if _AHEAD.driver is None:
        # Other programs of Node, like the user's web servers, are left to the user.
        with pytest.MonkeyPatch.context() as only_here:
            for name, value in _for_node(os.environ).items():
                only_here.setenv(name, value)
            _AHEAD.driver, _AHEAD.environ = sync_playwright().start(), environ
        see_driver(_AHEAD.driver)
    _AHEAD.loop.show()
    return _AHEAD.driver


def hide_loop() -> None:
    """Hide the driver's event loop until `start_driver` is asked for it again."""
    _AHEAD.loop.hide()


def stop_driver() -> None:
    """Stop the driver, if it is running."""
    driver, _AHEAD.driver = _AHEAD.driver, None
    if driver is not None:
        _AHEAD.loop.show()
        driver.stop()


@pytest.fixture(scope="session")
def playwright() -> Generator[Playwright, None, None]:
    """Return the driver that is running already."""
    yield start_driver()
    stop_driver()
