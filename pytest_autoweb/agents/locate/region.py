"""Finds a place that is not an element, such as a drawing on a canvas, with lines."""

from collections.abc import Sequence
from itertools import combinations

from msgspec import Struct, field

from pytest_autoweb.agents.locate.belief import LineModel, line_model
from pytest_autoweb.agents.locate.candidates import Rect, Span
from pytest_autoweb.agents.locate.questions import (
    OUTCOMES,
    Ask,
    Badge,
    PictureAnswer,
    PictureQuestion,
    kind_of,
)
from pytest_autoweb.agents.locate.search import best_places
from pytest_autoweb.agents.locate.search_limits import SearchLimits
from pytest_autoweb.results.records.attempt import LocatorStatus

# Every pair of places is one hypothesis, so halving the step quadruples their number.
STEP = 16
"""The distance in pixels between the places where a stretch may begin or end."""
FEWEST_STEPS = 4
"""The least number of such distances; in a small room the places are closer together."""
DOUBT = 0.05
"""The probability that either edge lies inside the part that counts as surely covered."""


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
        return self._edge(0, 0.5), self._edge(1, 0.5)

    @property
    def core(self) -> Span | None:
        """Return the part that is surely covered; None if no part is sure."""
        start, end = self._edge(0, 1 - DOUBT), self._edge(1, DOUBT)
        return (start, end) if start < end else None

    @property
    def off(self) -> float:
        """Return the expected error in pixels of the less certain edge."""
        return max(
            sum(
                weight * abs(span[side] - middle)
                for span, weight in zip(self._spans, self._weights, strict=True)
            )
            for side, middle in enumerate(self.estimate)
        )

    def settled(self, within: float) -> bool:
        """Tell whether both edges are known within this error, or a point to click is.

        Exact edges do not matter for a click: on synthetic places this saves two calls of eight
        (`tests/unit/agents/locate/test_places.py`).
        """
        if self.off <= within:
            return True
        sure = self.core is not None and self.covering(sum(self.core) / 2) >= POINT_SURE
        return sure and self.off <= POINT_WITHIN * within / KNOWN_WITHIN

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


KNOWN_WITHIN = 20
"""The mean error of an edge in pixels at which the place is first put to the model."""
POINT_WITHIN = 40
"""The same, where a point is already known that the target covers with `POINT_SURE`."""
POINT_SURE = 0.95
CONFIRMED = 0.9
"""The confidence from which a confirmed box ends the search; acting by sight asks for as much."""
CONFIRMATIONS = 3
"""How many times the model is asked to confirm the place, with more lines in between."""


class RegionResult(Struct, frozen=True):
    """The end of a search for a place. Only `found` is a success."""

    status: LocatorStatus
    point: tuple[float, float] | None
    """The point to click, inside what the target surely covers if known; None unless `found`."""
    estimate: Rect
    """The estimated box, made from the medians of the edges."""
    confidence: float
    """The probability that the point is on the target; 0 unless `found`."""
    calls: int
    questions: tuple[tuple[PictureQuestion, PictureAnswer | None], ...]


def search_region(
    room: Rect,
    ask: Ask,
    *,
    limits: SearchLimits | None = None,
    scale: float = 1.0,
    told: Sequence[tuple[PictureQuestion, PictureAnswer]] = (),
) -> RegionResult:
    """Find the target within a box, without candidates.

    The most informative lines are drawn until each edge is known. Then a numbered box is drawn
    around the place, and the model is asked whether that is the target.

    Args:
        room: The box that contains the target, in CSS pixels of the viewport.
        ask: Answers a question, see `types.Ask`.
        limits: The limits, of which `place_calls` is the budget.
        scale: Pixels of the picture per CSS pixel.
        told: Earlier answers about lines in the same view.
    """
    limits = limits or SearchLimits()
    model = line_model(limits, scale)
    across = Stretch(room.x, room.right, model)
    down = Stretch(room.y, room.bottom, model)
    search = _Bracketing(ask, limits, across, down, limits.absent)
    for question, answer in told:
        search.learn(question.x, question.y, answer)
    return search.place(search.run())


