"""Numbering boxes."""

from collections.abc import Sequence

from pytest_autoweb.locate.question import Badge, Candidate

ROW = 10
"""Boxes whose upper edges differ by less, in pixels, count as standing in one row."""


def numbered(
    candidates: Sequence[Candidate], chosen: Sequence[int], shift: int
) -> tuple[Badge, ...]:
    """Number the chosen candidates in reading order, beginning with another one for each shift.

    A choice that is asked again under other numbers is a new picture, so its mistake is a new one.
    """
    ordered = sorted(chosen, key=lambda index: _reading_order(candidates[index]))
    first = shift % max(1, len(ordered))
    ordered = ordered[first:] + ordered[:first]
    return tuple(
        Badge(number, candidates[index].box, index) for number, index in enumerate(ordered, 1)
    )


def _reading_order(candidate: Candidate) -> tuple[int, float]:
    return round(candidate.box.y / ROW), candidate.box.x
