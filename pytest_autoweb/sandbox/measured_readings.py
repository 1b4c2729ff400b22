"""Readings and pictures of the page, measured before they are made."""

from typing import Any

from playwright.sync_api import Error

from pytest_autoweb.sandbox import size_limits
from pytest_autoweb.sandbox.call_frames import Bound

_OF_ELEMENTS = "es =>"


def reads(kind: str, method: str) -> bool:
    """Tell whether a method returns, or may quote, a text of the page's own length."""
    return method == "screenshot" or bool(size_limits.script_of_reading(kind, method))


def measure(bound: Bound, args: list[Any], kwargs: dict[str, Any]) -> None:
    """Refuse a reading or a picture that would be too large.

    What cannot be measured is left to the call itself, which says why.
    """
    try:
        if bound.method == "screenshot":
            size_limits.check_picture(_sides(bound, kwargs))
        elif not _is_short(bound):
            size_limits.check_read(bound.method, _length(bound, args, kwargs))
    except Error:
        return


def _is_short(bound: Bound) -> bool:
    """Tell whether all elements of the page together have less than may pass.

    To measure an element by its locator, Playwright first loads helpers among the page's own
    scripts, which takes longer than most readings.
    """
    script = size_limits.script_of_reading(bound.receiver.kind, bound.method)
    if not script.startswith(_OF_ELEMENTS) or len(bound.page.frames) != 1:
        return False
    try:
        chars = bound.page.evaluate(size_limits.of_all_elements(script))
    except Error:
        # Some other element of the page may refuse to be read.
        return False
    return isinstance(chars, int | float) and chars <= size_limits.MAX_READ


def _sides(bound: Bound, kwargs: dict[str, Any]) -> Any:
    item = bound.receiver.object
    if bound.receiver.kind == "Locator":
        return item.evaluate_all(size_limits.FIRST_ELEMENT)
    if kwargs.get("full_page"):
        return item.evaluate(size_limits.WHOLE_PAGE)
    clip = kwargs.get("clip")
    return [clip.get("width"), clip.get("height")] if isinstance(clip, dict) else None


def _length(bound: Bound, args: list[Any], kwargs: dict[str, Any]) -> Any:
    kind, method = bound.receiver.kind, bound.method
    script = size_limits.script_of_reading(kind, method)
    subject = bound.receiver.subject or bound.receiver.object
    if not script.startswith(_OF_ELEMENTS):
        return subject.evaluate(script)
    if kind in {"Page", "Frame"}:
        selector = args[0] if args else kwargs.get("selector")
        if not isinstance(selector, str):
            return None
        subject = subject.locator(selector)
    return subject.evaluate_all(script)
