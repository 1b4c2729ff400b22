"""What pytest's terminal shows of a run, in pytest's style."""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence

from pytest_autoweb.report.foreign_text import one_line
from pytest_autoweb.report.json_report import Report
from pytest_autoweb.report.reported_agents import named_agents
from pytest_autoweb.report.summary import Summary
from pytest_autoweb.report.wording import (
    chance_lines,
    columns,
    count_of,
    different_cases,
    execution_lines,
    flaky_cases,
    flips,
    in_all_cases,
    limit_lines,
    median_seconds,
    models_in_modes,
    models_without_checks,
    money,
    newly_failing,
    price_lines,
    ran_without_checks,
    rate,
    robustness_lines,
    score_text,
    verdict_of,
    what_failed,
    with_baseline,
)
from pytest_autoweb.results.analysis.cell_numbers import Numbers
from pytest_autoweb.results.analysis.controls import NOOP, RANDOM, ControlRow, is_control
from pytest_autoweb.results.analysis.judge_agreement import panel_line
from pytest_autoweb.results.records import CellResult, Outcome

Line = tuple[str, dict[str, bool]]
"""A line and its markup, as pytest's terminal writer accepts them."""

MATRIX_LINES = 30
"""Limit on the number of cells up to which each gets its own line."""
_REASON_COLUMNS = 72
LISTED = 10
"""Limit on listed flaky cases, and on listed cells that did not pass among many others."""

_COLOURS: dict[Outcome, dict[str, bool]] = {
    # Only results that need attention have a colour.
    "passed": {},
    "healed": {},
    # A model that lost is a result, not an accident.
    "failed": {"yellow": True},
    "broken": {"red": True},
    "ungraded": {"purple": True},
    "skipped": {"light": True},
    "needs_input": {"purple": True},
    "off_record": {"purple": True},
}


def terminal_lines(report: Report, verbosity: int = 0) -> list[Line]:
    """Return the lines of the section, in which foreign text has no control characters.

    The most important parts, the models' table and the verdict, come last, because they stay on the
    screen.

    Args:
        report: the report.
        verbosity: pytest's: below 0 single cells are left out, above 0 every cell has a line.
    """
    cells = [cell for case in report.cases for cell in case.cells]
    contestants = [cell for cell in cells if not is_control(cell.model)]
    lines: list[Line] = [(f"run {one_line(report.ts)}", {})]
    lines += [(one_line(note), {"yellow": True}) for note in report.notes]
    if report.agents:
        # The header is printed before the cases' agents are known.
        lines += [(one_line(f"outside agents: {named_agents(report.agents)}", 400), {})]
    lines += [(one_line(panel_line(found), 400), {}) for found in report.judge_panels]
    summary = report.summary
    if not cells or summary is None:
        return [*lines, ("no cells were run", {"yellow": True})]
    if verbosity >= 0:
        lines += _cells(contestants or cells, models_in_modes(report), all_of_them=verbosity > 0)
    lines += _unreachable(cells)
    lines += _unsteady(report)
    lines += _controls(summary.controls)
    lines += [(one_line(line, 600), {}) for line in chance_lines(summary)]
    if summary.models:
        lines += _models(summary, models_without_checks(report))
        lines += [(one_line(line, 400), {}) for line in price_lines(summary)]
        lines += [(one_line(line, 400), {}) for line in limit_lines(summary)]
        lines += [(one_line(line, 600), {}) for line in different_cases(summary)]
    lines += [(one_line(line, 400), {}) for line in robustness_lines(report)]
    lines += _baseline(report)
    lines += [(one_line(line, 600), {}) for line in execution_lines(report)]
    if summary.verdict and not _nothing_but_execution(report):
        lines.append((one_line(summary.verdict, 400), {"bold": summary.decisive is True}))
    return lines


def _nothing_but_execution(report: Report) -> bool:
    """Tell whether no model has cells with checks, so that a verdict could compare nothing."""
    models = report.summary.models if report.summary else ()
    return {row.model for row in models} <= models_without_checks(report)


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


