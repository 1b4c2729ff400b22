"""A thread that ends a browser which blocks this process or takes too much memory.

Playwright's calls wait in this process until its driver answers. A driver or browser that never
does would hold the test process for ever, so the thread measures how long a call has been waiting
and ends both processes when that is too long; the call then fails at once.
"""

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import greenlet  # type: ignore[import-untyped]
import psutil
from playwright.sync_api import Browser, BrowserContext, CDPSession, Frame, Page, TimeoutError

from pytest_autoweb.base import waiting
from pytest_autoweb.base.waiting.calls import CallEnded, bounded_call
from pytest_autoweb.base.waiting.playwright_internals import (
    can_share_loop,
    driver_of,
    is_connection_closed,
)

CALL_S = 45.0
"""Limit on one call of this package to the browser; longer than the longest timeout it asks for."""
LEAST_S = 20.0
"""Limit on a call when the time of the cell is over; longer than what a look at a page may take."""
LOST_S = 8.0
"""Limit on a call once the page has stopped answering."""
MEMORY_MB = 3_000
"""Memory at which a browser is ended, with its driver and all its processes."""
KEEP_MB = 1_000
"""Memory above which a browser is replaced before the next cell."""

EACH_MB = 100
"""What is added to both for each further cell in flight."""

_LOOK_S = 0.25
_MEMORY_EVERY_S = 1.0
_BUSY_S = 0.4
# The share of a processor from which a process counts as busy: on a loaded machine even one that
# never rests gets no more, and now and then less, so it is looked at more than once.
_SHARE = 0.1
_BUSY_LOOKS = 3
# The subcommand with which Playwright starts its driver.
_DRIVER = "run-driver"
_RENDERER = "--type=renderer"


class Process(NamedTuple):
    """A process below this one."""

    pid: int
    parent: int
    megabytes: float
    command: str


class _Caller:
    """What is known of one cell that calls the browser.

    Attributes:
        call_s: returns the seconds that a call may wait now.
        most: the same, once a page has stopped answering.
        page_ended: whether a page that had stopped answering was ended on purpose.
        since: when the present call began, in the cell's own time; None between calls.
        crash: ends the process of the page alone, where that is known.
    """

    def __init__(self) -> None:
        self.call_s: Callable[[], float] = lambda: CALL_S
        self.most = float("inf")
        self.page_ended = False
        self.since: float | None = None
        self.crash: Callable[[], None] | None = None
        self.others = waiting.time_of_others()

    def now(self) -> float:
        return time.monotonic() - self.others()

    def called_s(self) -> float:
        """Return for how long the present call has been waiting."""
        since = self.since
        return 0.0 if since is None else self.now() - since


