"""Playwright's driver, started before the first test with a page asks for it.

The module is also a plugin: its fixture hands out the driver that is running already. Until then
the driver's event loop is hidden, because tests that come first may run loops of their own.
"""

from collections.abc import Generator, Iterator
from contextlib import contextmanager

import pytest
from playwright.sync_api import Playwright, sync_playwright

from pytest_autoweb.base.waiting.hidden_loop import HiddenLoop, see_driver


class _Ahead:
    """The driver of this process, which has at most one.

    Attributes:
        driver: it, while it is running.
        loop: hides its event loop.
    """

    driver: Playwright | None = None
    loop: HiddenLoop


_AHEAD = _Ahead()


@contextmanager
def started_driver() -> Iterator[Playwright]:
    """Start the driver, unless it is running, and hide its event loop after the block.

    Raises:
        Exception: Playwright's driver does not start.
    """
    if _AHEAD.driver is None:
        _AHEAD.loop = HiddenLoop()
        _AHEAD.driver = sync_playwright().start()
        see_driver(_AHEAD.driver)
    else:
        _AHEAD.loop.show()
    try:
        yield _AHEAD.driver
    finally:
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
    with started_driver() as driver:
        pass
    _AHEAD.loop.show()
    yield driver
    stop_driver()
