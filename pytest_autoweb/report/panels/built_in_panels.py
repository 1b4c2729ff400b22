"""The panels that the report has by itself, each declared with its place and its title."""

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


PANELS.add(
    Panel(
        name="costs",
        title="Cost against success",
        summary="each model's cost or time of a cell against its pass rate",
        order=600,
        files=("costs.js",),
    )
)
PANELS.add(
    Panel(
        name="stages",
        title="Time per stage",
        summary="where the seconds of a cell go",
        order=700,
        files=("stages.js",),
    )
)
PANELS.add(
    Panel(
        name="decisions",
        title="Acting by sight",
        summary="what verification made of the elements that models chose",
        order=800,
        files=("decisions.js", "decisions.css"),
    )
)
PANELS.add(
    Panel(
        name="corrections",
        title="Failures and corrections",
        summary="how first attempts failed, and what trying again gained",
        order=900,
        files=("corrections.js", "corrections.css"),
    )
)
PANELS.add(
    Panel(
        name="stability",
        title="Flaky and slow",
        summary="cases that change from repeat to repeat or from run to run, and slow cells",
        order=1000,
        files=("stability.js", "stability.css"),
    )
)
PANELS.add(
    Panel(
        name="trend",
        title="Over time",
        summary="each model's rate in every saved run",
        order=1100,
        files=("trend.js",),
    )
)
PANELS.add(
    Panel(
        name="judges",
        title="Judging models",
        summary="how far judging models agree with people",
        order=1200,
        files=("judges.js",),
    )
)
PANELS.add(
    Panel(
        name="analysis",
        title="Local analysis",
        summary="what a local model said about the run",
        order=1300,
        files=("analysis.js", "analysis.css"),
    )
)
