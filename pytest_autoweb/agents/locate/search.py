"""Finds one of many boxes: chooses the next question, and decides when to stop."""

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import accumulate, pairwise
from typing import NamedTuple

from pytest_autoweb.agents.locate.belief import (
    NONE_IF_OUTSIDE,
    Belief,
    LineModel,
    entropy,
    line_model,
)
from pytest_autoweb.agents.locate.candidates import Candidate, Span, Viewport
from pytest_autoweb.agents.locate.elimination import eliminate
from pytest_autoweb.agents.locate.questions import (
    Ask,
    Badge,
    Outcome,
    PictureQuestion,
    SearchTurn,
    kind_of,
    nothing_to_ask,
    numbered,
)
from pytest_autoweb.agents.locate.search_limits import SearchLimits
from pytest_autoweb.results.records.attempt import LocatorAlgorithm, LocatorStatus

USED_WITHIN = 2
"""The distance in pixels within which two lines give practically the same picture."""
BORDER = 3
"""The least distance in pixels between a line and the picture's edge."""
# Each pair costs a pass over all candidates, and a decision is to take at most 50 ms with 500 of
# them (docs/locator.md).
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
        # This is the innermost loop of the choice of lines, so it adds two prepared numbers instead
        # of looking up a pair.
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
            # These sums are in floating point, so a mass that is zero may come out slightly below
            # it.
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


RELEVANT = 0.01
"""The share of the leader's probability above which a candidate gets a numbered box."""
THINKABLE = 1e-4
"""The probability above which a candidate counts in the choice of lines."""
LEAST_GAIN = 0.003
"""The information in bits below which lines are not worth drawing."""

Picture = tuple[float | None, float | None, tuple[Badge, ...]]


class Planner:
    """Chooses the questions of a search.

    It never shows the same picture twice, because the same answer again is no new evidence.
    """

    def __init__(
        self,
        candidates: Sequence[Candidate],
        viewport: Viewport,
        model: LineModel,
        limits: SearchLimits,
    ) -> None:
        self._candidates = candidates
        self._columns = [(one.box.x, one.box.right) for one in candidates]
        self._rows = [(one.box.y, one.box.bottom) for one in candidates]
        self._room = (viewport.width, viewport.height)
        self._model = model
        self._limits = limits
        self._used: tuple[list[float], list[float]] = ([], [])
        self._shown: set[Picture] = set()
        self._numberings = 0

    def next(self, belief: Belief, index: int, calls_left: int) -> PictureQuestion | None:
        """Return the most informative question, or None if every picture has been shown."""
        for x, y, badges in self._choices(belief):
            if (x, y, badges) not in self._shown:
                self._note(x, y, badges)
                return PictureQuestion(index, kind_of(x, y, badges), x, y, badges, calls_left)
        return None

    def _note(self, x: float | None, y: float | None, badges: tuple[Badge, ...]) -> None:
        self._shown.add((x, y, badges))
        for line, used in zip((x, y), self._used, strict=True):
            if line is not None:
                used.append(line)
        self._numberings += bool(badges)

    def _choices(self, belief: Belief) -> Iterator[Picture]:
        """Yield possible pictures in order of preference."""
        relevant = belief.ranked(RELEVANT)
        lines = self._lines(belief)
        drawn = lines.gain >= LEAST_GAIN
        together = relevant[: self._limits.combined_marks]
        # Lines and numbers in one picture give the most information per call.
        if drawn and together:
            yield lines.x, lines.y, self._badges(together)
        picked = relevant[: self._limits.pick_marks]
        gain = _pick_gain([belief.weights[one] for one in picked], self._limits)
        if drawn and lines.gain > gain:
            yield lines.x, lines.y, ()
        yield None, None, self._badges(picked)
        yield None, None, ()
        yield lines.x, lines.y, ()
        # Adding unlikely candidates makes a picture that has not been shown before.
        yield None, None, self._badges(belief.ranked(0)[: self._limits.pick_marks])

    def _lines(self, belief: Belief) -> LinePair:
        kept = [index for index, weight in enumerate(belief.weights) if weight > THINKABLE]
        total = sum(belief.weights[index] for index in kept)
        return best_lines(
            tuple(self._columns[index] for index in kept),
            tuple(self._rows[index] for index in kept),
            tuple(belief.weights[index] / total for index in kept),
            self._room,
            (tuple(self._used[0]), tuple(self._used[1])),
            self._model,
        )

    def _badges(self, chosen: Sequence[int]) -> tuple[Badge, ...]:
        return numbered(self._candidates, chosen, self._numberings)


