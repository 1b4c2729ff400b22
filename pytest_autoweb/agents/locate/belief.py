"""The likelihood of each answer under each candidate, and the belief that follows from them.

A belief is a posterior over the candidates, a missing target and erratic answers.
"""

import difflib
import math
from bisect import bisect_right
from collections.abc import Sequence
from typing import NamedTuple

from pytest_autoweb.agents.locate.candidates import Candidate, Span
from pytest_autoweb.agents.locate.questions import OUTCOMES, PictureAnswer, PictureQuestion
from pytest_autoweb.agents.locate.search_limits import SearchLimits
from pytest_autoweb.base.values.normal_forms import normalise

Shares = tuple[float, float, float]
"""The probabilities of the outcomes LOW, CROSSED and HIGH."""

# Like the numbers of `SearchLimits`, these are assumptions tested in simulation, not with a real
# model.
NONE_IF_OUTSIDE = 0.7
"""Probability of *none of these* when the target is not among the numbered boxes."""
ECHO_SAME, ECHO_OTHER = 0.85, 0.10
"""The likelihood of a text read on the target, for candidates of that name and for all others."""
ECHO_RATIO = 0.9
"""The similarity above which two texts count as equal."""


class LineModel(NamedTuple):
    """The probabilities of answers about a line, by the line's position relative to a candidate.

    The positions are classes. Class 0 is inside the candidate; classes 1 to k lie beyond its end
    at growing distances, and the next k before its beginning. All candidates in the same class
    have the same probabilities, which makes it cheap to choose lines.
    """

    steps: tuple[float, ...]
    """Distances in CSS pixels at which one class ends and the next begins, from 0."""
    outcomes: tuple[Shares, ...]
    """The probabilities of the three answers, for each class."""
    entropies: tuple[float, ...]
    """The entropy of the answer in bits, for each class."""
    pairs: tuple[tuple[float, ...], ...]
    """The probabilities of the nine answers about two lines, for each pair of a vertical line's and
    a horizontal line's class."""

    def place(self, line: float, span: Span) -> int:
        """Return the class of a line for a candidate."""
        low, high = span
        if line >= high:
            return bisect_right(self.steps, line - high)
        if line <= low:
            return len(self.steps) + bisect_right(self.steps, low - line)
        return 0

    def likelihoods(self, line: float, spans: Sequence[Span], outcome: int) -> list[float]:
        """Return the likelihood of one outcome for each candidate."""
        return [self.outcomes[self.place(line, span)][outcome] for span in spans]


def line_model(limits: SearchLimits, scale: float) -> LineModel:
    """Return the model for a picture that shows `scale` pixels per CSS pixel."""
    slack = [(pixels / scale, weight) for pixels, weight in limits.slack]
    steps = (0.0, *sorted(pixels for pixels, _ in slack if pixels > 0))
    crossing = [sum(weight for pixels, weight in slack if pixels > step) for step in steps]
    sound: list[Shares] = [(0.0, 1.0, 0.0)]
    sound += [(1 - share, share, 0.0) for share in crossing]
    sound += [(0.0, share, 1 - share) for share in crossing]
    outcomes = tuple(_blur(shares, limits.misread) for shares in sound)
    pairs = tuple(tuple(left * top for left in x for top in y) for x in outcomes for y in outcomes)
    return LineModel(steps, outcomes, tuple(map(entropy, outcomes)), pairs)


def _blur(shares: Shares, misread: float) -> Shares:
    low, crossed, high = ((1 - misread) * share + misread / 3 for share in shares)
    return low, crossed, high


def pick_likelihoods(
    count: int, marked: Sequence[int | None], answer: int, limits: SearchLimits
) -> list[float]:
    """Return the likelihood of a chosen number for each of `count` candidates.

    Args:
        count: The number of candidates.
        marked: The candidate of each numbered box, number 1 first.
        answer: The chosen number; 0 means none of the boxes.
        limits: The assumed frequency of mistakes.
    """
    boxes = len(marked)
    error = limits.pick_error(boxes)
    outside = NONE_IF_OUTSIDE if answer == 0 else (1 - NONE_IF_OUTSIDE) / boxes
    likelihoods = [outside] * count
    for number, candidate in enumerate(marked, 1):
        if candidate is not None:
            likelihoods[candidate] = 1 - error if number == answer else error / boxes
    return likelihoods


def echo_likelihoods(text: str, names: Sequence[str]) -> list[float] | None:
    """Return the likelihood of a text read on the target for each name; None if no name fits."""
    read = normalise(text).casefold()
    same = [bool(read) and _alike(read, normalise(name).casefold()) for name in names]
    return [ECHO_SAME if alike else ECHO_OTHER for alike in same] if any(same) else None


def _alike(read: str, name: str) -> bool:
    # Texts whose lengths differ this much cannot reach the ratio, and comparing takes quadratic
    # time.
    if not name or min(len(read), len(name)) < ECHO_RATIO * max(len(read), len(name)) * 0.8:
        return read == name
    matcher = difflib.SequenceMatcher(None, read, name, autojunk=False)
    return matcher.quick_ratio() >= ECHO_RATIO and matcher.ratio() >= ECHO_RATIO


