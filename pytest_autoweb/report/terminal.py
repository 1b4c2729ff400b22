"""The section that a run prints in the terminal at its end, in pytest's style."""

from collections.abc import Iterable, Sequence

from pytest_autoweb.report.controls import ControlRow, is_control
from pytest_autoweb.report.digest import (
    flaky_cases,
    flips,
    newly_failing,
    with_baseline,
)
from pytest_autoweb.report.json_report import Report
from pytest_autoweb.report.summary import Summary
from pytest_autoweb.report.wording import (
    columns,
    count_of,
    failed_steps,
    money,
    one_line,
    rate,
    seconds,
    verdict_of,
)
from pytest_autoweb.results import CellResult, Outcome

Line = tuple[str, dict[str, bool]]
"""A line and its markup, as pytest's terminal writer accepts them."""

MATRIX_LINES = 60
"""The number of cells up to which each gets a line of its own."""
LISTED = 10
"""The most flaky cases that are listed."""

_COLOURS: dict[Outcome, dict[str, bool]] = {
    "passed": {"green": True},
    "healed": {"cyan": True},
    "failed": {"red": True},
    "broken": {"yellow": True},
    "ungraded": {"purple": True},
    "skipped": {"light": True},
}


def terminal_lines(report: Report) -> list[Line]:
    """Return the lines of the section, in which foreign text has no control characters."""
    cells = [cell for case in report.cases for cell in case.cells]
    contestants = [cell for cell in cells if not is_control(cell.model)]
    lines: list[Line] = [(f"ts={one_line(report.ts)}", {})]
    lines += [(one_line(note), {"yellow": True}) for note in report.notes]
    summary = report.summary
    if not cells or summary is None:
        return [*lines, ("no cells were run", {"yellow": True})]
    if summary.models:
        lines += _models(summary)
    if summary.verdict:
        lines.append((one_line(summary.verdict, 400), {"bold": summary.decisive is True}))
    lines += _baseline(report)
    lines += _controls(summary.controls)
    lines += _unsteady(report)
    return [*lines, *_cells(contestants or cells)]


def _baseline(report: Report) -> Iterable[Line]:
    for comparison in with_baseline(report):
        line = f"{comparison.b.model} since {comparison.a.label}: {comparison.verdict}"
        yield f"{one_line(line, 400)} ({flips(comparison)})", {"bold": comparison.decisive is True}


def _unsteady(report: Report) -> Iterable[Line]:
    for line in newly_failing(report):
        yield one_line(line), {"red": True}
    flaky = list(flaky_cases(report))
    for line in flaky[:LISTED]:
        yield f"flaky: {one_line(line)}", {"yellow": True}
    if len(flaky) > LISTED:
        yield f"flaky: {count_of(len(flaky) - LISTED, 'more case')} in the report", {}


def _models(summary: Summary) -> Iterable[Line]:
    head = ["model", "first attempt (95%)", "after repair (95%)", "outcomes", "cost", "median"]
    rows = [
        [
            one_line(row.model, 48),
            rate(row.numbers.first_attempt.all_trials),
            rate(row.numbers.after_repair.all_trials),
            _outcomes(row.numbers.counts.model_dump()),
            money(row.numbers.cost, row.numbers.calls),
            seconds(row.numbers.median_s),
        ]
        for row in summary.models
    ]
    for i, line in enumerate(columns([head, *rows])):
        yield line, {"bold": True} if i == 0 else {}


def _outcomes(counts: dict[str, int]) -> str:
    return " ".join(f"{count} {outcome}" for outcome, count in counts.items() if count)


def _controls(rows: Sequence[ControlRow]) -> Iterable[Line]:
    if not rows:
        return
    doubtful = [row for row in rows if {row.oracle, row.noop} - {None, "holds"}]
    if not doubtful:
        yield f"controls hold in all {len(rows)} cases", {"green": True}
    for row in doubtful:
        yield f"control in doubt: {one_line(row.case_id)}: {one_line(row.reason)}", {"red": True}


def _cells(cells: Sequence[CellResult]) -> Iterable[Line]:
    shown = list(cells)
    if len(cells) > MATRIX_LINES:
        shown = [c for c in cells if c.outcome in ("failed", "broken", "ungraded")][:MATRIX_LINES]
        yield f"{len(cells)} cells; those that did not pass (at most {MATRIX_LINES}):", {}
    table = columns([_cell_row(cell) for cell in shown])
    for cell, line in zip(shown, table, strict=True):
        yield line, _COLOURS[cell.outcome]


def _cell_row(cell: CellResult) -> list[str]:
    first = verdict_of(cell.attempts[0]) if cell.attempts else "-"
    repaired = f"repaired={verdict_of(cell.attempts[-1])}" if len(cell.attempts) > 1 else ""
    failed = failed_steps(cell)
    run = "" if cell.repeat == 1 else f" repeat {cell.repeat}"
    return [
        cell.outcome.upper(),
        one_line(cell.model, 48),
        one_line(cell.case_id, 48) + run,
        f"first={first}",
        f"repair={'yes' if len(cell.attempts) > 1 else 'no'}",
        repaired,
        f"failed: {failed}" if failed else "",
    ]
