"""The elimination method, a baseline: bisect intervals of edges, then let the model choose.

It is the original crosshair method with its faults repaired (docs/locator.md): the edges limit each
other; each edge is compared with its own interval; only one line is drawn when one axis is enough;
an unreadable answer is no information; *not there* and contradictory answers have statuses of their
own; and only a choice that the model made counts as a success. What makes it a baseline is kept: a
single answer removes candidates for good.
"""

from dataclasses import dataclass, field

from pytest_autoweb.locate.badges import numbered
from pytest_autoweb.locate.endings import Outcome, Turn, nothing_to_ask
from pytest_autoweb.locate.intervals import CONTRADICTIONS, UNSEEN, Extents
from pytest_autoweb.locate.limits import SearchLimits
from pytest_autoweb.locate.question import (
    Ask,
    Candidate,
    PictureAnswer,
    PictureQuestion,
    Viewport,
    kind_of,
)
from pytest_autoweb.results.location import LocatorStatus

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
    """Search by elimination; see `algorithm.search`."""
    if not candidates:
        return nothing_to_ask()
    search = _Elimination(
        candidates, ask, limits, Extents.of(viewport), tuple(range(len(candidates)))
    )
    status = search.probe() or search.choose()
    return search.outcome(status)


@dataclass(slots=True)
class _Elimination:
    """One search: what is known so far, and the questions asked."""

    candidates: tuple[Candidate, ...]
    ask: Ask
    limits: SearchLimits
    extents: Extents
    surviving: tuple[int, ...]
    turns: list[Turn] = field(default_factory=list)
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
        """Return `not_found` once the target was missed often enough.

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
        turn = Turn(
            question,
            answer,
            self.surviving,
            self.surviving[0],
            1 / len(self.surviving),
            float(self.unseen >= UNSEEN),
        )
        self.turns.append(turn)
