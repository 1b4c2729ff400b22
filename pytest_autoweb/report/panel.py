"""What a panel of the report is, and the mapping of all panels."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pydantic import ValidationError

from pytest_autoweb.report.json_report import Report
from pytest_autoweb.report.panel_content import MAX_ROWS, PanelContent, ReportedPanel
from pytest_autoweb.variants import Variants

AFTER_THE_BUILT_IN_ONES = 10_000
"""The order of a panel that does not ask for a place."""


@dataclass(frozen=True, slots=True)
class Panel:
    """One section of `index.html`.

    A built-in panel names the files of `templates/report` that draw it from the report. A panel of
    the user's own has a function that computes its content from the finished report instead.
    """

    name: str
    title: str
    summary: str
    build: Callable[[Report], PanelContent | None] | None = None
    """Computes the content; None as its result: this report has nothing to show."""
    files: tuple[str, ...] = ()
    """Scripts and styles; the script calls `addPanel` with the panel's name."""
    order: int = AFTER_THE_BUILT_IN_ONES
    """Panels with a lower number stand above it."""

    def __post_init__(self) -> None:
        """Refuse a panel that cannot be drawn, or could be in two ways."""
        if (self.build is None) == (not self.files):
            raise ValueError(f"the report panel {self.name!r} needs `build` or `files`, not both")


PANELS: Variants[Panel] = Variants("report panel", "pytest_autoweb.report.panels")


def panels_in_order() -> list[Panel]:
    """Return all registered panels, the topmost first."""
    return sorted(PANELS.values(), key=lambda panel: panel.order)


def with_panels(report: Report, earlier: Sequence[ReportedPanel] = ()) -> Report:
    """Return the report with the content of the user's own panels.

    Their functions see a copy of the report, so that none of them can change it.

    Args:
        report: the finished report, without such panels.
        earlier: panels of the same run as they were written before; those that nobody has
            registered now stay as they are.
    """
    own = [panel for panel in panels_in_order() if panel.build is not None]
    copy = report.model_copy(deep=True) if own else report
    built = [_built(panel, copy) for panel in own]
    kept = [panel for panel in earlier if panel.name not in PANELS]
    shown = [panel for panel in (*built, *kept) if panel is not None]
    shown.sort(key=lambda panel: panel.order)
    return report.model_copy(update={"panels": tuple(shown)})


def _built(panel: Panel, report: Report) -> ReportedPanel | None:
    """Return the panel's content; one that fails costs the reader that panel, not the report."""
    assert panel.build is not None
    facts = {"name": panel.name, "title": panel.title, "order": panel.order}
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
        # The function is the user's: it may fail in any way.
        problem = f"{type(error).__name__}: {error}"
    return ReportedPanel(**facts, error=f"panel {panel.name} failed: {problem}")
