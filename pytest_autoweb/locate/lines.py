"""Where to draw the two lines: where the answer is expected to tell most.

The gain of a line is the mutual information between its answer and the target. Asking by greatest
gain is optimal for noisy twenty questions when every question may be asked (Jedynak, Frazier and
Sznitman, 2011); lines are a restriction of that, so this comes near.
"""

import math
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

from pytest_autoweb.locate.likelihood import LineModel, Span, entropy

USED_WITHIN = 2
"""A line so near to a used one, in pixels, would show the same picture again."""
BORDER = 3
"""No line is drawn nearer to the picture's edge, in pixels."""
BEST_OF_AXIS = 24
"""So many places of each axis are tried in pairs."""


class Place(NamedTuple):
    """A place for a line on one axis."""

    line: float
    gain: float
    """In bits, of this line alone."""
    noise: float
    """Bits of the answer that are noise."""


class Lines(NamedTuple):
    """The lines of one question; an axis without a useful place has None."""

    x: float | None
    y: float | None
    gain: float
    """In bits."""


def best_lines(
    columns: Sequence[Span],
    rows: Sequence[Span],
    weights: Sequence[float],
    room: tuple[float, float],
    used: tuple[Sequence[float], Sequence[float]],
    model: LineModel,
) -> Lines:
    """Choose both lines together.

    Args:
        columns: Where each candidate begins and ends from left to right.
        rows: The same from top to bottom.
        weights: Probability of each candidate; they sum to 1.
        room: Width and height of the picture, CSS pixels.
        used: Lines already drawn, of each axis.
        model: The noise model.
    """
    across = _places(columns, weights, room[0], used[0], model)
    down = _places(rows, weights, room[1], used[1], model)
    if not across or not down:
        x = across[0] if across else None
        y = down[0] if down else None
        best = x or y
        return Lines(x and x.line, y and y.line, best.gain if best else 0.0)
    return _best_pair(across, down, columns, rows, weights, model)


def _best_pair(
    across: Sequence[Place],
    down: Sequence[Place],
    columns: Sequence[Span],
    rows: Sequence[Span],
    weights: Sequence[float],
    model: LineModel,
) -> Lines:
    """The pair with the greatest joint gain, which is at most the sum of both gains."""
    size = len(model.outcomes)
    x_classes = [[size * model.place(place.line, span) for span in columns] for place in across]
    y_classes = [[model.place(place.line, span) for span in rows] for place in down]
    best = Lines(None, None, -1.0)
    for x, x_class in zip(across, x_classes, strict=True):
        if x.gain + down[0].gain <= best.gain:
            break
        for y, y_class in zip(down, y_classes, strict=True):
            if x.gain + y.gain <= best.gain:
                break
            joint = _joint_entropy(x_class, y_class, weights, model)
            if joint - x.noise - y.noise > best.gain:
                best = Lines(x.line, y.line, joint - x.noise - y.noise)
    return best


def _joint_entropy(
    x_class: Sequence[int], y_class: Sequence[int], weights: Sequence[float], model: LineModel
) -> float:
    """Bits of the answer about both lines. The x classes are multiplied by the number of classes."""
    size = len(model.outcomes)
    masses = [0.0] * (size * size)
    for column, row, weight in zip(x_class, y_class, weights, strict=True):
        masses[column + row] += weight
    shares = [0.0] * 9
    for column, x_shares in enumerate(model.outcomes):
        for row, y_shares in enumerate(model.outcomes):
            mass = masses[column * size + row]
            if mass:
                for left in range(3):
                    part = mass * x_shares[left]
                    for top in range(3):
                        shares[3 * left + top] += part * y_shares[top]
    return entropy(shares)


def _places(
    spans: Sequence[Span],
    weights: Sequence[float],
    size: float,
    used: Sequence[float],
    model: LineModel,
) -> list[Place]:
    """The best places of one axis, best first: the middles between neighbouring edges."""
    edges = sorted({edge for span in spans for edge in span})
    middles = {round((near + far) / 2) for near, far in zip(edges, edges[1:], strict=False)}
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
    """How much probability stands in which class to a line, by running sums."""

    def __init__(self, spans: Sequence[Span], weights: Sequence[float], model: LineModel) -> None:
        self._model = model
        starts = sorted((span[0], weight) for span, weight in zip(spans, weights, strict=True))
        ends = sorted((span[1], weight) for span, weight in zip(spans, weights, strict=True))
        self._starts = [edge for edge, _ in starts]
        self._ends = [edge for edge, _ in ends]
        self._before = list(accumulate((weight for _, weight in ends), initial=0.0))
        sums = list(accumulate((weight for _, weight in starts), initial=0.0))
        self._after = [sums[-1] - part for part in sums]

    def place(self, line: float) -> Place:
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
        return Place(line, max(0.0, entropy(shares) - noise), noise)


def binary_entropy(share: float) -> float:
    """Bits of a yes or no."""
    if not 0 < share < 1:
        return 0.0
    return -share * math.log2(share) - (1 - share) * math.log2(1 - share)
