"""Answers REST requests: the calibration's four addresses, runs, cells and trends."""

import datetime as dt
import difflib
import json
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, HTTPException, Query
from fastapi import Path as InPath
from sqlalchemy import Connection

from pytest_autoweb.analysis.statistics import Interval as Known
from pytest_autoweb.correct.failure_types import classify
from pytest_autoweb.correct.retry_rules import UNRECOVERABLE, recover
from pytest_autoweb.dashboard.api_models import (
    KNOWN_PARAMETERS,
    AnalyzeAnswer,
    AnalyzeRequest,
    CellDetail,
    CellShape,
    ContextInfo,
    DashboardAnswer,
    ErrorShape,
    FailureCauseCount,
    FailureTypeCount,
    IntervalShape,
    Name,
    RunDetail,
    RunShape,
    ToolStats,
    TrendPointShape,
    VerifyAnswer,
    VerifyRequest,
    since,
)
from pytest_autoweb.store import call_queries, run_queries
from pytest_autoweb.store.database import Store
from pytest_autoweb.store.run_queries import RunSummary
from pytest_autoweb.store.sync import identify
from pytest_autoweb.store.table_rows import clean

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
            found = call_queries.tool(connection, name)
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
    # Callers may name a tool with its object (`page.click`); advice goes by the method alone.
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
        total = call_queries.together(call_queries.days(connection, begin))
        failures = call_queries.failure_counts(connection, begin)
        tools = call_queries.ranking(connection)
        causes = run_queries.causes(connection, begin)
    failed_cells = sum(one.cells for one in causes)
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
        failed_cells=failed_cells,
        top_failure_causes=[
            FailureCauseCount(
                failure_type=one.failure_type,
                web_kind=one.web_kind,
                count=one.cells,
                share=one.cells / failed_cells,
            )
            for one in causes[:TOP]
        ],
        tool_reliability_ranking=[tool_shape(tool) for tool in tools[:TOP]],
    )


def tool_shape(tool: call_queries.Tool) -> ToolStats:
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
    parameters = {
        name: value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        for name, value in asked.params.items()
        if name in KNOWN_PARAMETERS and value is not None
    }
    with store.read() as connection:
        unknown = _unknown(connection, asked)
        seen = call_queries.precedent(connection, asked.tool_name, parameters, asked.factory_id)
        names = [tool.name for tool in call_queries.ranking(connection)]
    known = asked.tool_name in names
    near = [] if known else difflib.get_close_matches(asked.tool_name, names, n=3)
    analysis = (
        analysis_of(AnalyzeRequest(error_message=asked.error, tool_name=asked.tool_name))
        if asked.error
        else None
    )
    return VerifyAnswer(
        has_data=seen.same_call.part > 0 and not unknown,
        suggestion=" ".join((*unknown, _suggestion(seen, near, analysis, sure=not unknown))),
        context_info=ContextInfo(
            same_call=seen.same_call.n,
            same_call_success_rate=seen.same_call.value,
            same_tool=seen.same_tool.n,
            same_tool_success_rate=seen.same_tool.value,
            last_error=seen.last_error,
            failure_type=analysis.failure_type if analysis else None,
            unknown=unknown,
            nearest_tools=near,
        ),
    )


def _unknown(connection: Connection, asked: VerifyRequest) -> list[str]:
    """Return in sentences what the records cannot say about a request."""
    told = []
    if asked.factory_id and run_queries.run(connection, clean(asked.factory_id)) is None:
        told.append(
            f"The store has no run {asked.factory_id!r}, so nothing is known about calls in it."
        )
    other = [name for name in asked.params if name not in KNOWN_PARAMETERS]
    if other:
        names = ", ".join(map(repr, other[:10]))
        told.append(
            f"The records do not have the parameters {names}, only 'target' and 'arguments', "
            "so they were not compared."
        )
    return told


def _suggestion(
    seen: call_queries.Precedent, near: list[str], analysis: AnalyzeAnswer | None, *, sure: bool
) -> str:
    if near:
        return f"No such tool was ever called; did you mean {near[0]}?"
    if seen.same_tool.n == 0 and sure:
        return "No such tool was ever called."
    if seen.same_call.part and sure:
        return "This very call has worked before: the page was probably in another state."
    if analysis and analysis.suggestions:
        return analysis.suggestions[0]
    if not sure:
        return "Whether this very call ever worked is not known."
    return "This call has never worked; calls of the same tool with other parameters may have."


