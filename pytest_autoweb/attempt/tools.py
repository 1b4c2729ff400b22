"""Code that all stages share: their signature and tools, model calls, changes to an attempt.

Every strategy and every way to correct gives a retry the same account of the failed attempt.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, Unpack
from urllib.parse import urlsplit

from playwright.sync_api import Frame, Locator, Page
from pydantic import BaseModel

from pytest_autoweb import waiting
from pytest_autoweb.cases.case import Case
from pytest_autoweb.correct.retry_rules import Guidance, unmet
from pytest_autoweb.errors import ModelError
from pytest_autoweb.judge.model_judge import ModelJudge
from pytest_autoweb.language import NO_CODE_FOR_STEP, StepProblem
from pytest_autoweb.llm.agent_requests import ComputerTool
from pytest_autoweb.llm.client import Client, Message, Request, ask_once, redacted_messages
from pytest_autoweb.llm.model_spec import ModelSpec
from pytest_autoweb.llm.prompts import fence
from pytest_autoweb.llm.replies import closed_block
from pytest_autoweb.page.outline import Folds
from pytest_autoweb.results import (
    Attempt,
    AttemptFields,
    CaptureModeName,
    Failure,
    FailureKind,
    StageName,
    StepResult,
)
from pytest_autoweb.sandbox.engine import StepEngine
from pytest_autoweb.settings import Settings

if TYPE_CHECKING:
    from pytest_autoweb.egress.request_policy import OriginPolicy
    from pytest_autoweb.evidence.page_evidence import DownloadRecord, Watch
    from pytest_autoweb.evidence.wire import WireRecord
    from pytest_autoweb.marks.marking import MarkedPage
    from pytest_autoweb.traffic.cell_traffic import CellTraffic


LOG_LINES = 200
"""Number of lines that the result keeps from each end of the run log."""

STOPPING: frozenset[FailureKind] = frozenset(
    {
        "model",
        "plan",
        "question",
        "lint",
        "repair",
        "navigation",
        "browser",
        "webserver",
        "internal",
        "agent",
        "recording",
        "off_record",
    }
)
"""Failures after which the later stages of an attempt have nothing to work on."""

LOG_CHARS = 4_000
"""Maximum number of characters from the end of a log that a model is shown."""
_ANSWER_CHARS = 500
_CALL_LOG_CHARS = 1_500
_EVIDENCE_LINES = 12
_NOISE_LINES = 5

# Cassettes are looked up by prompt, and durations would make every prompt unique.
_DURATION = re.compile(r"\b\d+(?:\.\d+)? ?(?:ms|s)\b")
_COMPLAINTS = ("error: ", "uncaught: ")
# The browser's console repeats failed requests without their address, and a missing icon or a page
# left while loading is not a failure.
_NOISE = re.compile(r"Failed to load resource|/favicon\.ico\b|net::ERR_ABORTED")


_KEEP = "Fix only what is necessary; keep the plan and the output format."


@dataclass(slots=True)
class RunLog:
    """The log of one attempt, in full on disk, with its head and tail in the result."""

    redact: Callable[[str], str]
    stream: Callable[[str], None] = lambda line: None
    lines: list[str] = field(default_factory=list)

    def write(self, text: str) -> None:
        """Add lines, without secrets."""
        for line in self.redact(text).splitlines():
            self.lines.append(line)
            self.stream(line)


@dataclass(frozen=True, slots=True)
class Clock:
    """The clock, which tests can replace."""

    now: Callable[[], float] = waiting.now
    sleep: Callable[[float], None] = waiting.sleep


@dataclass(slots=True)
class StepBudget:
    """Seconds that the steps of an attempt may still take, apart from waiting for models."""

    left: float
    waited: Callable[[], float] = lambda: 0.0
    """Seconds spent waiting for models so far."""


class PictureMarks(Protocol):
    """A holder of the marked picture that numbers refer to; finds elements by number."""

    @property
    def held(self) -> bool:
        """Return whether numbers refer to a picture that the model was shown."""
        ...

    def hold(self, marked: "MarkedPage | None") -> None:
        """Use this picture's numbers from now on; None means a new picture for each call."""
        ...

    def find(
        self, found_on: Page | Frame | Locator, number: int, expected_text: str = ""
    ) -> Locator:
        """Return the marked element; see `SandboxBorder.finders`."""
        ...


