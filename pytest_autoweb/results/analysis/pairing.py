"""The sides of a comparison, the cells they can be compared on, and reasons to exclude others.

A case is compared in the capture modes that both sides ran. Repeats are averaged within a mode, and
modes within the case. So each case counts once, and no side gains by running its better mode more
often.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import fsum
from statistics import fmean
from typing import Literal

from pytest_autoweb.results.analysis.cell_numbers import (
    CaseKey,
    CellSummary,
    Cost,
    PassRate,
    Rates,
    rate_of,
    rates_of,
)
from pytest_autoweb.results.analysis.statistics import Interval, ratio_interval
from pytest_autoweb.results.records import CaptureModeName, Outcome, Record

Metric = Literal["first_attempt", "after_repair", "executed"]
"""What counts as a pass: `passed` alone, or both `passed` and `healed`; or, of cells without
checks, that every step ran at the first attempt."""

GOOD: dict[Metric, frozenset[Outcome]] = {
    "first_attempt": frozenset({"passed"}),
    "after_repair": frozenset({"passed", "healed"}),
    "executed": frozenset({"passed"}),
}
"""The outcomes that count as a pass, for each metric."""

GRADED: frozenset[Outcome] = frozenset({"passed", "healed", "failed"})
"""Outcomes that are a verdict on the model."""

Which = Literal["a", "b", "both"]
"""A side of a comparison."""

LeftOutReason = Literal[
    "missing", "not_run", "broken", "ungraded", "changed", "controls", "needs_input", "off_record"
]
"""Why a case is left out of a comparison.

