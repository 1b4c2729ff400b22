"""What a check may look at, and what it reports."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from pytest_autoweb.browser.downloads import Download
from pytest_autoweb.browser.wire import WireEntry
from pytest_autoweb.results import ToolCall, Usage

if TYPE_CHECKING:
    from playwright.sync_api import Page


class RubricFinding(NamedTuple):
    """What a model says of a rubric."""

    verdict: str
    """`satisfied`, `not_satisfied`, `impossible`, `captcha` or `insufficient_evidence`."""
    reason: str
    usage: Usage


class RubricJudge(Protocol):
    """Asks a model whether the evidence of an attempt satisfies a rubric."""

    def __call__(self, rubric: str, model: str | None, evidence: "Evidence") -> RubricFinding:
        """Ask; `model` is the check's own, None means the run's."""
        ...


@dataclass(frozen=True, slots=True)
class Evidence:
    """The end of an attempt, live or as stored."""

    page: "Page"
    answered: bool
    """Whether the code called `answer(...)`."""
    answer: Any
    redact: Callable[[str], str] = lambda text: text
    wire: Sequence[WireEntry] = ()
    """Requests since the setup was done, oldest first. On a live page it grows between looks."""
    downloads: Sequence[Download] = ()
    """Files handed out since then. On a live page it grows between looks."""
    actions: Sequence[ToolCall] = ()
    """What the code did to the page."""
    rubric_judge: RubricJudge | None = None
    """None: `judge` checks cannot be evaluated."""
    case_path: Path | None = None
    """The case's file; None for inline cases."""
    entry_url: str = ""
    user_task: str = ""


class Verdict(NamedTuple):
    """What one look saw."""

    passed: bool
    actual: str
    where: str = ""
    """Where it was seen: a URL, a frame, a request, a file, a record."""
    finding: str = ""
    """A named verdict beside holding or not."""
    hint: str = ""
    """What a repair may be told."""
    credit: float | None = None
    """Partial credit; None: all or nothing."""


class NotEvaluated(Exception):
    """The check itself is at fault, or what it asks cannot be reached; the reason is its text."""


class Probe(NamedTuple):
    """A check made ready to look."""

    expected: str
    look: Callable[[float], Verdict]
    """Takes the seconds it may last."""
    retry: bool = True
    """Whether a later look may see something else, and a second one does no harm."""
