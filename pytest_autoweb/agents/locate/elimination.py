"""The search that bisects the edges' intervals, then lets the model pick among what is left.

It has no probabilities, and is the baseline beside the search by belief (`search`).
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from msgspec import Struct, field
from msgspec.structs import replace

from pytest_autoweb.agents.locate.candidates import Candidate, Span, Viewport
from pytest_autoweb.agents.locate.questions import (
    CROSSED,
    LOW,
    OUTCOMES,
    Ask,
    Outcome,
    PictureAnswer,
    PictureQuestion,
    SearchTurn,
    kind_of,
    nothing_to_ask,
    numbered,
)
from pytest_autoweb.agents.locate.search_limits import SearchLimits
from pytest_autoweb.results.records.attempt import LocatorStatus

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


class Extent(Struct, frozen=True):
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
        return self.start_min <= self.start_max and self.end_min <= self.end_max

    def after(self, line: float, outcome: int, tolerance: float) -> "Extent":
        """Return the extent after one more answer.

        Args:
            line: The position of the line.
            outcome: `LOW`, `CROSSED` or `HIGH`.
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


class _Elimination(Struct):
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
