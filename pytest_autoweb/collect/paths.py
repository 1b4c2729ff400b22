"""What the places of several elements have in common, as an XPath. Pure.

A place is the chain of elements from the document to the element. Places are compared segment by
segment: where their positions differ the position is dropped, and of the attributes those stay
that all of them have.
"""

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

MIN_CONFIDENCE = 0.6
"""Below it a pattern says too little to collect by."""

MIN_VISITS = 2
"""One element has everything in common with itself."""

_STATE = re.compile(
    r"^(?:is-|has-)?(?:active|current|selected|hover|focus(?:ed)?|visited|read|unread|new|odd|even"
    r"|first|last|on|open|checked|disabled|seen)$",
    re.IGNORECASE,
)
_MADE_UP = re.compile(r"\d{3,}|^(?=.*\d)(?=.*[a-z])[a-z\d]{6,}$|^(?:css|sc|jsx|emotion)-", re.I)
_COST = {0: 0.0, 1: 1.0, 2: 0.8, 3: 0.6}
"""Confidence by the number of segments whose position varies: a list has one, a grid two."""


class Segment(NamedTuple):
    """One element on the way from the document to another."""

    tag: str
    position: int | None
    """From 1, among the siblings of its tag; None: any."""
    facts: frozenset[tuple[str, str]] = frozenset()
    """Attributes that tell it from others: `id`, `role`, `rel`, each word of `class`."""


Place = tuple[Segment, ...]
"""An element's chain, the outermost first."""


class CommonPath(NamedTuple):
    """What places have in common."""

    place: Place
    xpath: str
    confidence: float
    """0 to 1."""
    visits: int
    """Places that fit it."""


def read_place(chain: Iterable[Sequence[object]]) -> Place:
    """A place as the page's script gives it: `[tag, position, [[name, value], …]]` each."""
    return tuple(
        Segment(str(tag), int(str(position)), stable_facts(facts))
        for tag, position, facts in chain
        if isinstance(facts, list)
    )


def stable_facts(facts: Iterable[Sequence[str]]) -> frozenset[tuple[str, str]]:
    """Attributes that will be the same tomorrow: no states, no names made up by a build."""
    return frozenset(
        (name, value)
        for name, value in facts
        if value and len(value) <= 60 and not _STATE.match(value) and not _MADE_UP.search(value)
    )


def common_path(places: Sequence[Place]) -> CommonPath | None:
    """The path that most of the places share; None when no two of them are alike.

    Places of another shape (a link of the menu, chosen by mistake) are left out.
    """
    shapes: dict[tuple[str, ...], list[Place]] = {}
    for place in dict.fromkeys(places):
        shapes.setdefault(tuple(segment.tag for segment in place), []).append(place)
    best = max(shapes.values(), key=len, default=[])
    if len(best) < MIN_VISITS:
        return None
    common = tuple(_shared(column) for column in zip(*best, strict=True))
    varying = sum(segment.position is None for segment in common)
    return CommonPath(common, xpath_of(common), _COST.get(varying, 0.4), len(best))


def _shared(column: Sequence[Segment]) -> Segment:
    positions = {segment.position for segment in column}
    return Segment(
        column[0].tag,
        positions.pop() if len(positions) == 1 else None,
        frozenset.intersection(*(segment.facts for segment in column)),
    )


def xpath_of(place: Place) -> str:
    """The place as an XPath, from the last element before the list that has an id of its own.

    Segments keep their attributes where the position is gone; elsewhere the position says it.
    """
    first = next((n for n, segment in enumerate(place) if segment.position is None), len(place))
    named = [n for n in range(first) if _id_of(place[n])]
    start = named[-1] if named else 0
    parts = [_step(segment) for segment in place[start:]]
    if not named:
        return "/" + "/".join(parts)
    anchor = place[start]
    return "//" + "/".join([f"{_node(anchor.tag)}[@id={quoted(_id_of(anchor))}]", *parts[1:]])


def _id_of(segment: Segment) -> str:
    return next((value for name, value in segment.facts if name == "id"), "")


def _step(segment: Segment) -> str:
    node = _node(segment.tag)
    if segment.position is not None:
        return f"{node}[{segment.position}]"
    return node + "".join(_condition(name, value) for name, value in sorted(segment.facts))


def _node(tag: str) -> str:
    """Names of other vocabularies than HTML need `name()`."""
    return tag if re.fullmatch(r"[a-z][a-z0-9-]*", tag) else f"*[name()={quoted(tag)}]"


def _condition(name: str, value: str) -> str:
    if name == "class":
        return f"[contains(concat(' ',normalize-space(@class),' '),{quoted(f' {value} ')})]"
    return f"[@{name}={quoted(value)}]"


def quoted(text: str) -> str:
    """A text as an XPath literal, whatever quotes it holds."""
    if "'" not in text:
        return f"'{text}'"
    if '"' not in text:
        return f'"{text}"'
    parts = ',"\'",'.join(f"'{part}'" for part in text.split("'"))
    return f"concat({parts})"
