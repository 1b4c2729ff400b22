"""The short numbered list of a page for small models: one element or one text a line.

They read slowly and get lost in long lists, so what is said of an element is what one needs to act
on it: `e1 textbox "User" (required)`. The tree is that of the listing for capable models.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from msgspec import Struct, field
from playwright.sync_api import Error, Frame, Page

from pytest_autoweb.browser.page.accessibility import HIDDEN
from pytest_autoweb.browser.page.brief_listing import prune
from pytest_autoweb.browser.page.frames import OBSERVE_TIMEOUT_MS, RefElement, RefView
from pytest_autoweb.browser.page.listed_page import SETTLE_MS
from pytest_autoweb.browser.page.listing_notation import CONTROLS
from pytest_autoweb.browser.page.outline import MARKER_TOKENS, estimate_tokens, truncation_marker
from pytest_autoweb.browser.page.page_tree import Node, PageTree, read_page
from pytest_autoweb.browser.page.quiet import wait_until_quiet

_NAME_CHARS = 80
_TEXT_CHARS = 200
_VALUE_CHARS = 60
_AFTER_CHARS = 40
_OPTIONS = 30
"""So many options of a select box are named."""
_REGION_CHARS = 120
"""A longer region is named by its first text, and its other texts get lines of their own."""
_REGION_CONTROLS = 3
"""A region with more elements in it is not listed, but only they are."""
_PARTS = 4
"""So many texts beside a field may together be its name."""

_FORMATS = {
    "date": "date, YYYY-MM-DD",
    "time": "time, HH:MM",
    "datetime-local": "date and time, YYYY-MM-DDTHH:MM",
    "month": "month, YYYY-MM",
    "week": "week, YYYY-Www",
    "color": "color, #rrggbb",
    "password": "password",
    "email": "email",
    "url": "url",
    "tel": "phone",
    "file": "file",
    "rich": "rich text",
}
_STATES = frozenset(
    [
        *("checked", "mixed", "selected", "expanded", "collapsed", "pressed", "pressed=mixed"),
        *("current", "on", "off", "disabled", "readonly", "required", "invalid"),
    ]
)
_ACTIONS: dict[str, tuple[str, ...]] = {
    "textbox": ("fill", "click", "press"),
    "searchbox": ("fill", "click", "press"),
    "spinbutton": ("fill", "click", "press"),
    "slider": ("fill", "press"),
    "checkbox": ("check", "uncheck"),
    "switch": ("check", "uncheck"),
    "radio": ("check",),
}
_SELECTS = frozenset({"select", "multiple"})
_NAMED_BY_TEXT = frozenset({"button", "link", "clickable", "tab", "menuitem"})
_LABELLED = frozenset(
    [
        *("textbox", "searchbox", "combobox", "spinbutton", "slider", "listbox"),
        *("checkbox", "radio", "switch"),
    ]
)
# These act as one element, so what is in them is their name.
_WHOLE = frozenset(
    [
        *("button", "link", "tab", "menuitem", "menuitemcheckbox", "menuitemradio"),
        *("checkbox", "radio", "switch", "option"),
    ]
)
_CELLS = frozenset({"cell", "gridcell", "columnheader", "rowheader"})


def small_view(root: Page | Frame, *, budget_tokens: int = 1_500) -> RefView:
    """Return a page as a short numbered list, once it is quiet.

    Its elements are found by `find`; `acted_element` makes plain locators of them.

    Raises:
        Error: Playwright's error if the page does not answer even at the second try.
    """
    try:
        return _view(root, budget_tokens)
    except Error:
        # A navigation may have replaced the page in the meantime.
        return _view(root, budget_tokens)


def _view(root: Page | Frame, budget_tokens: int) -> RefView:
    root.wait_for_load_state("domcontentloaded", timeout=OBSERVE_TIMEOUT_MS)
    wait_until_quiet(root, limit_ms=SETTLE_MS)
    return small_list(read_page(root), budget_tokens=budget_tokens)


def small_list(tree: PageTree, *, budget_tokens: int) -> RefView:
    """Return the list of a page within its budget; text is dropped before elements."""
    nodes = list(tree.nodes)
    prune(nodes, overlaid=tree.overlaid)
    walk = _Walk()
    walk.through(nodes)
    told = [item for item in walk.items if item.node or re.search(r"[^\W_]", item.text)]
    items = _without_repeats(_without_labels(told))
    lines, elements = _numbered(items)
    return _fitted(lines, elements, budget_tokens, complete=tree.complete)


# -- from the tree to what is listed, in reading order -----------------------------------


class _Item(Struct, frozen=True):
    """A text or an element of the list."""

    text: str = ""
    node: Node | None = None
    name: str = ""
    """The element's name."""
    in_frame: bool = False


