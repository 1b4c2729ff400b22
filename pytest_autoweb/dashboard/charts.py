"""Where the marks of a trend go: pure geometry, in units of the drawing."""

from collections.abc import Sequence
from typing import NamedTuple

from pytest_autoweb.dashboard.shapes import TrendPoint

WIDTH, HEIGHT, MARGIN = 640, 140, 14
MOST = 30
"""Points drawn; the table below the drawing has all."""


class Mark(NamedTuple):
    """One run of a model."""

    x: float
    y: float | None
    """None: nothing was rated."""
    low: float
    high: float
    point: TrendPoint


class Trend(NamedTuple):
    """One model over its runs."""

    model: str
    marks: tuple[Mark, ...]
    line: str
    """The points of a polyline."""
    points: tuple[TrendPoint, ...]
    """All, newest first."""


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
    marks = tuple(_mark(point, start + place * step) for place, point in enumerate(drawn))
    line = " ".join(f"{mark.x:.1f},{mark.y:.1f}" for mark in marks if mark.y is not None)
    return Trend(model, marks, line, tuple(reversed(points)))


def _mark(point: TrendPoint, x: float) -> Mark:
    rate, interval = point.pass_rate, point.pass_interval
    low, high = (interval.low, interval.high) if interval else (rate or 0.0, rate or 0.0)
    return Mark(x, None if rate is None else _height(rate), _height(low), _height(high), point)


def _height(rate: float) -> float:
    return MARGIN + (1 - rate) * (HEIGHT - 2 * MARGIN)
