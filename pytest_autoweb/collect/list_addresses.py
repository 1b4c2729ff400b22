"""Finds what the addresses and the places of list entries have in common. Pure."""

import re
from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple
from urllib.parse import urljoin, urlsplit

from pytest_autoweb.checks.answer_checks import url_fits
from pytest_autoweb.specs import Pattern

# A page may offer addresses of any length, and an expression is matched in this process.
_LONGEST = 1_000
_SEPARATORS = re.compile(r"([/?&#=;]+)")
_MAX_CHARS = 4_000


class CommonAddress(NamedTuple):
    """The pattern that several addresses have in common."""

    pattern: str
    """A regular expression that matches whole addresses."""
    confidence: float
    """How far the pattern can be trusted, from 0 to 1."""


def joined(base: str, href: str) -> str:
    """Return the address that a link leads to; empty when it does not lead to another page.

    Fragments are kept, because in single-page applications they tell pages apart.
    """
    href = href.strip()
    if not href or len(href) > _MAX_CHARS:
        return ""
    try:
        url = urljoin(base, href).strip()
        parts = urlsplit(url)
    except ValueError:
        return ""
    if parts.scheme not in ("http", "https") or not parts.hostname:
        return ""
    if url.split("#")[0] == base.split("#")[0] and parts.fragment[:1] not in ("/", "!"):
        return ""  # a place on the list page itself
    return url


def new_ones(known: Collection[str], found: Iterable[str]) -> list[str]:
    """Return the addresses that are not known yet, in their order and without duplicates."""
    return [url for url in dict.fromkeys(found) if url not in known]


def fits(pattern: str | Pattern | None, url: str) -> bool:
    """Tell whether an address fits a glob or a regular expression; None fits every address.

    An address of more than 1,000 characters fits no pattern.
    """
    return pattern is None or (len(url) <= _LONGEST and url_fits(pattern, url))


def common_address(urls: Sequence[str]) -> CommonAddress | None:
    """Return the pattern that most addresses share, or None when no two are alike.

    Addresses are split at `/ ? & # = ;`. A piece that differs between them may be anything without
    these separators, but keeps the beginning and the end that all have in common (`item-….html`).
    """
    shapes: dict[tuple[str, ...], list[list[str]]] = {}
    for url in dict.fromkeys(urls):
        pieces = _pieces(url)
        shapes.setdefault((pieces[0], *pieces[2::2]), []).append(pieces)
    best = max(shapes.values(), key=len, default=[])
    if len(best) < MIN_VISITS:
        return None
    parts, varying, fixed = [], 0, 0
    for column in zip(*best, strict=True):
        if len(set(column)) == 1:
            parts.append(re.escape(column[0]))
            fixed += bool(column[0]) and not _SEPARATORS.fullmatch(column[0])
        else:
            varying += 1
            parts.append(_varying(column))
    # The origin is always the same. With nothing else in common, every page would match.
    words = fixed - 1
    confidence = 0.4 if not words else max(0.0, 1.0 - 0.2 * (varying - 1))
    return CommonAddress(f"^{''.join(parts)}$", confidence)


def _pieces(url: str) -> list[str]:
    """Split an address into its origin and then, in turn, separators and words."""
    parts = urlsplit(url)
    origin = f"{parts.scheme}://{parts.netloc}"
    return [origin, *_SEPARATORS.split(url[len(origin) :])]


def _varying(column: Sequence[str]) -> str:
    head = _edge(column)
    tail = _edge([word[len(head) :][::-1] for word in column])[::-1]
    # Of a word that is no more than what all have in common, nothing varies.
    some = "+" if min(map(len, column)) > len(head) + len(tail) else "*"
    return f"{re.escape(head)}[^/?&#=;]{some}{re.escape(tail)}"


def _edge(words: Sequence[str]) -> str:
    """Return the common beginning of all words, up to its last separator.

    Digits are left out: ids that happen to begin alike, such as with a year, will not always.
    """
    shared = ""
    for letters in zip(*words, strict=False):
        if len(set(letters)) > 1:
            break
        shared += letters[0]
    border = re.match(r"(?:\D*[\W_])?", shared)
    return border[0] if border else ""


MIN_CONFIDENCE = 0.6
"""The least confidence of a pattern that is used for collecting."""

MIN_VISITS = 2
"""The least number of elements to learn from: a single one has everything in common with itself."""

_STATE = re.compile(
    r"^(?:is-|has-)?(?:active|current|selected|hover|focus(?:ed)?|visited|read|unread|new|odd|even"
    r"|first|last|on|open|checked|disabled|seen)$",
    re.IGNORECASE,
)
_MADE_UP = re.compile(r"\d{3,}|^(?=.*\d)(?=.*[a-z])[a-z\d]{6,}$|^(?:css|sc|jsx|emotion)-", re.I)
_COST = {0: 0.0, 1: 1.0, 2: 0.8, 3: 0.6}
"""The confidence by the number of segments whose position varies: one in a list, two in a grid."""


class Segment(NamedTuple):
    """One element on the way from the document to another."""

    tag: str
    position: int | None
    """The position among siblings with the same tag, from 1; None stands for any position."""
    facts: frozenset[tuple[str, str]] = frozenset()
    """The attributes that distinguish it: `id`, `role`, `rel` and each word of `class`."""


Place = tuple[Segment, ...]
"""The chain of an element, outermost first."""


class CommonPath(NamedTuple):
    """The path that several places have in common."""

    place: Place
    xpath: str
    confidence: float
    """How far the path can be trusted, from 0 to 1."""
    visits: int
    """The number of places that it was made from."""


def read_place(chain: Iterable[Sequence[object]]) -> Place:
    """Read a place from the page's script: a list of `[tag, position, [[name, value], …]]`."""
    return tuple(
        Segment(str(tag), int(str(position)), stable_facts(facts))
        for tag, position, facts in chain
        if isinstance(facts, list)
    )


def stable_facts(facts: Iterable[Sequence[str]]) -> frozenset[tuple[str, str]]:
    """Return the attributes that will not change: no states and no names generated by a build."""
    return frozenset(
        (name, value)
        for name, value in facts
        if value and len(value) <= 60 and not _STATE.match(value) and not _MADE_UP.search(value)
    )


def common_path(places: Sequence[Place]) -> CommonPath | None:
    """Return the path that most of the places share, or None when no two are alike.

    Places with another chain of tags, such as a menu link chosen by mistake, are left out.
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
    """Return the place as an XPath that starts at the last element with an id above the list.

    Segments without a position are described by their attributes, the others by their position.
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
    """Return the XPath test for a tag; names that are not HTML, such as SVG's, need `name()`."""
    return tag if re.fullmatch(r"[a-z][a-z0-9-]*", tag) else f"*[name()={quoted(tag)}]"


def _condition(name: str, value: str) -> str:
    if name == "class":
        return f"[contains(concat(' ',normalize-space(@class),' '),{quoted(f' {value} ')})]"
    return f"[@{name}={quoted(value)}]"


def quoted(text: str) -> str:
    """Return a text as an XPath literal, whatever quotation marks it contains."""
    if "'" not in text:
        return f"'{text}'"
    if '"' not in text:
        return f'"{text}"'
    parts = ',"\'",'.join(f"'{part}'" for part in text.split("'"))
    return f"concat({parts})"
