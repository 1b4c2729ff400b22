"""Panels that explain a run: cost, time, acting by sight, corrections, steadiness, opinions."""

from pytest_autoweb.report.panel import PANELS, Panel

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
