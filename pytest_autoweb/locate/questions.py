"""What a vision model is asked and answers, the limits of a search, and how it may end."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from pytest_autoweb.locate.candidates import Candidate, Rect
from pytest_autoweb.results.decision import LocatorStatus


@dataclass(frozen=True, slots=True)
class SearchLimits:
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
    """The same among texts and pictures, once it is none of what can be acted on."""
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


XRelation = Literal["left", "right", "crossed"]


YRelation = Literal["above", "below", "crossed"]


QuestionKind = Literal["vertical", "horizontal", "both", "combined", "pick", "confirm", "look"]
"""What the picture of a question shows: lines only (`vertical`, `horizontal`, `both`), lines with
numbered boxes (`combined`), numbered boxes only (`pick`), a single box that may be the target
(`confirm`), or nothing drawn at all, to ask whether the target is there (`look`)."""


@dataclass(frozen=True, slots=True)
class Badge:
    """A numbered box to draw."""

    number: int
    box: Rect
    candidate: int | None = None
    """The index of the candidate; None for a place without an element."""


@dataclass(frozen=True, slots=True)
class PictureQuestion:
    """One picture to draw and to ask about."""

    index: int
    """The number of the question in its search, from 1."""
    kind: QuestionKind
    x: float | None = None
    """The position of the vertical line."""
    y: float | None = None
    """The position of the horizontal line."""
    badges: tuple[Badge, ...] = ()
    """The numbered boxes, in the order of their numbers."""
    calls_left: int = 1
    """The most model calls for this question, including repetitions after an unusable answer."""

    @property
    def lines(self) -> tuple[tuple[str, float], ...]:
        """Return the axis and position of each line."""
        places = (("x", self.x), ("y", self.y))
        return tuple((axis, place) for axis, place in places if place is not None)


def kind_of(x: float | None, y: float | None, badges: Sequence[Badge]) -> QuestionKind:
    """Return the kind of a question with these lines and numbered boxes."""
    if badges:
        if x is not None or y is not None:
            return "combined"
        return "confirm" if len(badges) == 1 else "pick"
    if x is None:
        return "look" if y is None else "horizontal"
    return "vertical" if y is None else "both"


@dataclass(frozen=True, slots=True)
class PictureAnswer:
    """The content of a reply, where None stands for no information.

    A contradictory reply (one axis `not found` and the other answered; a number that is not in the
    picture) is asked again by the code that parses replies. Fields that remain contradictory are
    None.
    """

    visible: bool | None = None
    """Whether the model says that the target is in the picture."""
    x: XRelation | None = None
    y: YRelation | None = None
    mark: int | None = None
    """The number of the chosen box; 0 means none of the boxes."""
    text: str = ""
    """The text that the model reads on the target; empty when it reads none."""
    calls: int = 1
    """The number of model calls that the answer took."""


Ask = Callable[[PictureQuestion], PictureAnswer | None]
"""Draws the picture, asks the model and parses the reply; returns None for an unusable reply."""


ROW = 10
"""The difference of upper edges, in pixels, below which boxes count as one row."""


def numbered(
    candidates: Sequence[Candidate], chosen: Sequence[int], shift: int
) -> tuple[Badge, ...]:
    """Number the chosen candidates in reading order, starting at a different one for each shift.

    Other numbers make another picture, so a model that is asked again does not just repeat its
    mistake.
    """
    ordered = sorted(chosen, key=lambda index: _reading_order(candidates[index]))
    first = shift % max(1, len(ordered))
    ordered = ordered[first:] + ordered[:first]
    return tuple(
        Badge(number, candidates[index].box, index) for number, index in enumerate(ordered, 1)
    )


def _reading_order(candidate: Candidate) -> tuple[int, float]:
    # Neighbours in one row seldom begin at exactly the same height.
    return round(candidate.box.y / ROW), candidate.box.x


@dataclass(frozen=True, slots=True)
class SearchTurn:
    """One question, its answer, and what was known afterwards."""

    question: PictureQuestion
    answer: PictureAnswer | None
    """The answer; None when the reply could not be parsed."""
    surviving: tuple[int, ...]
    """The candidates that still have a relevant probability."""
    leader: int | None
    """The likeliest candidate."""
    probability: float
    """The probability of the leader."""
    absent: float
    """Probability that the target is not in the picture."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The end of a search.

    Only `found` is a success. `chosen` is None unless it is `found`; `guess` is the likeliest
    candidate, for the report.
    """

    status: LocatorStatus
    chosen: int | None
    guess: int | None
    confidence: float
    """The probability of what the status claims, or of the guess if it claims nothing."""
    posterior: tuple[float, ...]
    """The probability of each candidate; together with `absent` and `erratic` they sum to 1."""
    absent: float
    erratic: float
    """Probability that the answers fit neither a candidate nor a missing target."""
    turns: tuple[SearchTurn, ...]
    calls: int
    reason: str
    """One sentence that explains the status."""


def nothing_to_ask() -> Outcome:
    """Return the outcome of a search without candidates."""
    reason = "There is nothing clickable in the picture."
    return Outcome("not_found", None, None, 1.0, (), 1.0, 0.0, (), 0, reason)