`missing`: a side has no such cell. `not_run`: its cells were skipped. `broken`, `ungraded`: no
repeat has a verdict. `changed`: the case or its checks differ between the sides. `controls`: the
case's controls are broken, so its verdicts prove nothing. `needs_input`: the plan asked a question.
`off_record`: the cell requested something from a replayed site that is not in its recording.
"""

QUESTION = ("case", "checks", "traffic")
"""Checksums of the task, its checks and the replayed recording of its site, if any; results with
different ones are not comparable."""
MEANS = ("prompts", "capture", "agent")
"""Checksums of how the task is presented to the model, and of the outside agent that presents it;
their effect may be the subject of the comparison."""


_SIDE = "{side}"
_WHOLE = (Fraction(0), Fraction(1))


class LeftOut(Record):
    """A case, or one capture mode of a case, that is left out of the comparison."""

    case_id: str
    """The id of the case."""
    case_path: str
    """Path of the case file, relative to the rootdir."""
    capture_mode: CaptureModeName | None
    """None: all of the case."""
    reason: LeftOutReason
    """Why it has no part, as one word."""
    side: Which
    """The side to which the reason applies."""
    changed: tuple[str, ...] = ()
    """Which of the checksums `case`, `checks` and `traffic` differ, if the reason is `changed`."""
    message: str
    """The reason in words."""


def first_attempt_rate(rows: Sequence[CellSummary]) -> PassRate:
    """Return the rate over cases; only a pass at the first attempt counts."""
    return rate_of(rows, GOOD["first_attempt"])


@dataclass(frozen=True, slots=True)
class Pair:
    """A case with the graded cells of both sides, by capture mode and repeat."""

    key: CaseKey
    a: tuple[CellSummary, ...]
    b: tuple[CellSummary, ...]
    changed: tuple[str, ...]
    """The checksums that differ between the sides."""


@dataclass(frozen=True, slots=True)
class PairingRules:
    """The rules for which cells may be compared."""

    doubtful: Collection[CaseKey] = ()
    """The cases whose controls are broken."""
    allow_changed: bool = False
    """Also compare cases whose `case` or `checks` checksum differs."""
    across_captures: bool = False
    """Also compare a case that the sides ran only in different capture modes."""


def pair_cases(
    a: Sequence[CellSummary], b: Sequence[CellSummary], rules: PairingRules, names: tuple[str, str]
) -> tuple[tuple[Pair, ...], tuple[LeftOut, ...]]:
    """Return the cases on which both sides were graded, and the others with the reason.

    Args:
        a: the cells of one side.
        b: the cells of the other side.
        rules: the rules for which cells may be compared.
        names: the names of the sides in messages.
    """
    pairs: list[Pair] = []
    left_out: list[LeftOut] = []
    ours, theirs = _by_case(a), _by_case(b)
    for key in dict.fromkeys((*ours, *theirs)):
        for each in _pair(key, ours.get(key, []), theirs.get(key, []), rules):
            if isinstance(each, Pair):
                pairs.append(each)
            else:
                left_out.append(_named(each, names))
    return tuple(pairs), tuple(left_out)


def case_mean(cells: Sequence[CellSummary], good: Collection[Outcome]) -> Fraction:
    """Return the share of passed cells, averaged over repeats, then over capture modes."""
    return mean_over_modes(cells, [_WHOLE[cell.outcome in good] for cell in cells])


def mean_over_modes(cells: Sequence[CellSummary], values: Sequence[Fraction]) -> Fraction:
    """Average a value of each cell over the repeats of a capture mode, then over the modes."""
    if len(values) == 1:
        return values[0]
    modes: dict[CaptureModeName, list[Fraction]] = {}
    for cell, value in zip(cells, values, strict=True):
        modes.setdefault(cell.capture_mode, []).append(value)
    return sum((sum(own, Fraction(0)) / len(own) for own in modes.values()), Fraction(0)) / len(
        modes
    )


def _by_case(rows: Sequence[CellSummary]) -> dict[CaseKey, list[CellSummary]]:
    cases: dict[CaseKey, list[CellSummary]] = {}
    for row in rows:
        cases.setdefault((row.case_path, row.case_id), []).append(row)
    return cases


def _pair(
    key: CaseKey, a: Sequence[CellSummary], b: Sequence[CellSummary], rules: PairingRules
) -> Iterator[Pair | LeftOut]:
    if not a or not b:
        yield _left_out(key, "missing", "b" if a else "a", "no such case on {side}")
        return
    if key in rules.doubtful:
        yield _left_out(
            key, "controls", "both", "its controls are broken: its verdicts prove nothing"
        )
        return
    question = _differing(QUESTION, a, b)
    if question and not rules.allow_changed:
        message = f"changed between the sides: {' and '.join(question)}"
        left = _left_out(key, "changed", "both", message)
        yield left.model_copy(update={"changed": question})
        return
    modes_a, modes_b = _modes(a), _modes(b)
    common = [mode for mode in modes_a if mode in modes_b]
    if (not common and rules.across_captures) or _any_capture(a) or _any_capture(b):
        yield from _pair_of_graded(key, a, b, question)
        return
    for mode in dict.fromkeys((*modes_a, *modes_b)):
        if mode not in common:
            side: Which = "b" if mode in modes_a else "a"
            yield _left_out(key, "missing", side, f"not run in {mode} on {{side}}", mode)
    yield from _pair_in_modes(key, a, b, common, question)


def _pair_in_modes(
    key: CaseKey,
    a: Sequence[CellSummary],
    b: Sequence[CellSummary],
    modes: Sequence[CaptureModeName],
    question: tuple[str, ...],
) -> Iterator[Pair | LeftOut]:
    if len(modes) == 1 == len(a) == len(b):
        yield from _pair_of_graded(key, a, b, question)
        return
    # A mode counts only where both sides have a verdict in it; otherwise their means would be taken
    # over different modes.
    kept: list[CaptureModeName] = []
    for mode in modes:
        own_a = [row for row in a if row.capture_mode == mode]
        own_b = [row for row in b if row.capture_mode == mode]
        for each in _pair_of_graded(key, own_a, own_b, question):
            if isinstance(each, Pair):
                kept.append(mode)
            else:
                yield each.model_copy(update={"capture_mode": mode if len(modes) > 1 else None})
    if kept:
        yield from _pair_of_graded(
            key,
            [row for row in a if row.capture_mode in kept],
            [row for row in b if row.capture_mode in kept],
            question,
        )


def _pair_of_graded(
    key: CaseKey, a: Sequence[CellSummary], b: Sequence[CellSummary], question: tuple[str, ...]
) -> Iterator[Pair | LeftOut]:
    graded_a = [row for row in a if row.outcome in GRADED]
    graded_b = [row for row in b if row.outcome in GRADED]
    if graded_a and graded_b:
        yield Pair(
            key,
            tuple(sorted(graded_a, key=_place)),
            tuple(sorted(graded_b, key=_place)),
            (*question, *_differing(MEANS, a, b)),
        )
        return
    side: Which = "both" if not graded_a and not graded_b else "b" if graded_a else "a"
    reason, message = _why_not_graded([*(() if graded_a else a), *(() if graded_b else b)])
    yield _left_out(key, reason, side, message)


def _why_not_graded(rows: Sequence[CellSummary]) -> tuple[LeftOutReason, str]:
    outcomes = {row.outcome for row in rows}
    if "broken" in outcomes:
        return "broken", "no verdict on {side}: infrastructure failed"
    if "ungraded" in outcomes:
        return "ungraded", "no verdict on {side}: its checks could not be evaluated"
    if "needs_input" in outcomes:
        return "needs_input", "no verdict on {side}: the plan asked a question"
    if "off_record" in outcomes:
        return "off_record", "no verdict on {side}: it left the recording of the site"
    return "not_run", "not run on {side}"


def _left_out(
    key: CaseKey,
    reason: LeftOutReason,
    side: Which,
    message: str,
    mode: CaptureModeName | None = None,
) -> LeftOut:
    return LeftOut(
        case_path=key[0],
        case_id=key[1],
        capture_mode=mode,
        reason=reason,
        side=side,
        message=message,
    )


def _named(left_out: LeftOut, names: tuple[str, str]) -> LeftOut:
    side = {"a": names[0], "b": names[1], "both": "both sides"}[left_out.side]
    return left_out.model_copy(update={"message": left_out.message.replace(_SIDE, side)})


def _differing(
    names: Sequence[str], a: Sequence[CellSummary], b: Sequence[CellSummary]
) -> tuple[str, ...]:
    if len(a) == len(b) == 1 and a[0].capture_mode == b[0].capture_mode:
        ours, theirs = a[0].checksums, b[0].checksums
        return tuple(name for name in names if ours.get(name) != theirs.get(name))

    def sums(rows: Sequence[CellSummary], name: str) -> set[tuple[str, str | None]]:
        # Each capture mode has its own checksum of captures; the others do not depend on the mode.
        return {
            (row.capture_mode if name == "capture" else "", row.checksums.get(name)) for row in rows
        }

    return tuple(name for name in names if sums(a, name) != sums(b, name))


def _modes(rows: Sequence[CellSummary]) -> list[CaptureModeName]:
    return list(dict.fromkeys(row.capture_mode for row in rows))


def _any_capture(rows: Sequence[CellSummary]) -> bool:
    """Return whether a side stands for all capture modes, because it was shown none of them."""
    return all(row.any_capture for row in rows)


def _place(row: CellSummary) -> tuple[str, int]:
    return row.capture_mode, row.repeat


class Change(Record):
    """How much more or less side b used than side a, over the compared cells."""

    relative: float | None
    """The relative change, 0.2 for a fifth more; None if it is unknown or side a used nothing."""
    interval: Interval | None = None
    """The 95% interval over cases (`statistics.ratio_interval`); None with less than two cases."""


class Side(Record):
    """One side of a comparison."""

    label: str
    """The model when models of a run are compared, or the run's name or time between runs."""
    model: str
    """Name of the model."""
    capture_mode: CaptureModeName | None = None
    """The capture mode, when two modes of one model are compared."""
    run: str
    """The run's `ts`."""
    first_attempt: Rates
    """The rates over all cases of this side, compared or not."""
    after_repair: Rates
    """The rate that counts repaired cells as passed."""
    compared: PassRate
    """In the comparison's metric, over the compared cases and their graded cells only: the
    difference is between these two."""
    compared_all: PassRate
    """The same cases with `broken` and `ungraded` cells counted as not passed."""
    total_cost: Cost
    """The cost of all cells of this side."""
    cost: Cost
    """The cost of the compared cells."""
    cost_per_cell: float | None
    """The mean cost of a compared cell in US dollars, averaged within cases first; None if it is
    unknown or a lower bound."""
    seconds_per_cell: float | None
    """The mean wall time of a compared cell in seconds, averaged within cases first."""


