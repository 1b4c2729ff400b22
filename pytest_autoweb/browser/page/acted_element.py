"""The element that is about to be acted on: whether it is still the listed one, and its locator.

Only this element is looked at, because a look at a large page takes as long as many actions.
"""

import re
from dataclasses import replace

from playwright.sync_api import ElementHandle, Error, Page

from pytest_autoweb.base.whole_characters import whole_text
from pytest_autoweb.browser.egress.browser_watch import call_within
from pytest_autoweb.browser.page.accessibility import decoded, take_apart
from pytest_autoweb.browser.page.element_locators import locator_of
from pytest_autoweb.browser.page.frames import RefElement, run_on_elements
from pytest_autoweb.browser.page.locator_expressions import Expression

_CALL_MS = 3_000.0
_REF = re.compile(r"\[ref=(\w+)\]")
_SHOWN = 80


class ElementChangedError(Exception):
    """Raised for an element that is not what was listed any more; its text says what became of it."""


def with_locator(element: RefElement, page: Page) -> RefElement:
    """Return a listed element with a plain locator that finds it, and no other, now.

    Raises:
        ElementChangedError: it is gone, or has another role, name or text than when it was listed.
        Error: Playwright's error if the page does not answer.
    """
    if element.find is None:
        return element
    handle = element.find()
    found = locator_of(handle) if handle else None
    if handle is None or found is None:
        raise ElementChangedError(f"{_described(element)} is not on the page any more")
    try:
        became = _became(element, handle, found, page)
    finally:
        handle.dispose()
    if became:
        raise ElementChangedError(f"{_described(element)} has become {became}")
    return replace(element, locator=str(found), find=None)


def _described(element: RefElement) -> str:
    return f'{element.ref} ({element.role} "{_short(element.name)}")'.replace(' "")', ")")


def _became(element: RefElement, handle: ElementHandle, found: Expression, page: Page) -> str:
    """Return what an element is now, if that is something else than what was listed."""
    own = found.on(page)
    if element.snapshot_ref:
        # Playwright gives an element another ref once its role or name is another one.
        first = whole_text(own.aria_snapshot(mode="ai", timeout=_CALL_MS)).partition("\n")[0]
        ref = _REF.search(first)
        if ref and ref[1] != element.snapshot_ref:
            return _said(first)
    if element.said:
        told = call_within(page, _CALL_MS, lambda: run_on_elements(own, "locator_facts"))
        texts = [str(told[0][key]) for key in ("name", "content", "title")] if told else []
        wanted = _flat(element.said.removesuffix("…"))
        if not any(wanted in _flat(text) for text in texts):
            return f'{element.role} "{_short(texts[0] if texts else "")}"'
    return ""


def _said(line: str) -> str:
    parts = take_apart(line.strip())
    if parts is None:
        return "something else"
    name = _short(decoded(parts.name or parts.value))
    return f'{parts.role} "{name}"'.removesuffix(' ""')


def _short(text: str) -> str:
    text = " ".join(text.replace('"', "'").split())
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"


def _flat(text: str) -> str:
    return re.sub(r"\s+", "", text.replace('"', "'"))
