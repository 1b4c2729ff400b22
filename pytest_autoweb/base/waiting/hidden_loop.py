"""Playwright's event loop hidden from code that runs loops of its own, between Playwright's calls.

Playwright's sync API leaves its loop marked as running between its calls. asyncio then refuses to
run any other loop in this thread, also one of the user's tests, checks and fixtures.
"""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import greenlet  # type: ignore[import-untyped]

from pytest_autoweb.base.waiting.playwright_internals import driver_of
from pytest_autoweb.base.waiting.switches import SWITCHES

_driver: list[Any] = []
"""The greenlet in which Playwright's loop runs, as the last browser that was seen named it."""


def see_driver(browser: object) -> None:
    """Remember where the loop of a browser runs."""
    driver = driver_of(browser)
    _driver[:] = [driver.fiber if driver is not None else None]


class HiddenLoop:
    """The mark of one loop, which is either set (shown) or taken away (hidden).

    While it is hidden, this listens to the switches between greenlets: as soon as Playwright's is
    entered, whose loop then really runs, the mark is set again. Where it is not known which
    greenlet that is, any other than the one that hid the loop counts. `hide` and `show` may be
    called in any order and as often as one likes.
    """

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        """The loop whose mark was taken away; None while it is shown."""
        self._home: Any = None
        """The greenlet in which it was."""

    def hide(self) -> None:
        """Remove the mark, if there is one."""
        loop = asyncio._get_running_loop()
        if loop is None:
            return
        if self._loop is None:
            SWITCHES.add(self._switched)
        # Otherwise another Playwright has left its mark since.
        self._loop, self._home = loop, greenlet.getcurrent()
        asyncio._set_running_loop(None)

    def show(self) -> None:
        """Set the mark again, if it was removed."""
        if self._loop is None:
            return
        loop, self._loop = self._loop, None
        SWITCHES.remove(self._switched)
        if not loop.is_closed():
            asyncio._set_running_loop(loop)

    def _switched(self, _: str, ends: tuple[Any, Any]) -> None:
        # Another Playwright, of the user's own, has a greenlet and a loop of its own.
        if ends[1] in _driver if any(_driver) else ends[1] is not self._home:
            self.show()

    @contextmanager
    def shown(self) -> Iterator[None]:
        """Set the mark again for the block, and remove it afterwards."""
        self.show()
        try:
            yield
        finally:
            self.hide()


_hidden: dict[Any, HiddenLoop] = {}
"""What hides the loop from the user's code that runs in a greenlet."""


@contextmanager
def loop_hidden() -> Iterator[None]:
    """Hide Playwright's loop in the block, so that the user's code can run asyncio loops itself."""
    home, hidden = greenlet.getcurrent(), HiddenLoop()
    outer = _hidden.get(home)
    _hidden[home] = hidden
    hidden.hide()
    try:
        yield
    finally:
        hidden.show()
        if outer is None:
            _hidden.pop(home, None)
        else:
            _hidden[home] = outer


@contextmanager
def loop_hidden_again() -> Iterator[None]:
    """Let the block use Playwright for the user's code, and hide the loop again where it was."""
    hidden, before = _hidden.get(greenlet.getcurrent()), asyncio._get_running_loop()
    try:
        yield
    finally:
        if hidden is not None:
            hidden.hide()
            # The user's code may be within a loop of its own.
            asyncio._set_running_loop(before)
