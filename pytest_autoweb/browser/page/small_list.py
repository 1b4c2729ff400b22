"""The list of a page for small models: what a person sees, one element or text a line."""

from collections.abc import Iterator, Sequence
from typing import Any

from playwright.sync_api import Error, Frame, Page

from pytest_autoweb.browser.page.accessibility import HIDDEN
from pytest_autoweb.browser.page.brief_listing import prepare
from pytest_autoweb.browser.page.frames import OBSERVE_TIMEOUT_MS, RefView
from pytest_autoweb.browser.page.listing_notation import CONTROLS
from pytest_autoweb.browser.page.page_tree import Node, read_page
from pytest_autoweb.browser.page.quiet import wait_until_quiet
from pytest_autoweb.browser.page.ref_list import SHORT, Lengths, ListedItem, ref_view

_CELLS = frozenset({"cell", "gridcell", "columnheader", "rowheader"})
# These act as one element, so what is in them is not listed again.
_WHOLE = frozenset(
    {"button", "link", "tab", "menuitem", "menuitemcheckbox", "menuitemradio", "option"}
)
_ROW_CHARS = 80
_TYPES = frozenset({"lines", "rich", "select", "multiple"})


def observe(page: Page | Frame, *, budget_tokens: int = 1_500, lengths: Lengths = SHORT) -> RefView:
    """Return the page as a numbered list, including frames and open shadow roots.

    Waits until the page is quiet, so that the effects of an action are on the list. The page is
    only read.

    Raises:
        Error: Playwright's error if the page does not answer even at the second try.
    """
    try:
        return _view(page, budget_tokens, lengths)
    except Error:
        # A navigation may have replaced the page in the meantime.
        return _view(page, budget_tokens, lengths)


def _view(page: Page | Frame, budget_tokens: int, lengths: Lengths) -> RefView:
    page.wait_for_load_state("domcontentloaded", timeout=OBSERVE_TIMEOUT_MS)
    wait_until_quiet(page)
    tree = read_page(page)
    nodes = list(tree.nodes)
    prepare(nodes, overlaid=tree.overlaid)
    found = _Flat().items(nodes)
    return ref_view(found, budget_tokens=budget_tokens, complete=tree.complete, lengths=lengths)


class _Flat:
    """Makes a flat list of a tree; cells of a row share a line."""

    def __init__(self) -> None:
        self._found: list[ListedItem] = []
        self._row: list[str] | None = None

    def items(self, nodes: Sequence[Node]) -> list[ListedItem]:
        for node in nodes:
            self._visit(node, mute=False)
        return self._found

    def _visit(self, node: Node, *, mute: bool) -> None:
        if node.role == "text" or (node.name and node.place is None):
            if not mute:
                self._text(node.value if node.role == "text" else node.name)
        elif node.place is not None and node.role != "iframe" and _is_acted_on(node):
            mute = self._element(node) or mute
            if node.role in _WHOLE:
                return
        if node.role == "row" and self._row is None:
            self._row = []
            self._inside(node, mute=mute)
            self._end_row()
            self._row = None
        else:
            self._inside(node, mute=mute)

    def _inside(self, node: Node, *, mute: bool) -> None:
        for child in node.below:
            self._visit(child, mute=mute)

    def _text(self, text: str) -> None:
        if self._row is not None:
            self._row.append(text)
        elif any(map(str.isalnum, text)):
            self._found.append(ListedItem({"k": "t", "text": text}))

    def _end_row(self) -> None:
        texts, self._row = self._row or [], None
        if texts:
            self._text(" | ".join(texts))

    def _element(self, node: Node) -> bool:
        """List an element; tell whether its name holds the texts below it."""
        if self._row is not None:
            self._end_row()
            self._row = []
        texts = list(_texts(node))
        whole = " ".join(texts)
        name = node.name or node.label or node.title
        if not name:
            name = whole if len(whole) <= _ROW_CHARS else "".join(texts[:1])
        self._found.append(_item(node, name))
        return not node.name and name == whole


def _is_acted_on(node: Node) -> bool:
    return node.role in CONTROLS or node.clickable


def _texts(node: Node) -> Iterator[str]:
    """Yield the texts below an element that are not those of elements within it."""
    for child in node.below:
        if child.role == "text":
            yield child.value
        elif child.place is None:
            if child.name:
                yield child.name
            yield from _texts(child)


def _item(node: Node, name: str) -> ListedItem:
    assert node.place is not None, "only what can be acted on is an element"
    entry: dict[str, Any] = {
        "k": "e",
        "tag": "select" if node.kind in {"select", "multiple"} else "input" if node.kind else "",
        "role": "clickable" if node.clickable else node.role,
        "name": name,
        "type": "" if node.kind in _TYPES else node.kind,
        "states": [state for state in node.states if state not in {"by label", "covered"}],
        "value": "" if node.role == "clickable" or node.value == HIDDEN else node.value,
        "filled": node.filled and node.kind == "password",
        "range": list(node.limits),
        "rich": node.kind == "rich",
        "options": [one.label or one.value for one in node.options if node.kind in _TYPES],
        "chosen": [one.label or one.value for one in node.options if one.chosen],
        "handle": node.handle.lstrip("#.") if not name else "",
        "viaLabel": "by label" in node.states,
    }
    by_text = node.role in {"clickable", "row", "listitem"} or not node.ref
    said = next(iter(_texts(node)), "") or name
    return ListedItem(
        entry,
        find=node.place.handle,
        snapshot_ref=node.ref,
        in_frame=isinstance(node.place.root, Frame),
        said=said if by_text or "by label" in node.states else "",
    )
