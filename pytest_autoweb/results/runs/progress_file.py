"""The file in a run folder to which the processes of a session append what their cells do.

It is read while it grows, by the session's own display and by whoever watches the run.
"""

import json
import os
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

_CELL_DEPTH = 3
"""How many `/` the folder of a cell has, such as `cells/login/model/ARIA-1`."""


class Event(NamedTuple):
    """One line of the progress file."""

    cell: str
    """The cell's name, without its file."""
    kind: str
    """`planned` (text: the count of all cells), `stage`, `log`, `spent` (US dollars), `end`,
    `pause` (text: empty when it ends)."""
    text: str
    folder: str = ""
    """The cell's folder below the run folder; empty if the event is about the whole session."""

    @property
    def is_again(self) -> bool:
        """Tell whether it is about a further run of a cell, whose folder is in the first one's."""
        return self.folder.count("/") > _CELL_DEPTH


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
        return [Event(*fields) for fields in _parsed(whole.splitlines()) if _is_event(fields)]


def _parsed(lines: list[bytes]) -> list[Any]:
    """Return the values of lines of JSON, without those that are none."""
    with suppress(ValueError, RecursionError):
        # At once, because a run of ten thousand cells has a hundred thousand lines.
        together: list[Any] = json.loads(b"[%b]" % b",".join(lines))
        # A line such as `1, 2` would be two values.
        if len(together) == len(lines):
            return together
    found = []
    for line in lines:
        with suppress(ValueError, RecursionError):
            found.append(json.loads(line))
    return found


def _is_event(fields: Any) -> bool:
    if not isinstance(fields, list) or len(fields) not in (3, 4):
        return False
    return all(type(field) is str for field in fields)