class _Walk(Struct):
    items: list[_Item] = field(default_factory=list)
    _in_frame: bool = False

    def through(self, nodes: Sequence[Node], *, mute: bool = False) -> None:
        for node in nodes:
            if node.role == "text" and not mute:
                self._text(node.value, node.joint)
            elif node.role == "iframe":
                outer, self._in_frame = self._in_frame, True
                self.through(node.below, mute=mute)
                self._in_frame = outer
            elif _acts(node):
                self._element(node, mute)
            elif node.role == "row":
                self._row(node, mute)
            else:
                self.through(node.below, mute=mute)

    def _text(self, text: str, joint: str | None = None) -> None:
        if joint is not None and self.items and self.items[-1].node is None:
            self.items[-1] = _Item(f"{self.items[-1].text}{joint}{text}")
        else:
            self.items.append(_Item(text))

    def _row(self, row: Node, mute: bool) -> None:
        """List a row; the texts of cells beside each other make one line."""
        cells: list[str] = []

        def end() -> None:
            if cells:
                self._text(" | ".join(cells))
                cells.clear()

        for cell in row.below:
            texts = [] if mute or cell.role not in _CELLS else _only_texts(cell)
            if texts is not None and len(texts) == 1:
                cells += texts
                continue
            end()
            self.through([cell], mute=mute)
        end()

    def _element(self, node: Node, mute: bool) -> None:
        if node.role == "clickable" or node.clickable:
            self._region(node, mute)
        elif node.kind != "file" or "not visible" not in node.states:
            self._add(node, node.name or _words(node) or node.label or node.title)
            if node.role not in _WHOLE:
                self.through(node.below, mute=mute)

    def _region(self, node: Node, mute: bool) -> None:
        """List a region that can be pressed; its texts are its name, unless they are long."""
        controls = sum(1 for _ in _controls(node.below))
        if controls > _REGION_CONTROLS:
            self.through(node.below, mute=mute)
            return
        name = _words(node) or node.label or node.title
        if len(name) <= _REGION_CHARS:
            self._add(node, name)
            self.through(node.below, mute=True)
            return
        self._add(node, next(_texts(node), name))
        listed = len(self.items)
        self.through(node.below, mute=mute)
        first = next((i for i in range(listed, len(self.items)) if self.items[i].text), None)
        if first is not None and self.items[first].text == self.items[listed - 1].name:
            del self.items[first]

    def _add(self, node: Node, name: str) -> None:
        self.items.append(_Item(node=node, name=_readable(name), in_frame=self._in_frame))


def _acts(node: Node) -> bool:
    return node.place is not None and (node.role in CONTROLS or node.clickable)


def _only_texts(cell: Node) -> list[str] | None:
    """Return the texts of a cell; None if there is something to act on in it."""
    below = [one for one in cell.walk() if one is not cell]
    if _acts(cell) or any(map(_acts, below)):
        return None
    return [one.value for one in below if one.role == "text"]


def _controls(nodes: Sequence[Node]) -> Iterator[Node]:
    """Yield what can be acted on below nodes, but not what is within such an element."""
    for node in nodes:
        if _acts(node):
            yield node
        else:
            yield from _controls(node.below)


