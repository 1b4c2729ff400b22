"""Answers REST requests: the calibration's four addresses, runs, cells and trends.

docs/dashboard.md lists the shapes of requests and replies, in camelCase as here.
"""

import datetime as dt
import difflib
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, HTTPException, Query, Request
from fastapi import Path as InPath
from pydantic import ConfigDict, Field, StringConstraints
from sqlalchemy import Connection, RowMapping

from pytest_autoweb.agents.correction.advice import recover
from pytest_autoweb.agents.correction.failure_types import classify
from pytest_autoweb.agents.correction.retry_decision import UNRECOVERABLE
from pytest_autoweb.base.specs import Count
from pytest_autoweb.store import call_queries, run_queries
from pytest_autoweb.store.call_queries import FailureCount, ToolStats
from pytest_autoweb.store.database import Store
from pytest_autoweb.store.query_results import Fraction, Served
from pytest_autoweb.store.run_queries import CauseCount, ModelInRun, RunSummary
from pytest_autoweb.store.sync import identify
from pytest_autoweb.store.table_rows import clean

Days = Annotated[int, Query(ge=1, le=3650, description="How many days to include, counting today.")]

TOP = 10


def since(days: int) -> dt.date:
    """Return the first day (UTC) of a period of `days` days that ends today."""
    return dt.datetime.now(dt.UTC).date() - dt.timedelta(days=days - 1)


def only_known(request: Request) -> None:
    """Reject unknown query parameters, because a misspelt one would otherwise go unnoticed.

    Raises:
        HTTPException: with status 422, if there is an unknown parameter.
    """
    known = {field.alias for field in request.scope["route"].dependant.query_params}
    for name in request.query_params:
        if name not in known:
            raise HTTPException(422, f"query.{name}: there is no such parameter")


Name = Annotated[str, StringConstraints(max_length=200)]
Text = Annotated[str, StringConstraints(max_length=20_000)]


class Shape(Served):
    """The base of requests, and of the responses that no single record holds."""

    model_config = ConfigDict(strict=True)


class ErrorShape(Shape):
    """The reason why a request failed."""

    detail: str


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
    top_failure_types: list[FailureCount]
    """Symptoms: how tool calls failed, whatever became of their cell."""
    failed_cells: Count
    """The number of cells with a cause of failure, broken ones included, without controls."""
    top_failure_causes: list[CauseCount]
    """Causes: why cells failed, with corrections according to what page and server said. They are
    those of `failureTypes` of runs and trends."""
    tool_reliability_ranking: list[ToolStats]
    """The ten most reliable tools over all days, by the lower end of their interval."""


KNOWN_PARAMETERS = ("target", "arguments")
"""The parameters of a call that are recorded."""


class VerifyRequest(Shape):
    """A call that failed, to be looked up in the records."""

    factory_id: Name = ""
    """The id of the run to look in; empty means all runs."""
    tool_name: Name
    params: Annotated[dict[Name, Any], Field(max_length=100, default_factory=dict)]
    """Parameters of the call. `target` and `arguments` are compared with the recorded ones by what
    they mean: Python or JSON, in any quotes, by place or by name. Without any, all calls of the
    tool count. Others are not known to the records and named in `unknown`."""
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


class RunShape(RunSummary):
    """One run with the counts of its cells."""

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


CALIBRATION = "/api/calibration"
CALIBRATION_BEFORE = "/api/mobile/ai/calibration"
"""The address that other programs know the calibration by; it answers the same."""


def calibration_routes(store: Store) -> APIRouter:
    """Return the routes, which read the given store, without their common address."""
    routes = APIRouter(tags=["calibration"])

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
        return found

    @routes.post("/verify")
    def verify(asked: VerifyRequest) -> VerifyAnswer:
        """Return how earlier calls like a failed one ended, according to the records."""
        return verification(store, asked)

    return routes


def analysis_of(asked: AnalyzeRequest) -> AnalyzeAnswer:
    """Classify a failure and suggest remedies."""
    found = classify(asked.error_message, error_type=asked.error_type)
    # Callers may name a tool with its object (`page.click`); advice depends on the method alone.
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
        top_failure_types=list(failures[:TOP]),
        failed_cells=sum(one.count for one in causes),
        top_failure_causes=list(causes[:TOP]),
        tool_reliability_ranking=list(tools[:TOP]),
    )


def verification(store: Store, asked: VerifyRequest) -> VerifyAnswer:
    """Look up how recorded calls like this one ended."""
    parameters = {
        name: value
        for name, value in asked.params.items()
        if name in KNOWN_PARAMETERS and value is not None
    }
    with store.read() as connection:
        unknown = _unknown(connection, asked)
        seen = call_queries.precedent(connection, asked.tool_name, parameters, asked.factory_id)
        names = [tool.tool_name for tool in call_queries.ranking(connection)]
    known = asked.tool_name in names
    near = [] if known else difflib.get_close_matches(asked.tool_name, names, n=3)
    analysis = (
        analysis_of(AnalyzeRequest(error_message=asked.error, tool_name=asked.tool_name))
        if asked.error
        else None
    )
    return VerifyAnswer(
        has_data=seen.same_call.part > 0 and not unknown,
        suggestion=" ".join(
            (*unknown, _suggestion(seen, near, analysis, sure=not unknown, any_call=not parameters))
        ),
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
    """Return sentences about the parts of a request that the records cannot answer."""
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
    seen: call_queries.Precedent,
    near: list[str],
    analysis: AnalyzeAnswer | None,
    *,
    sure: bool,
    any_call: bool,
) -> str:
    if near:
        return f"No such tool was ever called; did you mean {near[0]}?"
    if seen.same_tool.n == 0 and sure:
        return "No such tool was ever called."
    if any_call and sure:
        worked = f"{seen.same_tool.part} of {seen.same_tool.n} calls of this tool worked"
        return f"No parameters were given: {worked}."
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

A report shows text from pages and models. The sandbox gives it a separate origin, so that even a
script injected there could use neither the dashboard's cookie nor its REST API.
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
    def trends(days: Days = 90) -> list[ModelInRun]:
        """Return the pass rate and cost of every model in every run, oldest first."""
        with store.read() as connection:
            return list(run_queries.trends(connection, since(days)))

    return routes


def run_detail(
    store: Store, run_id: str, *, limit: int | None = None, offset: int = 0
) -> RunDetail:
    """Return a run with its cells, or with `limit` of them from an offset on.

    Raises:
        HTTPException: with status 404, if there is no such run.
    """
    with store.read() as connection:
        found = run_queries.run(connection, run_id)
        cells = run_queries.cells(connection, run_id, limit=limit, offset=offset)
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
    report = f"/runs/{run.id}/report" if report_page(run) else None
    return RunShape(**dict(run), report=report)


def cell_shape(row: RowMapping | run_queries.Row) -> CellShape:
    return CellShape(**{name: row[name] for name in CellShape.model_fields})