def _models(summary: Summary, unchecked: Collection[str]) -> Iterable[Line]:
    # A column without content has no width.
    scored = any(row.scores for row in summary.models)
    head = ["model", "first attempt (95%)", "after repair (95%)", "score (95%)" if scored else ""]
    head += ["outcomes", "cost", "median (95%)"]
    rows = []
    for row in summary.models:
        rated = row.model not in unchecked
        score = score_text(row.scores.first_attempt if row.scores else None) if scored else ""
        rows.append(_model_row(one_line(row.model, 48), row.numbers, score, rated=rated))
        if len(row.by_capture) > 1:
            rows += [
                _model_row(f"  in {each.capture_mode}", each.numbers, "", rated=rated)
                for each in row.by_capture
            ]
    for i, line in enumerate(columns([head, *rows])):
        yield line, {"bold": True} if i == 0 else {}


def _model_row(name: str, numbers: Numbers, score: str, *, rated: bool) -> list[str]:
    return [
        name,
        rate(numbers.first_attempt.all_trials) if rated else "no checks",
        rate(numbers.after_repair.all_trials) if rated else "no checks",
        score,
        _outcomes(numbers.counts.model_dump()),
        money(numbers.cost, numbers.calls),
        median_seconds(numbers),
    ]


def _outcomes(counts: dict[str, int]) -> str:
    return " ".join(f"{count} {outcome}" for outcome, count in counts.items() if count)


def _controls(rows: Sequence[ControlRow]) -> Iterable[Line]:
    rows = [row for row in rows if row.oracle or row.noop]
    if not rows:
        return
    doubtful = [row for row in rows if {row.oracle, row.noop} - {None, "holds"}]
    if not doubtful:
        yield f"controls hold {in_all_cases(len(rows))}", {}
    by_reason: dict[str, list[str]] = {}
    for row in doubtful:
        by_reason.setdefault(row.reason, []).append(row.case_id)
    for reason, cases in by_reason.items():
        where = f"{len(cases)} cases" if len(cases) > LISTED else ", ".join(cases)
        yield f"control in doubt: {one_line(where)}: {one_line(reason)}", {"red": True}


def _cells(
    cells: Sequence[CellResult], in_modes: Collection[str], *, all_of_them: bool
) -> Iterable[Line]:
    lost = [
        cell
        for cell in cells
        if not (
            cell.passed or cell.not_needed or _fails_as_it_should(cell) or ran_without_checks(cell)
        )
    ]
    few = all_of_them or len(cells) <= MATRIX_LINES
    shown = cells if few else lost if len(lost) <= LISTED else ()
    table = columns([_cell_row(cell, in_modes) for cell in shown])
    for cell, line in zip(shown, table, strict=True):
        yield line, {} if _fails_as_it_should(cell) else _COLOURS[cell.outcome]
    if lost:
        of = f"{len(lost)} of {count_of(len(cells), 'cell')}"
        # Reasons that were just shown need no place to look for them.
        where = "" if shown else ": see the report"
        yield f"{of} did not pass{where}", {}


def _unreachable(cells: Sequence[CellResult]) -> Iterable[Line]:
    """Say once for each address where nothing answered what would start a server there."""
    failures = [cell.failure for cell in cells if cell.failure is not None]
    places = Counter(
        str(f.evidence["unreachable"]) for f in failures if "unreachable" in f.evidence
    )
    for place, count in places.items():
        yield (
            f"nothing answers at {one_line(place)} ({count_of(count, 'cell')}): start the "
            "application, or let the case file start it with `webserver:`",
            {"red": True},
        )


def _fails_as_it_should(cell: CellResult) -> bool:
    """Tell whether a control failed that does nothing, or plays at random: that is no loss."""
    return cell.model in (NOOP, RANDOM) and cell.outcome == "failed"


def _word(cell: CellResult) -> str:
    if cell.model == RANDOM and cell.outcome in ("passed", "failed"):
        return "CHANCE" if cell.passed else "MISSED"
    return "HOLDS" if _fails_as_it_should(cell) else cell.outcome.upper()


def _cell_row(cell: CellResult, in_modes: Collection[str]) -> list[str]:
    tried = len(cell.attempts) > 1
    run = f" in {cell.capture_mode}" if cell.model in in_modes else ""
    run += "" if cell.repeat == 1 else f" repeat {cell.repeat}"
    return [
        _word(cell),
        one_line(cell.model, 48),
        one_line(cell.case_id, 48) + run,
        f"first={verdict_of(cell.attempts[0])}" if tried else "",
        "repair=yes" if tried else "",
        f"repaired={verdict_of(cell.attempts[-1])}" if tried else "",
        "" if _fails_as_it_should(cell) else what_failed(cell, _REASON_COLUMNS),
    ]
