"""The values a run produces: from one tool call up to a cell, as saved in `cell.json`.

All are frozen pydantic models; a stage returns a changed copy. The saved names are the contract
of the report (format `CELL_FORMAT`), so a renamed field is a format change.
"""

from datetime import datetime
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from pytest_autoweb.errors import ModelCause

CELL_FORMAT: Literal["pytest-autoweb/cell"] = "pytest-autoweb/cell"
CELL_VERSION = 1

Outcome = Literal["passed", "failed", "healed", "broken", "ungraded", "skipped"]
"""Of a cell; `healed` is passed only after repair, `broken` is infrastructure."""

CaptureMode = Literal["ARIA", "ARIA_SNAPSHOT", "A11Y", "RAW_HTML"]
"""How the page is shown to the model."""

StageName = Literal[
    "plan", "capture", "visual", "generate", "lint", "execute", "judge", "repair", "analysis"
]

FailureKind = Literal[
    "model",  # the model's service gave no usable reply
    "plan",  # the reply holds no plan, or the plan asks a question nobody answers
    "lint",  # the code is missing, or refused by the sandbox's policy
    "repair",  # the repair says the same again
    "step",  # the code raised while it ran
    "timeout",  # a step ran out of time
    "sandbox",  # a call was refused, or the worker was killed by a limit
    "check",  # the steps ran, a check does not hold
    "navigation",  # the entry page could not be opened
    "browser",  # the browser or the page died
    "webserver",  # the case's web server did not start or reset
    "killed",  # the test process died while it ran the cell
    "internal",  # a bug in pytest-autoweb
]

StepStatus = Literal["ok", "failed", "blocked", "skipped", "not_run"]
"""`blocked`: an earlier step failed; `not_run`: nothing was executed (lint, empty plan)."""


class Record(BaseModel):
    """Base of everything saved: frozen, unknown fields refused, docstrings become the schema."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


class Usage(Record):
    """Tokens, money and time of model calls; adds up with `+`."""

    calls: int = 0
    """Model calls, failed ones included."""
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = None
    """US dollars of the priced calls; None when no call had a price."""
    unpriced_calls: int = 0
    """Calls whose model has no known price: then `cost_usd` is a lower bound or unknown."""
    latency_s: float = 0.0
    """Seconds spent waiting for the service (of the recording, when replayed)."""
    replayed_calls: int = 0
    """Calls answered by a cassette."""

    def __add__(self, other: "Usage") -> "Usage":
        costs = [c for c in (self.cost_usd, other.cost_usd) if c is not None]
        return Usage(
            calls=self.calls + other.calls,
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            cost_usd=sum(costs) if costs else None,
            unpriced_calls=self.unpriced_calls + other.unpriced_calls,
            latency_s=self.latency_s + other.latency_s,
            replayed_calls=self.replayed_calls + other.replayed_calls,
        )


class Failure(Record):
    """Something a page, a model or the infrastructure did wrong."""

    kind: FailureKind
    message: str
    """A plain sentence."""
    cause: ModelCause | None = None
    """Of kind `model` only."""
    rule: str | None = None
    """The rule id of the lint or the sandbox that refused."""
    step_index: int | None = None
    line: int | None = None
    """1-based line in the attempt's code."""
    evidence: dict[str, Any] = Field(default_factory=dict)


class LintFinding(Record):
    """One reason why code is refused before it runs."""

    line: int
    col: int
    """1-based."""
    code: str
    """The rule id, e.g. `AW102`."""
    message: str
    hint: str = ""

    def __str__(self) -> str:
        tail = f" ({self.hint})" if self.hint else ""
        return f"{self.line}:{self.col} {self.code} {self.message}{tail}"


class PlanStep(Record):
    """One step of a plan."""

    index: int
    description: str = ""
    target_url: str = "CURRENT_PAGE"
    """A URL or `CURRENT_PAGE`."""
    entry_action: str = ""
    """How the model says the page is reached, e.g. `Direct URL`."""
    status: Literal["CONFIRMED", "UNKNOWN"] = "UNKNOWN"


