"""The cases that two sides of a comparison can be compared on, and why others are left out.

A case is compared in the capture modes that both sides ran. Repeats are averaged within a mode, and
modes within the case. So each case counts once, and no side gains by running its better mode more
often.
"""

from collections.abc import Collection, Iterator, Sequence
from fractions import Fraction
from typing import Literal

from msgspec import Struct

from pytest_autoweb.results.analysis.cell_numbers import CaseKey, CellSummary
from pytest_autoweb.results.analysis.counted_outcomes import GRADED
from pytest_autoweb.results.records import CaptureModeName, Outcome, Record

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


class Pair(Struct, frozen=True):
    """A case with the graded cells of both sides, by capture mode and repeat."""

    key: CaseKey
    a: tuple[CellSummary, ...]
    b: tuple[CellSummary, ...]
    changed: tuple[str, ...]
    """The checksums that differ between the sides."""


class PairingRules(Struct, frozen=True):
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
