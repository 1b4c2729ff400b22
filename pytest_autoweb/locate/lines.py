"""The choice of lines whose answers are expected to be most informative.

The gain of a line is the mutual information between its answer and the target. In the game of
noisy twenty questions it is optimal to ask the question with the greatest gain if every question
may be asked (Jedynak, Frazier and Sznitman, 2011). Lines are only some of these questions, so the
choice here comes close to the optimum.
"""

import math
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate, pairwise
from typing import NamedTuple

from pytest_autoweb.locate.likelihood import LineModel, Span, entropy

USED_WITHIN = 2
"""The distance in pixels within which two lines give practically the same picture."""
BORDER = 3
"""The least distance in pixels between a line and the picture's edge."""
BEST_OF_AXIS = 24
"""The number of places on each axis that are tried in pairs."""


class LinePlace(NamedTuple):
    """A possible line on one axis."""

    line: float
    gain: float
    """The information in bits that this line alone brings."""
    noise: float
    """The bits of the answer that are noise."""


class LinePair(NamedTuple):
    """The lines of one question; an axis without a useful line has None."""

    x: float | None
    y: float | None
    gain: float
    """The information in bits that both lines together bring."""


@lru_cache(maxsize=16)
def best_lines(
    columns: tuple[Span, ...],
    rows: tuple[Span, ...],
    weights: tuple[float, ...],
    room: tuple[float, float],
    used: tuple[tuple[float, ...], tuple[float, ...]],
    model: LineModel,
) -> LinePair:
    """Choose the best pair of lines.

    The result is cached, because the first choice on a page is the same for every target.

    Args:
        columns: The horizontal span of each candidate.
        rows: The vertical span of each candidate.
        weights: The probability of each candidate; they sum to 1.
        room: Width and height of the picture in CSS pixels.
        used: The lines already drawn on each axis.
        model: The noise model.
    """
    across = best_places(columns, weights, room[0], used[0], model)
    down = best_places(rows, weights, room[1], used[1], model)
    if not across or not down:
        x = across[0] if across else None
        y = down[0] if down else None
        best = x or y
        return LinePair(x and x.line, y and y.line, best.gain if best else 0.0)
    return _best_pair(across, down, columns, rows, weights, model)


def _best_pair(
    across: Sequence[LinePlace],
    down: Sequence[LinePlace],
    columns: Sequence[Span],
    rows: Sequence[Span],
    weights: Sequence[float],
    model: LineModel,
) -> LinePair:
    """Return the pair with the greatest joint gain.

    The joint gain is at most the sum of both gains. As the places are sorted by gain, the loops
    can stop at the first pair whose sum is not better than the best pair so far.
    """
    size = len(model.outcomes)
    y_classes: dict[float, list[int]] = {}
    best = LinePair(None, None, -1.0)
    for x in across:
        if x.gain + down[0].gain <= best.gain:
            break
        x_class = [size * model.place(x.line, span) for span in columns]
        for y in down:
            if x.gain + y.gain <= best.gain:
                break
            if y.line not in y_classes:
                y_classes[y.line] = [model.place(y.line, span) for span in rows]
            joint = _joint_entropy(x_class, y_classes[y.line], weights, model)
            if joint - x.noise - y.noise > best.gain:
                best = LinePair(x.line, y.line, joint - x.noise - y.noise)
    return best


def _joint_entropy(
    x_class: Sequence[int], y_class: Sequence[int], weights: Sequence[float], model: LineModel
) -> float:
    """Return the entropy in bits of the answer about both lines.

    The classes of x come multiplied by the number of classes, so that a sum is an index of pairs.
    """
    masses = [0.0] * len(model.pairs)
    for column, row, weight in zip(x_class, y_class, weights, strict=True):
        masses[column + row] += weight
    cells = [(mass, pair) for mass, pair in zip(masses, model.pairs, strict=True) if mass]
    return entropy([sum(mass * pair[answer] for mass, pair in cells) for answer in range(9)])


def best_places(
    spans: Sequence[Span],
    weights: Sequence[float],
    size: float,
    used: Sequence[float],
    model: LineModel,
) -> list[LinePlace]:
    """Return the best lines on one axis, best first.

    Only the middles between neighbouring edges are tried: within such a gap a line separates the
    same candidates everywhere.
    """
    edges = sorted({edge for span in spans for edge in span})
    middles = {round((near + far) / 2) for near, far in pairwise(edges)}
    free = [
        line
        for line in middles
        if BORDER < line < size - BORDER and all(abs(line - old) > USED_WITHIN for old in used)
    ]
    tally = _Tally(spans, weights, model)
    places = sorted(
        (tally.place(line) for line in free), key=lambda place: (-place.gain, place.line)
    )
    return places[:BEST_OF_AXIS]


class _Tally:
    """The probability of each class for a line, computed quickly from running sums."""

    def __init__(self, spans: Sequence[Span], weights: Sequence[float], model: LineModel) -> None:
        self._model = model
        starts = sorted((span[0], weight) for span, weight in zip(spans, weights, strict=True))
        ends = sorted((span[1], weight) for span, weight in zip(spans, weights, strict=True))
        self._starts = [edge for edge, _ in starts]
        self._ends = [edge for edge, _ in ends]
        self._before = list(accumulate((weight for _, weight in ends), initial=0.0))
        sums = list(accumulate((weight for _, weight in starts), initial=0.0))
        self._after = [sums[-1] - part for part in sums]

    def place(self, line: float) -> LinePlace:
        model = self._model
        beyond = [self._before[bisect_right(self._ends, line - step)] for step in model.steps]
        before = [self._after[bisect_left(self._starts, line + step)] for step in model.steps]
        masses = [
            max(0.0, self._before[-1] - beyond[0] - before[0]),
            *(near - far for near, far in zip(beyond, [*beyond[1:], 0.0], strict=True)),
            *(near - far for near, far in zip(before, [*before[1:], 0.0], strict=True)),
        ]
        shares = [0.0, 0.0, 0.0]
        noise = 0.0
        for mass, outcome, bits in zip(masses, model.outcomes, model.entropies, strict=True):
            if mass > 0:
                noise += mass * bits
                for index, share in enumerate(outcome):
                    shares[index] += mass * share
        return LinePlace(line, max(0.0, entropy(shares) - noise), noise)


def binary_entropy(share: float) -> float:
    """Return the entropy in bits of a yes-or-no answer with this probability."""
    if not 0 < share < 1:
        return 0.0
    return -share * math.log2(share) - (1 - share) * math.log2(1 - share)
