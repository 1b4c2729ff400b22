"""The panel of what changes of the page cost each model."""

from pytest_autoweb.report.json_report import PanelContent, Report
from pytest_autoweb.results.analysis.comparison import points, signed_range


def robustness_panel(report: Report) -> PanelContent | None:
    """Return what each change costs each model; None if no page was changed."""
    if not report.robustness:
        return None
    return PanelContent(
        note="Pass rate of first attempts on unchanged pages less that under the change, on the "
        "cases that their own solutions can do under it.",
        columns=(
            "model",
            "change",
            "loss",
            "95%",
            "cases",
            "unfair, left out",
            "unproven",
            "never met",
        ),
        rows=tuple(
            (
                one.model,
                one.change,
                points(one.loss).lstrip("+"),
                signed_range(one.interval) if one.interval else "–",
                one.cases,
                len(one.unfair),
                len(one.unproven),
                len(one.never_met),
            )
            for one in report.robustness
        ),
    )