@dataclass(frozen=True)
class Half:
    """One side before it is compared with any number of others."""

    label: str
    model: str
    run: str
    rows: Sequence[CellSummary]
    doubtful: Collection[CaseKey]
    """The cases whose controls are broken."""
    capture_mode: CaptureModeName | None = None

    @cached_property
    def first_attempt(self) -> Rates:
        """Return the rates of first attempts over all its cells."""
        return rates_of(self.rows, GOOD["first_attempt"], self.doubtful)

    @cached_property
    def after_repair(self) -> Rates:
        """Return the rates over all its cells, repaired ones counted as passed."""
        return rates_of(self.rows, GOOD["after_repair"], self.doubtful)


def side_of(half: Half, cases: Sequence[tuple[CellSummary, ...]], metric: Metric) -> Side:
    """Compute the numbers of a side.

    Args:
        half: the side.
        cases: the side's cells of each compared case.
        metric: what counts as a pass.
    """
    good = GOOD[metric]
    compared = [row for case in cases for row in case]
    keys = {(row.case_path, row.case_id) for row in compared}
    everywhere = [
        row
        for row in half.rows
        if (row.case_path, row.case_id) in keys and row.outcome != "skipped"
    ]
    spent = costs(cases)
    return Side(
        label=half.label,
        model=half.model,
        capture_mode=half.capture_mode,
        run=half.run,
        first_attempt=half.first_attempt,
        after_repair=half.after_repair,
        compared=rate_of(compared, good),
        compared_all=rate_of(everywhere, good),
        total_cost=cost_of(half.rows),
        cost=cost_of(compared),
        cost_per_cell=fmean(spent) if spent else None,
        seconds_per_cell=fmean(times(cases)) if cases else None,
    )


