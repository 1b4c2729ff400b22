"""A plain locator of one element, which is proven to find that element and no other.

Playwright finds most of them itself (`Locator.normalize`); what it returns is read as data, written
for the whole of a name, and tried on the page. Where it finds none, what is known of the element is
tried: its role and name, its label, its id, its place.
"""

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from msgspec import Struct
from playwright.sync_api import ElementHandle, Error, Frame, Locator

from pytest_autoweb.base.whole_characters import whole_json, whole_value
from pytest_autoweb.browser.egress.browser_watch import call_within
from pytest_autoweb.browser.page.locator_expressions import (
    Call,
    Expression,
    candidates,
    last_resort,
    parse_locator,
)
from pytest_autoweb.browser.page.own_world import ask_about

_CALL_MS = 10_000.0
_PLACE = """(found, wanted) => {
  let at = -1;
  for (let i = 0; i < found.length; i += 1) if (found[i] === wanted) at = i;
  return [found.length, at];
}"""


_SAME = """(wanted, found) => {
  for (let i = 0; i < found.length; i += 1) if (found[i] === wanted) return i;
  return -1;
}"""
_FEW = 30
"""So many elements are compared one by one."""


def plain_locator(element: Locator) -> str:
    """Return an expression that starts at `page` and finds exactly this element now.

    It is empty if there is none, because the element or one of its frames is gone.
    """
    try:
        return str(locator_of(element.element_handle(timeout=_CALL_MS)) or "")
    except Error:
        return ""


def sole_locator(kept: Locator) -> Expression | None:
    """Return an expression that finds exactly the element which a locator keeps to.

    It takes three calls and no handle, but finds only elements of a page's main document that
    Playwright has an expression for.

    Args:
        kept: finds the very element by itself, such as the engine of a listing.

    Returns:
        None if `locator_of` has to look.

    Raises:
        Error: Playwright's error if the page does not answer.
    """
    main = kept.page.main_frame
    normal = _normalized(main, kept)
    if normal is None:
        return None
    for expression in _as_is_or_exact(normal, _Facts(kept, main)):
        found = expression.on(kept.page)
        # Locators of two frames cannot be combined.
        with suppress(Error):
            if call_within(main, _CALL_MS, found.and_(kept).count):
                return expression if call_within(main, _CALL_MS, found.count) == 1 else None
    return None


def locator_of(handle: ElementHandle) -> Expression | None:
    """Return an expression that starts at `page` and finds exactly this element now.

    Returns:
        None if there is none, because the element or one of its frames is gone.

    Raises:
        Error: Playwright's error if the page does not answer.
    """
    own = _in_order(handle)
    if own is None:
        return None
    frame, in_order = own
    search = _Search(handle, frame)
    element = in_order.on(frame)
    normal = _normalized(frame, element)
    facts = _Facts(element, frame)
    found = normal and search.first(_as_is_or_exact(normal, facts))
    if found:
        return found
    steps = _frame_steps(frame)
    if steps is None:
        return None
    tries = (each.inside(steps) for each in facts.expressions())
    return search.first(tries) or in_order.inside(steps)


class _Search(Struct, frozen=True):
    """The search for an expression that finds one element."""

    handle: ElementHandle
    frame: Frame

    def first(self, tries: Iterator[Expression]) -> Expression | None:
        """Return the first expression that is unique, else the first with the element's place."""
        placed: Expression | None = None
        for expression in tries:
            count, place = _place(self.handle, self.frame, expression)
            if place >= 0 and count == 1:
                return expression
            if place >= 0 and placed is None:
                placed = expression.nth(place)
        return placed


class _Facts:
    """What is known of an element, asked for when it is needed first."""

    def __init__(self, element: Locator, frame: Frame) -> None:
        self._element, self._frame = element, frame
        self._told: dict[str, Any] | None = None

    def told(self) -> dict[str, Any]:
        if self._told is None:
            found = ask_about(self._element, "locator_facts", timeout_ms=_CALL_MS)
            self._told = dict(whole_value(found[0])) if found else {}
        return self._told

    def expressions(self) -> Iterator[Expression]:
        if told := self.told():
            yield from candidates(told)
            yield from last_resort(told)


