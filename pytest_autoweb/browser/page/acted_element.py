"""The element that is about to be acted on: whether it is still the listed one, and its locator.

Only this element is looked at, because a look at a large page takes as long as many actions.
"""

import re
from collections.abc import Sequence
from contextlib import suppress

from msgspec import Struct
from msgspec.structs import replace
from playwright.sync_api import ElementHandle, Error, Locator, Page

from pytest_autoweb.base.whole_characters import whole_text
from pytest_autoweb.browser.egress.browser_watch import call_within
from pytest_autoweb.browser.page.accessibility import decoded, take_apart
from pytest_autoweb.browser.page.element_locators import by_place, finds, locator_of, sole_locator
from pytest_autoweb.browser.page.frames import RefElement
from pytest_autoweb.browser.page.locator_expressions import Call, Expression, parse_locator
from pytest_autoweb.browser.page.own_world import ask_about

_CALL_MS = 10_000.0
_REF = re.compile(r"\[ref=(\w+)\]")
_SHOWN = 80
_ROW_CHARS = 300


class ElementChangedError(Exception):
    """Raised for an element that is not what was listed; its text says what became of it."""


class Aim(Struct, frozen=True):
    """A listed element, with what finds it again if the page draws it anew."""

    element: RefElement
    page: Page | None = None
    url: str = ""
    expression: Expression | None = None
    row: str = ""
    """The text beside an element that only its place tells from others."""

    @classmethod
    def at(cls, element: RefElement) -> "Aim":
        """Look at an element before a turn acts on anything."""
        try:
            handle = element.find() if element.find else None
            own = _own(element, handle)
            if handle is None or own is None:
                return cls(element)
            found = _locator(element, handle)
            placed = found is not None and found.is_placed
            return cls(element, own.page, _address(own.page), found, _row(own) if placed else "")
        except Error:
            return cls(element)

    def locate(self) -> RefElement:
        """Return the element with a plain locator that finds it, and no other, now.

        Raises:
            ElementChangedError: it is gone, or has another role, name or text than when it was
                listed.
            Error: Playwright's error if the page does not answer.
        """
        element = self.element
        if element.find is None:
            return element
        handle = element.find()
        own = _own(element, handle)
        found = None
        if handle is not None and own is not None:
            if became := _became(element, own):
                raise ElementChangedError(f"{_described(element)} has become {became}")
            known = self.expression
            found = known if known and finds(known, handle) else _locator(element, handle)
        elif self.page is not None and self._drawn_anew(self.page):
            found = self.expression
        if found is None:
            raise ElementChangedError(f"{_described(element)} is not on the page any more")
        return replace(element, locator=str(found), find=None)

    def _drawn_anew(self, page: Page) -> bool:
        """Tell whether the page shows the only element that equals the one which is gone."""
        if self.expression is None or _address(page) != self.url:
            return False
        found = self.expression.on(page)
        if call_within(page, _CALL_MS, found.count) != 1:
            return False
        return not self.expression.is_placed or bool(self.row and _row(found) == self.row)


def _own(element: RefElement, handle: ElementHandle | None) -> Locator | None:
    """Return what finds the element that was found."""
    if handle is None:
        return None
    return element.kept() if element.kept else by_place(handle)


def _locator(element: RefElement, handle: ElementHandle | None = None) -> Expression | None:
    """Return what finds a listed element and no other; its handle is looked for where needed."""
    if element.kept and (sole := sole_locator(element.kept())):
        return sole
    if handle is None and element.find:
        handle = element.find()
    return locator_of(handle) if handle else None


def located(element: RefElement) -> RefElement:
    """Return a listed element with a plain locator that finds it, and no other, now.

    One that is gone in the meantime has no locator.

    Raises:
        Error: Playwright's error if the page does not answer.
    """
    if element.find is None:
        return element
    return replace(element, locator=str(_locator(element) or ""), find=None)


def locator_now(element: RefElement) -> str:
    """Return a plain locator of a listed element, or what describes it if it is gone."""
    with suppress(Error):
        if found := located(element).locator:
            return found
    if element.role == "clickable" and element.name:
        return str(Expression((Call("get_by_text", element.name, exact=True),)))
    name = element.name or None
    return str(Expression((Call("get_by_role", element.role, name, exact=name is not None),)))


def listed_by(locator: str, elements: Sequence[RefElement], page: Page) -> RefElement | None:
    """Return which of the listed elements is the only one that a locator finds now.

    Args:
        locator: an expression that starts at `page`.
        elements: those of the newest list of the page.
        page: the page.

    Raises:
        Error: Playwright's error if the page does not answer.
    """
    expression = parse_locator(locator.strip().removeprefix("page."))
    if expression is None:
        return None
    found = expression.on(page)
    if call_within(page, _CALL_MS, found.count) != 1:
        return None
    shown = whole_text(found.aria_snapshot(mode="ai", timeout=_CALL_MS)).partition("\n")[0]
    ref = _REF.search(shown)
    for element in elements:
        if ref and element.snapshot_ref == ref[1]:
            return element
    handles = ((each, each.find()) for each in elements if each.find and not each.snapshot_ref)
    return next((each for each, one in handles if one and finds(expression, one)), None)


def _address(page: Page) -> str:
    return page.url.partition("#")[0]


def _row(own: Locator) -> str:
    told = ask_about(own, "row_text", _ROW_CHARS, timeout_ms=_CALL_MS)
    return str(told[0]) if told else ""


def _described(element: RefElement) -> str:
    return f'{element.ref} ({element.role} "{_short(element.name)}")'.replace(' "")', ")")


def _became(element: RefElement, own: Locator) -> str:
    """Return what an element is now, if that is something else than what was listed."""
    if element.said:
        told = ask_about(own, "locator_facts", timeout_ms=_CALL_MS)
        texts = [str(told[0][key]) for key in ("name", "content", "title")] if told else []
        wanted = _flat(element.said.removesuffix("…"))
        if not any(wanted in _flat(text) for text in texts):
            return f'{element.role} "{_short(texts[0] if texts else "")}"'
    elif element.snapshot_ref:
        # Playwright gives an element another ref once its role or name is another one.
        first = whole_text(own.aria_snapshot(mode="ai", timeout=_CALL_MS)).partition("\n")[0]
        ref = _REF.search(first)
        if ref and ref[1] != element.snapshot_ref:
            return _said(first)
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
