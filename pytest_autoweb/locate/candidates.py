"""Candidates made from collected elements; those that no picture can tell apart become one."""

from collections.abc import Sequence
from dataclasses import replace

from pytest_autoweb.locate.question import Candidate, Element, Rect
from pytest_autoweb.values.text import normalise

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
        if elements[index].own == 0 and len(children.get(index, ())) == 1:
            groups.join(index, children[index][0])
    members: dict[int, list[int]] = {}
    for index in sorted(shown):
        members.setdefault(groups.of(index), []).append(index)
    return tuple(_candidate(elements, group) for group in members.values())


def _candidate(elements: Sequence[Element], group: list[int]) -> Candidate:
    """Return one candidate for a group of elements; the first member is the one to act on."""
    group.sort(key=lambda index: (elements[index].own == 0, elements[index].box.area))
    smallest = min((elements[index].box for index in group), key=lambda box: box.area)
    name = max((elements[index].name for index in group), key=len)
    return Candidate(smallest, elements[group[0]].role, name, tuple(group))


def weigh(
    candidates: Sequence[Candidate], *, expected_text: str = "", role: str = ""
) -> tuple[Candidate, ...]:
    """Weigh candidates by what the caller knows of the target.

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
            self._above[index] = self._above[self._above[index]]
            index = self._above[index]
        return index

    def join(self, one: int, other: int) -> None:
        """Merge the groups of two elements."""
        self._above[self.of(other)] = self.of(one)
