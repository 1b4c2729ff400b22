"""The listing of a page for models that work by turns: the same content in fewer tokens.

What cannot be pressed is left out or marked, addresses are shown only where names do not tell links
apart, and rows, paragraphs and select boxes are written on one line.
"""

import json
import re
import sys
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from pytest_autoweb.browser.page.accessibility import Parts, decoded, take_apart
from pytest_autoweb.browser.page.outline import Line

ACTED_ON = frozenset(
    [
        *("button", "link", "textbox", "searchbox", "combobox", "checkbox", "radio", "switch"),
        *("slider", "spinbutton", "tab", "menuitem", "menuitemcheckbox", "menuitemradio"),
        *("option", "treeitem", "listbox", "iframe"),
    ]
)
"""Roles of elements that can be acted on."""

_VERDICTS = ("covered", "clipped", "invisible", "not visible", "by label", "transparent")
_UNNEEDED = frozenset({"separator", "/placeholder", "/url"})
_WRAPPERS = frozenset({"rowgroup", "generic", "paragraph", "listitem", "group", "cell", "gridcell"})
# These only say how a text looks.
_WORDING = frozenset(
    ["strong", "emphasis", "code", "mark", "time", "subscript", "superscript", "insertion"]
)
_SIGNS_ONLY = re.compile(r"[\s|/\\·•›»‹«.,:;()¶–—-]*")
# Named after their content where nothing else names them.
_NAMED_BY_CONTENT = frozenset(
    ["button", "link", "tab", "menuitem", "option", "checkbox", "radio", "switch", "treeitem"]
)
_INLINE = frozenset({"row", "listitem", "paragraph", "cell", "gridcell", "combobox", "listbox"})
_CELLS = frozenset({"cell", "gridcell", "columnheader", "rowheader"})
_INLINE_CHARS = 300
_URL_CHARS = 60
_URL_PARTS = 40
# Text that looks like the notation of the listing stands in quotes, so that no page can fake it.
_NOTATION = re.compile(rf'[|"\[\]]|^\(|^(?:{"|".join(sorted(ACTED_ON))})\b')


@dataclass(frozen=True, slots=True)
class OutOfSight:
    """Which elements cannot be pressed now."""

    boxes: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """For a place on the page, what is wrong with each of its elements, in their order."""
    dialog: str = ""
    """Place of the dialog that must be answered first; empty if there is none."""
    overlaid: bool = False
    """A dialog or another layer lies over the whole page."""

    @classmethod
    def of(cls, found: Sequence[Any]) -> "OutOfSight":
        """Join what `js/out_of_sight.js` found in the documents of a page, the main one first.

        A page can replace what the script calls, so only words that are known are taken over.
        """
        boxes: dict[str, list[str]] = defaultdict(list)
        dialog, overlaid = "", False
        for document in found:
            if not isinstance(document, dict) or not isinstance(document.get("boxes"), dict):
                continue
            for box, words in document["boxes"].items():
                given = words if isinstance(words, list) else []
                boxes[box] += [word if word in _VERDICTS else "" for word in given]
            dialog = dialog or str(document.get("dialog") or "")
            overlaid = overlaid or bool(document.get("overlaid"))
        return cls(boxes, dialog, overlaid)


def brief_outline(roots: tuple[Line, ...], sight: OutOfSight) -> tuple[Line, ...]:
    """Return the outline in brief.

    Args:
        roots: the page as `aria_outline` gives it, with the elements' boxes.
        sight: what is known about covered, clipped and invisible elements.
    """
    nodes = [_Node.of(root) for root in roots]
    _judge(nodes, sight)
    hidden = _prune(nodes, sight)
    _address(nodes)
    lines = [line for node in nodes for line in _written(node)]
    if hidden:
        count = f"{hidden} element{'s' if hidden > 1 else ''}"
        lines.append(Line(f"({count} behind this: close it first)"))
    return tuple(lines)


@dataclass(slots=True)
class _Node:
    """One element while it is being shortened."""

    role: str
    name: str
    attrs: str
    value: str
    box: str
    raw: str
    """The line as it was, if it could not be read; else empty."""
    below: list["_Node"]
    url: str = ""
    placeholder: str = ""

    @classmethod
    def of(cls, line: Line) -> "_Node":
        parts = take_apart(line.text)
        raw = "" if parts else line.text
        parts = parts or Parts("", "", "", "", False)
        value = decoded(parts.value) if parts.value else ""
        node = cls(parts.role, decoded(parts.name), parts.attrs, value, line.box, raw, [])
        for child in line.children:
            made = cls.of(child)
            if made.role == "/url":
                node.url = made.value
            elif made.role == "/placeholder":
                node.placeholder = made.value
            elif made.role not in _UNNEEDED:
                node.below.append(made)
        node._simplify()
        return node

    def _simplify(self) -> None:
        """Join the texts of an element, and name it after its content if nothing else does."""
        joined: list[_Node] = []
        for node in self.below:
            if node.role in _WORDING and not node.below:
                node.role, node.value, node.name = "text", node.value or node.name, ""
            if node.role == "text" and joined and joined[-1].role == "text":
                joined[-1].value = f"{joined[-1].value} {node.value}".strip()
            else:
                joined.append(node)
        kept = [one for one in joined if one.role != "text" or not _SIGNS_ONLY.fullmatch(one.value)]
        self.below = kept
        if self.role not in _NAMED_BY_CONTENT or self.name:
            return
        inner = _few([node for below in kept for node in below.walk(_PART)])
        if inner is None or any(node.pressed for node in inner):
            return
        self.name = " ".join(filter(None, [self.value, *(w for one in kept for w in one.words())]))
        self.value, self.below = "", []

    def walk(self, most: int = sys.maxsize) -> Iterator["_Node"]:
        # Not recursive, because a hostile page can be very deep.
        pending = [self]
        while pending and most > 0:
            most -= 1
            node = pending.pop()
            yield node
            pending.extend(reversed(node.below))

    @property
    def pressed(self) -> bool:
        """It can be acted on, or says by its pointer that it can."""
        return self.role in ACTED_ON or "[cursor=pointer]" in self.attrs

    def words(self) -> Iterator[str]:
        for node in self.walk():
            yield from filter(None, (node.name, node.value))


