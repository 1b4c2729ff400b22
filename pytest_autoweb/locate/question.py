"""The words that the locator's algorithms and the one who asks a vision model share.

All lengths are CSS pixels of the viewport, the origin is its upper left corner. Nothing here knows
of a browser, a picture or a model.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

XRelation = Literal["left", "right", "crossed"]
YRelation = Literal["above", "below", "crossed"]

QuestionKind = Literal["vertical", "horizontal", "both", "combined", "pick", "confirm", "look"]
"""`vertical`, `horizontal`, `both`: lines only. `combined`: both lines and numbered boxes. `pick`:
numbered boxes only. `confirm`: one numbered box, is it the target? `look`: the bare picture, is the
target there at all?"""


class Box(NamedTuple):
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
        """In square pixels."""
        return self.width * self.height


class Viewport(NamedTuple):
    """What the picture shows."""

    width: float
    height: float
    scale: float = 1.0
    """Pixels that the model sees per CSS pixel, when the picture is shrunk or enlarged for it."""


@dataclass(frozen=True, slots=True)
class Element:
    """One clickable element as collected from the page, before merging."""

    box: Box
    """The visible part: clipped to the viewport and to what scrolls around it."""
    role: str = ""
    name: str = ""
    own: int = 1
    """Points, of those tried, that belong to the element itself and not to a nested clickable."""
    parent: int = -1
    """Index of the nearest clickable around it in the same list, -1: none."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """What the target may be: one element, or several that no picture can tell apart."""

    box: Box
    role: str = ""
    name: str = ""
    members: tuple[int, ...] = ()
    """Indices of the collected elements it stands for; the first is the one to act on."""
    weight: float = 1.0
    """How much likelier it is than others before any question; only the ratio counts."""


@dataclass(frozen=True, slots=True)
class Badge:
    """A numbered box to draw."""

    number: int
    box: Box
    candidate: int | None = None
    """Index into the candidates; None: a place without an element."""


@dataclass(frozen=True, slots=True)
class Question:
    """One picture to draw and to ask about."""

    index: int
    """From 1."""
    kind: QuestionKind
    x: float | None = None
    """Where the vertical line stands."""
    y: float | None = None
    """Where the horizontal line stands."""
    badges: tuple[Badge, ...] = ()
    """In the order of their numbers."""
    calls_left: int = 1
    """Model calls that may be spent on this question, asking again included."""

    @property
    def lines(self) -> tuple[tuple[str, float], ...]:
        """Axis and place of each line."""
        places = (("x", self.x), ("y", self.y))
        return tuple((axis, place) for axis, place in places if place is not None)


def kind_of(x: float | None, y: float | None, badges: Sequence[Badge]) -> QuestionKind:
    """The kind of a question with these lines and numbered boxes."""
    if badges:
        if x is not None or y is not None:
            return "combined"
        return "confirm" if len(badges) == 1 else "pick"
    if x is None:
        return "look" if y is None else "horizontal"
    return "vertical" if y is None else "both"


@dataclass(frozen=True, slots=True)
class Answer:
    """What could be read from a reply. Fields left as None are no information.

    A reply that contradicts itself (one axis `not found`, the other answered; a number that is not
    in the picture) is for the reader of replies to ask about again; what stays contradictory is
    left None.
    """

    visible: bool | None = None
    """False: the model says that the target is not in the picture."""
    x: XRelation | None = None
    y: YRelation | None = None
    mark: int | None = None
    """The number of the box, 0: none of these."""
    text: str = ""
    """The text that the model reads on the target; empty: none."""
    calls: int = 1
    """Model calls that the answer took."""


Ask = Callable[[Question], Answer | None]
"""Draws, asks, reads. None: a call was spent and nothing could be read."""