class BrowserWatch:
    """The watch of one process over the browser of its cells; use `WATCH`.

    Each cell is watched in its greenlet while it is in `on`. A call of Playwright leaves that
    greenlet until it is answered, so each switch away from it begins a call (`since`), and each
    switch back ends it. A thread looks at all callers several times a second. It does nothing but
    read what the cells have set and end processes; the cell then notices that its call fails.

    What happens to a call that waits too long, step by step:

    1. The process that shows the page is ended, if it is known or found (`end_page`). The call
       fails, the cell goes on with what it has, and `page_ended` says why.
    2. If it still waits `LOST_S` later, or nothing could be ended, all of the browser is ended with
       its driver (`end`). `reason` then says why, until the next cell begins.

    Each cell has limits of its own: `within` for what is left of its time, `limit` for single
    calls, `trust` for a page that has stopped answering. What is not asked by a cell (by a handler
    of a page's event) counts for the only cell, and with several in flight for none.

    Attributes:
        reason: why the browser was ended, or "" while it lives.
    """

    def __init__(self) -> None:
        self.reason = ""
        self._callers: dict[Any, _Caller] = {}
        self._last = _Caller()
        self._thread: threading.Thread | None = None
        self._over = threading.Event()

    @contextmanager
    def on(self) -> Iterator[None]:
        """Watch the browser during one cell, in the thread that owns it."""
        # A call of Playwright's sync API leaves the greenlet of its caller while it waits, so the
        # time between leaving that greenlet and coming back to it is the time of one call.
        home = greenlet.getcurrent()
        if not self._callers:
            self.reason = ""
            waiting.SWITCHES.add(self._switched)
            self._over.clear()
            self._thread = threading.Thread(target=self._look, name="autoweb-watch", daemon=True)
            self._thread.start()
        self._callers[home] = _Caller()
        try:
            yield
        finally:
            self._last = self._callers.pop(home)
            if not self._callers and self._thread is not None:
                self._over.set()
                waiting.SWITCHES.remove(self._switched)
                self._thread.join()

    def _switched(self, event: str, ends: tuple[Any, Any]) -> None:
        # While the caller waits, events of the page are handled in other greenlets.
        if caller := self._callers.get(ends[1]):
            caller.since = None
        if caller := self._callers.get(ends[0]):
            flight = waiting.flight_of(ends[0])
            # A cell in flight that waits for something else does not wait for the browser.
            caller.since = None if flight and flight.elsewhere else caller.now()

    @property
    def _caller(self) -> _Caller:
        if found := self._callers.get(greenlet.getcurrent()):
            return found
        if len(self._callers) > 1:
            return _Caller()
        return next(iter(self._callers.values()), self._last)

    @property
    def page_ended(self) -> bool:
        """Tell whether a page that had stopped answering was ended on purpose."""
        return self._caller.page_ended

    @contextmanager
    def limit(self, seconds: float) -> Iterator[None]:
        """Give the calls in the block another time limit than `CALL_S`."""
        caller = self._caller
        before = caller.call_s, caller.most
        # The caller knows how long this call may take, also on a page that has stopped answering.
        caller.call_s, caller.most = lambda: seconds, float("inf")
        try:
            yield
        finally:
            caller.call_s, caller.most = before

    @contextmanager
    def within(self, left: Callable[[], float]) -> Iterator[None]:
        """Let calls wait no longer than a cell has left, but at least `LEAST_S`.

        Args:
            left: returns the seconds that the cell may still take.
        """
        caller = self._caller
        before = caller.call_s
        caller.call_s = lambda: min(CALL_S, max(LEAST_S, left()))
        try:
            yield
        finally:
            caller.call_s = before

    def trust(self, *, again: bool) -> None:
        """Note that a page stopped answering, or that another one is open by now.

        Whatever asks a page that does not answer is not worth waiting for.
        """
        caller = self._caller
        caller.most = float("inf") if again else LOST_S
        caller.page_ended = caller.page_ended and not again

    def know(self, crash: Callable[[], None]) -> None:
        """Learn how to end the process of the caller's page without any other's."""
        self._caller.crash = crash

    def end_page(self) -> bool:
        """End the processes that show pages and never rest, after which calls to them fail at once.

        Idle pages in the same browser live on. With several cells in flight only the caller's page
        is ended, if it is known how.

        Returns:
            Whether there was such a process.
        """
        return self._end_page(self._caller)

    def _end_page(self, caller: _Caller) -> bool:
        shown = [process.pid for process in browser_processes() if _RENDERER in process.command]
        # A browser elsewhere has no process here by which its page could be found.
        if caller.crash is not None and (len(self._callers) > 1 or not shown):
            # Only once: where it did not help, the process must be found by what it does.
            crash, caller.crash = caller.crash, None
            crash()
            caller.page_ended = True
            return True
        busy = _busy_among(shown)
        caller.page_ended = caller.page_ended or bool(busy)
        for pid in busy:
            _kill(pid)
        return bool(busy)

    def end(self, reason: str) -> None:
        """End the browser and its driver; the call that waits for them fails."""
        found = browser_processes()
        if not found:
            return
        self.reason = self.reason or reason
        for process in found:
            _kill(process.pid)

    def _look(self) -> None:
        weighed = time.monotonic()
        while not self._over.wait(_LOOK_S):
            callers, now = list(self._callers.values()), time.monotonic()
            for caller in callers:
                most = min(caller.call_s(), caller.most)
                if caller.called_s() > most:
                    if caller.page_ended or not self._end_page(caller):
                        self.end(f"a call to the browser did not come back within {most:.3g} s")
                    # Now the call should fail; it has some more time to do so. If only the page
                    # hung, the browser is left alone and the attempt is not repeated, as the page
                    # would hang again.
                    caller.most = min(caller.most, LOST_S)
                    caller.since = caller.now()
            if now - weighed >= _MEMORY_EVERY_S:
                weighed = now
                if megabytes_of(browser_processes()) > MEMORY_MB + EACH_MB * (len(callers) - 1):
                    self.end(f"the browser used more than {MEMORY_MB:,} MB of memory")


WATCH = BrowserWatch()
"""The watch of this process."""


T = TypeVar("T")


def call_within(
    owner: Page | Frame,
    milliseconds: float,
    call: Callable[[], T],
    *,
    limit_ms: float | None = None,
) -> T:
    """Make a call to the browser that has no timeout of its own, such as `evaluate`.

    Args:
        owner: the page or frame that is called.
        milliseconds: how long the call may take, in the cell's own time.
        call: makes the call.
        limit_ms: the limit that the error names, where that is the rest of it.

    Raises:
        TimeoutError: Playwright's, when the time is over; the browser may still be busy with it.
    """
    try:
        return bounded_call(owner, milliseconds / 1000, call)
    except CallEnded:
        told = milliseconds if limit_ms is None else limit_ms
        raise TimeoutError(f"Timeout {told:.0f}ms exceeded.") from None


_ATTACH_MS = 5_000.0
_DEBUGGED: dict[Page, CDPSession] = {}


