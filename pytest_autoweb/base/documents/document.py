"""A YAML or JSON file of the user's, read without trusting it, whose errors name file and line."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct

from pytest_autoweb.base.documents.readers import MAX_BYTES, READERS, Unreadable
from pytest_autoweb.base.errors import CaseError, joined_errors
from pytest_autoweb.base.field_errors import FieldError, FieldPath


def dotted(at: FieldPath) -> str:
    """Return a path as users write it, e.g. `cases[0].expect[1].url`."""
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in at)
    return text.removeprefix(".")


class Document(Struct, frozen=True):
    """The data of one file, or of what stands for one, with the line of each field."""

    path: Path | None
    data: Any
    lines: Mapping[FieldPath, int]

    @property
    def is_json(self) -> bool:
        """Return whether the file may be a bare list or one object, with cases that have no id."""
        return self.path is not None and self.path.suffix.lower() == ".json"

    def line(self, at: FieldPath) -> int | None:
        """Return the line of a field, or of the nearest field around it."""
        for length in range(len(at), -1, -1):
            if (line := self.lines.get(at[:length])) is not None:
                return line
        return None

    def error(
        self, error: FieldError, located: Callable[[FieldPath], FieldPath] = lambda at: at
    ) -> CaseError:
        """Return errors of fields as one error that names their file and lines.

        Args:
            error: the errors.
            located: returns the place in the file of a field that the error names.
        """
        return joined_errors(self._one(located(each.at), each.reason) for each in error.all())

    def _one(self, at: FieldPath, reason: str) -> CaseError:
        return CaseError(reason, path=self.path, line=self.line(at), field=dotted(at) or None)


def read_document(path: Path) -> Document:
    """Read a YAML or JSON file without trusting it.

    Args:
        path: the file.

    Raises:
        CaseError: the file cannot be read, is too large, or is not plain YAML or JSON.
    """
    reader = READERS.get(path.suffix.lower())
    if reader is None:
        raise CaseError(f"a case file ends in {', '.join(READERS)}", path=path)
    try:
        data, lines = reader(_text(path))
    except Unreadable as error:
        raise CaseError(error.reason, path=path, line=error.line) from error
    return Document(path, data, lines)


def _text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            raw = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise CaseError(f"cannot be read: {error.strerror}", path=path) from error
    except ValueError as error:
        raise CaseError(f"cannot be read: {error}", path=path) from error
    if len(raw) > MAX_BYTES:
        raise Unreadable(f"is larger than {MAX_BYTES // 1024} KB", 1)
    try:
        # Some editors on Windows begin a UTF-8 file with a byte order mark.
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw[: error.start].count(b"\n") + 1
        raise Unreadable("is not UTF-8 text", line) from error
    if not text.strip():
        raise Unreadable("is empty", 1)
    return text
