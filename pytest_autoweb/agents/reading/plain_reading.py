"""A line of plain Playwright that reads a value again, where the page has one for it."""

import json
import re
from typing import Any

from playwright.sync_api import Error, Locator, Page

from pytest_autoweb.base.values.normal_forms import normalise

_LOOK_MS = 1_000
_NAME = re.compile(r"[A-Za-z_][\w-]*")
_READ: dict[type, tuple[str, str]] = {
    int: ("int", r"[^\d-]"),
    float: ("float", r"[^\d.-]"),
}
"""The function that reads a type's values from a text, and the characters that it does without."""


def plain_reading(kind: Any, words: Any, value: Any, page: Page) -> str:
    """Return an expression that gives the value of the page now, or "" if there is none.

    Args:
        kind: the type of the value; only `str`, `int` and `float` have plain lines.
        words: the words of the page that a model named.
        value: what they mean.
        page: the page.
    """
    if not isinstance(words, str) or (kind is not str and kind not in _READ):
        return ""
    try:
        locator, element = _named_place(page, words)
        text = element.inner_text(timeout=_LOOK_MS) if element else ""
    except Error:
        return ""
    if not text:
        return ""
    if kind is str:
        return f"{locator}.inner_text().strip()" if text.strip() == value else ""
    function, dropped = _READ[kind]
    try:
        same = {"int": int, "float": float}[function](re.sub(dropped, "", text)) == value
    except ValueError:
        return ""
    return f'{function}(re.sub(r"{dropped}", "", {locator}.inner_text()))' if same else ""


def _named_place(page: Page, words: str) -> tuple[str, Locator | None]:
    """Return a locator of the only element with these words that holds whatever they become.

    It goes by an attribute that developers give, or by the words before the value.
    """
    found = page.get_by_text(normalise(words))
    if found.count() != 1:
        return "", None
    if test_id := found.get_attribute("data-testid", timeout=_LOOK_MS):
        element = page.get_by_test_id(test_id)
        return f"page.get_by_test_id({json.dumps(test_id)})", _alone(element)
    if own_id := found.get_attribute("id", timeout=_LOOK_MS):
        selector = f"#{own_id}" if _NAME.fullmatch(own_id) else f"[id={json.dumps(own_id)}]"
        return f"page.locator({json.dumps(selector)})", _alone(page.locator(selector))
    before = re.match(r"[^\W\d][^\d]*?:\s", normalise(found.inner_text(timeout=_LOOK_MS)))
    if before is None:
        return "", None
    label = before[0].strip()
    return f"page.get_by_text({json.dumps(label)})", _alone(page.get_by_text(label))


def _alone(element: Locator) -> Locator | None:
    return element if element.count() == 1 else None