def debugging_session(page: Page) -> CDPSession | None:
    """Return the session of Chromium's debugging protocol that this process has with a page.

    It is opened when it is first asked for, and ends with the page.

    Returns:
        None for a page of another browser, and for one that is closed or does not answer.
    """
    browser = page.context.browser
    chromium = browser is not None and browser.browser_type.name == "chromium"
    if page in _DEBUGGED or page.is_closed() or not chromium:
        return _DEBUGGED.get(page)
    # No page is to live for ever because of this, and those of a driver that was killed never say
    # that they are closed.
    for known in [one for one in _DEBUGGED if _is_gone(one)]:
        forget_session(known)
    with suppress(Exception):
        opened = call_within(page, _ATTACH_MS, lambda: page.context.new_cdp_session(page))
        page.once("close", forget_session)
        _DEBUGGED[page] = opened
    return _DEBUGGED.get(page)


def forget_session(page: Page) -> None:
    """Forget the session with a page that is closed, or where the session does not answer."""
    _DEBUGGED.pop(page, None)


def _is_gone(page: Page) -> bool:
    browser = page.context.browser
    return page.is_closed() or browser is None or is_lost(browser) or driver_ended(browser)


def _busy_among(pids: list[int]) -> list[int]:
    """Return the processes that never rest."""
    busy: list[int] = []
    for _ in range(_BUSY_LOOKS):
        before = {pid: _worked_s(pid) for pid in pids}
        waiting.sleep(_BUSY_S)
        busy = [pid for pid in pids if _worked_s(pid) - before[pid] > _BUSY_S * _SHARE]
        if busy:
            break
    return busy


def _worked_s(pid: int) -> float:
    """Return the processor time of a process, or zero where that cannot be read."""
    if sys.platform != "linux":
        try:
            spent = psutil.Process(pid).cpu_times()
        except psutil.Error:
            return 0.0
        return float(spent.user + spent.system)
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / float(os.sysconf("SC_CLK_TCK"))
    except (OSError, ValueError, IndexError):
        return 0.0


def driver_ended(owner: Browser | BrowserContext) -> bool:
    """Tell whether Playwright's driver is gone; its browsers go on saying that they are connected.

    The greenlet in which Playwright talks to its driver ends with the driver. Even to remove a
    listener fails from then on.
    """
    if (driver := driver_of(owner)) is not None:
        return bool(driver.fiber.dead)
    # Where the greenlet cannot be found, the processes tell, which takes a few milliseconds.
    return not can_share_loop() and not browser_processes()


def is_lost(browser: Browser) -> bool:
    """Tell whether the browser is gone, or the connection to one that runs elsewhere.

    Playwright learns of the latter only while its loop runs, which no call on a closed connection
    waits for.
    """
    return not browser.is_connected() or is_connection_closed(browser)


def megabytes_of(processes: list[Process]) -> float:
    """Return the memory of processes together; what they share with files does not count."""
    return sum(process.megabytes for process in processes)


def browser_processes() -> list[Process]:
    """Return Playwright's drivers of this process and everything below them.

    Where the browser runs elsewhere, nothing but the driver is found.
    """
    mine = os.getpid()
    below = {process.pid: process for process in _processes_below(mine)}
    drivers = {p.pid for p in below.values() if p.parent == mine and _DRIVER in p.command}

    def is_ours(process: Process) -> bool:
        seen = process
        while seen.pid not in drivers:
            parent = below.get(seen.parent)
            if parent is None or parent.pid == seen.pid:
                return False
            seen = parent
        return True

    return [process for process in below.values() if is_ours(process)] if drivers else []


def _processes_below(top: int) -> Iterator[Process]:
    """Yield the processes below one, and perhaps others."""
    if sys.platform == "linux":
        # Of most processes of a machine, only the parent is read.
        children: dict[int, list[int]] = {}
        for name in (one.name for one in Path("/proc").glob("[0-9]*")):
            # A process may end while it is looked at.
            with suppress(OSError, ValueError, IndexError):
                told = Path(f"/proc/{name}/stat").read_bytes().rpartition(b")")[2]
                children.setdefault(int(told.split()[1]), []).append(int(name))
        pending = [*children.get(top, ())]
        while pending:
            pid = pending.pop()
            pending += children.get(pid, ())
            with suppress(OSError, ValueError):
                yield _read(Path(f"/proc/{pid}"))
    else:
        for process in psutil.Process(top).children(recursive=True):
            with suppress(psutil.Error), process.oneshot():
                memory = process.memory_info()
                # Windows tells which memory is shared with nobody.
                megabytes = getattr(memory, "private", memory.rss) / 1024 / 1024
                command = " ".join(process.cmdline())
                yield Process(process.pid, process.ppid(), megabytes, command)


def _read(folder: Path) -> Process:
    parent, kilobytes = 0, 0
    for line in (folder / "status").read_text(encoding="utf-8", errors="replace").splitlines():
        name, _, value = line.partition(":")
        if name == "PPid":
            parent = int(value)
        elif name in {"RssAnon", "RssShmem"}:
            kilobytes += int(value.split()[0])
    command = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    return Process(int(folder.name), parent, kilobytes / 1024, command)


def _kill(pid: int) -> None:
    with suppress(psutil.Error):
        psutil.Process(pid).kill()
