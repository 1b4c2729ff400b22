"""One attempt at a cell, and the results of its checks."""

from datetime import datetime
from typing import Any, Self, TypedDict

from pydantic import Field
from pydantic.json_schema import SkipJsonSchema

from pytest_autoweb.language import StepProblem
from pytest_autoweb.results.correction import Classification, Correction, Finding
from pytest_autoweb.results.decision import Decision, Location
from pytest_autoweb.results.record import Exchange, Record, Usage
from pytest_autoweb.results.steps import (
    Failure,
    LintFinding,
    PlanStep,
    Scene,
    Snapshot,
    StepResult,
    ToolCall,
)


class CheckResult(Record):
    """The result of one entry of `expect`."""

    index: int
    """The position of the check in the case's `expect`, from 0."""
    type: str
    """The name of the check type, e.g. `url`."""
    passed: bool | None
    """Whether the check holds; None if it could not be evaluated."""
    expected: str
    """What the check wanted to see, in words."""
    actual: str
    """What was seen instead, or as well; redacted and shortened."""
    where: str = ""
    """Where it was seen: a URL, a frame, a request, a file, a record."""
    message: str = ""
    """The case's own `message`, or why it could not be evaluated."""
    finding: str = ""
    """A verdict with a name of its own, such as `CONDITION_IGNORED`, `captcha` or `impossible`."""
    hint: str = ""
    """What a repair may be told; empty for checks that would give their answer away."""
    weight: float = 1.0
    """How much the check counts in the score, relative to the others."""
    credit: float | None = None
    """Partial credit from 0 to 1; None means 1 if the check holds and 0 if it does not."""
    advisory: bool = False
    """Whether the check is only reported and has no part in the verdict."""
    checksum: str = ""
    """SHA-256 of the check as written, so that a later look knows whether it is the same."""
    usage: Usage = Field(default_factory=Usage)
    """What the judging model used, if one was asked."""
    duration_ms: float = 0.0
    """How long the check was looked at, in milliseconds."""


