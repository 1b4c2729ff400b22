"""Find a place that is no element, such as a thing drawn on a canvas, by bisecting with lines."""

from dataclasses import dataclass, field

from pytest_autoweb.locate.intervals import CONTRADICTIONS, UNSEEN, Extents
from pytest_autoweb.locate.limits import Limits
from pytest_autoweb.locate.question import Answer, Ask, Badge, Box, Question, kind_of
from pytest_autoweb.results.location import LocatorStatus

PRECISION = 40
"""Pixels within which every edge is wanted, before the place is confirmed."""


@dataclass(frozen=True, slots=True)
class Place:
    """The end of a search for a place. Only `found` is a success."""

    status: LocatorStatus
    point: tuple[float, float] | None
    """Where to click: on the core, else on the estimate. None unless `found`."""
    core: Box | None
    """What the target surely covers, if the answers are right. None: no line crossed it."""
    estimate: Box
    """The middles of what is known of its edges."""
    hull: Box
    """The target does not reach beyond it."""
    confidence: float
    """That neither the lines nor the confirmation were misread; 0 unless `found`."""
    calls: int
    questions: tuple[tuple[Question, Answer | None], ...]


def search_region(room: Box, ask: Ask, *, limits: Limits | None = None) -> Place:
    """Find the target within a box, without candidates.

    Lines are drawn until each edge is known within 40 pixels; then the place is put into a numbered
    box and the model is asked whether that is the target.

    Args:
        room: Where the target may be, in CSS pixels of the viewport.
        ask: Answers a question, see `algorithm`.
        limits: `seed_calls` is the budget, `misread` and `pick_error` make the confidence.
    """
    search = _Bisection(ask, limits or Limits(), Extents.of(room))
    return search.place(search.narrow() or search.confirm())


@dataclass(slots=True)
class _Bisection:
    ask: Ask
    limits: Limits
    extents: Extents
    asked: list[tuple[Question, Answer | None]] = field(default_factory=list)
    calls: int = 0
    unseen: int = 0
    contradictions: int = 0

    def narrow(self) -> LocatorStatus | None:
        """Draw lines until the edges are known well enough; a status only if that fails."""
        while self.calls < self.limits.seed_calls - 1:
            x = self.extents.x.next_line(PRECISION, [one.x for one, _ in self.asked])
            y = self.extents.y.next_line(PRECISION, [one.y for one, _ in self.asked])
            if x is None and y is None:
                return None
            question, answer = self._put(x, y, spare=1)
            if answer and answer.visible is False:
                self.unseen += 1
                if self.unseen >= UNSEEN:
                    return "not_found"
            elif answer:
                # Without tolerance: a line that is said to cross is taken to cross.
                extents = self.extents.after(question, answer, 0)
                if extents.x.consistent and extents.y.consistent:
                    self.extents = extents
                else:
                    self.contradictions += 1
                    if self.contradictions > CONTRADICTIONS:
                        return "inconsistent"
        return None if self.core else "budget"

    def confirm(self) -> LocatorStatus:
        """Ask whether the estimated box is the target."""
        _, answer = self._put(None, None, badges=(Badge(1, self.estimate),))
        if answer and answer.mark == 1:
            return "found"
        return "inconsistent" if answer and answer.mark == 0 else "ambiguous"

    @property
    def core(self) -> Box | None:
        """Between the lines that cross the target."""
        x, y = self.extents.x.core, self.extents.y.core
        return _box(x, y) if x and y else None

    @property
    def estimate(self) -> Box:
        """The middles of the edges' intervals."""
        return _box(self.extents.x.estimate, self.extents.y.estimate)

    def place(self, status: LocatorStatus) -> Place:
        """The end."""
        found = status == "found"
        # Something smaller than the precision may never have been crossed.
        sure = self.core or self.estimate
        point = (sure.x + sure.width / 2, sure.y + sure.height / 2)
        doubt = self.limits.misread * self.limits.pick_error(1)
        return Place(
            status,
            point if found else None,
            self.core,
            self.estimate,
            _box(self.extents.x.hull, self.extents.y.hull),
            1 - doubt if found else 0.0,
            self.calls,
            tuple(self.asked),
        )

    def _put(
        self,
        x: float | None,
        y: float | None,
        *,
        spare: int = 0,
        badges: tuple[Badge, ...] = (),
    ) -> tuple[Question, Answer | None]:
        left = self.limits.seed_calls - self.calls - spare
        question = Question(len(self.asked) + 1, kind_of(x, y, badges), x, y, badges, left)
        answer = self.ask(question)
        self.calls += answer.calls if answer else 1
        self.asked.append((question, answer))
        return question, answer


def _box(x: tuple[float, float], y: tuple[float, float]) -> Box:
    return Box(x[0], y[0], x[1] - x[0], y[1] - y[0])
