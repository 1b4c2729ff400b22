"""A vision model's questions and answers about candidates, and the end of a search."""

from collections.abc import Callable, Sequence
from typing import Literal

from msgspec import Struct

from pytest_autoweb.agents.locate.candidates import Candidate, Rect
from pytest_autoweb.results.records.attempt import LocatorStatus

XRelation = Literal["left", "right", "crossed"]

YRelation = Literal["above", "below", "crossed"]

LOW, CROSSED, HIGH = 0, 1, 2
"""The target lies left of (above) the line, is crossed by it, or lies right of (below) it."""
OUTCOMES = {"left": LOW, "above": LOW, "crossed": CROSSED, "right": HIGH, "below": HIGH}

QuestionKind = Literal["vertical", "horizontal", "both", "combined", "pick", "confirm", "look"]
"""What the picture of a question shows: lines only (`vertical`, `horizontal`, `both`), lines with
numbered boxes (`combined`), numbered boxes only (`pick`), a single box that may be the target
(`confirm`), or nothing drawn at all, to ask whether the target is there (`look`)."""


class Badge(Struct, frozen=True):
    """A numbered box to draw."""

    number: int
    box: Rect
    candidate: int | None = None
    """The index of the candidate; None for a place without an element."""


class PictureQuestion(Struct, frozen=True):
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


class PictureAnswer(Struct, frozen=True):
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


class SearchTurn(Struct, frozen=True):
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


class Outcome(Struct, frozen=True):
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
