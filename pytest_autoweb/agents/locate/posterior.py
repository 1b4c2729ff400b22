"""Inference about the target from answers: as beliefs, and by elimination.

A belief says how likely an answer is under it. The elimination method is a baseline: it bisects the
edges' intervals, then picks a match.
"""

import difflib
import math
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from pytest_autoweb.agents.locate.questions import (
    Ask,
    Candidate,
    Outcome,
    PictureAnswer,
    PictureQuestion,
    SearchLimits,
    SearchTurn,
    Viewport,
    kind_of,
    nothing_to_ask,
    numbered,
)
from pytest_autoweb.base.values.normal_forms import normalise
from pytest_autoweb.results.records.attempt import LocatorStatus

Span = tuple[float, float]
"""The positions where a candidate begins and ends on one axis."""

Shares = tuple[float, float, float]
"""The probabilities of the outcomes LOW, CROSSED and HIGH."""

LOW, CROSSED, HIGH = 0, 1, 2
"""The target lies left of (above) the line, is crossed by it, or lies right of (below) it."""
OUTCOMES = {"left": LOW, "above": LOW, "crossed": CROSSED, "right": HIGH, "below": HIGH}

# Like the numbers of `SearchLimits`, these are assumptions tested in simulation, not with a real
# model.
NONE_IF_OUTSIDE = 0.7
"""Probability of *none of these* when the target is not among the numbered boxes."""
ECHO_SAME, ECHO_OTHER = 0.85, 0.10
"""The likelihood of a text read on the target, for candidates of that name and for all others."""
ECHO_RATIO = 0.9
"""The similarity above which two texts count as equal."""

SAME_LINE = 2
"""The distance in pixels within which two lines give practically the same picture."""
ROUNDING = 1
"""How many pixels an edge may lie outside its interval, as pages use fractions of pixels."""
FRACTIONS = (0.5, 0.375, 0.625, 0.25, 0.75)
"""Positions in an interval where a line may be drawn: the middle, or the others if it was used."""
# One wrong answer must not end a search, and a model that keeps contradicting itself must not use
# up the budget.
CONTRADICTIONS = 2
"""How many answers that fit no candidate are discarded and asked again, next to the old line."""
# One *not there* may be due to the lines, so the second picture has none.
UNSEEN = 2
"""How many answers of *not there* end a search."""


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
        """Return the index of the likeliest candidate."""
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


@dataclass(frozen=True, slots=True)
class Extent:
    """The bounds within which a rectangle begins and ends, on one axis."""

    start_min: float
    start_max: float
    end_min: float
    end_max: float

    @classmethod
    def within(cls, low: float, high: float) -> "Extent":
        """Return the extent of a rectangle of which only the surrounding room is known."""
        return cls(low, high, low, high)

    @property
    def consistent(self) -> bool:
        """Tell whether any rectangle fits the bounds."""
        return self.start_min <= self.start_max and self.end_min <= self.end_max

    def after(self, line: float, outcome: int, tolerance: float) -> "Extent":
        """Return the extent after one more answer.

        Args:
            line: The position of the line.
            outcome: `LOW`, `CROSSED` or `HIGH`, see `posterior`.
            tolerance: Pixels by which a line that is said to cross may miss the rectangle.
        """
        if outcome == LOW:
            new = replace(self, end_max=min(self.end_max, line))
        elif outcome == CROSSED:
            start_max = min(self.start_max, line + tolerance)
            new = replace(self, start_max=start_max, end_min=max(self.end_min, line - tolerance))
        else:
            new = replace(self, start_min=max(self.start_min, line))
        # A rectangle begins before it ends; without this bound the same line would be chosen again.
        start_max = min(new.start_max, new.end_max)
        return replace(new, start_max=start_max, end_min=max(new.end_min, new.start_min))

    def admits(self, span: Span) -> bool:
        """Tell whether a rectangle with this span is still possible."""
        low, high = span
        starts = self.start_min - ROUNDING <= low <= self.start_max + ROUNDING
        return starts and self.end_min - ROUNDING <= high <= self.end_max + ROUNDING

    def next_line(self, precision: float, used: Sequence[float | None]) -> float | None:
        """Return the middle of the wider interval, or a place next to it if that line was used.

        The result is None when both edges are known within `precision`, or no new line is left.
        """
        return next(self._free(precision, used), None)

    def _free(self, precision: float, used: Sequence[float | None]) -> Iterator[float]:
        intervals = ((self.start_min, self.start_max), (self.end_min, self.end_max))
        # The wider interval comes first.
        for low, high in sorted(intervals, key=lambda one: one[0] - one[1]):
            if high - low > precision:
                for fraction in FRACTIONS:
                    line = round(low + fraction * (high - low))
                    if all(old is None or abs(line - old) > SAME_LINE for old in used):
                        yield line