class Snapshot(Record):
    """The page as shown to the model."""

    step_indexes: tuple[int, ...]
    """The plan's steps that share this snapshot."""
    url: str
    entry_action: str
    mode: CaptureMode
    cache_key: str
    """SHA-256 of URL (query included), entry action and mode."""
    text: str
    tokens: int
    """Estimated, at four characters a token (one for CJK)."""
    truncated: bool = False
    notes: tuple[str, ...] = ()


class ToolCall(Record):
    """One call of generated code across the sandbox's border."""

    step_index: int
    seq: int
    """0-based within the step."""
    target: str
    """The receiver, e.g. `page.get_by_role('button', name='Save')`."""
    method: str
    arguments: str
    """Shortened and redacted."""
    acting: bool
    """Whether the call may change the page (click, fill, goto, evaluate …)."""
    ok: bool
    error: str | None = None
    duration_ms: float
    line: int | None = None
    """1-based line in the step's block."""
    replayed: bool = False
    """Answered from the record while a retried step caught up; not performed again."""


class StepResult(Record):
    """What became of one step."""

    step_index: int
    ok: bool
    status: StepStatus
    duration_ms: float = 0.0
    error: str | None = None
    log_tail: str = ""
    retried: bool = False
    """The step ran out of time once and was continued with a larger limit."""
    context: str = "page"
    """The page or frame that `page` meant, as chosen before the step."""
    failure: Failure | None = None
    screenshot: str | None = None
    """Path below the cell's folder."""


class CheckResult(Record):
    """What one entry of `expect` saw."""

    index: int
    type: str
    passed: bool | None
    """None: it could not be evaluated."""
    expected: str
    actual: str
    where: str = ""
    """Where it was seen: a URL, a frame, a request, a file, a record."""
    message: str = ""
    """The case's own `message`, or why it could not be evaluated."""
    finding: str = ""
    """A named verdict beside holding or not: `CONDITION_IGNORED`, `captcha`, `impossible` …"""
    hint: str = ""
    """What a repair may be told; empty for checks that would give their answer away."""
    weight: float = 1.0
    credit: float | None = None
    """Partial credit from 0 to 1; None: 1 when it holds, 0 when not."""
    advisory: bool = False
    """Reported, but without a part in the verdict."""
    checksum: str = ""
    """SHA-256 of the check as written, so that a later look knows whether it is the same."""
    usage: Usage = Field(default_factory=Usage)
    """Of a model that judged."""
    duration_ms: float = 0.0


class Exchange(Record):
    """One model call: what was asked and what came back, redacted."""

    stage: StageName
    turn: int = 0
    prompt: str
    reply: str
    usage: Usage
    model_served: str = ""
    error: str | None = None


class Scene(Record):
    """The page as it was at the failing step, taken before anything moved."""

    step_index: int
    url: str
    title: str = ""
    snapshot: str = ""
    """In the cell's capture mode."""
    screenshot: str | None = None
    console: tuple[str, ...] = ()
    failed_requests: tuple[str, ...] = ()


