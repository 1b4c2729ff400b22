"""The same listing with numbers: `e1 button "Save"`, for models that act by number."""

import re

from msgspec import Struct
from playwright.sync_api import Frame, Locator, Page

from pytest_autoweb.browser.page.brief_listing import prepare, readings, written
from pytest_autoweb.browser.page.listing_notation import CONTROLS
from pytest_autoweb.browser.page.outline import Folds, fit_outline
from pytest_autoweb.browser.page.page_tree import (
    MORE_ON_HOVER,
    KeptElement,
    ListedOption,
    Node,
    PageTree,
    every,
    read_page,
)

_NUMBER = re.compile(r"(?<![^\s(])e(\d+)(?= )")


class ListedElement(Struct, frozen=True):
    """One element of a numbered listing."""

    number: int
    """It is written as `e1`, `e2`, … in reading order."""
    role: str
    name: str
    """The accessible name; of a `clickable`, the text that a person sees."""
    states: tuple[str, ...]
    """Such as `checked`, `disabled`, `collapsed`, `required`, `covered`, `by label`."""
    near: str
    """The text it stands beside; empty if there is none."""
    kind: str
    """The input's type; `select`, `multiple`, `lines` (a textarea), `rich` (another editor)."""
    value: str
    filled: bool
    """Whether it holds a value, which is not shown where it is secret."""
    options: tuple[ListedOption, ...]
    limits: tuple[str, str, str]
    """The least and the greatest value, and the step."""
    ref: str
    """Playwright's own ref; empty where it has none."""
    said: str
    """The first text of a row or a region without a name."""
    place: KeptElement
    pressed: bool = True
    """Whether it can be pressed or filled; others are pointed at, or scrolled."""

    def locator(self) -> Locator:
        """Return what finds this very element until its document is looked at anew.

        Its `normalize` gives an expression by role, label or text that any code can use.
        """
        return self.place.locator()


class NumberedListing(Struct, frozen=True):
    """A page as a listing in which everything that can be acted on has a number."""

    text: str
    elements: tuple[ListedElement, ...]
    """Those of the text, by number."""
    truncated: bool = False
    left_out: frozenset[int] = frozenset()
    """Numbers of elements that the text does not show."""


def numbered_listing(
    root: Page | Frame, *, budget_tokens: int, folds: Folds | None = None
) -> NumberedListing:
    """Return the listing of a page with numbers.

    Raises:
        Error: Playwright's error if the page does not answer.
    """
    folds = folds or Folds(may_ask=False)
    for rows in readings(budget_tokens, folds):
        listing, unread = _listing(read_page(root, rows), budget_tokens, folds)
        if not unread:
            break
    return listing


def _listing(tree: PageTree, budget_tokens: int, folds: Folds) -> tuple[NumberedListing, bool]:
    """Return a listing, and whether a row that was not read would be shown."""
    nodes = list(tree.nodes)
    behind, near = prepare(nodes, overlaid=tree.overlaid)
    acted_on = [node for node in every(nodes) if node.place is not None]
    for number, node in enumerate(acted_on, start=1):
        node.number = number
    lines = written(nodes, behind, complete=tree.complete)
    cut = fit_outline(lines, budget_tokens, folds)
    told = {int(number) for number in _NUMBER.findall(cut.text)}
    shown = [node for node in acted_on if node.number in told]
    listing = NumberedListing(
        cut.text,
        tuple(_listed(node, near.get(id(node), "")) for node in shown),
        cut.truncated,
        frozenset(node.number for node in acted_on) - told,
    )
    return listing, cut.unread


def _listed(node: Node, near: str) -> ListedElement:
    assert node.place is not None
    first = next((one.value for one in node.walk() if one.role == "text"), "")
    # What stands beside a part that is only pointed at, or scrolled, is another such part.
    pressed = node.clickable or (node.role in CONTROLS and node.role != "hoverable")
    by_text = node.role == "clickable" or node.clickable or MORE_ON_HOVER in node.states
    return ListedElement(
        number=node.number,
        role=node.role,
        name=node.name or (first if by_text else ""),
        states=tuple(node.states),
        near=near if pressed else "",
        kind=node.kind,
        value=node.value,
        filled=node.filled,
        options=node.options,
        limits=node.limits,
        ref=node.ref,
        said=first,
        place=node.place,
        pressed=pressed,
    )
