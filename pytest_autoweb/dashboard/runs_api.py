"""The REST routes about runs, cells and trends."""

from typing import Annotated, Any

from fastapi import APIRouter, HTTPException, Query
from fastapi import Path as InPath

from pytest_autoweb.dashboard.asked import since
from pytest_autoweb.dashboard.calibration_api import Days, interval_shape
from pytest_autoweb.dashboard.reports import cell_anchor, report_page
from pytest_autoweb.dashboard.shapes import (
    CellDetail,
    CellShape,
    ErrorShape,
    Name,
    RunDetail,
    RunShape,
    TrendPointShape,
)
from pytest_autoweb.store import history
from pytest_autoweb.store.fields import clean
from pytest_autoweb.store.opening import Store

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
            found = history.runs(connection, limit=limit, offset=offset, model=clean(model))
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
            return [trend_shape(point) for point in history.trends(connection, since(days))]

    return routes


def run_detail(store: Store, run_id: str) -> RunDetail:
    """Return a run with its cells.

    Raises:
        HTTPException: with status 404, if there is no such run.
    """
    with store.read() as connection:
        found = history.run(connection, run_id)
        cells = history.cells(connection, run_id)
    if found is None:
        raise HTTPException(404, f"no run {run_id}")
    return RunDetail(run=run_shape(found), cells=[cell_shape(row) for row in cells])


def cell_detail(store: Store, cell_id: str) -> CellDetail:
    """Return a cell with its attempts and everything below them.

    Raises:
        HTTPException: with status 404, if there is no such cell.
    """
    with store.read() as connection:
        row = history.cell(connection, cell_id)
        run = history.run(connection, row["run_id"]) if row else None
    if row is None or run is None:
        raise HTTPException(404, f"no cell {cell_id}")
    report = run_shape(run).report
    return CellDetail(
        cell=cell_shape(row),
        run_id=run.id,
        report=f"{report}#{cell_anchor(row['folder'])}" if report else None,
        attempts=row["attempts"],
    )


def run_shape(run: history.RunSummary) -> RunShape:
    """Return a run in the form of the REST API, which leaves out its folder."""
    facts = run.model_dump(exclude={"folder", "models"})
    report = f"/runs/{run.id}/report" if report_page(run) else None
    return RunShape(**facts, models=list(run.models), report=report)


def cell_shape(row: history.Row) -> CellShape:
    """Return a cell in the form of the REST API."""
    return CellShape(**{name: row[name] for name in CellShape.model_fields})


def trend_shape(point: history.ModelInRun) -> TrendPointShape:
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