_PART = 200
"""The most elements below a named one that are compared with its name."""


def _few(nodes: list[_Node]) -> list[_Node] | None:
    return nodes if len(nodes) < _PART else None


def _judge(nodes: Sequence[_Node], sight: OutOfSight) -> None:
    """Write the verdicts at the elements; where boxes coincide, by their order."""
    at: dict[str, list[_Node]] = defaultdict(list)
    for root in nodes:
        for node in root.walk():
            if node.role in ACTED_ON and node.box in sight.boxes:
                at[node.box].append(node)
    for box, same in at.items():
        words = sight.boxes[box]
        if len(set(words)) == 1:
            words = [words[0]] * len(same)
        if len(words) != len(same):
            continue
        for node, word in zip(same, words, strict=True):
            if word:
                node.attrs += f" [{word}]"


def _prune(nodes: list[_Node], sight: OutOfSight) -> int:
    """Leave out what nobody can reach, and return how many elements lie behind a dialog."""
    hidden = 0

    def reachable(node: _Node) -> bool:
        nonlocal hidden
        if sight.dialog and node.box == sight.dialog and "dialog" in node.role:
            return True
        if "[invisible]" in node.attrs:
            return False
        if sight.overlaid and "[covered]" in node.attrs:
            hidden += 1
            return False
        had = bool(node.below)
        node.below = [child for child in node.below if reachable(child)]
        return bool(node.below) or not had

    def around_dialog(node: _Node) -> bool:
        """Keep what leads to the dialog, and what can be pressed beside it."""
        if node.box == sight.dialog and "dialog" in node.role:
            return True
        node.below = [child for child in node.below if around_dialog(child)]
        return bool(node.below) or node.pressed

    nodes[:] = [node for node in nodes if reachable(node)]
    dialogs = (node for root in nodes for node in root.walk() if "dialog" in node.role)
    if sight.dialog and any(node.box == sight.dialog for node in dialogs):
        nodes[:] = [node for node in nodes if around_dialog(node)]
    return hidden


# -- addresses -------------------------------------------------------------------------


def _address(nodes: Sequence[_Node]) -> None:
    """Keep of each link's address what tells it apart from links of the same name."""
    named: dict[str, list[_Node]] = defaultdict(list)
    for root in nodes:
        for node in root.walk():
            if node.role == "link":
                named[node.name].append(node)
    for name, links in named.items():
        plain = [_without_noise(link.url) for link in links]
        distinct = {url for url in plain if url}
        cut = _telling(distinct) if name and len(distinct) > 1 else {}
        for link, url in zip(links, plain, strict=True):
            link.url = (cut.get(url, "") if name else url)[:_URL_CHARS]


def _without_noise(url: str) -> str:
    """Return an address without what leads nowhere."""
    return "" if url.startswith(("#", "javascript:", "data:")) else url[:500]


def _telling(urls: Collection[str]) -> dict[str, str]:
    """Return for each address what is left without the beginning and end that all share."""
    parts = {url: re.findall(r"[/?&#=]*[^/?&#=]+", url)[:_URL_PARTS] for url in urls}
    columns = list(zip(*parts.values(), strict=False))
    first = next((i for i, column in enumerate(columns) if len(set(column)) > 1), len(columns))
    ends = list(zip(*(found[first:][::-1] for found in parts.values()), strict=False))
    last = next((i for i, column in enumerate(ends) if len(set(column)) > 1), len(ends))
    middles = {url: found[first : len(found) - last] for url, found in parts.items()}
    # As little from the beginning of what differs as still differs.
    longest = max(map(len, middles.values()))
    size = next((n for n in range(1, longest) if _differ(middles.values(), n)), longest)
    return {
        url: ("…" if first else "")
        + "".join(middle[:size])
        + ("…" if last or len(middle) > size else "")
        for url, middle in middles.items()
    }


def _differ(middles: Collection[list[str]], parts: int) -> bool:
    return len({tuple(middle[:parts]) for middle in middles}) == len(middles)


# -- lines -----------------------------------------------------------------------------