class Extents(NamedTuple):
    """The extents on both axes."""

    x: Extent
    y: Extent

    @classmethod
    def of(cls, room: Viewport) -> "Extents":
        """Return the extents of a rectangle of which only the viewport is known."""
        return cls(Extent.within(0, room.width), Extent.within(0, room.height))

    def after(
        self, question: PictureQuestion, answer: PictureAnswer, tolerance: float
    ) -> "Extents":
        """Return the extents after the answers about the lines of a question."""
        x, y = self
        if question.x is not None and answer.x is not None:
            x = x.after(question.x, OUTCOMES[answer.x], tolerance)
        if question.y is not None and answer.y is not None:
            y = y.after(question.y, OUTCOMES[answer.y], tolerance)
        return Extents(x, y)

    def surviving(self, candidates: Sequence[Candidate]) -> tuple[int, ...]:
        """Return the candidates that are still possible, none if the answers are contradictory."""
        if not (self.x.consistent and self.y.consistent):
            return ()
        return tuple(
            index
            for index, candidate in enumerate(candidates)
            if self.x.admits((candidate.box.x, candidate.box.right))
            and self.y.admits((candidate.box.y, candidate.box.bottom))
        )


REASONS: dict[LocatorStatus, str] = {
    "found": "The model chose it among the boxes that fit all answers.",
    "not_found": "The model says that the target is not in the picture.",
    "ambiguous": "Several boxes fit all answers, and the model chose none of them.",
    "inconsistent": "The answers contradict each other and fit no candidate.",
    "budget": "The calls were used up before a choice.",
}


def eliminate(
    candidates: tuple[Candidate, ...], viewport: Viewport, ask: Ask, limits: SearchLimits
) -> Outcome:
    """Search by elimination; see `search.search`."""
    if not candidates:
        return nothing_to_ask()
    search = _Elimination(
        candidates, ask, limits, Extents.of(viewport), tuple(range(len(candidates)))
    )
    status = search.probe() or search.choose()
    return search.outcome(status)


