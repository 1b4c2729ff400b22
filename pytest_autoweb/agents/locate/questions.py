"""A vision model's candidates, questions and answers, and the end of a search.

The candidates are the clickable elements of a page, merged and weighed.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

from pytest_autoweb.base.values.normal_forms import normalise
from pytest_autoweb.results.records.attempt import LocatorStatus


class Rect(NamedTuple):
    """A rectangle in CSS pixels of the viewport."""

    x: float
    y: float
    width: float
    height: float

    @property
    def right(self) -> float:
        """Return the x of the right edge."""
        return self.x + self.width

    @property
    def bottom(self) -> float:
        """Return the y of the lower edge."""
        return self.y + self.height

    @property
    def area(self) -> float:
        """Return the area in square pixels."""
        return self.width * self.height


class Viewport(NamedTuple):
    """The size of the visible part of the page, and the scale of its picture."""

    width: float
    height: float
    scale: float = 1.0
    """Pixels of the model's picture per CSS pixel; not 1 when the picture was resized."""


@dataclass(frozen=True, slots=True)
class Element:
    """One clickable element as collected from the page, before merging."""

    box: Rect
    """The visible part, clipped to the viewport and to the scroll containers around it."""
    role: str = ""
    name: str = ""
    own: int = 1
    """How many of the probed points belong to the element itself, not to a nested clickable one."""
    parent: int = -1
    """The index of the nearest clickable element around it in the same list; -1 if none."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A possible target: one element, or several that no picture can tell apart."""

    box: Rect
    role: str = ""
    name: str = ""
    members: tuple[int, ...] = ()
    """The indices of the elements that it stands for; the first is the one to act on."""
    weight: float = 1.0
    """Its prior weight relative to the other candidates."""


SAME_PLACE = 0.8
"""The intersection over union above which two boxes count as the same place."""


TEXT_MATCH, TEXT_MISMATCH = 0.97, 0.03
"""Factors for candidates whose name contains, and does not contain, the expected text."""


ROLE_MATCH, ROLE_MISMATCH = 3.0, 1.0


def gather(elements: Sequence[Element]) -> tuple[Candidate, ...]:
    """Merge elements that lie in the same place, and wrappers with their only clickable child.

    A group takes its box from its smallest member and its name from the one with the longest name.
    Elements without an area are left out. A link of several lines keeps the box around all of them.
    """
    groups = _Groups(len(elements))
    shown = [index for index, one in enumerate(elements) if one.box.area > 0]
    # Sorted by their left edges, so that each box is compared only with those that begin before it
    # ends: comparing all pairs would take too long on a page with hundreds of elements.
    shown.sort(key=lambda index: elements[index].box.x)
    for place, index in enumerate(shown):
        box = elements[index].box
        for other in shown[place + 1 :]:
            if elements[other].box.x >= box.right:
                break
            if overlap(box, elements[other].box) >= SAME_PLACE:
                groups.join(index, other)
    children: dict[int, list[int]] = {}
    for index in shown:
        children.setdefault(elements[index].parent, []).append(index)
    for index in shown:
        # Every probed point of such a wrapper hits its child, so no picture can tell the two apart.
        if elements[index].own == 0 and len(children.get(index, ())) == 1:
            groups.join(index, children[index][0])
    members: dict[int, list[int]] = {}
    for index in sorted(shown):
        members.setdefault(groups.of(index), []).append(index)
    return tuple(_candidate(elements, group) for group in members.values())


def _candidate(elements: Sequence[Element], group: list[int]) -> Candidate:
    """Return one candidate for a group of elements; the first member is the one to act on."""
    # A wrapper that has no point of its own comes last, because a click would hit its child anyway.
    group.sort(key=lambda index: (elements[index].own == 0, elements[index].box.area))
    smallest = min((elements[index].box for index in group), key=lambda box: box.area)
    name = max((elements[index].name for index in group), key=len)
    return Candidate(smallest, elements[group[0]].role, name, tuple(group))


def weigh(
    candidates: Sequence[Candidate], *, expected_text: str = "", role: str = ""
) -> tuple[Candidate, ...]:
    """Weigh candidates by the caller's knowledge of the target.

    A text or role that no candidate has is ignored: it would only scale all weights alike.
    """
    text = normalise(expected_text).casefold()
    named = [bool(text) and text in normalise(one.name).casefold() for one in candidates]
    fitting = [bool(role) and one.role == role for one in candidates]
    weighed = []
    for candidate, has_text, has_role in zip(candidates, named, fitting, strict=True):
        weight = candidate.weight
        if any(named):
            weight *= TEXT_MATCH if has_text else TEXT_MISMATCH
        if any(fitting):
            weight *= ROLE_MATCH if has_role else ROLE_MISMATCH
        weighed.append(replace(candidate, weight=weight))
    return tuple(weighed)


def overlap(one: Rect, other: Rect) -> float:
    """Return the intersection over union of two boxes, from 0 to 1."""
    width = min(one.right, other.right) - max(one.x, other.x)
    height = min(one.bottom, other.bottom) - max(one.y, other.y)
    if width <= 0 or height <= 0:
        return 0.0
    shared = width * height
    return shared / (one.area + other.area - shared)


class _Groups:
    """Groups of elements that belong together, as a union-find structure."""

    def __init__(self, size: int) -> None:
        self._above = list(range(size))

    def of(self, index: int) -> int:
        """Return the representative of an element's group."""
        while self._above[index] != index:
            # Halving the path on the way up keeps later look-ups short.
            self._above[index] = self._above[self._above[index]]
            index = self._above[index]
        return index

    def join(self, one: int, other: int) -> None:
        """Merge the groups of two elements."""
        self._above[self.of(other)] = self.of(one)


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

    The code that parses replies repeats the question after a contradictory reply (one axis `not
    found` and the other answered; a number that is not in the picture). Fields that remain
    contradictory are None.
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
    """One question, its answer, and the state of knowledge afterwards."""

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
