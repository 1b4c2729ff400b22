"""What REST takes and gives. Field names are camelCase, those of the calibration's description.

Rates are fractions from 0 to 1; `null` means that there is nothing to rate, and what a rate is of
stands beside it.
"""

import datetime as dt
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, StringConstraints
from pydantic.alias_generators import to_camel

Fraction = Annotated[float, Field(ge=0, le=1)]
Count = Annotated[int, Field(ge=0)]
Name = Annotated[str, StringConstraints(max_length=200)]
Text = Annotated[str, StringConstraints(max_length=20_000)]


class Shape(BaseModel):
    """Base of all: camelCase outside, nothing unknown taken."""

    model_config = ConfigDict(
        alias_generator=to_camel,
        validate_by_name=True,
        validate_by_alias=True,
        extra="forbid",
        strict=True,
        use_attribute_docstrings=True,
    )


class Problem(Shape):
    """Why a request has no other answer."""

    detail: str


class Interval(Shape):
    """A 95% confidence interval."""

    low: Fraction
    high: Fraction


class AnalyzeRequest(Shape):
    """A failure to look at."""

    error_type: Name = ""
    """The exception's class name, or the web's: `TimeoutError`."""
    error_message: Text
    tool_name: Name = ""
    """As in the ranking: `locator.click`."""


class AnalyzeAnswer(Shape):
    """What kind of failure it is, and what may help."""

    failure_type: str
    recovery_prompt: str
    suggestions: list[str]
    web_kind: str
    """The web's own kind of failure; empty when none is known."""
    decided_by: str
    """Which rule decided; `keyword` is the least certain."""
    alternatives: list[str]
    """Other tools of the same sort, at most three."""
    recoverable: bool
    requires_user_confirmation: bool


class FailureTypeCount(Shape):
    """How often calls failed in one way."""

    failure_type: str
    web_kind: str
    count: Count
    share: Fraction
    """Of all failed calls."""


class ToolStats(Shape):
    """How reliable a tool is."""

    tool_name: str
    total_calls: Count
    success_rate: Fraction | None
    success_interval: Interval | None
    avg_execution_time: Annotated[float, Field(ge=0)] | None
    """Milliseconds."""
    correction_success_rate: Fraction | None
    corrections: Count
    """Corrections tried: what `correctionSuccessRate` is of."""
    last_failure_type: str | None


class DashboardAnswer(Shape):
    """The calibration at a glance."""

    since: dt.date
    total_tool_calls: Count
    duplicate_calls: Count
    failed_calls: Count
    corrected_calls: Count
    correction_success: Count
    duplicate_rate: Fraction | None
    """Of `totalToolCalls`."""
    failure_rate: Fraction | None
    """Of `totalToolCalls`."""
    correction_success_rate: Fraction | None
    """Of `correctedCalls`."""
    top_failure_types: list[FailureTypeCount]
    tool_reliability_ranking: list[ToolStats]
    """The ten most reliable, by the lower end of the interval; over all days."""


class CallParameters(Shape):
    """What is given must be equal to what was recorded."""

    target: Text | None = None
    arguments: Text | None = None


class VerifyRequest(Shape):
    """A call that failed, to be looked up in the records."""

    factory_id: Name = ""
    """The run to look in (its id); empty: all runs."""
    tool_name: Name
    params: CallParameters = CallParameters()
    error: Text = ""


class ContextInfo(Shape):
    """What the records say; no opinion."""

    same_call: Count
    """Calls with this tool and these parameters."""
    same_call_success_rate: Fraction | None
    same_tool: Count
    same_tool_success_rate: Fraction | None
    last_error: str | None
    """Of this tool."""
    failure_type: str | None
    """Of the given error."""
    nearest_tools: list[str]
    """When the tool is unknown: known ones with a similar name."""


class VerifyAnswer(Shape):
    """Whether there is anything to go by."""

    has_data: bool
    """The records hold a call of this tool with these parameters that went well."""
    suggestion: str
    context_info: ContextInfo


class Run(Shape):
    """One run."""

    id: str
    ts: str
    started_at: dt.datetime
    duration_s: float
    commit: str
    interrupted: bool
    models: list[str]
    cells: Count
    passed: Count
    failed: Count
    broken: Count
    report: str | None
    """Address of its report; null: it is not on this machine."""


class Cell(Shape):
    """One cell."""

    id: str
    case_id: str
    model: str
    capture_mode: str
    repeat: int
    strategy: str
    correction: str
    control: bool
    outcome: str
    reason: str
    failure_type: str | None
    web_kind: str | None
    cost_usd: float | None
    cost_complete: bool
    duration_ms: int


class RunDetail(Shape):
    """A run with its cells."""

    run: Run
    cells: list[Cell]


class CellDetail(Shape):
    """A cell with its attempts."""

    cell: Cell
    run_id: str
    report: str | None
    """Address of the cell in its run's report."""
    attempts: list[dict[str, Any]]
    """Rows of the store's tables, with `checks`, `tool_calls` and `correction`."""


class TrendPoint(Shape):
    """One model in one run."""

    run_id: str
    started_at: dt.datetime
    commit: str
    model: str
    cells: Count
    cases: Count
    """Units of the interval."""
    pass_rate: Fraction | None
    """Passed at the first attempt, over all cells that were run."""
    pass_interval: Interval | None
    after_repair_rate: Fraction | None
    cost_usd: float | None
    cost_complete: bool
    failure_types: dict[str, int]