class Attempt(Record):
    """One attempt at a cell: the first one, or a repair of it."""

    attempt_index: int = 1
    """The number of the attempt: 1, then 2 and up for repairs."""
    repair_attempt: bool = False
    """Whether the attempt repairs or retries an earlier one."""
    rerun_because: str = ""
    """Why the attempt was made a second time: the browser of the first one died, through no fault
    of its code. Empty if it was made once."""
    prompt: str = ""
    """The user's task, as it was put to the planner."""
    plan_text: str = ""
    """The planner's reply, redacted."""
    plan_confirmed: bool = False
    """Whether the plan counts as confirmed, and not as a question or a draft."""
    plan_has_question: bool = False
    """Whether the plan asks the user a question."""
    plan_question: str = ""
    """The question that the plan asks; empty when it asks none."""
    plan_steps: tuple[PlanStep, ...] = ()
    """The steps that were read from the plan."""
    snapshots: tuple[Snapshot, ...] = ()
    """The pages as they were shown to the model."""
    visual_description: str = ""
    """A model's description of the screenshot, with `--autoweb-visual-supplement`."""
    code: str = ""
    """The generated code, with one block for each step."""
    turns: int = 0
    """The number of turns in which the code was written; 0 if it was written at once."""
    code_diff: str = ""
    """Unified diff against the previous attempt's code."""
    code_notes: tuple[str, ...] = ()
    """What was changed when the code was normalised and split into blocks, e.g. that duplicate
    headings were joined."""
    lint_errors: tuple[LintFinding, ...] = ()
    """Why the code was refused before it ran."""
    entry_url_used: str = ""
    """The URL of the page on which the attempt really started."""
    step_results: tuple[StepResult, ...] = ()
    """What became of each step."""
    tool_calls: tuple[ToolCall, ...] = ()
    """The calls that the code made across the sandbox's border, in order."""
    decisions: tuple[Decision, ...] = ()
    """The decisions of strategies that act by sight, in order."""
    locations: tuple[Location, ...] = ()
    """The searches of the vision locator, in order."""
    problems: SkipJsonSchema[tuple[StepProblem, ...]] = Field(default=(), exclude=True)
    """What went wrong, kept only while the attempt runs; it is saved as `formatted_errors`."""
    formatted_errors: tuple[str, ...] = ()
    """What went wrong, as lines in the language of `--autoweb-language`."""
    run_log_head: str = ""
    """The first lines that the code logged."""
    run_log_tail: str = ""
    """The last lines that the code logged."""
    answer: Any = None
    """What the code passed to `answer(...)`, a JSON value."""
    answered: bool = False
    """Whether the code called `answer(...)`, which also tells an answer of null from none."""
    evidence: dict[str, str] = Field(default_factory=dict)
    """Paths, below the cell's folder, of what was kept to judge by later: `dom`, `wire` and
    `downloads`."""
    checks: tuple[CheckResult, ...] = ()
    """What each check of the case saw."""
    executed: bool = False
    """Whether there were a plan and steps, and every step ended well."""
    checks_passed: bool | None = None
    """Whether the checks hold; None if that could not be decided."""
    score: float | None = None
    """The weight that was earned, as a share of the weight of all evaluated checks."""
    false_success: bool = False
    """Whether every step ended well although a check does not hold."""
    failure: Failure | None = None
    """What went wrong, if anything did."""
    classification: Classification | None = None
    """The failure's type, with what the page and its server said taken into account."""
    findings: tuple[Finding, ...] = ()
    """What was seen on the page when it failed."""
    correction: Correction | None = None
    """What this attempt was told; None for a first attempt and for an ordinary repair."""
    writes: int = 0
    """The number of requests that may have changed something on a server."""
    scene: Scene | None = None
    """The page as it was at the failing step."""
    exchanges: tuple[Exchange, ...] = ()
    """The model calls of the attempt, in order."""
    usage: dict[str, Usage] = Field(default_factory=dict)
    """What the model calls of each stage used."""
    stage_ms: dict[str, float] = Field(default_factory=dict)
    """The duration of each stage, in milliseconds."""
    stage_started: dict[str, datetime] = Field(default_factory=dict)
    """The time at which each stage began, with its time zone."""
    final_url: str = ""
    """The page's URL at the end, redacted."""
    final_screenshot: str | None = None
    """The path of the last screenshot, below the cell's folder."""
    duration_ms: float = 0.0
    """The duration of the whole attempt, in milliseconds."""

    def failed_steps(self) -> str:
        """Return the numbers of the steps that failed, such as `2, 3`."""
        failed = (step for step in self.step_results if step.status == "failed")
        return ", ".join(str(step.step_index) for step in failed)

    def charged(self, exchange: Exchange) -> Self:
        """Return the attempt with one more call, and its usage added to that of the stage."""
        used = self.usage.get(exchange.stage, Usage()) + exchange.usage
        return self.model_copy(
            update={
                "exchanges": (*self.exchanges, exchange),
                "usage": {**self.usage, exchange.stage: used},
            }
        )


class AttemptFields(TypedDict, total=False):
    """The fields of `Attempt` as keyword arguments, for changes that the type checker can check.

    A test makes sure that they are the same as the model's.
    """

    attempt_index: int
    repair_attempt: bool
    rerun_because: str
    prompt: str
    plan_text: str
    plan_confirmed: bool
    plan_has_question: bool
    plan_question: str
    plan_steps: tuple[PlanStep, ...]
    snapshots: tuple[Snapshot, ...]
    visual_description: str
    code: str
    turns: int
    code_diff: str
    code_notes: tuple[str, ...]
    lint_errors: tuple[LintFinding, ...]
    entry_url_used: str
    step_results: tuple[StepResult, ...]
    tool_calls: tuple[ToolCall, ...]
    decisions: tuple[Decision, ...]
    locations: tuple[Location, ...]
    problems: tuple[StepProblem, ...]
    formatted_errors: tuple[str, ...]
    run_log_head: str
    run_log_tail: str
    answer: Any
    answered: bool
    evidence: dict[str, str]
    checks: tuple[CheckResult, ...]
    executed: bool
    checks_passed: bool | None
    score: float | None
    false_success: bool
    failure: Failure | None
    classification: Classification | None
    findings: tuple[Finding, ...]
    correction: Correction | None
    writes: int
    scene: Scene | None
    exchanges: tuple[Exchange, ...]
    usage: dict[str, Usage]
    stage_ms: dict[str, float]
    stage_started: dict[str, datetime]
    final_url: str
    final_screenshot: str | None
    duration_ms: float


def total_usage(attempts: tuple[Attempt, ...]) -> dict[str, Usage]:
    """Add up the usage of each stage over all attempts."""
    total: dict[str, Usage] = {}
    for attempt in attempts:
        for stage, usage in attempt.usage.items():
            total[stage] = total.get(stage, Usage()) + usage
    return total