def entropy(shares: Sequence[float]) -> float:
    """Return the entropy in bits of probabilities that sum to 1."""
    return -sum(share * math.log2(share) for share in shares if share > 0)


ELSEWHERE_MISSED = 0.1
"""The probability of the answer *not there* when the target is none of the candidates."""


class Belief:
    """A posterior over the candidates, a missing target and erratic answers.

    A model that does not see the target either says so or mistakes a candidate for it, and then the
    same one in every call. So the answers about that candidate look the same whether or not it is
    the target, and only how often the model says *not there* reveals a missing target. That is why
    a single list of `weights` covers the candidate that the answers are about.
    """

    def __init__(
        self, candidates: Sequence[Candidate], model: LineModel, limits: SearchLimits
    ) -> None:
        self._names = [candidate.name for candidate in candidates]
        self._columns = [(one.box.x, one.box.right) for one in candidates]
        self._rows = [(one.box.y, one.box.bottom) for one in candidates]
        self._model = model
        self._limits = limits
        self._echoed: set[str] = set()
        weights = [max(0.0, candidate.weight) for candidate in candidates]
        if not any(weights):
            weights = [1.0] * len(weights)
        total = sum(weights)
        self.weights = [weight / total for weight in weights]
        self.absent = limits.absent
        self.erratic = limits.erratic_before
        self.present = 1 - self.absent - self.erratic

    @property
    def leader(self) -> int:
        return max(range(len(self.weights)), key=self.weights.__getitem__)

    @property
    def posterior(self) -> tuple[float, ...]:
        """Return the probability of each candidate."""
        return tuple(self.present * weight for weight in self.weights)

    def ranked(self, share: float) -> list[int]:
        """Return candidates with at least this share of the leader's weight, likeliest first."""
        least = share * self.weights[self.leader]
        kept = (index for index, weight in enumerate(self.weights) if weight >= least)
        return sorted(kept, key=lambda index: -self.weights[index])

    def update(self, question: PictureQuestion, answer: PictureAnswer) -> bool:
        """Update the belief with an answer; return False if the answer held no information."""
        limits = self._limits
        if answer.visible is False:
            self._scale(limits.missed, limits.noticed, ELSEWHERE_MISSED)
            return True
        factors, erratic = self._factors(question, answer)
        seen = answer.visible is True or (factors and (question.x or question.y))
        if not factors and not seen:
            return False
        fit = self._reweigh(factors)
        if seen:
            self._scale(
                (1 - limits.missed) * fit,
                (1 - limits.noticed) * fit,
                (1 - ELSEWHERE_MISSED) * erratic,
            )
        else:
            unseen = limits.noticed if answer.mark == 0 else 0.0
            self._scale(fit, unseen + (1 - limits.noticed) * fit, erratic)
        return True

    def _factors(
        self, question: PictureQuestion, answer: PictureAnswer
    ) -> tuple[list[list[float]], float]:
        """Return the likelihoods of each part of the answer, and that of an erratic answer."""
        factors: list[list[float]] = []
        erratic = 1.0
        lines = (
            (question.x, answer.x, self._columns),
            (question.y, answer.y, self._rows),
        )
        for line, relation, spans in lines:
            if line is not None and relation is not None:
                factors.append(self._model.likelihoods(line, spans, OUTCOMES[relation]))
                # An erratic answer is any of the three with equal probability.
                erratic /= 3
        boxes = len(question.badges)
        if answer.mark is not None and 0 <= answer.mark <= boxes and boxes:
            marked = [badge.candidate for badge in question.badges]
            factors.append(pick_likelihoods(len(self.weights), marked, answer.mark, self._limits))
            # A model whose answers fit nothing chooses as if the target were outside all boxes.
            nowhere = NONE_IF_OUTSIDE if answer.mark == 0 else (1 - NONE_IF_OUTSIDE) / boxes
            erratic *= nowhere
        # The same text read twice is no second piece of evidence: the model repeats itself.
        echo = None if answer.text in self._echoed else echo_likelihoods(answer.text, self._names)
        if echo is not None:
            self._echoed.add(answer.text)
            factors.append(echo)
            erratic *= ECHO_OTHER
        return factors, erratic

    def _reweigh(self, factors: Sequence[Sequence[float]]) -> float:
        """Multiply the weights by the factors; return the total, which is how well they fitted."""
        for factor in factors:
            self.weights = [
                weight * part for weight, part in zip(self.weights, factor, strict=True)
            ]
        fit = sum(self.weights)
        self.weights = [weight / fit for weight in self.weights]
        return fit

    def _scale(self, present: float, absent: float, erratic: float) -> None:
        self.present *= present
        self.absent *= absent
        self.erratic *= erratic
        total = self.present + self.absent + self.erratic
        self.present /= total
        self.absent /= total
        self.erratic /= total