def _texts(node: Node) -> Iterator[str]:
    """Yield the texts and pictures below a node that belong to nothing else that is listed."""
    for one in node.below:
        if one.role == "text":
            yield one.value
        elif not _acts(one):
            if one.role == "img" and one.name:
                yield one.name
            yield from _texts(one)


def _words(node: Node) -> str:
    return " ".join(_texts(node))


# -- what is said twice ------------------------------------------------------------------


def _without_labels(items: Sequence[_Item]) -> list[_Item]:
    """Return the items without the texts beside a field that are its name.

    A text elsewhere on the page may say something else in the same words, and stays.
    """
    said: set[int] = set()
    for place, item in enumerate(items):
        if item.node is None or item.node.role not in _LABELLED or not item.name:
            continue
        for step in (-1, 1):
            beside: list[int] = []
            at = place + step
            while 0 <= at < len(items) and items[at].node is None and len(beside) < _PARTS:
                beside = sorted([*beside, at])
                if _key("".join(items[one].text for one in beside)) == _key(item.name):
                    said.update(beside)
                    break
                at += step
    return [item for place, item in enumerate(items) if place not in said]


def _without_repeats(items: Sequence[_Item]) -> list[_Item]:
    """Return the items without a text that only repeats the one before."""
    kept: list[_Item] = []
    for item in items:
        before = kept[-1].text if kept else ""
        if item.node is not None or _key(item.text) != _key(before):
            kept.append(item)
    return kept


def _key(text: str) -> str:
    return re.sub(r"[\s:*|]+", "", text).casefold()


# -- lines -------------------------------------------------------------------------------


def _numbered(items: Sequence[_Item]) -> tuple[list[tuple[str, bool]], list[RefElement]]:
    """Return the lines, each with whether it is an element's, and the elements."""
    of_role = Counter(item.node.role for item in items if item.node)
    seen: Counter[str] = Counter()
    elements: list[RefElement] = []
    lines: list[tuple[str, bool]] = []
    for place, item in enumerate(items):
        if item.node is None:
            lines.append((f't "{_short(item.text, _TEXT_CHARS)}"', False))
            continue
        after = _after(items, place)
        if after and lines and not lines[-1][1]:
            # The text is now part of the element's line.
            lines.pop()
        role = item.node.role
        seen[role] += 1
        # Elements that a model could not tell apart otherwise are numbered.
        unnamed = not (item.name or after or _icon_word(item))
        number = seen[role] if of_role[role] > 1 and unnamed else 0
        element = _element(item, f"e{len(elements) + 1}", after, number)
        elements.append(element)
        lines.append((element_line(element), True))
    return lines, elements


def element_line(element: RefElement) -> str:
    """Return the line of one element, such as `e1 textbox "User" (required)`."""
    parts = [element.ref, element.role]
    if element.name:
        parts.append(f'"{element.name}"')
    if element.hint:
        parts.append(element.hint)
    return " ".join(parts)


def _fitted(
    lines: list[tuple[str, bool]], elements: list[RefElement], budget: int, *, complete: bool
) -> RefView:
    whole = "\n".join(line for line, _ in lines)
    if complete and estimate_tokens(whole) <= budget:
        return RefView(whole, tuple(elements))
    left = budget - MARKER_TOKENS
    # Elements come first; the remaining room is for text, from the top.
    kept: set[int] = set()
    for wanted in (True, False):
        for index, (line, is_element) in enumerate(lines):
            cost = estimate_tokens(line + "\n")
            if is_element == wanted and cost <= left:
                kept.add(index)
                left -= cost
            elif is_element == wanted:
                break
    shown = [lines[index] for index in sorted(kept)]
    count = sum(is_element for _, is_element in shown)
    text = "\n".join([*(line for line, _ in shown), truncation_marker(count, len(elements))])
    return RefView(text, tuple(elements[:count]), truncated=True)


