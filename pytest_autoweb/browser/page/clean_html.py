"""HTML shortened and cleaned for a model: what can be acted on remains, the rest is removed."""

import re
from collections.abc import Iterable
from html import escape
from html.parser import HTMLParser

from msgspec import Struct, field
from msgspec.structs import replace

from pytest_autoweb.browser.page.outline import (
    MARKER_TOKENS,
    Cut,
    Fold,
    Line,
    estimate_tokens,
    quarter_tokens,
    thin_lists,
    truncation_marker,
)

TEXT_LIMIT = 500
_DATA_ATTR_LIMIT = 50
_DATA_URI_LIMIT = 50
_ATTR_LIMIT = 300
# The line that stands for what is left out of a list.
_FOLD_COST = 24
# The functions below recurse, so the depth of a hostile page has to be limited.
_DEPTH_LIMIT = 250

_WORDS = re.compile(r"\S+")
_VOID = frozenset(_WORDS.findall("area base br col embed hr img input link meta source track wbr"))
_DROPPED = frozenset(
    _WORDS.findall(
        "script style noscript svg meta link head template object embed base source track col wbr"
    )
)
# Elements that mean something even without content.
_KEPT_EMPTY = frozenset(
    _WORDS.findall(
        "img input br hr textarea button select iframe option a canvas video audio td th"
    )
)
_ATTRS = frozenset(
    _WORDS.findall(
        "id class name type value placeholder href src action method role title alt target for "
        "checked disabled selected readonly required multiple tabindex contenteditable hidden "
        "open min max step maxlength minlength pattern accept list label autocomplete inputmode "
        "colspan rowspan lang dir download draggable inert"
    )
)
# Values of `autocomplete` that mark fields for passwords, one-time codes and card numbers.
_SECRET_FIELDS = frozenset(
    ["current-password", "new-password", "one-time-code", "cc-number", "cc-csc"]
)
_SPACE = re.compile(r"\s+")
_EXTENSION = re.compile(r"^(?:chrome|moz|safari-web)-extension://", re.IGNORECASE)


class _Node(Struct):
    tag: str
    attrs: list[tuple[str, str]] = field(default_factory=list)
    children: list["_Node | str"] = field(default_factory=list)

    @property
    def opening(self) -> str:
        return "<" + "".join([self.tag, *(_attribute(n, v) for n, v in self.attrs)]) + ">"


def clean_html(html: str, budget_tokens: int) -> Cut:
    """Return the HTML without scripts, styles, comments and secrets, within the token budget.

    Values of password and hidden inputs are always removed. If the result is too long, the longest
    runs of siblings are thinned as far as needed, and then the rest is cut between elements; open
    elements are closed.
    """
    root = _read(html)
    whole = _render(root)
    if estimate_tokens(whole) <= budget_tokens:
        return Cut(whole, truncated=False)
    lines = _lines(root)
    total = sum(bool(one.kind) for line in lines for one in line.walk())
    room = 4 * (budget_tokens - MARKER_TOKENS)
    writer = _Writer(room)
    writer.write(thin_lists(lines, room, _element_cost, fold_cost=_FOLD_COST))
    writer.parts.append(f"\n{truncation_marker(writer.shown, total)}")
    return Cut("".join(writer.parts), truncated=True)


def html_outline(html: str) -> tuple[Line, ...]:
    """Return the same elements as an outline, in which the indentation stands for closing tags."""
    return tuple(line for one in _lines(_read(html)) for line in _in_brief(one))


def _read(html: str) -> "_Node":
    parser = _Parser()
    parser.feed(html)
    parser.close()
    _prune(parser.root)
    return parser.root


