"""Intervals for the edges of a rectangle, narrowed by answers about lines."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from pytest_autoweb.locate.likelihood import CROSSED, LOW, OUTCOMES, Span
from pytest_autoweb.locate.question import Candidate, PictureAnswer, PictureQuestion, Viewport

SAME_LINE = 2
"""The distance in pixels within which two lines give practically the same picture."""
ROUNDING = 1
"""How many pixels an edge may lie outside its interval, as pages use fractions of pixels."""
FRACTIONS = (0.5, 0.375, 0.625, 0.25, 0.75)
"""Positions in an interval where a line may be drawn: the middle, or the others if it was used."""
CONTRADICTIONS = 2
"""How many answers that fit no candidate are discarded and asked again, beside the old line."""
UNSEEN = 2
"""How many answers of *not there* end a search."""


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
        """Whether any rectangle fits the bounds."""
        return self.start_min <= self.start_max and self.end_min <= self.end_max

    def after(self, line: float, outcome: int, tolerance: float) -> "Extent":
        """Return the extent after one more answer.

        Args:
            line: The position of the line.
            outcome: `LOW`, `CROSSED` or `HIGH`, see `likelihood`.
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
        """Return the middle of the wider interval, or a place beside it if that line was used.

        The result is None when both edges are known within `precision`, or no new line is left.
        """
        return next(self._free(precision, used), None)

    def _free(self, precision: float, used: Sequence[float | None]) -> Iterator[float]:
        intervals = ((self.start_min, self.start_max), (self.end_min, self.end_max))
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