def _after(items: Sequence[_Item], place: int) -> str:
    """Return the short text just before a field without a name, as it is probably its label."""
    item = items[place]
    assert item.node is not None
    if item.name or item.node.role in _NAMED_BY_TEXT or place == 0:
        return ""
    text = items[place - 1].text
    is_label = len(text) <= _AFTER_CHARS and not text.endswith((".", "!", "?", "。"))
    return _short(text, _AFTER_CHARS) if is_label else ""


def _element(item: _Item, ref: str, after: str, number: int) -> RefElement:
    node = item.node
    assert node is not None
    assert node.place is not None
    return RefElement(
        ref=ref,
        role=_shown_role(node),
        name=_short(item.name, _NAME_CHARS),
        hint=_hint(item, node, after, number),
        locator=f'page.locator("listed={ref}")',
        actions=_actions(node),
        options=_option_labels(node),
        takes_files=node.kind == "file",
        disabled="disabled" in node.states,
        find=node.place.handle,
        kept=node.place.locates,
        snapshot_ref=node.ref,
        in_frame=item.in_frame,
    )


def _shown_role(node: Node) -> str:
    if node.role == "clickable" and node.kind == "a":
        return "link"
    return "clickable" if node.clickable else node.role


def _actions(node: Node) -> tuple[str, ...]:
    if "disabled" in node.states or node.kind == "file":
        return ()
    if node.kind in _SELECTS:
        return ("select_option",)
    if "by label" in node.states or "readonly" in node.states:
        return ("click",)
    if node.role == "combobox":
        return ("fill", "click", "press") if node.kind else ("click",)
    return _ACTIONS.get(node.role, ("click",))


def _hint(item: _Item, node: Node, after: str, number: int) -> str:
    facts: list[str] = []
    if kind := _FORMATS.get(node.kind):
        facts.append(kind)
    low, high, step = node.limits
    if node.kind in {"number", "range"} and (low or high):
        facts.append(f"{low or '…'} to {high or '…'}" + (f", step {step}" if step else ""))
    if word := _icon_word(item):
        facts.append(word)
    closed = "" if node.role != "combobox" else "collapsed"
    facts += [state for state in node.states if state in _STATES and state != closed]
    secret = node.value == HIDDEN
    if secret and node.filled:
        facts.append("filled")
    parts = [f'after "{after}"'] if after else []
    if number:
        parts.append(f"number {number}")
    if facts:
        parts.append(f"({', '.join(facts)})")
    if node.value and not secret and node.role != "link":
        parts.append(f'value "{_short(node.value, _VALUE_CHARS)}"')
    if options := _option_labels(node):
        parts.append(_option_text(options, [one.label for one in node.options if one.chosen]))
    return " ".join(parts)


def _icon_word(item: _Item) -> str:
    """Return the id or class of an icon, which has no other name."""
    node = item.node
    if node is None or item.name or node.role not in _NAMED_BY_TEXT:
        return ""
    words = re.sub(r'[\\"\]]|^\[\w+=|^#', "", node.handle)
    return _short(words.replace(".", " ") if node.handle.startswith(".") else words, _AFTER_CHARS)


def _option_labels(node: Node) -> tuple[str, ...]:
    return tuple(one.label for one in node.options) if node.kind in _SELECTS else ()


def _option_text(options: Sequence[str], chosen: Sequence[str]) -> str:
    shown = [f'"{_short(option, _NAME_CHARS)}"' for option in options[:_OPTIONS]]
    more = [f"{len(options) - _OPTIONS} more"] if len(options) > _OPTIONS else []
    text = "options " + ", ".join([*shown, *more])
    picked = ", ".join(f'"{_short(option, _NAME_CHARS)}"' for option in chosen[:3] if option)
    return f"{text}; selected {picked}" if picked else text


def _readable(text: str) -> str:
    # Icon fonts have no readable text.
    return " ".join(re.sub(r"[\ue000-\uf8ff]", "", text).split())


def _short(text: str, limit: int) -> str:
    # Quotes of the page must not end the quotes of the list.
    text = _readable(text.replace('"', "'"))
    return text if len(text) <= limit else text[: limit - 1] + "…"
