"""A probability distribution over where something begins and ends on one axis."""

from itertools import combinations

from pytest_autoweb.locate.likelihood import LineModel, Span
from pytest_autoweb.locate.lines import best_places

STEP = 16
"""The distance in pixels between the places where a stretch may begin or end."""
FEWEST_STEPS = 4
"""The least number of such distances; in a small room the places are closer together."""
DOUBT = 0.05
"""The probability that either edge lies inside of what counts as surely covered."""


class Stretch:
    """A posterior over all stretches between places on a grid.

    The prior of a stretch is inversely proportional to its length, so that every order of size is
    equally likely.
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
        """Return the most informative line, or None if no new line is left."""
        places = best_places(self._spans, self._weights, self._high, self._used, self._model)
        return places[0].line if places else None

    def update(self, line: float, outcome: int) -> None:
        """Update the posterior with the answer about a line: `LOW`, `CROSSED` or `HIGH`."""
        self._weigh(self._model.likelihoods(line, self._spans, outcome))

    def exclude(self, line: float) -> None:
        """Exclude a line from now on, because the same picture would bring the same answer."""
        self._used.append(line)

    @property
    def estimate(self) -> Span:
        """The medians of both edges."""
        return self._edge(0, 0.5), self._edge(1, 0.5)

    @property
    def core(self) -> Span | None:
        """The part that is surely covered; None if no part is sure."""
        start, end = self._edge(0, 1 - DOUBT), self._edge(1, DOUBT)
        return (start, end) if start < end else None

    @property
    def off(self) -> float:
        """The expected error in pixels of the less certain edge."""
        return max(
            sum(
                weight * abs(span[side] - middle)
                for span, weight in zip(self._spans, self._weights, strict=True)
            )
            for side, middle in enumerate(self.estimate)
        )

    def covering(self, place: float) -> float:
        """Return the probability that the stretch covers a place."""
        pairs = zip(self._spans, self._weights, strict=True)
        return sum(weight for (start, end), weight in pairs if start <= place <= end)

    def _edge(self, side: int, share: float) -> float:
        """Return a quantile of an edge: the place up to which it lies with this probability."""
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
