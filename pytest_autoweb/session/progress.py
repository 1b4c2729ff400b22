"""The terminal's display while cells run: a line for each stage (-v), or a live status line."""

import json
import os
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

POLL_S = 0.25


class Event(NamedTuple):
    """One line of the progress file."""

    cell: str
    kind: str
    """The kind of event: `stage`, `log` or `end`."""
    text: str


class Progress:
    """Appends events to a file that all workers share; one short write each, so none interleave."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def emit(self, cell: str, kind: str, text: str) -> None:
        """Append one event; a full disk must not stop a cell."""
        line = json.dumps([cell, kind, text], ensure_ascii=True) + "\n"
        try:
            descriptor = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            try:
                os.write(descriptor, line.encode())
            finally:
                os.close(descriptor)
        except OSError:
            return


class LastingStream:
    """A stream that goes on in silence when its reader leaves, as in `pytest | head`.

    A run may have cost hours and money, so its report must not depend on who reads the terminal.

    Args:
        file: the stream to which everything is passed on.
    """

    def __init__(self, file: Any) -> None:
        self._file = file

    def write(self, text: str) -> int:
        """Write, or do as if."""
        try:
            self._file.write(text)
        except BrokenPipeError:
            self._leave()
        return len(text)

    def flush(self) -> None:
        """Flush, or do as if."""
        try:
            self._file.flush()
        except BrokenPipeError:
            self._leave()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)

    def _leave(self) -> None:
        # What is buffered, and whatever else writes to this descriptor, goes nowhere from now on.
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, self._file.fileno())
        os.close(nowhere)


class Display(threading.Thread):
    """Follows the progress file and shows it on the controller's terminal.

    Args:
        path: the progress file.
        verbose: show each stage.
        stream_log: show what the code of a cell logs.
        neutral: removes from a line what a terminal or a CI runner would obey as a command.
    """

    def __init__(
        self, path: Path, *, verbose: bool, stream_log: bool, neutral: Callable[[str], str]
    ) -> None:
        super().__init__(name="autoweb-progress", daemon=True)
        self._path = path
        # While a test runs, pytest's capture owns descriptor 1; made in pytest_configure, this
        # copy is the terminal itself.
        self._terminal = os.fdopen(os.dup(1), "w", encoding="utf-8", errors="replace")
        self._verbose = verbose
        self._stream_log = stream_log
        self._neutral = neutral
        self._halt = threading.Event()
        self._offset = 0
        self._running: dict[str, str] = {}
        self._ended = 0
        self._shown = ""

    @property
    def wanted(self) -> bool:
        """Tell whether there is anything to show: with `-v`, a streamed log, or a terminal."""
        return self._verbose or self._stream_log or self._terminal.isatty()

    def run(self) -> None:
        """Show events until stopped."""
        while not self._halt.wait(POLL_S):
            self._show_new()

    def stop(self) -> None:
        """Show what is left and end."""
        self._halt.set()
        if self.is_alive():
            self.join(timeout=2)
        if self.wanted:
            self._show_new()
        with suppress(OSError):
            self._terminal.close()

    def _show_new(self) -> None:
        for event in self._read():
            if event.kind == "stage":
                self._running[event.cell] = event.text
            elif event.kind == "end":
                self._running.pop(event.cell, None)
                self._ended += 1
            if self._is_line(event):
                mark = "│" if event.kind == "log" else "·"
                line = f"{event.cell} {mark} {self._neutral(event.text)}"
                self._write(f"\n  {self._neutral(plain(line))}")
        if not self._verbose and not self._stream_log:
            self._write_status()

    def _is_line(self, event: Event) -> bool:
        return self._stream_log if event.kind == "log" else self._verbose

    def _read(self) -> list[Event]:
        try:
            with self._path.open("rb") as file:
                file.seek(self._offset)
                data = file.read()
        except OSError:
            return []
        whole = data[: data.rfind(b"\n") + 1]
        self._offset += len(whole)
        return [Event(*json.loads(line)) for line in whole.splitlines()]

    def _write_status(self) -> None:
        now = "  ".join(f"{cell} · {stage}" for cell, stage in list(self._running.items())[:2])
        status = f" [{self._ended} done] {now}"[:100] if now else ""
        if status != self._shown:
            # Saving and restoring the cursor leaves pytest's own line of dots where it is.
            self._write(f"\x1b7\x1b[K{plain(status)}\x1b8")
            self._shown = status

    def _write(self, text: str) -> None:
        try:
            self._terminal.write(text)
            self._terminal.flush()
        except OSError:
            return


def plain(text: str) -> str:
    """Return text without control and bidirectional override characters, for a terminal."""
    return "".join(character for character in text if character.isprintable())