@dataclass(frozen=True, slots=True)
class Tools:
    """The tools of a stage, created afresh for every attempt."""

    case: Case
    spec: ModelSpec
    mode: CaptureModeName
    repeat: int
    settings: Settings
    client: Client
    page: Page
    watch: "Watch"
    wire: "WireRecord"
    """The requests since the set-up."""
    downloads: "DownloadRecord"
    """The files offered for download since the set-up."""
    policy: "OriginPolicy"
    engine: StepEngine
    folder: Path
    """The attempt's own folder, for screenshots and logs."""
    cell_folder: Path
    """The folder to which paths in results are relative."""
    redact: Callable[[str], str]
    reveal: Callable[[str], str]
    """Replaces each `<secret:name>` in the case's checks by the secret; for the judge only."""
    log: RunLog
    clock: Clock
    redact_evidence: Callable[[str], str]
    """Like `redact`, but also removes what looks like a key, a cookie or a token; for files."""
    budget: StepBudget
    """The time left for all steps of the attempt together."""
    marks: PictureMarks
    """The marked picture to which the numbers of marks refer."""
    case_path: Path | None = None
    """The case file; None for inline cases."""
    check_checksums: tuple[str, ...] = ()
    """Checksums of the case's checks as written, in their order."""
    server_url: str = ""
    """URL of the case's web server; empty if it has none."""
    previous: Attempt | None = None
    """The failed attempt that this one repairs."""
    ran: Attempt | None = None
    """The last attempt that ran, if the one being repaired was refused before running."""
    guidance: Guidance | None = None
    """Information available to a correction; None for a first attempt or an ordinary repair."""
    progress: Callable[[str], None] = lambda text: None
    offered: frozenset[str] = frozenset()
    """Names of the step language that only some cells offer, among them this one."""
    after_step: list[Callable[[Attempt], Attempt]] = field(default_factory=list)
    """Changes to the attempt from the step's finders and functions, applied after the step."""
    pictured: dict[str, tuple[str, str]] = field(default_factory=dict)
    """The page's digest for the newest step's picture, by the picture's path; see `page_digest`."""
    folds: Folds = field(default_factory=Folds)
    """The lists that the turn's newest listing shortens, and those that the next one is to show."""
    traffic: "CellTraffic | None" = None
    """The object that records, replays or holds back requests; None if they are only passed on."""
    judge: ModelJudge | None = None
    """The model that evaluates the case's `judge` checks; None if there is none."""

    mistaken: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    """For each kind of element, the wrong choices and all choices of the model in earlier runs."""

    @property
    def hidden(self) -> Callable[[str], str] | None:
        """`redact` if the case has secrets, else None, so that pictures need no search for them."""
        return self.redact if self.case.secrets else None


Stage = Callable[[Attempt, Tools], Attempt]
"""One step of the pipeline: takes the attempt so far and returns it extended. Faults of a page or
model are returned as `Attempt.failure`."""


def change(attempt: Attempt, **update: Unpack[AttemptFields]) -> Attempt:
    """Return a copy of the attempt with the given fields changed.

    Raises:
        TypeError: an attempt has no such field. Only the type checker checks values.
    """
    if unknown := update.keys() - Attempt.model_fields.keys():
        raise TypeError(f"an attempt has no field {', '.join(sorted(unknown))}")
    return attempt.model_copy(update=update)


