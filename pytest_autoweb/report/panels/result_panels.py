"""Panels that say how the run came out: gates, models, comparisons, controls, every cell."""

from pytest_autoweb.report.panel import PANELS, Panel

PANELS.add(
    Panel(
        name="gates",
        title="Gates",
        summary="what decided the exit status",
        order=100,
        files=("gates.js", "gates.css"),
    )
)
PANELS.add(
    Panel(
        name="models",
        title="Models",
        summary="each model's rates with their intervals, its cost and its time",
        order=200,
        files=("models.js", "models.css"),
    )
)
PANELS.add(
    Panel(
        name="comparison",
        title="Compare two",
        summary="two models, or a model and its baseline, and the cases that differ",
        order=300,
        files=("comparison.js", "comparison.css"),
    )
)
PANELS.add(
    Panel(
        name="controls",
        title="Controls",
        summary="whether each case can be passed, and not by doing nothing",
        order=400,
        files=("controls.js", "controls.css"),
    )
)
PANELS.add(
    Panel(
        name="cells",
        title="Cells",
        summary="every cell, with search, filters and its details",
        order=500,
        files=("matrix.js", "matrix.css"),
    )
)
