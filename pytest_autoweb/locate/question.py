"""The types shared by the locator's algorithms and the code that asks a vision model.

All lengths are CSS pixels of the viewport, with the origin in its upper left corner. Nothing here
depends on a browser, a picture or a model.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

XRelation = Literal["left", "right", "crossed"]
YRelation = Literal["above", "below", "crossed"]

QuestionKind = Literal["vertical", "horizontal", "both", "combined", "pick", "confirm", "look"]
"""What the picture of a question shows: lines only (`vertical`, `horizontal`, `both`), lines with
numbered boxes (`combined`), numbered boxes only (`pick`), a single box that may be the target
(`confirm`), or nothing drawn at all, to ask whether the target is there (`look`)."""


class Rect(NamedTuple):
    """A rectangle in CSS pixels of the viewport."""

    x: float
    y: float
    width: float
    height: float

    @property
    def right(self) -> float:
        """The x of the right edge."""
        return self.x + self.width

    @property
    def bottom(self) -> float:
        """The y of the lower edge."""
        return self.y + self.height

    @property
    def area(self) -> float:
        """The area in square pixels."""
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
        """The axis and position of each line."""
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
