"""What all stages share: their signature, their tools, asking a model, changing an attempt."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, Unpack

from pytest_autoweb.cases.case import Case
from pytest_autoweb.correct.guidance import Guidance
from pytest_autoweb.errors import ModelError
from pytest_autoweb.judge.model_judge import ModelJudge
from pytest_autoweb.language import StepProblem
from pytest_autoweb.llm.client import Client, Message, Request, ask_once, redacted_messages
from pytest_autoweb.llm.model_spec import ModelSpec
from pytest_autoweb.options import Settings
from pytest_autoweb.results import (
    Attempt,
    AttemptFields,
    CaptureModeName,
    Exchange,
    Failure,
    FailureKind,
    StageName,
    Usage,
)
from pytest_autoweb.sandbox.engine import StepEngine

if TYPE_CHECKING:
    from playwright.sync_api import Frame, Locator, Page

    from pytest_autoweb.egress.origins import OriginPolicy
    from pytest_autoweb.evidence.downloads import DownloadRecord
    from pytest_autoweb.evidence.scene import Watch
    from pytest_autoweb.evidence.wire import WireRecord
    from pytest_autoweb.marks.marking import MarkedPage

LOG_LINES = 200
"""Lines of the run log kept at each end (row 4.1.15 of the seed's flow)."""

STOPPING: frozenset[FailureKind] = frozenset(
    {"model", "plan", "lint", "repair", "navigation", "browser", "webserver", "internal"}
)
"""Failures after which the later stages of an attempt have nothing to work on."""


@dataclass(slots=True)
class RunLog:
    """The log of one attempt: kept in full on disk, head and tail in the result."""

    redact: Callable[[str], str]
    stream: Callable[[str], None] = lambda line: None
    lines: list[str] = field(default_factory=list)

    def write(self, text: str) -> None:
        """Add lines; secrets are removed here."""
        for line in self.redact(text).splitlines():
            self.lines.append(line)
            self.stream(line)


@dataclass(frozen=True, slots=True)
class Clock:
    """Time, so that tests can stand still."""

    now: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep


@dataclass(slots=True)
class StepBudget:
    """Seconds that the steps of an attempt may still take; waiting for a model is not counted."""

    left: float
    waited: Callable[[], float] = lambda: 0.0
    """Seconds spent waiting for models so far."""


class PictureMarks(Protocol):
    """Remembers the marked picture that numbers refer to, and finds elements by its numbers."""

    @property
    def held(self) -> bool:
        """Return whether numbers are those of a picture that the model was shown."""
        ...

    def hold(self, marked: "MarkedPage | None") -> None:
        """Refer to this picture from now on; None: to one that is taken for each call."""
        ...

    def find(
        self, found_on: "Page | Frame | Locator", number: int, expected_text: str = ""
    ) -> "Locator":
        """Return the marked element; see `Border.finders`."""
        ...


@dataclass(frozen=True, slots=True)
class Tools:
    """What a stage may use; made anew for every attempt."""

    case: Case
    spec: ModelSpec
    mode: CaptureModeName
    repeat: int
    settings: Settings
    client: Client
    page: "Page"
    watch: "Watch"
    wire: "WireRecord"
    """Requests since the setup was done."""
    downloads: "DownloadRecord"
    """Files handed out since then."""
    policy: "OriginPolicy"
    engine: StepEngine
    folder: Path
    """The attempt's own folder, for screenshots and logs."""
    cell_folder: Path
    """Paths in results are relative to this one."""
    redact: Callable[[str], str]
    reveal: Callable[[str], str]
    """Puts secrets back into the case's own checks (`<secret:name>`); for the judge only."""
    log: RunLog
    clock: Clock
    redact_evidence: Callable[[str], str]
    """`redact`, and also without what looks like a key, a cookie or a token: for what is kept."""
    budget: StepBudget
    """Time left for the attempt's steps, whatever the limit of each."""
    marks: PictureMarks
    """The marked picture that numbers of marks refer to."""
    case_path: Path | None = None
    """The case's file; None for inline cases."""
    check_checksums: tuple[str, ...] = ()
    """Of the case's checks as written, in their order."""
    server_url: str = ""
    """Of the case's web server; empty when it has none."""
    previous: Attempt | None = None
    """The failed attempt that this one repairs."""
    guidance: Guidance | None = None
    """What a correction may know; None for a first attempt and for the ordinary repair."""
    progress: Callable[[str], None] = lambda text: None
    offered: frozenset[str] = frozenset()
    """Names of the step language that only some cells have, and this one does."""
    after_step: list[Callable[[Attempt], Attempt]] = field(default_factory=list)
    """Changes that the step's finders and functions want to make to the attempt, once it is over;
    see `offers`."""
    judge: ModelJudge | None = None
    """Asks a model for the case's `judge` checks."""

    @property
    def hidden(self) -> Callable[[str], str] | None:
        """`redact` where the case has secrets, for pictures; else None, which costs nothing."""
        return self.redact if self.case.secrets else None


Stage = Callable[[Attempt, Tools], Attempt]
"""One step of the pipeline: takes what is known and returns more. What a page or a model does
wrong comes back as `Attempt.failure`."""


def change(attempt: Attempt, **update: Unpack[AttemptFields]) -> Attempt:
    """Return a copy of the attempt with some fields changed.

    Raises:
        TypeError: an attempt has no such field. Values are not checked here, but by the type
            checker.
    """
    if unknown := update.keys() - Attempt.model_fields.keys():
        raise TypeError(f"an attempt has no field {', '.join(sorted(unknown))}")
    return attempt.model_copy(update=update)


def fail(attempt: Attempt, failure: Failure, *problems: StepProblem) -> Attempt:
    """Return the attempt with its failure set, and what went wrong added to its problems."""
    return change(attempt, failure=failure, problems=(*attempt.problems, *problems))


class NamedStage(NamedTuple):
    """A stage and the name that progress and timings use for it."""

    name: str
    run: Stage


def ask(
    attempt: Attempt,
    tools: Tools,
    stage: StageName,
    messages: tuple[Message, ...],
    *,
    turn: int = 0,
    grammar: str | None = None,
    json_schema: dict[str, Any] | None = None,
    max_tokens: int | None = None,
) -> tuple[Attempt, str]:
    """Ask the model; the exchange and its usage are on the attempt, failed calls included.

    Returns:
        The attempt and the reply's text. When the call failed the text is empty and the
        attempt's failure is of kind `model`.
    """
    request = Request(
        model=tools.spec.name,
        messages=redacted_messages(messages, tools.redact),
        stage=stage,
        case_id=tools.case.id,
        capture_mode=tools.mode,
        repeat=tools.repeat,
        attempt=attempt.attempt_index,
        turn=turn,
        grammar=grammar,
        json_schema=json_schema,
        max_tokens=max_tokens,
    )
    asked = ask_once(tools.client, request, tools.redact, now=tools.clock.now)
    attempt = charge(attempt, stage, asked.exchange)
    if isinstance(asked.outcome, ModelError):
        cause = asked.outcome.cause
        message = f"{stage}: {cause}: {asked.exchange.error}"
        return fail(attempt, Failure(kind="model", cause=cause, message=message)), ""
    return attempt, asked.exchange.reply


def charge(attempt: Attempt, stage: StageName, exchange: Exchange) -> Attempt:
    """Return the attempt with one more exchange, and its usage added to that of the stage."""
    usage = dict(attempt.usage)
    usage[stage] = usage.get(stage, Usage()) + exchange.usage
    return change(attempt, usage=usage, exchanges=(*attempt.exchanges, exchange))