def fail(attempt: Attempt, failure: Failure, *problems: StepProblem) -> Attempt:
    """Return the attempt with its failure set and the message added to its problems."""
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
    computer: ComputerTool | None = None,
    usable: Callable[[str], str] = closed_block,
) -> tuple[Attempt, str]:
    """Ask the model and add the exchange and its usage to the attempt, even if the call fails.

    A reply cut off at its limit is a failed call, unless `usable` finds a complete part of it.

    Returns:
        The attempt and the reply's text. After a failed call, the text is empty and the attempt's
        failure is of the kind `model`.
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
        computer=computer,
    )
    asked = ask_once(tools.client, request, tools.redact, now=tools.clock.now, usable=usable)
    attempt = attempt.charged(asked.exchange)
    if isinstance(asked.outcome, ModelError):
        cause = asked.outcome.cause
        message = f"{stage}: {cause}: {asked.exchange.error}"
        return fail(attempt, Failure(kind="model", cause=cause, message=message)), ""
    return attempt, tools.redact(asked.outcome.text)


def retry_hint(failed: Attempt, attempt: Attempt, tools: Tools, *, advice: str = _KEEP) -> str:
    """Return the kind of failure, and the evidence that the way of correcting passes on.

    Args:
        failed: the attempt that is retried.
        attempt: the retry.
        tools: its tools.
        advice: advice on the failure.
    """
    return "\n".join(filter(None, (repair_hint(failed, advice), retry_notes(attempt, tools))))


def repair_hint(failed: Attempt, advice: str = _KEEP) -> str:
    """Describe the kind of failure in one paragraph."""
    if failed.lint_errors or not failed.code:
        what = "The script was refused before it ran."
    elif failed.executed:
        corrected = any(result.status == "corrected" for result in failed.step_results)
        how = "to its end, after errors" if corrected else "without an error"
        what = f"The script ran {how}. {unmet(failed.checks)}"
    else:
        what = f"The script failed while it ran. Failed: {failed_labels(failed)}."
    return f"{what} {advice}"


def failed_labels(attempt: Attempt) -> str:
    """Return `plan`, `run`, the numbers of the failed steps, or `unknown`."""
    if attempt.failure and attempt.failure.kind == "plan":
        return "plan"
    if steps := attempt.failed_steps():
        return f"step {steps}"
    return "run" if attempt.failure else "unknown"


def execution_output(failed: Attempt) -> str:
    """Return a script's outcome: errors, failed steps, its log, its answer, the console.

    Durations are left out, so that equal failures give equal prompts, which cassettes rely on.
    """
    lines = ["=== formattedErrors ===", *(problem.line("en") for problem in failed.problems)]
    lines.append("=== stepResults ===")
    for result in failed.step_results:
        if result.status == "corrected":
            # The reason why lines that are now comments were not executed, without the call's log.
            error = "\n".join(step_error(result, failed.code).splitlines()[:2])
            lines += [f"step={result.step_index} ended in an error, and you went on", error]
        elif not result.ok:
            lines += [f"step={result.step_index} ok=false", step_error(result, failed.code)]
    if logged := own_log(result.logged for result in failed.step_results):
        lines += ["=== log ===", logged]
    if failed.answered:
        lines += ["=== answer ===", answer_text(failed.answer)]
    if failed.final_url:
        lines += ["=== address at the end ===", failed.final_url]
    if failed.scene:
        lines += complaints(failed.scene.console, failed.scene.failed_requests)
    return without_durations("\n".join(lines))


def step_error(result: StepResult, code: str) -> str:
    """Return the line at which a step ended, its error, and Playwright's log of the call.

    Args:
        result: a step that did not end well.
        code: the code that the failure's line number refers to.
    """
    at = detail = ""
    if failure := result.failure:
        # The model knows its own lines but not their numbers in the whole script.
        at = "".join(code.splitlines()[failure.line - 1 : failure.line]) if failure.line else ""
        detail = str(failure.evidence.get("detail", "")).strip()[:_CALL_LOG_CHARS]
    error = result.error or result.status
    # Playwright's own text begins with the message that is already in the error.
    first, _, rest = detail.partition("\n")
    if error == NO_CODE_FOR_STEP or not first or first in error:
        detail = rest.strip()
    return without_durations("\n".join(filter(None, (at.strip(), error, detail))))


def own_log(parts: Iterable[str]) -> str:
    """Return the code's log; only its end if it is long."""
    logged = "\n".join(filter(None, parts))
    if len(logged) <= LOG_CHARS:
        return logged
    return f"({len(logged) - LOG_CHARS} characters left out)\n{logged[-LOG_CHARS:]}"


