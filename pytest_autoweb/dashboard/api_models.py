"""The shapes of REST requests and replies; docs/dashboard.md lists them, in camelCase as here."""

import datetime as dt
from typing import Annotated, Any

from fastapi import HTTPException, Request
from pydantic import ConfigDict, Field, StringConstraints
from pydantic.alias_generators import to_camel

from pytest_autoweb.specs import Documented


def since(days: int) -> dt.date:
    """Return the first day (UTC) of a period of `days` days that ends today."""
    return dt.datetime.now(dt.UTC).date() - dt.timedelta(days=days - 1)


def only_known(request: Request) -> None:
    """Refuse unknown query parameters, because a misspelt one would otherwise go unnoticed.

    Raises:
        HTTPException: with status 422, if there is an unknown parameter.
    """
    known = {field.alias for field in request.scope["route"].dependant.query_params}
    for name in request.query_params:
        if name not in known:
            raise HTTPException(422, f"query.{name}: there is no such parameter")


Fraction = Annotated[float, Field(ge=0, le=1)]
Count = Annotated[int, Field(ge=0)]
Name = Annotated[str, StringConstraints(max_length=200)]
Text = Annotated[str, StringConstraints(max_length=20_000)]


class Shape(Documented):
    """The base of all requests and responses: camelCase in JSON, and unknown fields refused."""

    model_config = ConfigDict(
        alias_generator=to_camel,
        validate_by_name=True,
        validate_by_alias=True,
        extra="forbid",
        strict=True,
        # FastAPI wants models that are built.
        defer_build=False,
    )


class ErrorShape(Shape):
    """The reason why a request failed."""

    detail: str


class IntervalShape(Shape):
    """A 95% confidence interval."""

    low: Fraction
    high: Fraction


class AnalyzeRequest(Shape):
    """A failure to classify."""

    error_type: Name = ""
    """The class name of the exception, or the browser's name for it, such as `TimeoutError`."""
    error_message: Text
    tool_name: Name = ""
    """The name of the tool as in the ranking, such as `locator.click`."""


class AnalyzeAnswer(Shape):
    """The type of a failure, and what may help."""

    failure_type: str
    recovery_prompt: str
    suggestions: list[str]
    web_kind: str
    """The kind of failure specific to web pages; empty when none is known."""
    decided_by: str
    """The rule that decided; `keyword` is the least certain one."""
    alternatives: list[str]
    """Up to three other tools for the same purpose."""
    recoverable: bool
    requires_user_confirmation: bool


class FailureTypeCount(Shape):
    """How often calls failed in one way."""

    failure_type: str
    web_kind: str
    count: Count
    share: Fraction
    """The share of these calls among all failed calls."""


class FailureCauseCount(Shape):
    """How many cells failed for one cause."""

    failure_type: str
    web_kind: str
    count: Count
    share: Fraction
    """The share of these cells among all failed cells."""


class ToolStats(Shape):
    """The reliability of one tool."""

    tool_name: str
    total_calls: Count
    success_rate: Fraction | None
    success_interval: IntervalShape | None
    avg_execution_time: Annotated[float, Field(ge=0)] | None
    """The mean duration of a call in milliseconds."""
    correction_success_rate: Fraction | None
    corrections: Count
    """The number of corrections tried, which `correctionSuccessRate` refers to."""
    last_failure_type: str | None


class DashboardAnswer(Shape):
    """The numbers of tool calls and corrections at a glance."""

    since: dt.date
    total_tool_calls: Count
    duplicate_calls: Count
    failed_calls: Count
    corrected_calls: Count
    correction_success: Count
    duplicate_rate: Fraction | None
    """The share of duplicate calls among `totalToolCalls`."""
    failure_rate: Fraction | None
    """The share of failed calls among `totalToolCalls`."""
    correction_success_rate: Fraction | None
    """The share of corrections that helped among `correctedCalls`."""
    top_failure_types: list[FailureTypeCount]
    """Symptoms: how tool calls failed, whatever became of their cell."""
    failed_cells: Count
    """The number of cells with a cause of failure, broken ones included, without controls."""
    top_failure_causes: list[FailureCauseCount]
    """Causes: why cells failed, with corrections according to what page and server said. They are
    those of `failureTypes` of runs and trends."""
    tool_reliability_ranking: list[ToolStats]
    """The ten most reliable tools over all days, by the lower end of their interval."""


KNOWN_PARAMETERS = ("target", "arguments")
"""The parameters of a call that the records have."""


class VerifyRequest(Shape):
    """A call that failed, to be looked up in the records."""

    factory_id: Name = ""
    """The id of the run to look in; empty means all runs."""
    tool_name: Name
    params: Annotated[dict[Name, Any], Field(max_length=100, default_factory=dict)]
    """Parameters of the call. `target` and `arguments` are compared with the recorded ones; any
    others are not known to the records and named in `unknown`."""
    error: Text = ""


class ContextInfo(Shape):
    """What the records say about calls like this one."""

    same_call: Count
    """The number of calls of this tool with these parameters."""
    same_call_success_rate: Fraction | None
    same_tool: Count
    same_tool_success_rate: Fraction | None
    last_error: str | None
    """The latest error of this tool."""
    failure_type: str | None
    """The type of the given error."""
    unknown: list[str]
    """What the answer does not know, in sentences: a run that the store does not have, or
    parameters that no record has."""
    nearest_tools: list[str]
    """Known tools with a similar name, when the given one is unknown."""


class VerifyAnswer(Shape):
    """Whether such a call ever succeeded, and what may help."""

    has_data: bool
    """The records hold a successful call of this tool with these parameters; false if one of them
    cannot be compared."""
    suggestion: str
    context_info: ContextInfo


class RunShape(Shape):
    """One run with the counts of its cells."""

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
    failure_types: dict[str, int]
    """The causes of its failed cells with their numbers, without controls."""
    report: str | None
    """The address of the run's report; null when the report is not on this machine."""


class CellShape(Shape):
    """One cell with its result."""

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

    run: RunShape
    cells: list[CellShape]


class CellDetail(Shape):
    """A cell with its attempts."""

    cell: CellShape
    run_id: str
    report: str | None
    """The address of the cell in the report of its run."""
    attempts: list[dict[str, Any]]
    """The attempts as rows of the store, each with `checks`, `tool_calls` and `correction`."""


class TrendPointShape(Shape):
    """The results of one model in one run, a point of its trend."""

    run_id: str
    started_at: dt.datetime
    commit: str
    model: str
    cells: Count
    cases: Count
    """The number of cases, which are the units of the interval."""
    pass_rate: Fraction | None
    """The share of cells that passed at the first attempt, among all cells that were run."""
    pass_interval: IntervalShape | None
    after_repair_rate: Fraction | None
    cost_usd: float | None
    cost_complete: bool
    failure_types: dict[str, int]