def cost_of(rows: Sequence[CellSummary]) -> Cost:
    """Return the total cost of cells, as far as prices are known."""
    known = [row.cost_usd for row in rows if row.cost_usd is not None]
    return Cost(
        usd=fsum(known) if known or not rows else None,
        complete=all(row.cost_complete for row in rows),
    )


def costs(cases: Sequence[tuple[CellSummary, ...]]) -> list[float] | None:
    """Return the mean cost of a cell for each case; None unless all costs are known."""
    # A mean over the priced cells alone would compare different cells of the two sides.
    if not all(row.cost_complete and row.cost_usd is not None for case in cases for row in case):
        return None
    return _per_case(cases, lambda row: row.cost_usd or 0.0)


def times(cases: Sequence[tuple[CellSummary, ...]]) -> list[float]:
    """Return the mean time of a cell in seconds for each case."""
    return _per_case(cases, lambda row: row.duration_ms / 1000)


def _per_case(
    cases: Sequence[tuple[CellSummary, ...]], value: Callable[[CellSummary], float]
) -> list[float]:
    return [
        value(case[0])
        if len(case) == 1
        else float(mean_over_modes(case, [Fraction(value(row)) for row in case]))
        for case in cases
    ]


def change_of(before: list[float] | None, after: list[float] | None) -> Change:
    """Return the relative change between two sides' cases, where None stands for unknown values."""
    if not before or not after or not any(before):
        return Change(relative=None)
    ratio = ratio_interval(before, after)
    return Change(
        relative=fsum(after) / fsum(before) - 1,
        interval=Interval(low=ratio.low - 1, high=ratio.high - 1) if ratio else None,
    )