@dataclass(slots=True)
class _Elimination:
    """One search: the knowledge so far, and the questions asked."""

    candidates: tuple[Candidate, ...]
    ask: Ask
    limits: SearchLimits
    extents: Extents
    surviving: tuple[int, ...]
    turns: list[SearchTurn] = field(default_factory=list)
    calls: int = 0
    unseen: int = 0
    contradictions: int = 0

    def probe(self) -> LocatorStatus | None:
        """Draw lines until few enough candidates are left; return a status only if that fails."""
        limits = self.limits
        while len(self.surviving) > limits.seed_marks and self.calls < limits.seed_calls - 1:
            used = [turn.question for turn in self.turns]
            x = self.extents.x.next_line(limits.seed_precision, [one.x for one in used])
            y = self.extents.y.next_line(limits.seed_precision, [one.y for one in used])
            if x is None and y is None:
                break
            # One call is reserved for the choice at the end.
            question = self._question(x, y, spare=1)
            answer = self._put(question)
            failed = self._narrow(question, answer)
            self._note(question, answer)
            failed = failed or self._not_there(answer)
            if failed:
                return failed
        return None

    def choose(self) -> LocatorStatus:
        """Let the model choose among the remaining candidates and return the status."""
        # With several boxes, the second picture has other numbers. With one box it would be the
        # same picture, and the same answer would be no new evidence.
        single = len(self.surviving) == 1
        for attempt in range(1 if single else 2):
            if self.calls >= self.limits.seed_calls:
                return "budget"
            question = self._question(None, None, shift=attempt, chosen=self.surviving)
            answer = self._put(question)
            mark = answer.mark if answer else None
            chosen = next((one.candidate for one in question.badges if one.number == mark), None)
            if chosen is not None:
                self.surviving = (chosen,)
            self._note(question, answer)
            if chosen is not None:
                return "found"
            if self._not_there(answer):
                return "not_found"
            if answer and answer.visible is not False and mark == 0:
                return "inconsistent" if single else "ambiguous"
        return "ambiguous"

    def outcome(self, status: LocatorStatus) -> Outcome:
        """Return the outcome, in which all remaining candidates get the same share."""
        guess = self.surviving[0] if self.surviving else None
        # This method has no probabilities, so it claims full confidence.
        none_fits = status in ("not_found", "inconsistent")
        share = 0.0 if none_fits or not self.surviving else 1 / len(self.surviving)
        posterior = [0.0] * len(self.candidates)
        for index in self.surviving:
            posterior[index] = share
        return Outcome(
            status,
            guess if status == "found" else None,
            guess,
            1.0 if none_fits else share,
            tuple(posterior),
            float(status == "not_found"),
            float(status == "inconsistent"),
            tuple(self.turns),
            self.calls,
            REASONS[status],
        )

    def _question(
        self,
        x: float | None,
        y: float | None,
        *,
        spare: int = 0,
        shift: int = 0,
        chosen: tuple[int, ...] = (),
    ) -> PictureQuestion:
        badges = numbered(self.candidates, chosen, shift)
        calls_left = self.limits.seed_calls - self.calls - spare
        return PictureQuestion(len(self.turns) + 1, kind_of(x, y, badges), x, y, badges, calls_left)

    def _put(self, question: PictureQuestion) -> PictureAnswer | None:
        answer = self.ask(question)
        self.calls += answer.calls if answer else 1
        return answer

    def _not_there(self, answer: PictureAnswer | None) -> LocatorStatus | None:
        """Return `not_found` once the target was reported missing often enough.

        After the first miss the model is asked on a picture without lines whether the target is
        there at all.
        """
        if answer is None or answer.visible is not False:
            return None
        self.unseen += 1
        if self.unseen < UNSEEN and self.calls < self.limits.seed_calls - 1:
            question = self._question(None, None, spare=1)
            bare = self._put(question)
            self.unseen += bare is not None and bare.visible is False
            self._note(question, bare)
        return "not_found" if self.unseen >= UNSEEN else None

    def _narrow(
        self, question: PictureQuestion, answer: PictureAnswer | None
    ) -> LocatorStatus | None:
        """Drop the candidates that do not fit the answer, unless none would remain."""
        if answer is None or answer.visible is False:
            return None
        extents = self.extents.after(question, answer, self.limits.seed_tolerance)
        surviving = extents.surviving(self.candidates)
        if surviving:
            self.extents, self.surviving = extents, surviving
            return None
        self.contradictions += 1
        return "inconsistent" if self.contradictions > CONTRADICTIONS else None

    def _note(self, question: PictureQuestion, answer: PictureAnswer | None) -> None:
        turn = SearchTurn(
            question,
            answer,
            self.surviving,
            self.surviving[0],
            1 / len(self.surviving),
            float(self.unseen >= UNSEEN),
        )
        self.turns.append(turn)
