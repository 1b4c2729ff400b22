"""The choice of the next question: lines, numbered boxes, or both on one picture."""

import math
from collections.abc import Iterator, Sequence

from pytest_autoweb.locate.badges import numbered
from pytest_autoweb.locate.belief import Belief
from pytest_autoweb.locate.likelihood import NONE_IF_OUTSIDE, LineModel
from pytest_autoweb.locate.limits import SearchLimits
from pytest_autoweb.locate.lines import LinePair, best_lines, binary_entropy
from pytest_autoweb.locate.question import Badge, Candidate, PictureQuestion, Viewport, kind_of

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
