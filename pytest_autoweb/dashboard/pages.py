"""The pages for people; every text in them is escaped, and only signing in needs a script."""

import datetime as dt
from collections.abc import Sequence
from typing import Any, NamedTuple
from urllib.parse import quote

from fastapi import APIRouter, HTTPException
from fastapi.responses import FileResponse, HTMLResponse
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from pytest_autoweb.analysis.attempt_facts import arm_label
from pytest_autoweb.assets import asset_dir
from pytest_autoweb.dashboard import rest_api
from pytest_autoweb.dashboard.api_models import TrendPointShape, since
from pytest_autoweb.dashboard.rest_api import (
    Days,
    Id,
    cell_detail,
    overview,
    run_detail,
    run_shape,
    tool_shape,
    trend_shape,
)
from pytest_autoweb.store import call_queries, run_queries
from pytest_autoweb.store.database import Store

WIDTH, HEIGHT, MARGIN = 640, 140, 14
COST_HEIGHT = 36
_DRAWING = {"width": WIDTH, "height": HEIGHT, "margin": MARGIN, "cost_height": COST_HEIGHT}
MOST = 30
"""The most points that are drawn; the table below the chart has all of them."""


class ChartPoint(NamedTuple):
    """One run of a model as a point of a chart."""

    x: float
    y: float | None
    """The height of the pass rate; None when nothing was rated."""
    low: float
    high: float
    cost: float
    """The height of the bar for the cost of the run; 0 when the cost is unknown."""
    point: TrendPointShape


class Trend(NamedTuple):
    """The chart of one model over its runs."""

    model: str
    marks: tuple[ChartPoint, ...]
    line: str
    """The points of the polyline, in SVG syntax."""
    points: tuple[TrendPointShape, ...]
    """All points, newest first, for the table below the chart."""
    dearest: float
    """The cost of the most expensive run drawn, in US dollars; 0 when no cost is known."""


def trends_of(points: Sequence[TrendPointShape]) -> list[Trend]:
    """Return one chart for each model, in the order of their names.

    Args:
        points: the points of all models, oldest first.
    """
    models = sorted({point.model for point in points})
    return [_trend(model, [point for point in points if point.model == model]) for model in models]


def _trend(model: str, points: list[TrendPointShape]) -> Trend:
    drawn = points[-MOST:]
    step = (WIDTH - 2 * MARGIN) / max(len(drawn) - 1, 1)
    start = MARGIN if len(drawn) > 1 else WIDTH / 2
    dearest = max((point.cost_usd or 0.0 for point in drawn), default=0.0)
    marks = tuple(_mark(point, start + n * step, dearest) for n, point in enumerate(drawn))
    line = " ".join(f"{mark.x:.1f},{mark.y:.1f}" for mark in marks if mark.y is not None)
    return Trend(model, marks, line, tuple(reversed(points)), dearest)


def _mark(point: TrendPointShape, x: float, dearest: float) -> ChartPoint:
    rate, interval = point.pass_rate, point.pass_interval
    low, high = (interval.low, interval.high) if interval else (rate or 0.0, rate or 0.0)
    cost = (point.cost_usd or 0.0) / dearest * COST_HEIGHT if dearest else 0.0
    height = None if rate is None else _height(rate)
    return ChartPoint(x, height, _height(low), _height(high), cost, point)


def _height(rate: float) -> float:
    return MARGIN + (1 - rate) * (HEIGHT - 2 * MARGIN)


PAGE = 50


def page_routes(store: Store) -> APIRouter:
    """Return the routes of the pages, which read the given store."""
    routes = APIRouter(include_in_schema=False, default_response_class=HTMLResponse)
    _add_overviews(routes, store)
    _add_details(routes, store)
    return routes


def _add_overviews(routes: APIRouter, store: Store) -> None:
    @routes.get("/")
    def home(days: Days = 90) -> HTMLResponse:
        begin = since(days)
        with store.read() as connection:
            points = [trend_shape(point) for point in run_queries.trends(connection, begin)]
            arms = call_queries.arms(connection, begin)
            runs = run_queries.runs(connection, limit=10)
        return page(
            "home.html.j2",
            "Overview",
            days=days,
            numbers=overview(store, begin),
            trends=trends_of(points),
            drawing=_DRAWING,
            arms=arms,
            runs=[run_shape(run) for run in runs],
        )

    @routes.get("/runs")
    def runs(offset: int = 0) -> HTMLResponse:
        offset = min(max(offset, 0), 1_000_000)
        with store.read() as connection:
            # One more than is shown tells whether there is a next page.
            found = run_queries.runs(connection, limit=PAGE + 1, offset=offset)
        shown = [run_shape(run) for run in found[:PAGE]]
        more = offset + PAGE if len(found) > PAGE else None
        return page("runs.html.j2", "Runs", runs=shown, more=more)


def _add_details(routes: APIRouter, store: Store) -> None:
    @routes.get("/runs/{run_id}")
    def run(run_id: Id) -> HTMLResponse:
        detail = run_detail(store, run_id)
        return page("run.html.j2", f"Run {detail.run.ts}", run=detail.run, cells=detail.cells)

    @routes.get("/runs/{run_id}/report")
    def report(run_id: Id) -> FileResponse:
        with store.read() as connection:
            found = run_queries.run(connection, run_id)
        path = rest_api.report_page(found) if found else None
        if path is None:
            raise HTTPException(404, "the report of this run is not on this machine")
        return FileResponse(path, headers={"content-security-policy": rest_api.POLICY})

    @routes.get("/cells/{cell_id}")
    def cell(cell_id: Id) -> HTMLResponse:
        detail = cell_detail(store, cell_id)
        title = f"{detail.cell.case_id} on {detail.cell.model}"
        return page("cell.html.j2", title, detail=detail, cell=detail.cell)

    @routes.get("/tools/{name}")
    def tool(name: str) -> HTMLResponse:
        with store.read() as connection:
            found = call_queries.tool(connection, name)
        if found is None:
            raise HTTPException(404, "no record of such a tool")
        return page("tool.html.j2", name, tool=tool_shape(found))


def page(template: str, title: str, status: int = 200, **values: Any) -> HTMLResponse:
    """Return a page rendered from a template in `templates/dashboard`."""
    environment = Environment(
        loader=FileSystemLoader(asset_dir("templates") / "dashboard"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "arm_label": arm_label,
        "percent": percent,
        "money": money,
        "duration": duration,
        "moment": moment,
        "segment": lambda text: quote(text, safe=""),
    }
    return HTMLResponse(environment.get_template(template).render(title=title, **values), status)


def percent(value: float | None) -> str:
    """Return a fraction as a percentage, or a dash for None."""
    return "–" if value is None else f"{value:.0%}" if value in (0, 1) else f"{value:.1%}"


def money(value: float | None, complete: bool = True) -> str:
    """Return an amount in US dollars, marked when it is unknown or only a lower bound."""
    if value is None or (value == 0 and not complete):
        return "unknown"
    return f"{'' if complete else '≥ '}${value:.4f}"


def duration(milliseconds: float | None) -> str:
    """Return a duration in milliseconds or seconds, or a dash for None."""
    if milliseconds is None:
        return "–"
    return f"{milliseconds:.0f} ms" if milliseconds < 1000 else f"{milliseconds / 1000:.1f} s"


def moment(value: dt.datetime) -> str:
    """Return a moment in UTC, to the minute."""
    return f"{value:%Y-%m-%d %H:%M} UTC"
