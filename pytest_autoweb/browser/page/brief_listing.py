"""The listing of a page for capable models: everything a person sees, in few tokens.

What nobody can see is left out, what cannot be pressed now is marked, addresses are shown only
where names do not tell links apart, and what belongs together stands on one line.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby, pairwise
from typing import NamedTuple

from msgspec.structs import replace

from pytest_autoweb.browser.page.link_addresses import shorten_addresses
from pytest_autoweb.browser.page.listing_notation import (
    CONTROLS,
    FIELDS,
    Piece,
    head,
    joined,
    options_text,
    plain,
)
from pytest_autoweb.browser.page.outline import FEW, Folds, Line, UnreadRow
from pytest_autoweb.browser.page.page_tree import (
    MORE_ON_HOVER,
    UNREAD,
    Node,
    PageTree,
    RowsToRead,
    every,
)

_SIGNS_ONLY = re.compile(r"[\s|/\\·•›»‹«.,:;()¶–—-]*")
_CELLS = frozenset({"cell", "gridcell", "columnheader", "rowheader"})
_ROWS = frozenset({"row", "listitem", "article", "clickable", "hoverable"})
_BY_TEXT = frozenset({"clickable", "hoverable"})
_OWN_LINES = frozenset({"iframe", "row", "table", "dialog", "alertdialog", UNREAD})
# These are named after their content, if at all.
_ROWS_AND_CELLS = frozenset({"row", "listitem", *_CELLS})
# Without a name these say nothing that a person sees.
_LIFTED = frozenset(
    [
        "list",
        "listitem",
        "main",
        "banner",
        "contentinfo",
        "complementary",
        "region",
        "form",
        "search",
        "group",
        "radiogroup",
        "figure",
        "article",
        "navigation",
        "tabpanel",
        "tablist",
        "menu",
        "menubar",
        "toolbar",
        "tree",
        "caption",
        "term",
        "definition",
        "feed",
        "grid",
        "treegrid",
        "rowgroup",
    ]
)
_LINE_CHARS = 300
_ROW_CHARS = 700
_GROUP_CHARS = 200
_RUN_CHARS = 240
_OPTIONS_CHARS = 900
_PIECE_CHARS = 80
_NAMELESS = 8
_PART = 200
"""The most elements below a named one that are compared with its name."""
_BEHIND = 3
"""So many elements behind one layer are counted instead of listed."""
_BESIDE_GROUP = 2
"""So many elements may share a line with a group of others."""
_NEAR_LEVELS = 6
_NEAR_CHARS = 60
_LOOKS = ("active", "current", "selected", "checked")


def readings(budget_tokens: int, folds: Folds | None) -> Iterator[RowsToRead | None]:
    """Yield which rows of a page to read: those that can be shown, and then, if need be, all.

    The first reading nearly always has what is shown; only an outline can tell.
    """
    wanted = dict(folds.wanted) if folds else {}
    yield RowsToRead(budget_tokens, max(wanted.values(), default=0))
    if folds:
        folds.wanted = wanted
    yield None


def brief_outline(tree: PageTree) -> tuple[Line, ...]:
    """Return the listing of a page."""
    nodes = list(tree.nodes)
    behind = prepare(nodes, overlaid=tree.overlaid).behind
    return written(nodes, behind, complete=tree.complete)


def written(nodes: Sequence[Node], behind: Sequence[str], *, complete: bool) -> tuple[Line, ...]:
    """Return the lines of prepared nodes."""
    lines = _Writing().children_lines(nodes)
    lines += [Line(note) for note in behind]
    if not complete:
        lines.append(Line("(this page has more elements than are examined)"))
    return tuple(lines)


class Prepared(NamedTuple):
    """What is known of a page once its nodes are prepared."""

    behind: tuple[str, ...]
    """What lies behind layers, in words."""
    near: Mapping[int, str]
    """For what can be acted on, by the `id` of its node, the text it stands beside."""


def prepare(nodes: list[Node], *, overlaid: bool) -> Prepared:
    """Leave out what nobody sees and what is said twice, and tell elements of one name apart."""
    behind = prune(nodes, overlaid=overlaid)
    for node in every(nodes):
        _settle(node)
    _drop_labels(nodes)
    _even_out(nodes)
    _hand_down(nodes)
    shorten_addresses(nodes)
    near = _neighbours(nodes)
    _tell_twins_apart(nodes, near)
    return Prepared(behind, near)


# -- what cannot be seen or reached ----------------------------------------------------


def prune(nodes: list[Node], *, overlaid: bool) -> tuple[str, ...]:
    """Leave out what nobody can reach, and say how many elements lie behind a layer."""
    found = every(nodes)
    over = Counter(node.layer or "" for node in found if node.layer is not None)
    hidden: Counter[str] = Counter()

    def reachable(node: Node) -> bool:
        if node.in_front:
            return True
        if "invisible" in node.states:
            return False
        covered = "covered" in node.states and node.role in CONTROLS
        layer = node.layer or ""
        if covered and (overlaid or over[layer] >= _BEHIND):
            hidden["" if overlaid else layer] += 1
            return False
        had = bool(node.below)
        node.below = [child for child in node.below if reachable(child)]
        return bool(node.below) or not had or node.place is not None

    def around_front(node: Node) -> bool:
        """Keep what leads to the dialog, and what can be pressed beside it."""
        if node.in_front:
            return True
        node.below = [child for child in node.below if around_front(child)]
        return bool(node.below) or node.place is not None

    nodes[:] = [node for node in nodes if reachable(node)]
    if overlaid and any(node.in_front for node in found):
        nodes[:] = [node for node in nodes if around_front(node)]
    return tuple(_told(count, layer) for layer, count in hidden.items())


def _told(count: int, layer: str) -> str:
    what = f"{count} element{'s' if count > 1 else ''}"
    return f"({what} behind {plain(layer) if layer else 'this'}: close it first)"


# -- what is said twice ----------------------------------------------------------------


def _settle(node: Node) -> None:
    """Leave out of an element what its name says already."""
    if node.role in _BY_TEXT:
        _name_by_text(node)
    node.below = [
        one for one in node.below if one.role != "text" or not _SIGNS_ONLY.fullmatch(one.value)
    ]
    if node.role in _BY_TEXT:
        return
    if not node.name:
        if node.role in CONTROLS and node.below and not _inner_controls(node):
            node.value = node.value or " ".join(_words(node))
            node.below = []
        return
    if node.role in _ROWS_AND_CELLS or (node.role == "heading" and _inner_controls(node)):
        node.name = ""
        return
    name = _flat(node.name)
    kept = []
    for child in node.below:
        inner = _few(child)
        if inner is None or not all(_adds_nothing(one, name) for one in inner):
            kept.append(child)
    node.below = kept


def _name_by_text(node: Node) -> None:
    below = node.below
    while len(below) == 1 and not below[0].role:
        below = below[0].below
    node.below = below
    if len(below) == 1 and below[0].role in {"text", "heading"} and not below[0].below:
        node.name, node.below = below[0].value or below[0].name, []


def _few(node: Node) -> list[Node] | None:
    found = []
    for one in node.walk():
        found.append(one)
        if len(found) >= _PART:
            return None
    return found


def _inner_controls(node: Node) -> bool:
    inner = _few(node)
    return inner is None or any(one.place is not None for one in inner[1:])


def _words(node: Node) -> Iterator[str]:
    for one in node.walk():
        if one is not node:
            yield from filter(None, (one.name, one.value))


def _adds_nothing(node: Node, name: str) -> bool:
    words = (node.name, node.value)
    picture = node.role == "img" and bool(node.name) and _flat(node.name) not in name
    return node.place is None and not picture and all(_flat(word) in name for word in words)


def _flat(text: str) -> str:
    """Return the words of a text; of a text of signs, the signs."""
    return re.sub(r"[\W_]+", "", text) or re.sub(r"\s+", "", text)


def _drop_labels(nodes: list[Node]) -> None:
    """Leave out a text that is the name of the field beside it."""
    order = [node for node in every(nodes) if node.role in {"text", "img"} or node.place]
    said = set()
    for before, after in pairwise(order):
        for text, field in ((before, after), (after, before)):
            fits = field.role in FIELDS or field.role in {"checkbox", "radio", "switch"}
            label = text.value if text.role == "text" else text.name
            plain_one = text.role in {"text", "img"} and text.place is None
            if plain_one and fits and field.name and _bare(label) == _bare(field.name):
                said.add(id(text))
    if not said:
        return
    nodes[:] = [one for one in nodes if id(one) not in said]
    for node in every(nodes):
        if node.below:
            node.below = [one for one in node.below if id(one) not in said]


def _even_out(nodes: Sequence[Node]) -> None:
    """Drop a look that all of a kind share, since it tells nothing."""
    for siblings in _families(nodes):
        for _, group in groupby(sorted(siblings, key=lambda one: one.role), lambda one: one.role):
            same = [one for one in group if not _is_header(one)]
            if all(one.bold for one in same) or len(same) < 2:
                for one in same:
                    one.bold = False
            for look in _LOOKS:
                if len(same) > 2 and all(look in one.states for one in same):
                    for one in same:
                        one.states.remove(look)


def _bare(label: str) -> str:
    """Return a label without what marks its field as required."""
    return label.rstrip(" *:")


def _hand_down(nodes: Sequence[Node]) -> None:
    """Say the look of an item at its only control."""
    for node in every(nodes):
        alone = node.below[0] if len(node.below) == 1 else None
        if node.role == "listitem" and alone is not None and alone.place is not None:
            looks = [one for one in node.states if one in _LOOKS]
            alone.states += [one for one in looks if one not in alone.states]
            node.states = [one for one in node.states if one not in _LOOKS]


def _families(nodes: Sequence[Node]) -> Iterator[list[Node]]:
    yield list(nodes)
    for node in every(nodes):
        if len(node.below) > 1:
            yield [
                one.below[0] if not one.role and len(one.below) == 1 else one for one in node.below
            ]
        elif node.below:
            node.below[0].bold = False


def _is_header(node: Node) -> bool:
    return bool(node.below) and all(child.role == "columnheader" for child in node.below)


# -- what stands beside an element -----------------------------------------------------


def _tell_twins_apart(nodes: Sequence[Node], near: Mapping[int, str]) -> None:
    twins: dict[tuple[str, str], list[Node]] = defaultdict(list)
    for node in every(nodes):
        if node.place is not None and not node.clickable and not node.below:
            twins[node.role, node.name or node.label or node.title or node.handle].append(node)
    for same in twins.values():
        texts = {near.get(id(node), "") for node in same}
        if len(texts) > 1:
            for node in same:
                node.beside = near.get(id(node), "")


def _neighbours(nodes: Sequence[Node]) -> dict[int, str]:
    found = every([Node("", below=list(nodes))])
    # The place among the siblings is kept too, since equal nodes may stand side by side.
    above = {id(child): (node, place) for node in found for place, child in enumerate(node.below)}
    return {id(node): _beside(node, above) for node in found if node.place is not None}


def _beside(node: Node, above: Mapping[int, tuple[Node, int]]) -> str:
    at = node
    for _ in range(_NEAR_LEVELS):
        if id(at) not in above:
            break
        around, place = above[id(at)]
        if around.role in _ROWS:
            return _short(next(_texts_of(around.below, node), ""))
        before = [_last(_texts_of([one], node)) for one in around.below[max(0, place - 4) : place]]
        after = [next(_texts_of([one], node), "") for one in around.below[place + 1 : place + 3]]
        if told := [text for text in (*before[::-1], *after) if text]:
            # A short one, such as a heading, says better what it is about.
            return _short(next((one for one in told if len(one) <= _NEAR_CHARS), told[0]))
        at = around
    return ""


def _short(text: str) -> str:
    return text if len(text) <= _NEAR_CHARS else f"{text[: _NEAR_CHARS - 1]}…"


def _last(texts: Iterator[str]) -> str:
    return (list(texts) or [""])[-1]


def _texts_of(nodes: Sequence[Node], but: Node) -> Iterator[str]:
    for node in nodes:
        for one in _few(node) or []:
            if one is not but and _tells(one):
                yield one.value if one.role == "text" else one.name


def _tells(node: Node) -> bool:
    if node.role == "text":
        return not _SIGNS_ONLY.fullmatch(node.value)
    return node.role in {"heading", "link", *_BY_TEXT} and bool(node.name)


# -- lines -----------------------------------------------------------------------------


class _Writing:
    """Writes prepared nodes as lines; the parts of an element, often asked for, are made once.

    `children_lines` comes first: it decides what shares a line, and asks the others.
    """

    def __init__(self) -> None:
        self._made: dict[int, list[Piece] | None] = {}

    def children_lines(self, nodes: Sequence[Node]) -> list[Line]:
        """Return the lines of siblings; those of one role that follow each other share a line."""
        lines: list[Line] = []
        run: list[Piece] = []

        def end() -> None:
            if run:
                lines.append(Line(joined(run), run[0].role if len(run) == 1 else "run"))
                run.clear()

        lifted = self._lifted(nodes)
        nameless = _without_names(lifted)
        for node in lifted:
            if id(node) in nameless:
                end()
                lines.append(Line(joined([_own(node)]), FEW))
                continue
            alone = self._pieces(node)
            control = alone is not None and len(alone) == 1 and alone[0].role in CONTROLS
            if control and alone is not None:
                long = sum(one.size for one in (*run, *alone)) > _RUN_CHARS
                if run and (
                    run[0].role != alone[0].role or long or alone[0].value or run[-1].value
                ):
                    end()
                run.append(alone[0])
                continue
            end()
            lines += self._lines(node)
        end()
        return lines

    def _lifted(self, nodes: Sequence[Node]) -> list[Node]:
        """Return siblings, with those in place of a block that only holds several things."""
        found: list[Node] = []
        for node in nodes:
            if node.role or self._one_line(node.below, _GROUP_CHARS) is not None:
                found.append(node)
            else:
                found += self._lifted(node.below)
        return found

    def _lines(self, node: Node) -> list[Line]:
        """Return an element's lines: none if it says nothing, several if it only wraps them."""
        if node.role == "text":
            return [Line(plain(node.value), "text")]
        if node.role == UNREAD:
            return [UnreadRow("", node.kind)] * int(node.value)
        kind = node.role or "group"
        if _says_nothing(node):
            line = self._one_line(node.below, _LINE_CHARS if node.role else _GROUP_CHARS)
            if line:
                return [Line(joined(line), kind)]
            return self.children_lines(node.below)
        if node.role == "row":
            return [self._row(node)]
        if node.role in _CELLS:
            pieces = self._pieces(node)
            return [Line(joined(pieces), kind)] if pieces else self.children_lines(node.below)
        piece = _own(node)
        if not node.below:
            if node.options and len(piece.value) > _OPTIONS_CHARS:
                return [_long_select(node)]
            return [Line(joined([piece]), kind)]
        one_thing = node.role in _ROWS or (node.role == "img" and not _inner_controls(node))
        most = _ROW_CHARS if one_thing else _LINE_CHARS - piece.size
        line = self._one_line(node.below, most, one_thing=one_thing)
        if line is not None:
            return [Line(f"{piece.text()}: {joined(line)}", kind)]
        below = self.children_lines(node.below)
        if node.role in _BY_TEXT and not node.name and below:
            # The first line stands for the whole region.
            first = below[0]
            return [Line(f"{piece.text()}: {first.text}", kind, (*first.children, *below[1:]))]
        return [Line(f"{piece.text()}:", kind, tuple(below))]

    def _row(self, node: Node) -> Line:
        role = "header row" if _is_header(node) else "row"
        piece = head(node, role=f"clickable {role}" if node.clickable else role)
        cells = [self._cell(child) for child in node.below]
        if all(cell is not None for cell in cells):
            said = [cell or "" for cell in cells]
            while said and not said[-1]:
                said.pop()
            text = f"{piece.text()}: {' | '.join(said)}"
            if len(text) <= _ROW_CHARS:
                return Line(text, "row")
        return Line(f"{piece.text()}:", "row", tuple(self.children_lines(node.below)))

    def _cell(self, node: Node) -> str | None:
        """Return a cell as a part of its row; an empty one keeps the others in their columns."""
        pieces = self._pieces(node)
        if pieces is None:
            return None
        marks = "".join(f" [{state}]" for state in node.states) if node.role in _CELLS else ""
        return ", ".join(piece.text() for piece in pieces) + marks

    def _one_line(
        self, nodes: Sequence[Node], most: int, *, one_thing: bool = False
    ) -> list[Piece] | None:
        """Return siblings as parts of one line, if that is short and simple.

        Args:
            nodes: the siblings.
            most: about the most characters of the line.
            one_thing: they belong together anyway, as what a row holds.
        """
        pieces: list[Piece] = []
        size = groups = 0
        for node in nodes:
            inner = self._pieces(node)
            # A heading begins something else.
            if inner is None or (pieces and any(one.role == "heading" for one in inner)):
                return None
            pieces += inner
            # Two groups on one line would leave open what belongs to which.
            groups += len(inner) > 1
            crowded = groups > 1 or len(pieces) > len(inner) + _BESIDE_GROUP
            if groups and len(nodes) > 1 and crowded and not one_thing:
                return None
            size += sum(one.size for one in inner)
            if size > most:
                return None
        return pieces

    def _pieces(self, node: Node) -> list[Piece] | None:
        """Return an element as parts of a line; None if it needs lines of its own."""
        # No node goes away meanwhile, so its id is unambiguous.
        if (known := id(node)) not in self._made:
            self._made[known] = self._parts_of(node)
        return self._made[known]

    def _parts_of(self, node: Node) -> list[Piece] | None:
        if node.role == "text":
            return [Piece("", plain(node.value))]
        if node.role in _OWN_LINES or any(node.scroll):
            return None
        if MORE_ON_HOVER in node.states and node.below:
            return None
        if node.role in _CELLS or _says_nothing(node):
            return self._one_line(node.below, _LINE_CHARS)
        if not node.below:
            piece = _own(node)
            return [piece] if piece.size <= _LINE_CHARS else None
        if not _inner_controls(node):
            said = " ".join(_words(node))
            if len(said) > _PIECE_CHARS:
                return None
            if node.role in _BY_TEXT:
                return [head(replace(node, name=said, below=[]))]
            return [head(replace(node, value=said, below=[]))]
        return None


def _without_names(nodes: Sequence[Node]) -> set[int]:
    """Return the links of long runs of links without a name, by the `id` of their nodes."""
    found: set[int] = set()
    for nameless, group in groupby(nodes, lambda one: one.role == "link" and not one.name):
        same = list(group)
        if nameless and len(same) > _NAMELESS and not any(one.value or one.below for one in same):
            found.update(map(id, same))
    return found


def _says_nothing(node: Node) -> bool:
    plain_one = not (node.name or node.states or node.value or node.clickable or node.bold)
    return plain_one and not any(node.scroll) and (not node.role or node.role in _LIFTED)


def _own(node: Node) -> Piece:
    if node.clickable:
        return head(node, role=f"clickable {node.role}")
    return head(node)


def _long_select(node: Node) -> Line:
    own = head(replace(node, options=()))
    below = tuple(Line(options_text([one]), "option") for one in node.options)
    return Line(f"{own.text()}:", node.role, below)
