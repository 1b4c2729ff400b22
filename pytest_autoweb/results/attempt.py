"""One try at a cell."""

from typing import Any, TypedDict

from pydantic import Field
from pydantic.json_schema import SkipJsonSchema

from pytest_autoweb.language import StepProblem
from pytest_autoweb.results.calibration import Classification, Correction, Finding
from pytest_autoweb.results.check import CheckResult
from pytest_autoweb.results.decision import Decision
from pytest_autoweb.results.exchange import Exchange
from pytest_autoweb.results.failure import Failure, LintFinding
from pytest_autoweb.results.location import Location
from pytest_autoweb.results.record import Record
from pytest_autoweb.results.steps import PlanStep, Scene, Snapshot, StepResult, ToolCall
from pytest_autoweb.results.usage import Usage


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
