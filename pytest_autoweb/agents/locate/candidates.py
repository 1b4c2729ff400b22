"""The clickable elements of a page as candidates of a search: merged, and weighed."""

from collections.abc import Sequence
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from pytest_autoweb.base.values.normal_forms import normalise

Span = tuple[float, float]
"""The positions where a candidate begins and ends on one axis."""


class Rect(NamedTuple):
    """A rectangle in CSS pixels of the viewport."""

    x: float
    y: float
    width: float
    height: float

    @property
    def right(self) -> float:
        return self.x + self.width

    @property
    def bottom(self) -> float:
        return self.y + self.height

    @property
    def area(self) -> float:
        return self.width * self.height


class Viewport(NamedTuple):
    """The size of the visible part of the page, and the scale of its picture."""

    width: float
    height: float
    scale: float = 1.0
    """Pixels of the model's picture per CSS pixel; not 1 when the picture was resized."""


class Element(Struct, frozen=True):
    """One clickable element as collected from the page, before merging."""

    box: Rect
    """The visible part, clipped to the viewport and to the scroll containers around it."""
    role: str = ""
    name: str = ""
    own: int = 1
    """How many of the probed points belong to the element itself, not to a nested clickable one."""
    parent: int = -1
    """The index of the nearest clickable element around it in the same list; -1 if none."""


class Candidate(Struct, frozen=True):
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
