"""A comparison as text for a terminal: numbers, flips, cases left out and verdict."""

from collections.abc import Iterator, Sequence
from textwrap import wrap

from pytest_autoweb.report.foreign_text import one_line
from pytest_autoweb.report.wording import (
    columns,
    count_of,
    median_text,
    money,
    rate,
    seconds,
    width,
)
from pytest_autoweb.results.analysis.cell_numbers import Cost, PassRate
from pytest_autoweb.results.analysis.comparison import (
    CasePair,
    Comparison,
    p_text,
    signed,
    signed_range,
)
from pytest_autoweb.results.analysis.comparison_sides import Change, Side
from pytest_autoweb.results.analysis.pairing import LeftOut
from pytest_autoweb.results.analysis.scores import ScoreDifference
from pytest_autoweb.results.analysis.served import served_text
from pytest_autoweb.results.records import OUTCOME_LETTERS, Outcome

COLUMNS = 100
HEAD_COLUMNS = 20
"""Limit on a label in the head of a column."""
LISTED_CASES = 25
"""Limit on the lines of one list."""


def comparison_text(comparisons: Sequence[Comparison]) -> str:
    """Return all comparisons as text, with numbers, flips, cases left out and verdict."""
    return "\n\n".join("\n".join(_lines(each)) for each in comparisons)


def _lines(comparison: Comparison) -> Iterator[str]:
    a, b = comparison.a, comparison.b
    if comparison.kind == "runs" and a.model == b.model:
        yield one_line(a.model, COLUMNS)
    for name, side in (("A", a), ("B", b)):
        answered = f", answered by {told}" if (told := served_text(side.served)) else ""
        yield one_line(f"{name} = {side.label}{answered}", 2 * COLUMNS)
    yield ""
    yield from columns(_table(comparison))
    yield ""
    yield from _wrapped(comparison.verdict)
    yield from _wrapped(_test(comparison))
    flips = [case for case in comparison.cases if case.flip != "same"]
    told = "P: every step ran" if comparison.metric == "executed" else "outcomes of A -> B"
    yield from _list(f"flips, {told}", [_flip(case) for case in flips])
    yield from _list("left out", _left_out(comparison.left_out))
    for note in comparison.notes:
        yield from _wrapped(f"note: {note}")


def _restraint(a: Side, b: Side) -> Iterator[tuple[str, str, str, str]]:
    if a.restraint or b.restraint:
        of_a, of_b = (side.restraint.told if side.restraint else "unknown" for side in (a, b))
        yield "more than asked", of_a, of_b, ""


def _table(comparison: Comparison) -> list[tuple[str, str, str, str]]:
    a, b = comparison.a, comparison.b
    metric = comparison.metric.replace("_", " ")
    executed = comparison.metric == "executed"
    metric = "every step ran (no proof)" if executed else f"{metric}, compared"
    partly = (a.compared_all, b.compared_all) != (a.compared, b.compared)
    return [
        ("", _head("A", a.label), _head("B", b.label), "B − A (95%)"),
        (metric, rate(a.compared), rate(b.compared), _difference(comparison)),
        *([("  broken as failed", *_rates(a.compared_all, b.compared_all))] if partly else []),
        *(() if executed else _of_all_cells(a, b)),
        *_score(comparison.score),
        *_restraint(a, b),
        ("cost of a cell", _cost(a), _cost(b), _change(comparison.cost_change)),
        (
            "time of a cell",
            seconds(a.seconds_per_cell),
            seconds(b.seconds_per_cell),
            _change(comparison.time_change),
        ),
        *_median_times(a, b),
    ]


def _score(found: ScoreDifference | None) -> Iterator[tuple[str, str, str, str]]:
    if found is None:
        return
    apart = f"{signed(found.difference)} pts ({signed_range(found.interval)})"
    name = f"score, {count_of(found.cases, 'case')}"
    yield name, f"{found.a:.0%}", f"{found.b:.0%}", apart


def _median_times(a: Side, b: Side) -> Iterator[tuple[str, str, str, str]]:
    if a.median_s and b.median_s:
        yield "  median over cases", median_text(a.median_s), median_text(b.median_s), ""


def _head(side: str, label: str) -> str:
    """Return the head of a side's column; a long label stands only above the table."""
    return f"{side}: {one_line(label)}" if width(label) <= HEAD_COLUMNS else side


def _of_all_cells(a: Side, b: Side) -> Iterator[tuple[str, str, str, str]]:
    first, after = (a.first_attempt, b.first_attempt), (a.after_repair, b.after_repair)
    for name, (own, other) in (("first attempt", first), ("after repair", after)):
        yield f"{name}, graded", *_rates(own.graded, other.graded)
        yield "  every cell", *_rates(own.all_trials, other.all_trials)


def _rates(a: PassRate, b: PassRate) -> tuple[str, str, str]:
    return rate(a), rate(b), ""


def _difference(comparison: Comparison) -> str:
    interval = comparison.interval
    if comparison.difference is None or interval is None:
        return "–"
    return f"{signed(comparison.difference)} pts ({signed_range(interval)})"


def _cost(side: Side) -> str:
    if side.cost_per_cell is None:
        return "unknown" if side.compared.trials else "–"
    return money(Cost(usd=side.cost_per_cell), 1)


def _change(change: Change) -> str:
    if change.relative is None:
        return ""
    text = f"{_percent(change.relative)}%"
    if change.interval is None:
        return text
    return f"{text} ({_percent(change.interval.low)} to {_percent(change.interval.high)})"


def _percent(share: float) -> str:
    return signed(share) if share < 9.99 else ">999"


def _test(comparison: Comparison) -> str:
    text = (
        f"{count_of(len(comparison.cases), 'case')} compared: {comparison.lost} lost, "
        f"{comparison.gained} gained, {comparison.same} the same"
    )
    if comparison.p is None:
        return text
    text += f"; {comparison.test}: p {p_text(comparison.p)}"
    if comparison.family > 1:
        text += f", Holm {p_text(comparison.p_holm)} over {comparison.family} comparisons"
    return text


def _flip(case: CasePair) -> tuple[str, ...]:
    mark = f" ({', '.join(case.changed)} changed)" if case.changed else ""
    outcomes = f"{_letters(case.outcomes_a)} -> {_letters(case.outcomes_b)}"
    return case.flip, one_line(case.case_id, 40), f"{outcomes}{mark}"


def _letters(outcomes: Sequence[Outcome]) -> str:
    letters = "".join(OUTCOME_LETTERS[outcome] for outcome in outcomes)
    return letters if len(letters) <= 12 else f"{letters[:11]}…"


def _left_out(rows: Sequence[LeftOut]) -> list[tuple[str, ...]]:
    cases = [one_line(row.case_id, 40) for row in rows]
    room = COLUMNS - 4 - max(map(width, cases), default=0)
    return [(case, one_line(row.message, room)) for case, row in zip(cases, rows, strict=True)]


def _list(title: str, rows: Sequence[tuple[str, ...]]) -> Iterator[str]:
    if not rows:
        return
    yield f"{title} ({len(rows)}):"
    yield from (f"  {line}" for line in columns(rows[:LISTED_CASES]))
    if len(rows) > LISTED_CASES:
        yield f"  and {len(rows) - LISTED_CASES} more; --json has them all"


def _wrapped(text: str) -> list[str]:
    return wrap(one_line(text, 2000), COLUMNS, subsequent_indent="  ")
