"""The budget of a search, and what it assumes about the mistakes of vision models."""

from msgspec import Struct


class SearchLimits(Struct, frozen=True):
    """Budget, thresholds, and assumptions about the mistakes of vision models.

    The assumptions come from simulation on 243 pages, not from a real model; docs/locator.md shows
    how each of them affects calls and success. Refit them when a real model's mistakes are known.
    """

    calls: int = 8
    """The most model calls of one search, including those with invalid answers."""
    confidence: float = 0.97
    """The least probability for `found` and `not_found`. At 0.97 one answer is never enough, but
    two that agree are; at 0.95 one answer may be enough."""
    closing: float = 0.75
    """The least probability at which one of several views of a page is taken not to hold the
    target. One clear answer is enough; the view is closed for all kinds of things."""
    several_views: bool = False
    """Whether the page has more to show than this view, so that `closing` applies."""
    has_canvas: bool = False
    """Whether the view has a canvas, which is searched next when the target is no element."""
    absent: float = 0.14
    """The prior probability that the target is not in the picture."""
    erratic: float = 0.005
    """The prior probability that the answers fit nothing, or something other than the target."""
    drawn: float = 0.2
    """The prior probability, in a view with a canvas, that the target is none of the elements."""
    drawn_after: float = 0.4
    """The same among texts and pictures, once no actionable element is the target."""
    combined_marks: int = 40
    """The most numbered boxes that are drawn together with lines; 0 never combines them."""
    pick_marks: int = 20
    """The most numbered boxes on a picture without lines."""
    misread: float = 0.12
    """The probability that the answer about one line is wrong."""
    missed: float = 0.03
    """The probability that a target in the picture is reported as not there."""
    noticed: float = 0.8
    """The probability that a target not in the picture is reported as not there."""
    slack: tuple[tuple[float, float], ...] = ((0, 0.15), (4, 0.20), (8, 0.45), (14, 0.20))
    """Distances in pixels within which a line counts as crossing, each with its probability."""
    place_calls: int = 16
    """The most model calls in the search for a place that is not an element."""
    seed_calls: int = 16
    """The most model calls of the seed algorithm: fifteen questions about lines and one choice."""
    seed_marks: int = 5
    """The number of remaining candidates at which the seed algorithm lets the model choose."""
    seed_precision: float = 100
    """The width in pixels of an edge's interval at which the seed algorithm takes it as known."""
    seed_tolerance: float = 8
    """Pixels by which the seed algorithm lets an edge lie beyond a line that crosses."""

    @property
    def absent_from(self) -> float:
        """Return the least probability for `not_found`."""
        return self.closing if self.several_views else self.confidence

    @property
    def erratic_from(self) -> float:
        """Return the least probability that ends the search because no element fits the answers."""
        return self.closing if self.has_canvas else self.confidence

    @property
    def erratic_before(self) -> float:
        """Return the prior probability that no element is the target or answers are erratic."""
        return max(self.erratic, self.drawn) if self.has_canvas else self.erratic

    def pick_error(self, marks: int) -> float:
        """Return the probability that a wrong number is chosen among `marks` boxes."""
        # From nine boxes on more numbers are misread, as the simulation in docs/locator.md assumes.
        return min(0.9, max(0.06, 0.035 + 0.003 * marks))