class _Bracketing(Struct):
    ask: Ask
    limits: SearchLimits
    across: Stretch
    down: Stretch
    absent: float
    """The probability that the target is missing."""
    asked: list[tuple[PictureQuestion, PictureAnswer | None]] = field(default_factory=list)
    calls: int = 0
    confidence: float = 0.0

    def run(self) -> LocatorStatus:
        """Draw lines and ask for a confirmation; if that fails, draw finer lines and ask again."""
        for attempt in range(1, CONFIRMATIONS + 1):
            self._narrow(KNOWN_WITHIN / attempt)
            if self.absent >= self.limits.confidence:
                return "not_found"
            if self.calls >= self.limits.place_calls:
                return "budget"
            refused = self._confirm()
            # A box that the model confirms needs no more lines, unless they contradict it.
            if self.confidence >= min(CONFIRMED, self.limits.confidence):
                return "found"
        return "inconsistent" if refused else "ambiguous"

    def place(self, status: LocatorStatus) -> RegionResult:
        found = status == "found"
        return RegionResult(
            status,
            self._point if found else None,
            self._estimate,
            self.confidence if found else 0.0,
            self.calls,
            tuple(self.asked),
        )

    def _narrow(self, within: float) -> None:
        """Draw lines until both edges are known well enough, saving one call for confirmation."""
        while self.calls < self.limits.place_calls - 1 and self.absent < self.limits.confidence:
            x = None if self.across.settled(within) else self.across.next_line()
            y = None if self.down.settled(within) else self.down.next_line()
            if x is None and y is None:
                return
            self.learn(x, y, self._put(x, y, spare=1))

    def learn(self, x: float | None, y: float | None, answer: PictureAnswer | None) -> None:
        """Update with the answers about a vertical and a horizontal line."""
        for line, relation, axis in (
            (x, answer and answer.x, self.across),
            (y, answer and answer.y, self.down),
        ):
            if line is not None:
                axis.exclude(line)
                if relation:
                    axis.update(line, OUTCOMES[relation])

    def _confirm(self) -> bool:
        """Ask whether the estimated box is the target; return True if the model denies it."""
        answer = self._put(None, None, badges=(Badge(1, self._estimate),))
        if answer and answer.mark == 1:
            x, y = self._point
            # Bayes' rule: a box in the right place is affirmed unless the model errs, and one in
            # the wrong place only if it errs.
            right = self.across.covering(x) * self.down.covering(y)
            error = self.limits.pick_error(1)
            fit = right * (1 - error)
            self.confidence = (1 - self.absent) * fit / (fit + (1 - right) * error)
        return answer is not None and answer.mark == 0

    @property
    def _estimate(self) -> Rect:
        (left, right), (top, bottom) = self.across.estimate, self.down.estimate
        return Rect(left, top, right - left, bottom - top)

    @property
    def _point(self) -> tuple[float, float]:
        start, end = self.across.core or self.across.estimate
        top, bottom = self.down.core or self.down.estimate
        return (start + end) / 2, (top + bottom) / 2

    def _put(
        self,
        x: float | None,
        y: float | None,
        *,
        spare: int = 0,
        badges: tuple[Badge, ...] = (),
    ) -> PictureAnswer | None:
        left = self.limits.place_calls - self.calls - spare
        question = PictureQuestion(len(self.asked) + 1, kind_of(x, y, badges), x, y, badges, left)
        answer = self.ask(question)
        self.calls += answer.calls if answer else 1
        self.asked.append((question, answer))
        if answer and (answer.visible is not None or answer.x or answer.y):
            self._weigh_absence(seen=answer.visible is not False)
        return answer

    def _weigh_absence(self, *, seen: bool) -> None:
        missed, noticed = self.limits.missed, self.limits.noticed
        present = (1 - self.absent) * (1 - missed if seen else missed)
        absent = self.absent * (1 - noticed if seen else noticed)
        self.absent = absent / (absent + present)