def _pick_gain(weights: Sequence[float], limits: SearchLimits) -> float:
    """Return the expected information in bits of a choice among candidates."""
    boxes = len(weights)
    error = limits.pick_error(boxes)
    inside = sum(weights)
    outside = max(0.0, 1 - inside)
    stray = (outside * (1 - NONE_IF_OUTSIDE) + inside * error) / boxes
    shares = [weight * (1 - error - error / boxes) + stray for weight in weights]
    shares.append(inside * error / boxes + outside * NONE_IF_OUTSIDE)
    spread = math.log2(boxes)
    noise = inside * (binary_entropy(error) + error * spread)
    noise += outside * (binary_entropy(NONE_IF_OUTSIDE) + (1 - NONE_IF_OUTSIDE) * spread)
    return -sum(share * math.log2(share) for share in shares if share > 0) - noise


AMBIGUOUS_AMONG = 3
"""A search out of budget is `ambiguous` if one of this many candidates is surely meant."""


def narrow(
    candidates: tuple[Candidate, ...], viewport: Viewport, ask: Ask, limits: SearchLimits
) -> Outcome:
    """Search with a posterior over the candidates; see `search`."""
    if not candidates:
        return nothing_to_ask()
    model = line_model(limits, viewport.scale)
    belief = Belief(candidates, model, limits)
    planner = Planner(candidates, viewport, model, limits)
    turns: list[SearchTurn] = []
    calls = 0
    told = False
    # A search needs at least one readable answer, so even a single candidate is confirmed.
    while calls < limits.calls and not (told and _sure(belief, limits)):
        question = planner.next(belief, len(turns) + 1, limits.calls - calls)
        if question is None:
            break
        answer = ask(question)
        calls += answer.calls if answer else 1
        read = answer is not None and belief.update(question, answer)
        told = told or read
        leader = belief.leader
        turns.append(
            SearchTurn(
                question,
                answer if read else None,
                tuple(sorted(belief.ranked(RELEVANT))),
                leader,
                belief.present * belief.weights[leader],
                belief.absent,
            )
        )
    status = _status(belief, limits, told)
    return _outcome(status, belief, turns, calls)


def _sure(belief: Belief, limits: SearchLimits) -> bool:
    best = belief.present * belief.weights[belief.leader]
    return (
        best >= limits.confidence
        or belief.absent >= limits.absent_from
        or belief.erratic >= limits.erratic_from
    )


def _status(belief: Belief, limits: SearchLimits, told: bool) -> LocatorStatus:
    if not told:
        return "budget"
    posterior = sorted(belief.posterior, reverse=True)
    if posterior[0] >= limits.confidence:
        return "found"
    if belief.absent >= limits.absent_from:
        return "not_found"
    if belief.erratic > 0.5:
        return "inconsistent"
    return "ambiguous" if sum(posterior[:AMBIGUOUS_AMONG]) >= limits.confidence else "budget"


def _outcome(status: LocatorStatus, belief: Belief, turns: list[SearchTurn], calls: int) -> Outcome:
    leader = belief.leader
    probability = belief.present * belief.weights[leader]
    confidence = {"not_found": belief.absent, "inconsistent": belief.erratic}
    reasons: dict[LocatorStatus, str] = {
        "found": f"{calls} calls leave a probability of {probability:.3f}.",
        "not_found": f"The target is missing, with a probability of {belief.absent:.3f}.",
        "inconsistent": "The answers contradict each other and fit no candidate.",
        "ambiguous": "The answers fit a few candidates and could not tell them apart.",
        "budget": f"{calls} calls left the best candidate at a probability of {probability:.3f}.",
    }
    return Outcome(
        status,
        leader if status == "found" else None,
        leader,
        confidence.get(status, probability),
        belief.posterior,
        belief.absent,
        belief.erratic,
        tuple(turns),
        calls,
        reasons[status],
    )


ALGORITHMS = {"bayes": narrow, "seed": eliminate}


def search(
    candidates: Sequence[Candidate],
    viewport: Viewport,
    ask: Ask,
    *,
    limits: SearchLimits | None = None,
    algorithm: LocatorAlgorithm = "bayes",
) -> Outcome:
    """Find the candidate that `ask` answers about.

    Args:
        candidates: From `candidates.gather`; their order is the order of the outcome's posterior.
        viewport: CSS pixels, with the scale of the picture that the model gets.
        ask: See `types.Ask`. It is never called once the budget is spent.
        limits: Budget, thresholds, assumed mistakes.
        algorithm: `bayes`, or `seed` as the baseline to compare with.

    Returns:
        The outcome; without candidates it is `not_found`, and no question is asked.
    """
    return ALGORITHMS[algorithm](tuple(candidates), viewport, ask, limits or SearchLimits())
