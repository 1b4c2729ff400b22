"""The search with lines for a place that is not an element, such as a drawing on a canvas.

It keeps a posterior as for candidates, but over where the target begins and ends on each axis.
"""

from dataclasses import dataclass, field

from pytest_autoweb.locate.likelihood import OUTCOMES, line_model
from pytest_autoweb.locate.limits import SearchLimits
from pytest_autoweb.locate.question import Ask, Badge, PictureAnswer, PictureQuestion, Rect, kind_of
from pytest_autoweb.locate.stretch import Stretch
from pytest_autoweb.results.location import LocatorStatus

KNOWN_WITHIN = 20
"""The mean error of an edge in pixels at which the place is first put to the model."""
CONFIRMATIONS = 3
"""How many times the model is asked to confirm the place, with more lines in between."""


@dataclass(frozen=True, slots=True)
class RegionResult:
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
    room: Rect, ask: Ask, *, limits: SearchLimits | None = None, scale: float = 1.0
) -> RegionResult:
    """Find the target within a box, without candidates.

    The most informative lines are drawn until each edge is known. Then a numbered box is drawn
    around the place, and the model is asked whether that is the target.

    Args:
        room: The box that contains the target, in CSS pixels of the viewport.
        ask: Answers a question, see `algorithm`.
        limits: The limits, of which `place_calls` is the budget.
        scale: Pixels of the picture per CSS pixel.
    """
    limits = limits or SearchLimits()
    model = line_model(limits, scale)
    across = Stretch(room.x, room.right, model)
    down = Stretch(room.y, room.bottom, model)
    search = _Bracketing(ask, limits, across, down, limits.absent)
    return search.place(search.run())


@dataclass(slots=True)
class _Bracketing:
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
            if self.confidence >= self.limits.confidence:
                return "found"
        return "inconsistent" if refused else "ambiguous"

    def place(self, status: LocatorStatus) -> RegionResult:
        """Return the result of the search."""
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
            x = self.across.next_line() if self.across.off > within else None
            y = self.down.next_line() if self.down.off > within else None
            if x is None and y is None:
                return
            answer = self._put(x, y, spare=1)
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
