"""The belief about the target: one of the candidates, not there, or answers that fit nothing."""

from collections.abc import Sequence

from pytest_autoweb.locate.likelihood import (
    ECHO_OTHER,
    NONE_IF_OUTSIDE,
    OUTCOMES,
    LineModel,
    echo_likelihoods,
    pick_likelihoods,
)
from pytest_autoweb.locate.limits import SearchLimits
from pytest_autoweb.locate.question import Candidate, PictureAnswer, PictureQuestion

ELSEWHERE_MISSED = 0.1
"""The probability of the answer *not there* when the target is none of the candidates."""


class Belief:
    """A posterior over the candidates, a missing target and erratic answers.

    A model that does not see the target either says so or mistakes a candidate for it, and then the
    same one in every call. So the answers about that candidate look the same whether or not it is
    the target, and only how often the model says *not there* reveals a missing target. That is why
    there is one list of `weights`, which says which candidate the answers are about.
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
        self.erratic = limits.erratic
        self.present = 1 - self.absent - self.erratic

    @property
    def leader(self) -> int:
        """The index of the likeliest candidate."""
        return max(range(len(self.weights)), key=self.weights.__getitem__)

    @property
    def posterior(self) -> tuple[float, ...]:
        """The probability of each candidate."""
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
        """Return the likelihoods of each part of the answer, and the one if answers are erratic."""
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
