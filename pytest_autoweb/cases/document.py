"""A case file as read: plain data that knows on which line each field stands."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_autoweb.cases.json_reading import read_json
from pytest_autoweb.cases.reading import MAX_BYTES, Unreadable
from pytest_autoweb.cases.yaml_reading import read_yaml
from pytest_autoweb.errors import CaseError
from pytest_autoweb.specs import FieldPath

READERS = {".yaml": read_yaml, ".yml": read_yaml, ".json": read_json}


def dotted(at: FieldPath) -> str:
    """A path as users write it, e.g. `cases[0].expect[1].url`."""
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in at)
    return text.removeprefix(".")


@dataclass(frozen=True, slots=True)
class Document:
    """The data of one case file, or of inline cases."""

    path: Path | None
    data: Any
    lines: Mapping[FieldPath, int]

    @property
    def is_json(self) -> bool:
        """Whether the seeds' shapes (a bare list, one object, cases without id) are accepted."""
        return self.path is not None and self.path.suffix.lower() == ".json"

    def line(self, at: FieldPath) -> int | None:
        """The line of a field, or of the nearest field around it."""
        for length in range(len(at), -1, -1):
            if (line := self.lines.get(at[:length])) is not None:
                return line
        return None

    def error(self, at: FieldPath, reason: str) -> CaseError:
        """The user's form of what is wrong with a field."""
        return CaseError(reason, path=self.path, line=self.line(at), field=dotted(at) or None)


def read_document(path: Path) -> Document:
    """Read a YAML or JSON file without trusting it.

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
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw[: error.start].count(b"\n") + 1
        raise Unreadable("is not UTF-8 text", line) from error
    if not text.strip():
        raise Unreadable("is empty", 1)
    return text
