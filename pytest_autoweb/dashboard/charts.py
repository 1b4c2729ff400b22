"""The geometry of the trend charts, in units of the drawing."""

from collections.abc import Sequence
from typing import NamedTuple

from pytest_autoweb.dashboard.shapes import TrendPointShape

WIDTH, HEIGHT, MARGIN = 640, 140, 14
COST_HEIGHT = 36
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