POLICY = (
    "sandbox allow-scripts allow-popups; default-src 'none'; script-src 'unsafe-inline'; "
    "style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)
"""The content security policy of a report, in addition to the report's own.

A report shows text from pages and models. The sandbox gives it an origin of its own, so that even
a script injected there could use neither the dashboard's cookie nor its REST API.
"""


def report_page(run: RunSummary) -> Path | None:
    """Return the path of a run's `index.html`, or None if it is no longer on this machine.

    A later run may have taken the folder that the store names; the earlier one was then renamed
    with a suffix. So every candidate is compared with the run's id.
    """
    named = Path(run.folder)
    for folder in (named, *sorted(named.parent.glob(f"{named.name}.*"))):
        page = folder / "index.html"
        if page.is_file() and not page.is_symlink() and identify(folder) == run.id:
            return page
    return None


def cell_anchor(folder: str) -> str:
    """Return the fragment (the part after `#`) that leads to a cell in the report."""
    return folder.removeprefix("cells/")


Id = Annotated[str, InPath(pattern="^[0-9a-f]{32}$", description="32 hexadecimal digits.")]
MISSING: dict[int | str, dict[str, Any]] = {404: {"model": ErrorShape}}


def run_routes(store: Store) -> APIRouter:
    """Return the routes, which read the given store."""
    routes = APIRouter(prefix="/api", tags=["runs"])

    @routes.get("/runs")
    def runs(
        limit: Annotated[int, Query(ge=1, le=500)] = 50,
        offset: Annotated[int, Query(ge=0, le=1_000_000)] = 0,
        model: Name = "",
    ) -> list[RunShape]:
        """Return runs, newest first."""
        with store.read() as connection:
            found = run_queries.runs(connection, limit=limit, offset=offset, model=clean(model))
        return [run_shape(run) for run in found]

    @routes.get("/runs/{run_id}", responses=MISSING)
    def run(run_id: Id) -> RunDetail:
        """Return a run with its cells."""
        return run_detail(store, run_id)

    @routes.get("/cells/{cell_id}", responses=MISSING)
    def cell(cell_id: Id) -> CellDetail:
        """Return a cell with its attempts, checks, tool calls and corrections."""
        return cell_detail(store, cell_id)

    @routes.get("/trends")
    def trends(days: Days = 90) -> list[TrendPointShape]:
        """Return the pass rate and cost of every model in every run, oldest first."""
        with store.read() as connection:
            return [trend_shape(point) for point in run_queries.trends(connection, since(days))]

    return routes


def run_detail(store: Store, run_id: str) -> RunDetail:
    """Return a run with its cells.

    Raises:
        HTTPException: with status 404, if there is no such run.
    """
    with store.read() as connection:
        found = run_queries.run(connection, run_id)
        cells = run_queries.cells(connection, run_id)
    if found is None:
        raise HTTPException(404, f"no run {run_id}")
    return RunDetail(run=run_shape(found), cells=[cell_shape(row) for row in cells])


def cell_detail(store: Store, cell_id: str) -> CellDetail:
    """Return a cell with its attempts and everything below them.

    Raises:
        HTTPException: with status 404, if there is no such cell.
    """
    with store.read() as connection:
        row = run_queries.cell(connection, cell_id)
        run = run_queries.run(connection, row["run_id"]) if row else None
    if row is None or run is None:
        raise HTTPException(404, f"no cell {cell_id}")
    report = run_shape(run).report
    return CellDetail(
        cell=cell_shape(row),
        run_id=run.id,
        report=f"{report}#{cell_anchor(row['folder'])}" if report else None,
        attempts=row["attempts"],
    )


def run_shape(run: run_queries.RunSummary) -> RunShape:
    """Return a run in the form of the REST API, which leaves out its folder."""
    facts = run.model_dump(exclude={"folder", "models"})
    report = f"/runs/{run.id}/report" if report_page(run) else None
    return RunShape(**facts, models=list(run.models), report=report)


def cell_shape(row: run_queries.Row) -> CellShape:
    """Return a cell in the form of the REST API."""
    return CellShape(**{name: row[name] for name in CellShape.model_fields})


def trend_shape(point: run_queries.ModelInRun) -> TrendPointShape:
    """Return a point of a trend in the form of the REST API."""
    rate = point.first_attempt.all_trials
    return TrendPointShape(
        run_id=point.run_id,
        started_at=point.started_at,
        commit=point.commit,
        model=point.model,
        cells=point.cells,
        cases=rate.cases,
        pass_rate=rate.value,
        pass_interval=interval_shape(rate.interval),
        after_repair_rate=point.after_repair.all_trials.value,
        cost_usd=point.cost_usd,
        cost_complete=point.cost_complete,
        failure_types=point.failure_types,
    )
