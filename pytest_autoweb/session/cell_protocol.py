"""How pytest runs a cell beside other plugins: no second tries, named timeouts, no loop left."""

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import greenlet  # type: ignore[import-untyped]
import pytest

from pytest_autoweb import waiting
from pytest_autoweb.runs.saving import mark_started
from pytest_autoweb.session.flights import ALONE_KEY, FLIGHTS
from pytest_autoweb.session.items import INTERRUPTED, SESSION, CellItem, close_spare_page

RERUNS = (
    "--reruns is not applied to cells, because a failed first attempt would be lost: each is run "
    "once; use --autoweb-repeat=N, which counts every try"
)
TIMED_OUT = "timed out by pytest-timeout"
# The part of its limit after which a cell is sure to be ended by pytest-timeout.
_NEARLY = 0.97


def reruns_notice(config: pytest.Config) -> str:
    """Return a sentence for the header if pytest-rerunfailures was asked for, else ""."""
    asked = config.getoption("reruns", None) or config.getoption("force_reruns", None)
    if not asked and config.pluginmanager.has_plugin("rerunfailures"):
        asked = str(config.getini("reruns") or "0").strip() not in ("", "0", "None")
    return RERUNS if asked else ""


class CellProtocol:
    """The plugin that runs cells, and tests that use the `autoweb` fixture.

    Args:
        runs_cells: tells such items from the others.
        uses_browser: tells whether an item shares the browser of the cells.
    """

    def __init__(
        self, runs_cells: Callable[[pytest.Item], bool], uses_browser: Callable[[pytest.Item], bool]
    ) -> None:
        self._runs_cells, self._uses_browser = runs_cells, uses_browser
        self._hidden = HiddenLoop()
        self._alarm: threading.Timer | None = None

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> Any:
        """Run cells by pytest's own protocol, before a plugin can run them several times."""
        if not self._runs_cells(item):
            if self._uses_browser(item):
                self._hidden.show()
            return None
        self._hidden.show()
        runner = item.config.pluginmanager.get_plugin("runner")
        assert runner is not None, "pytest always has it"
        ran = runner.pytest_runtest_protocol(item, nextitem)
        if not waiting.is_shared():
            self._hidden.hide()
        return ran

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        """End the cells in flight whose turn does not come any more, and close what is spare."""
        close_spare_page(session.config)
        if flights := session.config.stash.get(FLIGHTS, None):
            interrupted = exitstatus == pytest.ExitCode.INTERRUPTED
            flights.cancel(INTERRUPTED if interrupted else "")
            if (output := getattr(session.config, "workeroutput", None)) is not None:
                output[ALONE_KEY] = dict(flights.alone)

    @pytest.hookimpl(optionalhook=True, tryfirst=True)
    def pytest_timeout_set_timer(self, item: pytest.Item, settings: Any) -> None:
        """Note in time that pytest-timeout will end this process, which leaves no time for it."""
        if settings.method != "thread" or not isinstance(item, CellItem) or not settings.timeout:
            return
        session, folder = item.config.stash[SESSION], item.cell.folder
        why = f"{TIMED_OUT} after {settings.timeout:g} s, which ended the test process"
        self._alarm = threading.Timer(
            settings.timeout * _NEARLY, mark_started, (session.run_folder, folder, why)
        )
        self._alarm.daemon = True
        self._alarm.start()

    @pytest.hookimpl(optionalhook=True, tryfirst=True)
    def pytest_timeout_cancel_timer(self) -> None:
        """Forget the note when the cell ended in time."""
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None


class HiddenLoop:
    """Playwright's event loop while it stands still, hidden from tests with loops of their own.

    Playwright's sync API keeps its loop in a greenlet and leaves it marked as running between its
    calls, so that no other loop can run in this thread. The mark is taken away after a cell, and
    set again as soon as Playwright's greenlet is entered.
    """

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._trace: Any = None

    def hide(self) -> None:
        """Take the mark away, if there is one."""
        loop = asyncio._get_running_loop()
        if loop is None or self._loop is not None:
            return
        home = greenlet.getcurrent()

        def entered(event: str, ends: tuple[greenlet.greenlet, greenlet.greenlet]) -> None:
            if ends[1] is not home:
                self.show()

        self._loop, self._trace = loop, greenlet.settrace(entered)
        asyncio._set_running_loop(None)

    def show(self) -> None:
        """Set the mark again, if it was taken away."""
        if self._loop is None:
            return
        loop, self._loop = self._loop, None
        greenlet.settrace(self._trace)
        if not loop.is_closed():
            asyncio._set_running_loop(loop)
