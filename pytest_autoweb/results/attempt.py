"""One try at a cell, and what its checks saw."""

from typing import Any, TypedDict

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
    decisions: tuple[Decision, ...] = ()
    """Of the strategies that act by sight."""
    locations: tuple[Location, ...] = ()
    """Searches of the vision locator."""
    problems: SkipJsonSchema[tuple[StepProblem, ...]] = Field(default=(), exclude=True)
    """What went wrong; only while it runs. It is saved as `formatted_errors`."""
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
    classification: Classification | None = None
    """The failure's type, with what the page and its server said taken into account."""
    findings: tuple[Finding, ...] = ()
    """What was seen on the page when it failed."""
    correction: Correction | None = None
    """What this attempt was told; None for a first attempt and for the ordinary repair."""
    writes: int = 0
    """Requests that may have changed something on a server."""
    scene: Scene | None = None
    exchanges: tuple[Exchange, ...] = ()
    usage: dict[str, Usage] = Field(default_factory=dict)
    """Per stage."""
    stage_ms: dict[str, float] = Field(default_factory=dict)
    """Wall milliseconds per stage."""
    final_url: str = ""
    final_screenshot: str | None = None
    duration_ms: float = 0.0


class AttemptFields(TypedDict, total=False):
    """The fields of `Attempt` as keyword arguments, for changes that the type checker can check.

    A test holds them to the model's.
    """

    attempt_index: int
    repair_attempt: bool
    prompt: str
    plan_text: str
    plan_confirmed: bool
    plan_has_question: bool
    plan_question: str
    plan_steps: tuple[PlanStep, ...]
    snapshots: tuple[Snapshot, ...]
    visual_description: str
    code: str
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
    final_url: str
    final_screenshot: str | None
    duration_ms: float


def total_usage(attempts: tuple[Attempt, ...]) -> dict[str, Usage]:
    """Usage per stage over all attempts."""
    total: dict[str, Usage] = {}
    for attempt in attempts:
        for stage, usage in attempt.usage.items():
            total[stage] = total.get(stage, Usage()) + usage
    return total