def _as_is_or_exact(normal: Expression, facts: _Facts) -> Iterator[Expression]:
    """Yield an expression for the whole of its last text, and then as Playwright gives it.

    Playwright may give the beginning of a name, and a name that other names may contain: unique
    now, but not once the page shows the next of a kind.
    """
    *before, last = normal.calls[:-1] if normal.calls[-1].method == "nth" else normal.calls
    as_given = Expression((*before, last))
    if last.method == "get_by_label":
        # The text of a label that holds its select box has all options in it.
        told = facts.told()
        if told.get("name") and not told.get("bare", False):
            by_role = Call("get_by_role", told["role"], name=told["name"], exact=True)
            yield Expression((*before, by_role))
    if last.exactly() != last:
        yield Expression((*before, last.exactly()))
        name = facts.told().get("name", "") if last.name else ""
        if name and name != last.name and str(last.name) in name:
            yield Expression((*before, last.exactly(name)))
    yield as_given


def _normalized(frame: Frame, element: Locator) -> Expression | None:
    """Return what Playwright finds; None where it finds nothing, or before it was able to."""
    normalize = getattr(element, "normalize", None)
    if normalize is None:
        return None
    try:
        # A page may cut a text in the middle of a character; code that names it must be text.
        return parse_locator(whole_json(str(call_within(frame, _CALL_MS, normalize))))
    except Error:
        return None


def finds(expression: Expression, handle: ElementHandle) -> bool:
    """Tell whether an expression finds this very element, and no other."""
    frame = handle.owner_frame()
    return frame is not None and _place(handle, frame, expression) == (1, 0)


def by_place(handle: ElementHandle) -> Locator | None:
    """Return what finds an element now, at little cost, by its place in its document.

    Raises:
        Error: Playwright's error if the page does not answer.
    """
    found = _in_order(handle)
    return found[1].on(found[0]) if found else None


def _in_order(handle: ElementHandle) -> tuple[Frame, Expression] | None:
    """Return an element's frame, and its place among all elements there."""
    frame = handle.owner_frame()
    if frame is None:
        return None
    # Its name is not asked for: that would be the page's own code, which need not end.
    kind = Expression((Call("locator", "*"),))
    ask = lambda: _place_among(handle, kind.on(frame))  # noqa: E731
    _, place = call_within(frame, _CALL_MS, ask)
    return (frame, kind.nth(place)) if place >= 0 else None


def _place(handle: ElementHandle, frame: Frame, expression: Expression) -> tuple[int, int]:
    """Return how many elements an expression finds from the page, and which of them is meant.

    They are looked for in the isolated world, as they are for any action, where a page cannot have
    replaced what tells a role or a name. Only of very many it is done among the page's own scripts.

    Returns:
        The number of elements, and the element's place among them; -1 if it is not among them.
    """
    found = expression.on(frame.page)

    def look() -> tuple[int, int]:
        count = found.count()
        if count > _FEW:
            return _place_among(handle, found)
        if not count:
            return 0, -1
        others = found.element_handles()
        return len(others), int(handle.evaluate(_SAME, others))

    # It is an error to look in another frame than the element's.
    with suppress(Error):
        return call_within(frame, _CALL_MS, look)
    return 0, -1


def _place_among(handle: ElementHandle, found: Locator) -> tuple[int, int]:
    count, place = found.evaluate_all(_PLACE, handle)
    return int(count), int(place)


def _frame_steps(frame: Frame) -> tuple[Call, ...] | None:
    """Return the calls that lead from the page into a frame; None if it is gone."""
    if frame.parent_frame is None:
        return ()
    found = locator_of(frame.frame_element())
    return found.entered() if found else None
