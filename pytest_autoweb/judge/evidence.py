"""What a check may look at, and what it reports."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from playwright.sync_api import Page


@dataclass(frozen=True, slots=True)
class Evidence:
    """The end of an attempt."""

    page: "Page"
    answered: bool
    """Whether the code called `answer(...)`."""
    answer: Any
    redact: Callable[[str], str] = lambda text: text


class Verdict(NamedTuple):
    """What one look saw."""

    passed: bool
    actual: str


class NotEvaluated(Exception):
    """The check itself is at fault, or what it asks cannot be reached; the reason is its text."""


class Probe(NamedTuple):
    """A check made ready to look."""

    expected: str
    look: Callable[[float], Verdict]
    """Takes the seconds it may last."""
    retry: bool = True
    """Whether a later look may see something else, and a second one does no harm."""
