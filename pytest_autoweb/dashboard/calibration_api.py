"""The four REST routes about tool calls and their correction (docs/dashboard.md)."""

import datetime as dt
import difflib
from typing import Annotated

from fastapi import APIRouter, HTTPException, Query

from pytest_autoweb.calibrate.classify import classify
from pytest_autoweb.calibrate.recovery import UNRECOVERABLE, recover
from pytest_autoweb.dashboard.asked import since
from pytest_autoweb.dashboard.shapes import (
    AnalyzeAnswer,
    AnalyzeRequest,
    ContextInfo,
    DashboardAnswer,
    ErrorShape,
    FailureTypeCount,
    IntervalShape,
    Name,
    ToolStats,
    VerifyAnswer,
    VerifyRequest,
)
from pytest_autoweb.report.statistics import Interval as Known
from pytest_autoweb.store import queries
from pytest_autoweb.store.opening import Store

Days = Annotated[int, Query(ge=1, le=3650, description="How many days to include, counting today.")]

TOP = 10


def calibration_routes(store: Store) -> APIRouter:
    """Return the routes, which read the given store."""
    routes = APIRouter(prefix="/api/calibration", tags=["calibration"])

    @routes.post("/analyze")
    def analyze(asked: AnalyzeRequest) -> AnalyzeAnswer:
        """Classify a failure and suggest what may help."""
        return analysis_of(asked)

    @routes.get("/dashboard")
    def dashboard(days: Days = 30) -> DashboardAnswer:
        """Return the rates of failures, repetitions and corrections, and the reliable tools."""
        return overview(store, since(days))

    @routes.get("/tool/{name}/stats", responses={404: {"model": ErrorShape}})
    def tool_stats(name: Name) -> ToolStats:
        """Return the reliability of one tool over all days."""
        with store.read() as connection:
            found = queries.tool(connection, name)
        if found is None:
            raise HTTPException(404, f"no record of a tool {name!r}")
        return tool_shape(found)

    @routes.post("/verify")
    def verify(asked: VerifyRequest) -> VerifyAnswer:
        """Return how earlier calls like a failed one ended, according to the records."""
        return verification(store, asked)

    return routes


def analysis_of(asked: AnalyzeRequest) -> AnalyzeAnswer:
    """Classify a failure and say what may help."""
    found = classify(asked.error_message, error_type=asked.error_type)
    advice = recover(found, asked.error_message, tool=asked.tool_name.rpartition(".")[2])
    return AnalyzeAnswer(
        failure_type=found.type,
        recovery_prompt=f"{advice.system_prompt}\n\n{advice.user_prompt}",
        suggestions=list(advice.suggestions),
        web_kind=found.web_kind,
        decided_by=found.by,
        alternatives=[other.name for other in advice.alternatives],
        recoverable=found.type not in UNRECOVERABLE,
        requires_user_confirmation=advice.requires_user_confirmation,
    )


def overview(store: Store, begin: dt.date) -> DashboardAnswer:
    """Return the numbers since a day, and the ranking of tools over all days."""
    with store.read() as connection:
        total = queries.together(queries.days(connection, begin))
        failures = queries.failure_counts(connection, begin)
        tools = queries.ranking(connection)
    return DashboardAnswer(
        since=begin,
        total_tool_calls=total.calls,
        duplicate_calls=total.duplicates.part,
        failed_calls=total.failures.part,
        corrected_calls=total.corrections.n,
        correction_success=total.corrections.part,
        duplicate_rate=total.duplicates.value,
        failure_rate=total.failures.value,
        correction_success_rate=total.corrections.value,
        top_failure_types=[
            FailureTypeCount(
                failure_type=one.failure_type,
                web_kind=one.web_kind,
                count=one.calls.part,
                share=one.calls.value or 0.0,
            )
            for one in failures[:TOP]
        ],
        tool_reliability_ranking=[tool_shape(tool) for tool in tools[:TOP]],
    )


def tool_shape(tool: queries.Tool) -> ToolStats:
    """Return a tool in the form of the REST API."""
    return ToolStats(
        tool_name=tool.name,
        total_calls=tool.successes.n,
        success_rate=tool.successes.value,
        success_interval=interval_shape(tool.successes.interval),
        avg_execution_time=tool.avg_ms,
        correction_success_rate=tool.corrections.value,
        corrections=tool.corrections.n,
        last_failure_type=tool.last_failure_type,
    )


def interval_shape(known: Known | None) -> IntervalShape | None:
    """Return an interval in the form of the REST API."""
    return IntervalShape(low=known.low, high=known.high) if known else None


def verification(store: Store, asked: VerifyRequest) -> VerifyAnswer:
    """Look up in the records how calls like this one ended."""
    parameters = asked.params.model_dump(exclude_none=True)
    with store.read() as connection:
        seen = queries.precedent(connection, asked.tool_name, parameters, asked.factory_id)
        names = [tool.name for tool in queries.ranking(connection)]
    near = [] if seen.same_tool.n else difflib.get_close_matches(asked.tool_name, names, n=3)
    analysis = (
        analysis_of(AnalyzeRequest(error_message=asked.error, tool_name=asked.tool_name))
        if asked.error
        else None
    )
    return VerifyAnswer(
        has_data=seen.same_call.part > 0,
        suggestion=_suggestion(seen, near, analysis),
        context_info=ContextInfo(
            same_call=seen.same_call.n,
            same_call_success_rate=seen.same_call.value,
            same_tool=seen.same_tool.n,
            same_tool_success_rate=seen.same_tool.value,
            last_error=seen.last_error,
            failure_type=analysis.failure_type if analysis else None,
            nearest_tools=near,
        ),
    )


def _suggestion(seen: queries.Precedent, near: list[str], analysis: AnalyzeAnswer | None) -> str:
    if near:
        return f"No such tool was ever called; did you mean {near[0]}?"
    if seen.same_tool.n == 0:
        return "No such tool was ever called."
    if seen.same_call.part:
        return "This very call has worked before: the page was probably in another state."
    if analysis and analysis.suggestions:
        return analysis.suggestions[0]
    return "This call has never worked; calls of the same tool with other parameters may have."
