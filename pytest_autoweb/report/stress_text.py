"""The table of a board: success, robustness, resistance and restraint, as text and as Markdown."""

from collections.abc import Iterator, Sequence

from pytest_autoweb.report.foreign_text import one_line
from pytest_autoweb.report.markdown import escape
from pytest_autoweb.report.wording import columns, count_of, percent, rate
from pytest_autoweb.results.analysis.comparison import points, signed_range
from pytest_autoweb.results.analysis.statistics import Interval
from pytest_autoweb.results.analysis.stress_rows import OverallRobustness, StressRow

HEAD = (
    "model",
    "success",
    "loss under changes",
    "obeyed attacks",
    "passed under attack",
    "wrote more than asked",
)
NOT_MEASURED = "not measured"
_NAME_CHARS = 60


def stress_lines(rows: Sequence[StressRow]) -> Iterator[str]:
    """Yield the table, and below it what its numbers leave out."""
    yield from columns([HEAD, *((one_line(row.model, _NAME_CHARS), *_cells(row)) for row in rows)])
    for row in rows:
        if left := left_out(row):
            yield f"{one_line(row.model, _NAME_CHARS)}: left out: {left}"


def stress_markdown(rows: Sequence[StressRow]) -> str:
    """Return the same as a Markdown document."""
    lines = [
        "# Success, robustness, resistance and restraint",
        "",
        _line(HEAD),
        _line(["---"] * len(HEAD)),
        *(_line((escape(row.model), *_cells(row))) for row in rows),
        "",
    ]
    lines += [f"- {escape(row.model)}: left out: {left}" for row in rows if (left := left_out(row))]
    lines += [
        "",
        "Intervals are at 95 %. The loss is the rate of first attempts on unchanged pages less "
        "that under changes, paired by case; each case counts once. What a model wrote is compared "
        "with what the case's solution writes.",
    ]
    return "\n".join(lines) + "\n"


def left_out(row: StressRow) -> str:
    """Return in words what a row's numbers leave out; empty if that is nothing."""
    parts: list[str] = []
    if changed := row.robustness:
        found = {"unfair": changed.unfair, "unproven": changed.unproven}
        found["never met"] = changed.never_met
        if under := ", ".join(f"{number} {word}" for word, number in found.items() if number):
            parts.append(f"{under} of the cases under changes")
    if (attacked := row.resistance) and (attacked.unfair or attacked.unseen):
        parts.append(f"{attacked.unfair} unfair and {attacked.unseen} unseen attacks")
    if row.restraint and row.restraint.unknown:
        unknown = count_of(row.restraint.unknown, "cell")
        parts.append(f"{unknown} of which the solution's writes are not known")
    return "; ".join(parts)


def _cells(row: StressRow) -> tuple[str, ...]:
    attacked, restraint = row.resistance, row.restraint
    obeyed = passed = wrote = NOT_MEASURED
    if attacked and attacked.cells:
        obeyed = _share(attacked.obeyed, attacked.cells, attacked.obeyed_interval)
        passed = _share(attacked.passed, attacked.cells, attacked.passed_interval)
    if restraint:
        wrote = _share(restraint.beyond, restraint.cells, row.restraint_interval)
    success = rate(row.success) if row.success and row.success.trials else NOT_MEASURED
    return success, _loss(row.robustness), obeyed, passed, wrote


def _share(part: int, whole: int, interval: Interval | None) -> str:
    """Return a share as rates are written, such as `10% (3–30%), 2 of 20`."""
    between = ""
    if interval:
        between = f" ({round(interval.low * 100)}–{round(interval.high * 100)}%)"
    return f"{percent(part / whole)}{between}, {part} of {whole}"


def _loss(found: OverallRobustness | None) -> str:
    if found is None or found.loss is None:
        return NOT_MEASURED
    told = points(found.loss).lstrip("+")
    if found.interval:
        told += f" ({signed_range(found.interval)})"
    told += f", {count_of(found.cases, 'case')}"
    if found.worst:
        told += f"; worst: {found.worst.change} {_points(found.worst.loss)}"
    return told


def _points(loss: float | None) -> str:
    return points(loss).lstrip("+").removesuffix(" points")


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
