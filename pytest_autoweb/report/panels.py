"""The panels of a report: what one is, those that every report has, and the content of users' own.

A built-in panel is drawn by its own script in the page; what a user's function returns is drawn by
one script for all of them.
"""

from collections.abc import Callable, Sequence
from typing import Any

from msgspec import Struct
from pydantic import ValidationError

from pytest_autoweb.base.variants import Variants
from pytest_autoweb.report.json_report import MAX_ROWS, PanelContent, Report, ReportedPanel
from pytest_autoweb.report.readiness_text import readiness_panel
from pytest_autoweb.report.resistance_panel import contrasts_panel, resistance_panel
from pytest_autoweb.report.robustness_panel import robustness_panel

AFTER_THE_BUILT_IN_ONES = 10_000
"""The default order of a panel."""


class Panel(Struct, frozen=True):
    """One section of `index.html`.

    A built-in panel names the files of `templates/report` that draw it from the report. A user's
    panel instead has a function that computes its content from the finished report.
    """

    name: str
    title: str
    summary: str
    build: Callable[[Report], PanelContent | None] | None = None
    """Computes the content; returns None if this report has nothing to show."""
    files: tuple[str, ...] = ()
    """Scripts and styles; the script calls `addPanel` with the panel's name."""
    order: int = AFTER_THE_BUILT_IN_ONES
    """Panels with a lower number stand above it."""

    def __post_init__(self) -> None:
        """Refuse a panel that cannot be drawn, or that could be drawn in two ways."""
        if (self.build is None) == (not self.files):
            raise ValueError(f"the report panel {self.name!r} needs `build` or `files`, not both")


PANELS: Variants[Panel] = Variants(
    "report panel",
    (
        Panel(
            name="failed",
            title="What failed",
            summary="what did not pass and why, each with a link to its cell",
            order=50,
            files=("failed.js", "failed.css"),
        ),
        Panel(
            name="gates",
            title="Gates",
            summary="what decided the exit status",
            order=100,
            files=("gates.js", "gates.css"),
        ),
        Panel(
            name="models",
            title="Models",
            summary="each model's rates with their intervals, its cost and its time",
            order=200,
            files=("models.js", "models.css"),
        ),
        Panel(
            name="comparison",
            title="Compare two",
            summary="two models, or a model and its baseline, and the cases that differ",
            order=300,
            files=("comparison.js", "comparison.css"),
        ),
        Panel(
            name="agents",
            title="Agents",
            summary="the same tasks by several agents, and the elements at which they failed",
            build=readiness_panel,
            order=350,
        ),
        Panel(
            name="attacks",
            title="Attacks by the page",
            summary="how many planted instructions each model obeyed, and what it passed meanwhile",
            build=resistance_panel,
            order=360,
        ),
        Panel(
            name="attack_contrasts",
            title="Attacks compared",
            summary="how much more often one way of attack worked than another, or without fences",
            build=contrasts_panel,
            order=361,
        ),
        Panel(
            name="changes",
            title="Changed pages",
            summary="how much success each small change of the page costs each model",
            build=robustness_panel,
            order=370,
        ),
        Panel(
            name="controls",
            title="Controls",
            summary="whether each case can be passed, and not by doing nothing",
            order=400,
            files=("controls.js", "controls.css"),
        ),
        Panel(
            name="cells",
            title="Cells",
            summary="every cell, with search, filters and its details",
            order=500,
            files=("matrix.js", "matrix.css"),
        ),
        Panel(
            name="costs",
            title="Cost against success",
            summary="each model's cost or time of a cell against its pass rate",
            order=600,
            files=("costs.js",),
        ),
        Panel(
            name="stages",
            title="Time per stage",
            summary="where the seconds of a cell go",
            order=700,
            files=("stages.js",),
        ),
        Panel(
            name="decisions",
            title="Acting by sight",
            summary="what verification made of the elements that models chose",
            order=800,
            files=("decisions.js", "decisions.css"),
        ),
        Panel(
            name="corrections",
            title="Failures and corrections",
            summary="how first attempts failed, and what trying again gained",
            order=900,
            files=("corrections.js", "corrections.css"),
        ),
        Panel(
            name="stability",
            title="Flaky and slow",
            summary="cases that change from repeat to repeat or from run to run, and slow cells",
            order=1000,
            files=("stability.js", "stability.css"),
        ),
        Panel(
            name="trend",
            title="Over time",
            summary="each model's rate in every saved run",
            order=1100,
            files=("trend.js",),
        ),
        Panel(
            name="judges",
            title="Judging models",
            summary="how far judging models agree with people and with each other",
            order=1200,
            files=("judges.js",),
        ),
        Panel(
            name="analysis",
            title="Local analysis",
            summary="what a local model said about the run",
            order=1300,
            files=("analysis.js", "analysis.css"),
        ),
    ),
)
"""All panels, those of users among them."""


def panels_in_order() -> list[Panel]:
    """Return all registered panels, the topmost first."""
    return sorted(PANELS.values(), key=lambda panel: panel.order)


def with_panels(report: Report, earlier: Sequence[ReportedPanel] = ()) -> Report:
    """Return the report with the content of the user's own panels.

    The functions of users see a copy of the report, so that none of them can change it.

    Args:
        report: the finished report, without such panels.
        earlier: panels of the same run from an earlier report; those not registered now stay
            unchanged.
    """
    own = [panel for panel in panels_in_order() if panel.build is not None]
    # Copying a large report takes longer than all else that is done with it.
    foreign = any(not PANELS.is_built_in(panel.name) for panel in own)
    seen = report.model_copy(deep=True) if foreign else report
    built = [_built(panel, seen) for panel in own]
    kept = [panel for panel in earlier if panel.name not in PANELS]
    shown = [panel for panel in (*built, *kept) if panel is not None]
    shown.sort(key=lambda panel: panel.order)
    return report.model_copy(update={"panels": tuple(shown)})


def _built(panel: Panel, report: Report) -> ReportedPanel | None:
    """Return the panel's content; an error costs only this panel, not the report."""
    assert panel.build is not None
    facts: dict[str, Any] = {"name": panel.name, "title": panel.title, "order": panel.order}
    try:
        content = panel.build(report)
        if content is None:
            return None
        if not isinstance(content, PanelContent):
            raise TypeError(f"it returned {content!r}, which is not a PanelContent")
        return ReportedPanel(
            **facts,
            note=content.note,
            facts=content.facts,
            columns=content.columns,
            rows=content.rows[:MAX_ROWS],
            rows_left_out=max(0, len(content.rows) - MAX_ROWS),
        )
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"]))
        problem = f"{where}: {first['msg']}" if where else first["msg"]
    except Exception as error:
        # This is the user's function, which may fail in any way.
        problem = f"{type(error).__name__}: {error}"
    return ReportedPanel(**facts, error=f"panel {panel.name} failed: {problem}")
