"""Cells alongside other plugins: no reruns, named timeouts, no loop left over."""

import threading
from collections.abc import Callable, Generator
from typing import Any

import pytest

from pytest_autoweb.base.errors import first_line
from pytest_autoweb.base.waiting.hidden_loop import HiddenLoop
from pytest_autoweb.base.waiting.playwright_internals import watch_driver
from pytest_autoweb.results.runs.saving import mark_started
from pytest_autoweb.session.cell_run import HIDDEN
from pytest_autoweb.session.cells_again import AgainItem, run_again
from pytest_autoweb.session.fixture_failures import note_failure
from pytest_autoweb.session.flights.flights import ALONE_KEY, FLIGHTS
from pytest_autoweb.session.flights.prefetched_page import close_prefetched_page
from pytest_autoweb.session.guarded_run import INTERRUPTED
from pytest_autoweb.session.items import CellItem
from pytest_autoweb.session.run_session import SESSION
from pytest_autoweb.session.single_runs import note_mark

RERUNS = (
    "--reruns is not applied to cells, because a failed first attempt would be lost: each is run "
    "once; use --autoweb-repeat=N, which counts every try"
)
COUNT = "--count has no effect on cells: use --autoweb-repeat=N, which counts every try"
TIMED_OUT = "timed out by pytest-timeout"
# The share of its limit after which pytest-timeout is certain to end a cell.
_NEARLY = 0.97


def reruns_notice(config: pytest.Config) -> str:
    """Return a sentence for the header if pytest-rerunfailures is in use, else ""."""
    asked = config.getoption("reruns", None) or config.getoption("force_reruns", None)
    if not asked and config.pluginmanager.has_plugin("rerunfailures"):
        asked = str(config.getini("reruns") or "0").strip() not in ("", "0", "None")
    return RERUNS if asked else ""


def count_notice(config: pytest.Config) -> str:
    """Return a sentence for the header if pytest-repeat is to repeat tests, else ""."""
    return COUNT if has_plugin(config, "pytest_repeat") and config.getoption("count", 1) > 1 else ""


def has_plugin(config: pytest.Config, module: str) -> bool:
    """Tell whether a plugin's module is at work in this session, under whatever name."""
    plugins = config.pluginmanager.get_plugins()
    return any(getattr(plugin, "__name__", "") == module for plugin in plugins)


def _asks_for_reruns(item: pytest.Item) -> bool:
    """Tell whether a mark or a flag of flaky's has an item run again where it failed."""
    marked = item.get_closest_marker("flaky") is not None
    return marked or bool(item.config.getoption("force_flaky", None))


class CellProtocol:
    """The plugin that runs cells, and tests that use the `autoweb` fixture.

    Args:
        config: that of the session.
        runs_cells: tells whether an item is one of these.
        uses_browser: tells whether an item shares the browser of the cells.
    """

    def __init__(
        self,
        config: pytest.Config,
        runs_cells: Callable[[pytest.Item], bool],
        uses_browser: Callable[[pytest.Item], bool],
    ) -> None:
        watch_driver()
        self._runs_cells, self._uses_browser = runs_cells, uses_browser
        self._hidden = config.stash.setdefault(HIDDEN, HiddenLoop())
        self._shows = False
        self._alarm: threading.Timer | None = None

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> Any:
        """Run cells by pytest's own protocol, before another plugin can rerun them."""
        self._shows = self._uses_browser(item)
        if self._shows:
            self._hidden.show()
        if not self._runs_cells(item):
            return None
        if isinstance(item, AgainItem):
            run_again(item, nextitem)
            self._shows = False
            self._hidden.hide()
            return True
        runner = item.config.pluginmanager.get_plugin("runner")
        assert runner is not None, "pytest always has it"
        ran = runner.pytest_runtest_protocol(item, nextitem)
        if isinstance(item, CellItem) and _asks_for_reruns(item):
            note_mark(item.config, item.config.stash[SESSION], item.cell)
        return ran

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logfinish(self) -> None:
        """Hide Playwright's loop from whatever comes after a test that used it."""
        self._shows = False
        self._hidden.hide()

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_fixture_setup(self) -> Generator[None, Any, Any]:
        """Hide Playwright's loop again when a fixture has used it."""
        try:
            return (yield)
        finally:
            self._hide_between()

    @pytest.hookimpl(tryfirst=True)
    def pytest_fixture_post_finalizer(self) -> None:
        """Hide Playwright's loop again when the end of a fixture has used it."""
        self._hide_between()

    def _hide_between(self) -> None:
        # A test with a page of its own makes calls that need the mark.
        if not self._shows:
            self._hidden.hide()

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Keep in the run folder what others did to a cell, before the test is reported."""
        if isinstance(item, CellItem) and call.excinfo is not None:
            try:
                note_failure(item, call.when, call.excinfo.value)
            except OSError as error:
                why = f"the cell could not be saved: {first_line(error)}"
                item.add_report_section(call.when, "autoweb", why)
        return (yield)

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        """End the cells in flight whose turn will not come, and close the prefetched page."""
        with self._hidden.shown():
            self._end_flights(session, exitstatus)

    def pytest_unconfigure(self) -> None:
        """Restore Playwright's loop for a program that called pytest as a function."""
        self._hidden.show()

    def _end_flights(self, session: pytest.Session, exitstatus: int) -> None:
        close_prefetched_page(session.config)
        if flights := session.config.stash.get(FLIGHTS, None):
            interrupted = exitstatus == pytest.ExitCode.INTERRUPTED
            flights.cancel(INTERRUPTED if interrupted else "")
            if (output := getattr(session.config, "workeroutput", None)) is not None:
                output[ALONE_KEY] = dict(flights.alone)

    @pytest.hookimpl(optionalhook=True, tryfirst=True)
    def pytest_timeout_set_timer(self, item: pytest.Item, settings: Any) -> None:
        """Note in advance that pytest-timeout will end this process, as it leaves no time then."""
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
