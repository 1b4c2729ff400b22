"""What the YAML and the JSON reader share: limits and the way they refuse."""

from typing import Any

from pytest_autoweb.specs import FieldPath

Lines = dict[FieldPath, int]
"""The 1-based line of every key and list item."""

ReadResult = tuple[Any, Lines]

MAX_BYTES = 256 * 1024
MAX_DEPTH = 20
MAX_EVENTS = 20_000


class Unreadable(Exception):
    """Raised by a reader when the text is not the plain YAML or JSON that case files are."""

    def __init__(self, reason: str, line: int) -> None:
        self.reason, self.line = reason, line
        super().__init__(reason)


def too_deep(line: int) -> Unreadable:
    """More nesting than a case file needs."""
    return Unreadable(f"is nested deeper than {MAX_DEPTH} levels", line)


def too_long(line: int) -> Unreadable:
    """More content than a case file needs."""
    return Unreadable(f"holds more than {MAX_EVENTS} keys, values and brackets", line)


def duplicate_key(key: str, line: int, first_line: int) -> Unreadable:
    """The same key twice in one mapping: one of the two would be lost silently."""
    return Unreadable(f"duplicate key {key!r}; the first one is on line {first_line}", line)


def finite(text: str, line: int) -> float:
    """A decimal number that fits a float."""
    number = float(text)
    if number in (float("inf"), float("-inf")):
        raise Unreadable(f"the number {text[:40]} is too large", line)
    return number


def whole(text: str, line: int, base: int = 10) -> int:
    """A whole number of reasonable length."""
    if len(text) > 100:
        raise Unreadable(f"the number {text[:20]}... is too large", line)
    return int(text, base)


def encodable(text: str, line: int) -> str:
    """A text that can be written out again: an escape may have made half a character."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise Unreadable("holds half of a surrogate pair", line) from error
    return text
