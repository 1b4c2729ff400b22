"""A thread that ends a browser which blocks this process or takes too much memory.

Playwright's calls wait in this process until its driver answers. A driver or browser that never
does would hold the test process for ever, so the thread measures how long a call has been waiting
and ends both processes when that is too long; the call then fails at once.
"""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import greenlet  # type: ignore[import-untyped]
from playwright.sync_api import Browser, Frame, Page, TimeoutError

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

_LOOK_S = 0.25
_MEMORY_EVERY_S = 1.0
_BUSY_S = 0.4
# The share of a processor from which a process counts as busy: on a loaded machine even one that
# never rests gets no more.
_SHARE = 0.1
# The subcommand with which Playwright starts its driver.
_DRIVER = "run-driver"
_RENDERER = "--type=renderer"


class Process(NamedTuple):
    """A process below this one."""

    pid: int
    parent: int
    megabytes: float
    command: str


class BrowserWatch:
    """The watch of one process over the browser of its cells; use `WATCH`.

    Attributes:
        reason: why the browser was ended, or "" while it lives.
        page_ended: whether a page that had stopped answering was ended on purpose.
    """

    def __init__(self) -> None:
        self._call_s: Callable[[], float] = lambda: CALL_S
        self.reason = ""
        self.page_ended = False
        self._most = float("inf")
        self._left: float | None = None
        self._thread: threading.Thread | None = None
        self._over = threading.Event()

    @contextmanager
    def on(self) -> Iterator[None]:
        """Watch the browser during one cell, in the thread that owns it."""
        # A call of Playwright's sync API leaves the greenlet of its caller while it waits, so the
        # time between leaving that greenlet and coming back to it is the time of one call.
        home = greenlet.getcurrent()
        before: Callable[..., Any] | None = None

        def switched(event: str, ends: tuple[Any, Any]) -> None:
            # While the caller waits, events of the page are handled in other greenlets.
            if ends[1] is home:
                self._left = None
            elif ends[0] is home:
                self._left = time.monotonic()
            if before is not None:
                before(event, ends)

        self.reason, self._left = "", None
        self.trust(again=True)
        before = greenlet.settrace(switched)
        self._over.clear()
        self._thread = threading.Thread(target=self._look, name="autoweb-watch", daemon=True)
        self._thread.start()
        try:
            yield
        finally:
            self._over.set()
            greenlet.settrace(before)
            self._thread.join()
            self._left = None

    @contextmanager
    def limit(self, seconds: float) -> Iterator[None]:
        """Let calls wait for another time than `CALL_S`."""
        before = self._call_s, self._most
        # The caller knows how long this call may take, also on a page that has stopped answering.
        self._call_s, self._most = lambda: seconds, float("inf")
        try:
            yield
        finally:
            self._call_s, self._most = before

    @contextmanager
    def within(self, left: Callable[[], float]) -> Iterator[None]:
        """Let calls wait no longer than a cell has left, but at least `LEAST_S`.

        Args:
            left: returns the seconds that the cell may still take.
        """
        before = self._call_s
        self._call_s = lambda: min(CALL_S, max(LEAST_S, left()))
        try:
            yield
        finally:
            self._call_s = before

    def trust(self, *, again: bool) -> None:
        """Note that a page stopped answering, or that another one is open by now.

        Whatever asks a page that does not answer is not worth waiting for.
        """
        self._most = float("inf") if again else LOST_S
        self.page_ended = self.page_ended and not again

    def end_page(self) -> bool:
        """End the processes that show pages and never rest, after which calls to them fail at once.

        Idle pages in the same browser live on. This works on Linux only, because elsewhere the
        processor time of a process cannot be read.

        Returns:
            Whether there was such a process.
        """
        shown = [process.pid for process in browser_processes() if _RENDERER in process.command]
        before = {pid: _worked_s(pid) for pid in shown}
        time.sleep(_BUSY_S)
        busy = [pid for pid in shown if _worked_s(pid) - before[pid] > _BUSY_S * _SHARE]
        self.page_ended = self.page_ended or bool(busy)
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
            left, now = self._left, time.monotonic()
            most = min(self._call_s(), self._most)
            if left is not None and now - left > most:
                if self.page_ended or not self.end_page():
                    self.end(f"a call to the browser did not come back within {most:.3g} s")
                # Now the call should fail; it has some more time to do so. If only the page hung,
                # the browser is left alone and the attempt is not repeated, as the page would hang
                # again.
                self._most = min(self._most, LOST_S)
                self._left = time.monotonic()
            if now - weighed >= _MEMORY_EVERY_S:
                weighed = now
                if megabytes_of(browser_processes()) > MEMORY_MB:
                    self.end(f"the browser used more than {MEMORY_MB:,} MB of memory")


WATCH = BrowserWatch()
"""The watch of this process."""


T = TypeVar("T")


class _EndedError(BaseException):
    """Thrown into a call that exceeded its limit; not an `Exception`, so nothing swallows it."""


def call_within(owner: Page | Frame, milliseconds: float, call: Callable[[], T]) -> T:
    """Make a call to the browser that has no timeout of its own, such as `evaluate`.

    Args:
        owner: the page or frame that is called.
        milliseconds: how long the call may take.
        call: makes the call.

    Raises:
        TimeoutError: Playwright's, when the time is over; the browser may still be busy with it.
    """
    loop = getattr(owner, "_loop", None)
    if loop is None:
        return call()
    caller, over = greenlet.getcurrent(), list[bool]()
    timer = loop.call_later(milliseconds / 1000, lambda: over or caller.throw(_EndedError()))
    try:
        return call()
    except _EndedError:
        raise TimeoutError(f"Timeout {milliseconds:.0f}ms exceeded.") from None
    finally:
        over.append(True)
        timer.cancel()


def _worked_s(pid: int) -> float:
    """Return the processor time of a process, or zero where that cannot be read."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError):
        return 0.0


def driver_ended(browser: Browser) -> bool:
    """Tell whether Playwright's driver is gone; its browsers go on saying that they are connected.

    The greenlet in which Playwright talks to its driver ends with the driver.
    """
    fiber = getattr(browser, "_dispatcher_fiber", None)
    return fiber is not None and bool(fiber.dead)


def megabytes_of(processes: list[Process]) -> float:
    """Return the memory of processes together; what they share with files does not count."""
    return sum(process.megabytes for process in processes)


def browser_processes() -> list[Process]:
    """Return Playwright's drivers of this process and everything below them.

    Nothing is found on Windows, and where the browser runs elsewhere, nothing but the driver.
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
    elif sys.platform != "win32":
        command = ("ps", "-axo", "pid=,ppid=,rss=,command=")
        with suppress(OSError, subprocess.SubprocessError):
            told = subprocess.run(command, capture_output=True, text=True, timeout=10, check=False)
            for line in told.stdout.splitlines():
                pid, parent, kilobytes, words = (*line.split(None, 3), "", "", "", "")[:4]
                with suppress(ValueError):
                    yield Process(int(pid), int(parent), int(kilobytes) / 1024, words)


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
    with suppress(OSError):
        os.kill(pid, signal.SIGKILL)
