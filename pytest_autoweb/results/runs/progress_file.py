"""The file in a run folder to which the processes of a session append what their cells do.

It is read while it grows, by the session's own display and by whoever watches the run.
"""

import json
import os
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple


class Event(NamedTuple):
    """One line of the progress file."""

    cell: str
    """The cell's name, without its file."""
    kind: str
    """`planned` (text: the count of all cells), `stage`, `log`, `spent` (US dollars), `end`."""
    text: str
    folder: str = ""
    """The cell's folder below the run folder; empty if the event is about the whole session."""


class Progress:
    """Appends events to a file that all workers share; one short write each, so none interleave."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def emit(self, cell: str, kind: str, text: str, folder: str = "") -> None:
        """Append one event; a full disk must not stop a cell."""
        line = json.dumps([cell, kind, text, folder], ensure_ascii=True) + "\n"
        try:
            descriptor = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            try:
                os.write(descriptor, line.encode())
            finally:
                os.close(descriptor)
        except OSError:
            return


class ProgressReader:
    """Reads what was appended to a progress file since the last look.

    Args:
        path: the file, which need not exist yet.
    """

    def __init__(self, path: Path) -> None:
        self._path, self._offset = path, 0

    def read(self, most: int = -1) -> list[Event]:
        """Return the new events; a line that is no event, or not whole yet, is left out.

        Args:
            most: the most bytes to read at once; negative for all.
        """
        try:
            with self._path.open("rb") as file:
                file.seek(self._offset)
                data = file.read(most)
        except OSError:
            return []
        whole = data[: data.rfind(b"\n") + 1]
        self._offset += len(whole)
        found = []
        for line in whole.splitlines():
            with suppress(ValueError, TypeError, RecursionError):
                event = Event(*json.loads(line))
                if all(isinstance(part, str) for part in event):
                    found.append(event)
        return found
