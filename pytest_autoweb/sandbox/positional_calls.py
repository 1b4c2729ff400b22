"""Calls of generated code on an element that is found by its place among others."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from playwright.sync_api import Frame, Locator, Page

from pytest_autoweb.base.waiting.playwright_internals import place_of
from pytest_autoweb.browser.page.same_element import (
    GUARDS,
    ElementIdentity,
    RowsMovedError,
    is_positional,
    on_same,
    pinned,
)
from pytest_autoweb.sandbox import ticks
from pytest_autoweb.sandbox.call_frames import Bound
from pytest_autoweb.sandbox.engine import StepCallError
from pytest_autoweb.sandbox.page_scripts import bounded_result

DRAG = "drag_and_drop"
"""The method of a page that drags one element to another."""
_OF_SELECTORS = frozenset({"selector", "source", "strict", "target"})


class ActedOn(NamedTuple):
    """What became of a call on an element."""

    result: Any
    element: str
    """The element and what it stands beside; empty if that is not known."""


def place_of_call(bound: Bound, shown: ElementIdentity | None) -> Locator | None:
    """Return the locator of the element that a call acts on, if its place decides which one it is.

    Args:
        bound: the call.
        shown: what a model was shown of the element; with texts, it is compared however it is
            found.
    """
    item = bound.receiver.object
    if bound.method == DRAG:
        source = bound.args[0] if bound.args else bound.kwargs.get("source")
        return item.locator(source) if isinstance(source, str) else None
    if bound.method not in GUARDS:
        return None
    if bound.receiver.kind == "Locator":
        return item if (shown and not shown.noted) or is_positional(item) else None
    # The first argument of `page.evaluate` is a script, and no selector.
    if not isinstance(item, Page | Frame) or bound.method == "evaluate":
        return None
    selector = bound.args[0] if bound.args else bound.kwargs.get("selector")
    if not isinstance(selector, str):
        return None
    found: Locator = item.locator(selector)
    # Of several elements, methods of a page take the first one.
    return found if not bound.kwargs.get("strict") or is_positional(found) else None


def act_on_place(
    bound: Bound,
    locator: Locator,
    args: list[Any],
    kwargs: dict[str, Any],
    shown: ElementIdentity | None,
) -> ActedOn:
    """Make a call on the element that its locator finds first, and on no other one.

    Raises:
        StepCallError: the element is gone, or another one has taken its place.
    """
    method, item = bound.method, bound.receiver.object

    def call(found: Locator) -> Any:
        if method == DRAG:
            return _drag(item, found, args, kwargs)
        if method in ticks.METHODS:
            rest = {name: value for name, value in kwargs.items() if name not in _OF_SELECTORS}
            own = args if bound.receiver.kind == "Locator" else args[1:]
            return ticks.tick(found, method, own, rest)
        if method == "evaluate":
            return bounded_result("Locator", method, found, args, kwargs)
        if bound.receiver.kind == "Locator":
            return getattr(found, method)(*_aimed(args), **kwargs)
        place = place_of(found)
        selector = place.selector if place else args[0]
        rest = {name: value for name, value in kwargs.items() if name != "selector"}
        if method == "eval_on_selector":
            return bounded_result(bound.receiver.kind, method, item, [selector, *args[1:]], rest)
        return getattr(item, method)(selector, *args[1:], **rest)

    try:
        guarded = "drag_to" if method == DRAG else method
        result, element = on_same(locator, guarded, call, shown=shown)
    except RowsMovedError as moved:
        raise moved_error(moved) from None
    return ActedOn(result, str(element or ""))


def moved_error(moved: RowsMovedError) -> StepCallError:
    """Return the error of a call whose element has another record in its place."""
    return StepCallError(f"{moved}: look again before you act", moved=True)


def _drag(
    item: Page | Frame, found: Locator, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> None:
    """Drag the element that was found; the one to drop on may move while it is dragged, too."""
    targets = item.locator(args[1] if len(args) > 1 else kwargs["target"])
    # Of several elements, methods of a page take the first one.
    target = targets if kwargs.get("strict") else targets.first
    rest = {name: value for name, value in kwargs.items() if name not in _OF_SELECTORS}
    found.drag_to(pinned(target), **rest)


def _aimed(args: list[Any]) -> list[Any]:
    """Return the arguments; of two rows, the one to drop on may move while the first is dragged."""
    return [
        pinned(value) if isinstance(value, Locator) and is_positional(value) else value
        for value in args
    ]
