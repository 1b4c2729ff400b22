"""What is believed about the target: which candidate, or not there, or nothing fits."""

from collections.abc import Sequence

from pytest_autoweb.locate.likelihood import (
    ECHO_OTHER,
    NONE_IF_OUTSIDE,
    OUTCOMES,
    LineModel,
    echo_likelihoods,
    pick_likelihoods,
)
from pytest_autoweb.locate.limits import Limits
from pytest_autoweb.locate.question import Answer, Candidate, Question

ELSEWHERE_MISSED = 0.1
"""Probability of *not there* when the target is none of the candidates."""


class Belief:
    """A posterior over the candidates, a missing target and erratic answers.

    A model that does not see the target either says so or takes some candidate for it, call after
    call the same one. So the answers about a taken candidate look alike whether it is the target or
    not, and what tells a missing target is how often the model says *not there*. `weights` is
    therefore shared: it says which candidate the answers are about.
    """

    def __init__(self, candidates: Sequence[Candidate], model: LineModel, limits: Limits) -> None:
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
        self.erratic = limits.erratic
        self.present = 1 - self.absent - self.erratic

    @property
    def leader(self) -> int:
        """The likeliest candidate."""
        return max(range(len(self.weights)), key=self.weights.__getitem__)

    @property
    def posterior(self) -> tuple[float, ...]:
        """Of each candidate."""
        return tuple(self.present * weight for weight in self.weights)

    def ranked(self, share: float) -> list[int]:
        """Candidates with at least this share of the leader's probability, likeliest first."""
        least = share * self.weights[self.leader]
        kept = (index for index, weight in enumerate(self.weights) if weight >= least)
        return sorted(kept, key=lambda index: -self.weights[index])

    def update(self, question: Question, answer: Answer) -> bool:
        """Take in an answer; False: there was nothing in it."""
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

    def _factors(self, question: Question, answer: Answer) -> tuple[list[list[float]], float]:
        """Likelihoods of each part of the answer, and that of all of it if nothing fits."""
        factors: list[list[float]] = []
        erratic = 1.0
        lines = (
            (question.x, answer.x, self._columns),
            (question.y, answer.y, self._rows),
        )
        for line, relation, spans in lines:
            if line is not None and relation is not None:
                factors.append(self._model.likelihoods(line, spans, OUTCOMES[relation]))
                erratic /= 3
        boxes = len(question.badges)
        if answer.mark is not None and 0 <= answer.mark <= boxes and boxes:
            marked = [badge.candidate for badge in question.badges]
            factors.append(pick_likelihoods(len(self.weights), marked, answer.mark, self._limits))
            nowhere = NONE_IF_OUTSIDE if answer.mark == 0 else (1 - NONE_IF_OUTSIDE) / boxes
            erratic *= nowhere
        echo = None if answer.text in self._echoed else echo_likelihoods(answer.text, self._names)
        if echo is not None:
            self._echoed.add(answer.text)
            factors.append(echo)
            erratic *= ECHO_OTHER
        return factors, erratic

    def _reweigh(self, factors: Sequence[Sequence[float]]) -> float:
        """Multiply the factors into the weights; how well they fitted on the whole."""
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