def answer_text(answer: object) -> str:
    """Return an answer as JSON, truncated if long."""
    text = json.dumps(answer, ensure_ascii=False)
    return text if len(text) <= _ANSWER_CHARS else f"{text[:_ANSWER_CHARS]} … (cut)"


def complaints(console: Iterable[str], failed_requests: Iterable[str]) -> Iterator[str]:
    """Yield console errors and failed requests, without those that always occur."""
    errors = (line for line in console if line.startswith(_COMPLAINTS))
    for name, lines in (("console", errors), ("failed request", failed_requests)):
        kept = dict.fromkeys(line for line in lines if not _NOISE.search(line))
        yield from (f"{name}: {line}" for line in list(kept)[-_NOISE_LINES:])


def without_durations(text: str) -> str:
    """Return a run's output without durations, so that equal failures give equal prompts."""
    return _DURATION.sub("some time", text)


def at_new_address(failed: Attempt, entry_url: str) -> Attempt:
    """Return a failed attempt as if its server had used the new server's port.

    A case's own server may have another port in each attempt, and a faithful repair would keep the
    old one.

    Args:
        failed: the attempt that is retried.
        entry_url: the page on which the retry starts.
    """
    old, new = urlsplit(failed.entry_url_used), urlsplit(entry_url)
    if old.hostname != new.hostname or old.port == new.port or not old.port or not new.port:
        return failed
    there = re.compile(rf"(?<![\w.]){re.escape(old.netloc)}(?!\d)")
    moved: Attempt = _with_texts(failed, lambda text: there.sub(new.netloc, text))
    return moved


def guidance_at(guidance: Guidance, entry_url: str) -> Guidance:
    """Return a retry's guidance, with its attempts as if made at the new address."""
    attempts = (at_new_address(attempt, entry_url) for attempt in guidance.attempts)
    return replace(guidance, attempts=tuple(attempts))


def _with_texts(value: Any, change_text: Callable[[str], str]) -> Any:
    """Return a value with all its texts changed, even those in tuples, mappings and records."""
    if isinstance(value, str):
        return change_text(value)
    if isinstance(value, BaseModel):
        # Text sent to the model stays as it was sent.
        fields = type(value).model_fields.keys() - {"exchanges"}
        changed = {name: _with_texts(getattr(value, name), change_text) for name in fields}
        return value.model_copy(update=changed)
    if isinstance(value, StepProblem):
        return StepProblem(*(change_text(text) for text in (value.where, value.en, value.zh)))
    if isinstance(value, dict):
        return {key: _with_texts(item, change_text) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(_with_texts(item, change_text) for item in value)
    return value


def retry_notes(attempt: Attempt, tools: Tools) -> str:
    """Return advice, evidence and reflection for a retry; empty if its arm gets none.

    Page text and the model's own words are fenced, because both may contain instructions.
    """
    guidance = tools.guidance
    if guidance is None or not guidance.arm.informed:
        return ""
    parts = [guidance.recovery.user_prompt] if guidance.arm.advised else []
    parts.append(evidence_text(tools))
    if attempt.correction and attempt.correction.reflection:
        parts.append(fence(attempt.correction.reflection, "reflection"))
    return "\n".join(parts)


def evidence_text(tools: Tools) -> str:
    """Return what the page showed when the previous attempt failed."""
    assert tools.guidance is not None, "only a correction has evidence"
    lines = (f"- {fact}" for fact in tools.guidance.evidence[:_EVIDENCE_LINES])
    return fence("\n".join(lines), "evidence")