def _written(node: _Node) -> tuple[Line, ...]:
    """Return the lines of an element: none if it says nothing, several if it only wraps them."""
    if node.raw:
        below = tuple(line for child in node.below for line in _written(child))
        return (Line(node.raw.removeprefix("- "), "", below),)
    if node.role == "text":
        plain = not _SIGNS_ONLY.fullmatch(node.value)
        return (Line(f"text: {node.value}", "text"),) if plain else ()
    _drop_repeats(node)
    if node.role in _INLINE and (line := _inline(node)) is not None:
        return (line,)
    below = tuple(line for child in node.below for line in _written(child))
    if _only_wraps(node):
        own = (Line(f"text: {node.value}", "text"),) if node.value else ()
        return (*own, *below)
    if node.role == "img" and not node.name:
        return below
    if len(below) == 1 and below[0].kind == "text" and not node.value:
        node.value, below = below[0].text.removeprefix("text: "), ()
    return (Line(_head(node) + _tail(node, below), node.role, below),)


def _tail(node: _Node, below: Sequence[Line]) -> str:
    if node.value:
        return f": {node.value}"
    return ":" if below else ""


def _drop_repeats(node: _Node) -> None:
    """Leave out of a named element what its name says already."""
    if node.role == "row" or (node.role in _CELLS and node.below):
        # These are named after their content.
        node.name = ""
    if not node.name:
        return
    name = _flat(node.name)
    kept = []
    for child in node.below:
        inner = _few(list(child.walk(_PART)))
        if inner is None or not all(_adds_nothing(one, name) for one in inner):
            kept.append(child)
    node.below = kept
    says_more = _flat(node.value) not in name and not _SIGNS_ONLY.fullmatch(node.value)
    if not says_more and node.role not in _FIELDS:
        node.value = ""


def _adds_nothing(node: _Node, name: str) -> bool:
    words = (node.name, node.value)
    picture = node.role == "img" and bool(node.name)
    return not node.pressed and not picture and all(_flat(word) in name for word in words)


_FIELDS = frozenset({"textbox", "searchbox", "combobox", "spinbutton", "slider"})


def _flat(text: str) -> str:
    return re.sub(r"\s+", "", text)


def _only_wraps(node: _Node) -> bool:
    if node.name or node.attrs or node.role not in _WRAPPERS:
        return False
    always = node.role in {"rowgroup", "generic", "paragraph"}
    return always or len(node.below) + bool(node.value) < 2


def _head(node: _Node) -> str:
    role, attrs = node.role, re.sub(r" \[level=\d+\]", "", node.attrs)
    if role == "generic" and "[cursor=pointer]" in attrs:
        role, attrs = "clickable", attrs.replace(" [cursor=pointer]", "")
    attrs = attrs.replace(" [cursor=pointer]", "")
    name = f" {json.dumps(node.name, ensure_ascii=False)}" if node.name else ""
    hint = node.placeholder if node.placeholder != node.name else ""
    placeholder = f" placeholder {json.dumps(hint, ensure_ascii=False)}" if hint else ""
    url = f" -> {node.url}" if node.url else ""
    return f"{role}{name}{attrs}{placeholder}{url}"


def _inline(node: _Node) -> Line | None:
    """Return an element with all below it on one line, if that is short and simple."""
    pieces: list[str] = []
    for child in node.below:
        piece = _piece(child, in_row=node.role == "row")
        if piece is None:
            return None
        pieces.append(piece)
    if not pieces and node.role != "row":
        return None
    alone = len(pieces) + bool(node.value) < 2 and not node.name
    if alone and node.role in {"listitem", "paragraph"}:
        return None
    if node.role != "row":
        # In a row, an empty cell keeps the others in their columns.
        pieces = [piece for piece in pieces if piece]
    while pieces and not pieces[-1]:
        pieces.pop()
    heads = bool(node.below) and all(child.role == "columnheader" for child in node.below)
    head = _head(replace(node, role="header row") if heads else node)
    value = [_quoted(node.value)] if node.value else []
    text = f"{head}: {' | '.join([*value, *pieces])}"
    return Line(text, node.role) if len(text) <= _INLINE_CHARS else None


def _piece(node: _Node, *, in_row: bool = False) -> str | None:
    """Return an element as part of a line; None if it needs lines of its own."""
    if node.raw:
        return None
    if node.role == "text":
        return _quoted(node.value)
    _drop_repeats(node)
    if node.role == "option":
        return _quoted(node.name or node.value) + node.attrs
    if node.role in _CELLS or (_only_wraps(node) and node.role != "rowgroup"):
        if node.name or not node.below:
            return _quoted(node.name or node.value)
        inner = [_piece(child) for child in node.below]
        if any(piece is None for piece in inner) or (len(inner) > 1 and not in_row):
            return None
        own = [_quoted(node.value)] if node.value else []
        return ", ".join([*own, *(piece for piece in inner if piece)])
    if node.role == "img" and not node.name and not node.below:
        return ""
    if node.below:
        return None
    return _head(node) + (f": {_quoted(node.value)}" if node.value else "")


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False) if _NOTATION.search(text) else text
