"""Where the marks of a trend go: pure geometry, in units of the drawing."""

from collections.abc import Sequence
from typing import NamedTuple

from pytest_autoweb.dashboard.shapes import TrendPoint

WIDTH, HEIGHT, MARGIN = 640, 140, 14
COST_HEIGHT = 36
MOST = 30
"""Points drawn; the table below the drawing has all."""


class Mark(NamedTuple):
    """One run of a model."""

    x: float
    y: float | None
    """None: nothing was rated."""
    low: float
    high: float
    cost: float
    """Height of the bar that shows what the run cost; 0 where that is unknown."""
    point: TrendPoint


class Trend(NamedTuple):
    """One model over its runs."""

    model: str
    marks: tuple[Mark, ...]
    line: str
    """The points of a polyline."""
    points: tuple[TrendPoint, ...]
    """All, newest first."""
    dearest: float
    """US dollars of the dearest run drawn; 0: no cost is known."""


def trends_of(points: Sequence[TrendPoint]) -> list[Trend]:
    """One trend a model, in the order of their names.

    Args:
        points: of all models, oldest first.
    """
    models = sorted({point.model for point in points})
    return [_trend(model, [point for point in points if point.model == model]) for model in models]


def _trend(model: str, points: list[TrendPoint]) -> Trend:
    drawn = points[-MOST:]
    step = (WIDTH - 2 * MARGIN) / max(len(drawn) - 1, 1)
    start = MARGIN if len(drawn) > 1 else WIDTH / 2
    dearest = max((point.cost_usd or 0.0 for point in drawn), default=0.0)
    marks = tuple(_mark(point, start + n * step, dearest) for n, point in enumerate(drawn))
    line = " ".join(f"{mark.x:.1f},{mark.y:.1f}" for mark in marks if mark.y is not None)
    return Trend(model, marks, line, tuple(reversed(points)), dearest)


def _mark(point: TrendPoint, x: float, dearest: float) -> Mark:
    rate, interval = point.pass_rate, point.pass_interval
    low, high = (interval.low, interval.high) if interval else (rate or 0.0, rate or 0.0)
    cost = (point.cost_usd or 0.0) / dearest * COST_HEIGHT if dearest else 0.0
    height = None if rate is None else _height(rate)
    return Mark(x, height, _height(low), _height(high), cost, point)


def _height(rate: float) -> float:
    return MARGIN + (1 - rate) * (HEIGHT - 2 * MARGIN)
