"""Where something begins and ends on one axis, as a probability for each stretch."""

from itertools import combinations

from pytest_autoweb.locate.likelihood import LineModel, Span
from pytest_autoweb.locate.lines import best_places

STEP = 16
"""Pixels between the places where a stretch may begin or end."""
FEWEST_STEPS = 4
"""In a small room the places stand closer."""
DOUBT = 0.05
"""What something surely covers begins later, and ends earlier, with this probability at most."""


class Stretch:
    """A posterior over all stretches between places on a grid.

    Before the first answer a stretch is the likelier the shorter it is, in proportion: things of
    any size are drawn equally often.
    """

    def __init__(self, low: float, high: float, model: LineModel) -> None:
        steps = max(FEWEST_STEPS, round((high - low) / STEP))
        edges = [low + (high - low) * step / steps for step in range(steps + 1)]
        self._spans: tuple[Span, ...] = tuple(combinations(edges, 2))
        self._weights = [1 / (end - start) for start, end in self._spans]
        self._model = model
        self._high = high
        self._used: list[float] = []
        self._weigh([1.0] * len(self._spans))

    def next_line(self) -> float | None:
        """Where the answer is expected to tell most; None: no new line is left."""
        places = best_places(self._spans, self._weights, self._high, self._used, self._model)
        return places[0].line if places else None

    def update(self, line: float, outcome: int) -> None:
        """Take in on which side of a line it lies: `LOW`, `CROSSED`, `HIGH` of `likelihood`."""
        self._weigh(self._model.likelihoods(line, self._spans, outcome))

    def shown(self, line: float) -> None:
        """Never draw this line again: the same picture brings the same answer."""
        self._used.append(line)

    @property
    def estimate(self) -> Span:
        """The medians of both edges."""
        return self._edge(0, 0.5), self._edge(1, 0.5)

    @property
    def core(self) -> Span | None:
        """What it surely covers, None: nothing is sure."""
        start, end = self._edge(0, 1 - DOUBT), self._edge(1, DOUBT)
        return (start, end) if start < end else None

    @property
    def off(self) -> float:
        """Pixels that the worse known edge is off the estimate, in the mean."""
        return max(
            sum(
                weight * abs(span[side] - middle)
                for span, weight in zip(self._spans, self._weights, strict=True)
            )
            for side, middle in enumerate(self.estimate)
        )

    def covering(self, place: float) -> float:
        """Probability that it covers a place."""
        pairs = zip(self._spans, self._weights, strict=True)
        return sum(weight for (start, end), weight in pairs if start <= place <= end)

    def _edge(self, side: int, share: float) -> float:
        """The place up to which an edge lies with this probability."""
        below = 0.0
        places = sorted(zip(self._spans, self._weights, strict=True), key=lambda one: one[0][side])
        for span, weight in places:
            below += weight
            if below >= share:
                return span[side]
        return places[-1][0][side]

    def _weigh(self, factors: list[float]) -> None:
        weights = [weight * part for weight, part in zip(self._weights, factors, strict=True)]
        total = sum(weights)
        self._weights = [weight / total for weight in weights]