class _Parser(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.root = _Node("")
        self._open = [self.root]
        self._dropping: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if self._dropping:
            if tag == self._dropping[0] and tag not in _VOID:
                self._dropping.append(tag)
            return
        if tag in _DROPPED:
            if tag not in _VOID:
                self._dropping.append(tag)
            return
        node = _Node(tag, _kept_attrs(tag, attrs))
        self._open[-1].children.append(node)
        if tag not in _VOID and len(self._open) < _DEPTH_LIMIT:
            self._open.append(node)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        # HTML has no self-closing elements, so the slash is ignored.
        self.handle_starttag(tag, attrs)

    def handle_endtag(self, tag: str) -> None:
        if self._dropping:
            if tag == self._dropping[-1]:
                self._dropping.pop()
            return
        for depth in range(len(self._open) - 1, 0, -1):
            if self._open[depth].tag == tag:
                del self._open[depth:]
                return

    def handle_data(self, data: str) -> None:
        if self._dropping:
            return
        text = _SPACE.sub(" ", data)
        if len(text) > TEXT_LIMIT:
            text = text[: TEXT_LIMIT - 1] + "…"
        if text:
            self._open[-1].children.append(text)


def _kept_attrs(tag: str, attrs: list[tuple[str, str | None]]) -> list[tuple[str, str]]:
    given: dict[str, str] = {}
    for name, value in attrs:
        given.setdefault(name, value or "")
    secret = tag == "input" and _is_secret(given)
    kept: list[tuple[str, str]] = []
    for name, value in given.items():
        if name == "value" and secret:
            continue
        short = _shortened(name, value)
        if short is not None:
            kept.append((name, short))
    return kept


def _is_secret(attrs: dict[str, str]) -> bool:
    if attrs.get("type", "").strip().lower() in {"password", "hidden"}:
        return True
    return not _SECRET_FIELDS.isdisjoint(attrs.get("autocomplete", "").lower().split())


def _shortened(name: str, value: str) -> str | None:
    if not re.fullmatch(r"[a-z][\w:.-]*", name):
        return None
    if name.startswith("data-"):
        return value if len(value) <= _DATA_ATTR_LIMIT else None
    if name not in _ATTRS and not name.startswith("aria-"):
        return None
    if _EXTENSION.match(value):
        return None
    if value.lstrip().lower().startswith("data:") and len(value) > _DATA_URI_LIMIT:
        return value.lstrip()[:_DATA_URI_LIMIT] + "…"
    return value if len(value) <= _ATTR_LIMIT else value[: _ATTR_LIMIT - 1] + "…"


def _prune(node: _Node) -> None:
    kept: list[_Node | str] = []
    for child in node.children:
        if isinstance(child, str):
            if kept and isinstance(kept[-1], str):
                kept[-1] = _SPACE.sub(" ", kept[-1] + child)
            else:
                kept.append(child)
            continue
        _prune(child)
        if child.children or child.tag in _KEPT_EMPTY or _says_something(child):
            kept.append(child)
    if all(isinstance(child, str) and not child.strip() for child in kept):
        kept = []
    node.children = kept


def _says_something(node: _Node) -> bool:
    names = {name for name, _ in node.attrs}
    return bool(names & {"id", "role", "tabindex", "title", "contenteditable", "aria-label"})


def _attribute(name: str, value: str) -> str:
    return f' {name}="{escape(value)}"' if value else f" {name}"


def _lines(node: _Node) -> tuple[Line, ...]:
    """Return what is inside an element as lines; those of texts have no kind."""
    lines: list[Line] = []
    space = ""
    for child in node.children:
        if not isinstance(child, str):
            lines.append(Line(space + child.opening, child.tag, _lines(child)))
        elif child.strip():
            lines.append(Line(space + escape(child, quote=False)))
        # What only stands between two elements must not count as one of a list.
        space = child if isinstance(child, str) and not child.strip() else ""
    return tuple(lines)


def _in_brief(line: Line) -> tuple[Line, ...]:
    inner = tuple(one for child in line.children for one in _in_brief(child))
    text = line.text.strip()
    if text in _WRAPPERS:
        return inner
    if len(inner) == 1 and not inner[0].children:
        return (replace(line, text=text + inner[0].text, children=()),)
    return (replace(line, text=text, children=inner),)


_WRAPPERS = frozenset({"<div>", "<span>", "<tbody>"})


def _closing(line: Line) -> str:
    return f"</{line.kind}>" if line.kind and line.kind not in _VOID else ""


def _element_cost(line: Line, _depth: int) -> int:
    return quarter_tokens(line.text) + quarter_tokens(_closing(line))


def _render(node: _Node) -> str:
    inner = "".join(
        escape(child, quote=False) if isinstance(child, str) else _render(child)
        for child in node.children
    )
    if not node.tag:
        return inner.strip()
    return node.opening + inner + ("" if node.tag in _VOID else f"</{node.tag}>")


class _Writer:
    """A writer of elements that stops before an element and its closing tag exceed the budget.

    It counts in quarters of a token.
    """

    def __init__(self, budget: int) -> None:
        self.parts: list[str] = []
        self.shown = 0
        self._left = budget

    def write(self, lines: Iterable[Line]) -> bool:
        return all(self._write(line) for line in lines)

    def _write(self, line: Line) -> bool:
        if isinstance(line, Fold):
            return self._spend(f"({line.left_out} more alike)")
        closing = _closing(line)
        cost = quarter_tokens(closing)
        if not self._spend(line.text, keep=cost):
            return False
        self.shown += bool(line.kind)
        self._left -= cost
        complete = self.write(line.children)
        self.parts.append(closing)
        return complete

    def _spend(self, text: str, keep: int = 0) -> bool:
        cost = quarter_tokens(text)
        if cost + keep > self._left:
            return False
        self._left -= cost
        self.parts.append(text)
        return True
