"""The numbering of the boxes that are drawn around candidates."""

from collections.abc import Sequence

from pytest_autoweb.locate.question import Badge, Candidate

ROW = 10
"""The difference of upper edges, in pixels, below which boxes count as one row."""


def numbered(
    candidates: Sequence[Candidate], chosen: Sequence[int], shift: int
) -> tuple[Badge, ...]:
    """Number the chosen candidates in reading order, starting at a different one for each shift.

    Other numbers make another picture, so a model that is asked again does not just repeat its
    mistake.
    """
    ordered = sorted(chosen, key=lambda index: _reading_order(candidates[index]))
    first = shift % max(1, len(ordered))
    ordered = ordered[first:] + ordered[:first]
    return tuple(
        Badge(number, candidates[index].box, index) for number, index in enumerate(ordered, 1)
    )


def _reading_order(candidate: Candidate) -> tuple[int, float]:
    return round(candidate.box.y / ROW), candidate.box.x
