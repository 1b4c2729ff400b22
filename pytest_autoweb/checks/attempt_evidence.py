"""What a check may look at, and what it reports."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from pydantic import Field

from pytest_autoweb.browser.downloads import Download
from pytest_autoweb.browser.wire import WireEntry
from pytest_autoweb.results import ToolCall, Usage
from pytest_autoweb.specs import Spec

if TYPE_CHECKING:
    from playwright.sync_api import Page


class JudgeQuery(Spec):
    """A question that a model answers from the page and the actions."""

    rubric: str = Field(min_length=1)
    """What must be seen; the model's own summary is not shown to the judge."""
    model: str | None = None
    """Default is the run's `--autoweb-judge-model`."""
    answer: bool = False
    """Whether what the code passed to `answer(...)` is a part of the evidence."""


class RubricFinding(NamedTuple):
    """What a model says of a rubric."""

    verdict: str
    """`pass`, `fail`, `impossible`, `captcha` or `insufficient_evidence`; `unfounded` when it
    passed without quoting anything that is in the evidence; `no_verdict` when there is none."""
    reason: str
    judge: str
    """The model and the checksum of its prompt."""
    quotes: tuple[str, ...] = ()
    """What of the evidence it goes by."""
    advisory: bool = True
    """Its agreement with people is not known."""
    usage: Usage = Usage()


class RubricJudge(Protocol):
    """Asks a model whether the evidence of an attempt satisfies a rubric."""

    def __call__(self, query: JudgeQuery, evidence: "Evidence") -> RubricFinding:
        """Ask the model that the check names, or else the run's.

        Raises:
            NotEvaluated: no model is named, or it is one of those compared.
        """
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
    case_id: str = ""
    entry_url: str = ""
    user_task: str = ""


class Verdict(NamedTuple):
    """What one look saw."""

    passed: bool | None
    """None: it cannot be decided; `reason` says why."""
    actual: str
    where: str = ""
    """Where it was seen: a URL, a frame, a request, a file, a record."""
    finding: str = ""
    """A named verdict beside holding or not."""
    hint: str = ""
    """What a repair may be told."""
    credit: float | None = None
    """Partial credit; None: all or nothing."""
    reason: str = ""
    """Why it cannot be decided."""
    advisory: bool = False
    """Shown, but without a part in the case's verdict."""
    usage: Usage = Usage()
    """Of a model that judged."""


class NotEvaluated(Exception):
    """The check itself is at fault, or what it asks cannot be reached; the reason is its text."""


class Probe(NamedTuple):
    """A check made ready to look."""

    expected: str
    look: Callable[[float], Verdict]
    """Takes the seconds it may last."""
    retry: bool = True
    """Whether a later look may see something else, and a second one does no harm."""
