"""The terminal display while cells run, and the pause after a failed attempt.

There is a line for each stage (-v), a live status line, or, where nothing can be rewritten, a line
from time to time. During a pause, a person can inspect the
page that the attempt left.
"""

import os
import select
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_autoweb.report.foreign_text import one_line
from pytest_autoweb.report.plain_stream import plain_text
from pytest_autoweb.results.records import Attempt
from pytest_autoweb.results.runs.progress_file import Event, ProgressReader

if sys.platform == "win32":
    import msvcrt

if TYPE_CHECKING:
    from playwright.sync_api import Page


POLL_S = 0.25
STATUS_CHARS = 100
LINE_EVERY_S = 30.0
"""Without a terminal, the longest time without a line while cells run."""
LINE_SHARE = 0.1
"""Without a terminal, the share of the cells after whose end a line comes, unless one just did."""
LEAST_BETWEEN_S = 10.0

_POLL_MS = 200.0


class LastingStream:
    """A stream that silently continues when its reader leaves, as in `pytest | head`.

    The terminal may have closed, or the disk be full. A run may have cost hours and money, so its
    report must not depend on who reads what it says.

    Args:
        file: the stream that receives everything.
    """

    def __init__(self, file: Any) -> None:
        self._file = file

    def write(self, text: str) -> int:
        """Write, or pretend to."""
        try:
            self._file.write(text)
        except OSError:
            self._leave()
        return len(text)

    def flush(self) -> None:
        """Flush, or pretend to."""
        try:
            self._file.flush()
        except OSError:
            self._leave()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)

    def _leave(self) -> None:
        # From now on, buffered text and all other output to this descriptor is discarded.
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, self._file.fileno())
        os.close(nowhere)


class Pace:
    """How far a run is, in words, and how long the rest will take at the pace so far."""

    def __init__(self) -> None:
        self._began = time.monotonic()
        self._held: float | None = None

    def hold(self, paused: bool) -> None:
        """Leave a pause out of the pace, from its beginning to its end."""
        now = time.monotonic()
        if paused:
            self._held = now
        elif self._held is not None:
            self._began += now - self._held
            self._held = None

    def told(
        self, ended: int, planned: int, running: int, *, spent_usd: float = 0.0, more: bool = False
    ) -> str:
        """Return the counts of ended and running cells, their cost, and the estimated time left.

        Args:
            ended: how many cells have ended.
            planned: how many there are; 0 if that is not known yet.
            running: how many are running.
            spent_usd: what they have cost so far.
            more: whether there will be more cells than are planned.
        """
        of = f" of {'at least ' if more else ''}{planned}" if planned else ""
        parts = [f"{ended}{of} done", f"{running} running"]
        if spent_usd:
            parts.append(f"${spent_usd:.2f}")
        if self._held is not None:
            parts.append("paused")
        elif ended and planned > ended:
            each = (time.monotonic() - self._began) / ended
            left = _rounded(each * (planned - ended))
            parts.append(f"{'at least' if more else 'about'} {left} left")
        return ", ".join(parts)


