"""Playwright's driver, started before the first test with a page asks for it.

The module is also a plugin: its fixture hands out the driver that is running already. Until then
the driver's event loop is hidden, because tests that come first may run loops of their own.
"""

import os
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager

import pytest
from playwright.sync_api import Playwright, sync_playwright

from pytest_autoweb.base.cache_folder import cache_folder
from pytest_autoweb.base.waiting.hidden_loop import HiddenLoop, see_driver

_OF_NO_CONCERN = ("PYTEST_", "AUTOWEB_", "_AUTOWEB_")
"""How the names of variables begin that neither the driver nor a browser looks at."""

_COMPILED = "NODE_COMPILE_CACHE"
"""The folder in which Node keeps what it has compiled, for the next process that loads the same."""


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
        with _compiled_once():
            _AHEAD.driver, _AHEAD.environ = sync_playwright().start(), environ
        see_driver(_AHEAD.driver)
    _AHEAD.loop.show()
    return _AHEAD.driver


@contextmanager
def _compiled_once() -> Iterator[None]:
    """Let the driver keep what it compiles of itself: a third of the time that it takes to start.

    Other programs of Node, like the user's web servers, are left to the user.
    """
    if _COMPILED in os.environ:
        yield
        return
    os.environ[_COMPILED] = str(cache_folder("driver"))
    try:
        yield
    finally:
        del os.environ[_COMPILED]


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