class Attempt(Record):
    """One try at a cell: index 1, then 2.. for repairs."""

    attempt_index: int = 1
    repair_attempt: bool = False
    prompt: str = ""
    """The user's task as put to the planner."""
    plan_text: str = ""
    plan_confirmed: bool = False
    plan_has_question: bool = False
    plan_question: str = ""
    plan_steps: tuple[PlanStep, ...] = ()
    snapshots: tuple[Snapshot, ...] = ()
    visual_description: str = ""
    code: str = ""
    code_diff: str = ""
    """Unified diff against the previous attempt's code."""
    code_notes: tuple[str, ...] = ()
    """What normalisation or block splitting did, e.g. duplicate headings joined."""
    lint_errors: tuple[LintFinding, ...] = ()
    entry_url_used: str = ""
    step_results: tuple[StepResult, ...] = ()
    tool_calls: tuple[ToolCall, ...] = ()
    formatted_errors: tuple[str, ...] = ()
    run_log_head: str = ""
    run_log_tail: str = ""
    answer: Any = None
    """What the code passed to `answer(...)`, a JSON value."""
    answered: bool = False
    evidence: dict[str, str] = Field(default_factory=dict)
    """What was kept to judge by later: `dom`, `wire`, `downloads` -> path below the cell's
    folder."""
    checks: tuple[CheckResult, ...] = ()
    executed: bool = False
    """A plan and steps exist, and every step ended ok."""
    checks_passed: bool | None = None
    """None: no check could be evaluated."""
    score: float | None = None
    """Weight of passed checks over weight of evaluated ones."""
    false_success: bool = False
    """Executed, yet a check does not hold."""
    failure: Failure | None = None
    scene: Scene | None = None
    exchanges: tuple[Exchange, ...] = ()
    usage: dict[str, Usage] = Field(default_factory=dict)
    """Per stage."""
    stage_ms: dict[str, float] = Field(default_factory=dict)
    """Wall milliseconds per stage."""
    final_url: str = ""
    final_screenshot: str | None = None
    duration_ms: float = 0.0


class PlannedCell(Record):
    """A cell as collected, before it ran: one row of the run's `manifest.json`."""

    case_id: str
    case_path: str
    """Relative to the rootdir, `/` as separator."""
    line: int | None = None
    """Where the case begins in its file, from 1."""
    entry_url: str
    user_task: str
    tags: tuple[str, ...] = ()
    must_pass: bool = False
    model: str
    capture_mode: CaptureMode
    repeat: int = 1
    strategy: str = "codegen"
    nodeid: str = ""
    folder: str = ""
    """The cell's folder below the run folder."""


class CellResult(PlannedCell):
    """Everything known about one cell when it ended; the content of `cell.json`."""

    format: Literal["pytest-autoweb/cell"] = CELL_FORMAT
    version: int = CELL_VERSION
    dialect: str = "playwright"
    outcome: Outcome
    slow: bool = False
    """Passed, but only after a step was continued with a larger time limit."""
    reason: str = ""
    """One line: why the outcome is not `passed`."""
    failure: Failure | None = None
    attempts: tuple[Attempt, ...] = ()
    usage: dict[str, Usage] = Field(default_factory=dict)
    started: datetime
    duration_ms: float = 0.0
    worker: str = "main"
    """The xdist worker."""
    checksums: dict[str, str] = Field(default_factory=dict)
    """SHA-256 of `case`, `prompts`, `checks` and `capture`: rows with other sums do not compare."""

    @property
    def passed(self) -> bool:
        """The checks hold, at the first try or after a repair."""
        return self.outcome in ("passed", "healed")

    @property
    def total_usage(self) -> Usage:
        """All stages added up."""
        return sum(self.usage.values(), Usage())


class RunInfo(Record):
    """Facts of the run as a whole."""

    ts: str
    """`yyyyMMdd_HHmmss_SSS`, local time."""
    started: datetime
    duration_s: float = 0.0
    exit_status: int | None = None
    models: tuple[str, ...]
    capture_modes: tuple[CaptureMode, ...]
    settings: dict[str, Any] = Field(default_factory=dict)
    """Each setting with its value and where it came from."""
    environment: dict[str, str] = Field(default_factory=dict)
    """Versions of Python, Playwright, browser, this package, operating system, git commit."""
    workers: int = 0
    """xdist workers; 0 without xdist. Durations of parallel runs are not comparable."""
    shard: tuple[int, int] | None = None
    """Number and count, when only a part of the cells was run."""
    interrupted: bool = False


def total_usage(attempts: tuple[Attempt, ...]) -> dict[str, Usage]:
    """Usage per stage over all attempts."""
    total: dict[str, Usage] = {}
    for attempt in attempts:
        for stage, usage in attempt.usage.items():
            total[stage] = total.get(stage, Usage()) + usage
    return total