class Display(threading.Thread):
    """Follows the progress file and shows it on the controller's terminal.

    Args:
        path: the progress file.
        verbose: show each stage.
        stream_log: show the log of a cell's code.
        neutral: removes anything from a line that a terminal or a CI runner would obey as a
            command.
    """

    def __init__(
        self, path: Path, *, verbose: bool, stream_log: bool, neutral: Callable[[str], str]
    ) -> None:
        super().__init__(name="autoweb-progress", daemon=True)
        self._events = ProgressReader(path)
        # While a test runs, pytest's capture owns descriptor 1; made in pytest_configure, this
        # copy is the terminal itself.
        self._terminal = os.fdopen(os.dup(1), "w", encoding="utf-8", errors="replace")
        self._verbose = verbose
        self._stream_log = stream_log
        self._neutral = neutral
        self._halt = threading.Event()
        self._running: dict[str, str] = {}
        self._planned = self._ended = 0
        self._spent = 0.0
        self._paused = False
        self._pace = Pace()
        self._shown = ""
        self._rewrites = self._terminal.isatty()
        self._last_line = (time.monotonic(), 0)
        """When the last line was written that stays, and how many cells had ended then."""

    def run(self) -> None:
        """Show events until stopped."""
        while not self._halt.wait(POLL_S):
            self._show_new()

    def stop(self) -> None:
        """Show the remaining events and end."""
        self._halt.set()
        if self.is_alive():
            self.join(timeout=2)
        if self._verbose or self._stream_log or self._rewrites:
            self._show_new()
        with suppress(OSError):
            self._terminal.close()

    def _show_new(self) -> None:
        for event in self._events.read():
            self._count(event)
            if self._is_line(event):
                mark = "│" if event.kind == "log" else "·"
                line = f"{event.cell} {mark} {self._neutral(event.text)}"
                self._write(f"\n  {self._neutral(plain(line))}")
        if self._verbose or self._stream_log:
            return
        if self._rewrites:
            self._write_status()
        else:
            self._write_line()

    def _count(self, event: Event) -> None:
        match event.kind:
            case "planned":
                self._planned = int(event.text)
            case "stage":
                self._running[event.cell] = event.text
            case "spent":
                self._spent += float(event.text)
            case "pause":
                self._pause(bool(event.text))
            case "end":
                self._running.pop(event.cell, None)
                self._ended += not event.is_again

    def _pause(self, paused: bool) -> None:
        """Note a pause or its end, of which each process tells; the log says so at once."""
        if paused is self._paused:
            return
        self._paused = paused
        self._pace.hold(paused)
        if self._verbose or self._stream_log or not self._rewrites:
            word = "paused" if paused else "going on"
            self._write(f"\n[{self._so_far(len(self._running))}{'' if paused else f', {word}'}]\n")

    def _is_line(self, event: Event) -> bool:
        if event.kind == "log":
            return self._stream_log
        return self._verbose and event.kind in ("stage", "end")

    def _write_status(self) -> None:
        running = list(self._running.items())
        now = "  ".join(f"{cell} · {stage}" for cell, stage in running[:2])
        shown = bool(now) or self._paused
        status = f" [{self._so_far(len(running))}] {now}"[:STATUS_CHARS] if shown else ""
        if status != self._shown:
            # Saving and restoring the cursor leaves pytest's own line of dots where it is.
            self._write(f"\x1b7\x1b[K{self._neutral(plain(status))}\x1b8")
            self._shown = status

    def _write_line(self) -> None:
        """Write the status to stay, if enough time has passed or enough cells have ended."""
        at, ended = self._last_line
        waited = time.monotonic() - at
        share = (self._ended - ended) >= max(1.0, LINE_SHARE * self._planned)
        due = waited >= LINE_EVERY_S or (share and waited >= LEAST_BETWEEN_S)
        if self._running and due:
            self._write(f"\n[{self._so_far(len(self._running))}]\n")
            self._last_line = (time.monotonic(), self._ended)

    def _so_far(self, running: int) -> str:
        return self._pace.told(self._ended, self._planned, running, spent_usd=self._spent)

    def _write(self, text: str) -> None:
        try:
            self._terminal.write(text)
            self._terminal.flush()
        except OSError:
            return


def _rounded(seconds: float) -> str:
    """Return a duration, rounded to its precision so that the line does not flicker."""
    if seconds < 60:
        return f"{max(10, round(seconds, -1)):.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 120 else f"{minutes / 60:.0f} h"


def plain(text: str) -> str:
    """Return text without control and bidirectional override characters, for a terminal."""
    return "".join(character for character in text if character.isprintable())


def pause_of(config: pytest.Config) -> "Callable[[Attempt, Page], None]":
    """Return the function that waits, with the page open, until a person presses Enter.

    pytest's capture is off meanwhile, as for its debugger. If standard input is closed, so that
    nobody can press a key, the run continues at once.
    """
    capture = config.pluginmanager.getplugin("capturemanager")

    def pause(attempt: Attempt, page: "Page") -> None:
        capture.suspend(in_=True)
        try:
            print(f"\n\n{plain_text(_why(attempt, page))}\nPress Enter to go on.", flush=True)
            while not _may_read():
                # The page answers only while Playwright's loop runs.
                page.wait_for_timeout(_POLL_MS)
            sys.stdin.readline()
        finally:
            capture.resume()

    return pause


def _may_read() -> bool:
    """Tell whether somebody has pressed a key, or standard input is no keyboard."""
    if sys.platform == "win32":
        # There, only sockets can be selected.
        return not sys.stdin.isatty() or msvcrt.kbhit()
    return bool(select.select([sys.stdin], [], [], 0)[0])


def _why(attempt: Attempt, page: "Page") -> str:
    if (failure := attempt.failure) is None:
        return f"Paused at {one_line(page.url, 200)}: no check could be evaluated"
    line = f" (line {failure.line})" if failure.line else ""
    return f"Paused at {one_line(page.url, 200)}{line}\n{one_line(failure.message, 500)}"


def refuse_with_others(config: pytest.Config, concurrency: int) -> None:
    """Refuse to pause if other cells would keep running.

    Raises:
        pytest.UsageError: there are xdist workers, or cells in flight.
    """
    if config.getoption("numprocesses", None):
        raise pytest.UsageError("--autoweb-pause needs the terminal for itself: leave -n out")
    if concurrency > 1:
        raise pytest.UsageError(
            "--autoweb-pause needs cells one after another: leave --autoweb-concurrency out"
        )
