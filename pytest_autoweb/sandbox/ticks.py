"""Ticking a box that may go away by its own click, such as that of a to-do list."""

import time
from collections.abc import Mapping, Sequence
from typing import Any

from playwright.sync_api import Error, Locator, TimeoutError

from pytest_autoweb.browser.page.same_element import is_positional, kept_node, without_engine

METHODS = frozenset({"check", "set_checked", "uncheck"})
"""The methods of a locator that `tick` makes."""
_OF_CLICK = ("force", "no_wait_after", "position", "timeout")
_LOOK_MS = 1_000.0


def tick(locator: Locator, method: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> str:
    """Check or uncheck a box, as Playwright does, but not wait for one that its click removed.

    Playwright looks at the box again after its click. If the page has removed the box by then, it
    waits for the box to come back until its time is over.

    Returns:
        What is to be said of the box; empty if there is nothing to say.

    Raises:
        Error: Playwright's error.
    """
    began = time.monotonic()
    wanted = _wanted(method, args, kwargs)
    box = None if kwargs.get("trial") else _to_be_changed(locator, wanted, kwargs)
    left = _left(kwargs, began)
    if box is None:
        getattr(locator, method)(*args, **{**kwargs, **left})
        return ""
    options = {name: kwargs[name] for name in _OF_CLICK if name in kwargs}
    locator.click(**{**options, **left})
    now = _is_checked(box)
    if now is None and (now := _of_its_successor(locator)) is None:
        return f"({method}() was done, and the box is gone from the page since)"
    if now is not wanted:
        raise Error(f"Locator.{method}: Clicking the checkbox did not change its state")
    return ""


def tick_in(item: Any, method: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> str:
    """Do the same by a method of a locator, or of a page, which is given a selector."""
    if isinstance(item, Locator):
        return tick(item, method, args, kwargs)
    selector = args[0] if args else kwargs["selector"]
    rest = {name: value for name, value in kwargs.items() if name not in {"selector", "strict"}}
    found = item.locator(selector)
    # Of several elements, methods of a page take the first one.
    return tick(found if kwargs.get("strict") else found.first, method, args[1:], rest)


def _wanted(method: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool:
    if method == "set_checked":
        return bool(args[0] if args else kwargs.get("checked"))
    return method == "check"


def _to_be_changed(locator: Locator, wanted: bool, kwargs: Mapping[str, Any]) -> Locator | None:
    """Return what finds the box if a click has to change it; None where Playwright has its say.

    No handle of the element is asked for: Playwright would load its helpers once more for it, among
    the page's own scripts, which takes longer than the click.
    """
    kept = kept_node(locator)
    if kept is None:
        return None
    box, same_box = kept
    try:
        if box.is_checked(timeout=kwargs.get("timeout")) is wanted:
            return None
        is_box = wanted or same_box.get_attribute("type", timeout=_LOOK_MS) != "radio"
        return same_box if is_box else None
    except TimeoutError as error:
        raise without_engine(error) from None
    except Error:
        return None


def _left(kwargs: Mapping[str, Any], began: float) -> dict[str, float]:
    """Return what is left of the call's time."""
    timeout = kwargs.get("timeout")
    if not isinstance(timeout, int | float) or timeout <= 0:
        return {}
    return {"timeout": max(1.0, timeout - (time.monotonic() - began) * 1000)}


def _is_checked(box: Locator) -> bool | None:
    """Tell whether a box is checked; None once it was removed, or its page was left."""
    try:
        return box.is_checked(timeout=_LOOK_MS) if box.count() else None
    except Error:
        return None


def _of_its_successor(locator: Locator) -> bool | None:
    """Tell whether the box that the page drew in place of the other one is checked, if it did."""
    try:
        # By its place, the next box of a list would be found.
        if is_positional(locator) or locator.count() != 1:
            return None
        return locator.is_checked(timeout=_LOOK_MS)
    except Error:
        return None
