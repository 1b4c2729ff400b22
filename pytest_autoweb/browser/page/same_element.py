"""Acting on the very element that a locator found first, however the page moves meanwhile.

`nth(11)` is another row as soon as a list is drawn anew, and scrolling to the row is enough for
that: Playwright finds the node gone, looks for `nth(11)` again, and clicks on another record. So a
positional locator is followed by a selector engine (`js/same_element.js`), which compares role,
name and the texts of the row each time Playwright looks for the element, and once more before the
page gets the click. Playwright's own waiting, checks and errors stay as they are.
"""

import json
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache
from itertools import count
from typing import Any, NamedTuple, TypeVar, cast
from urllib.parse import quote, urlencode

from playwright.sync_api import Error, Locator, Page, Playwright, TimeoutError

from pytest_autoweb.base.waiting.playwright_internals import place_of, register_engine
from pytest_autoweb.base.whole_characters import read_json, whole_text
from pytest_autoweb.browser.egress.browser_watch import call_within
from pytest_autoweb.browser.page.frames import MAX_FRAMES, run_on_elements, script

ENGINE = "same"
"""The selector engine's name."""
_TRIES = 3
"""How often a call is made whose element was about to be another one before it was reached."""
_VERDICT_MS = 2_000.0
_LOOK_MS = 1_000.0
_SAID_CHARS = 60
_AFTER_DRAWING = """() => new Promise((done) => {
  requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 150)));
})"""
_ROW_CHARS = 300
_NOTE_MS = 1_000.0
_ACTIVE = (
    "a, button, input, select, textarea, summary, [role=button], [role=link], [role=checkbox], "
    "[role=menuitem], [role=row], [onclick], [tabindex], [contenteditable]"
)
_NUMBERS = count(1)
_POSITIONAL = re.compile(
    r"(?:^|>> *)(?:internal:)?nth=|(?:^|>> *)visible=|internal:has(?:-not|-not-text)?="
    r"|:(?:nth|first|last|only)-|:visible\b"
    r"|\[(?:\d+|(?:[^\]]*\b)?(?:position|last)\(\)[^\]]*)\]"
    rf"|(?:^|>> *){ENGINE}="
)
_PINNED = re.compile(rf">> *{ENGINE}=[^>]*$")
_TOLD = re.compile(r"the rows moved: [^\n]*")
_OWN_PART = re.compile(rf"""\.locator\((["']){ENGINE}=[^"']*\1\)| *>> *{ENGINE}=\S+""")

_POINTS = ("check", "click", "dblclick", "set_checked", "tap", "uncheck")
_WRITES = ("clear", "fill", "press", "press_sequentially", "type")
GUARDS = {
    **dict.fromkeys(_POINTS, "point"),
    **dict.fromkeys(_WRITES, "text"),
    "drag_to": "press",
    "hover": "hover",
    **dict.fromkeys(
        ("blur", "dispatch_event", "focus", "select_option", "select_text", "set_input_files"),
        "none",
    ),
    # Scripts of the code itself, which may do anything with the element that they are given.
    **dict.fromkeys(("eval_on_selector", "evaluate"), "none"),
}
"""For each method that acts on an element: which of its events are looked at before the page gets
them."""

T = TypeVar("T")


class ElementIdentity(NamedTuple):
    """What tells an element from its twins, as a model is shown it.

    A text that ends in `…` is only the beginning; an empty one is not compared.
    """

    role: str = ""
    name: str = ""
    beside: str = ""
    """The text of its row, or one that stands beside it."""
    noted: bool = False
    """Compare what `note_elements` saw last, in place of these texts."""

    def __str__(self) -> str:
        named = f' "{self.name}"' if self.name else ""
        return f"{self.role}{named}" + (f' beside "{self.beside}"' if self.beside else "")


AS_LISTED = ElementIdentity(noted=True)
"""The element is what it was when `note_elements` saw it."""


class RowsMovedError(Exception):
    """Raised when an element is gone, or another one has taken its place; says which."""


def register_same(playwright: Playwright) -> None:
    """Offer the engine to all documents that are loaded from now on."""
    # It may have been registered by another session with the same driver.
    with suppress(Error):
        playwright.selectors.register(ENGINE, _source(), content_script=True)


def register_same_on(page: object) -> None:
    """Offer the engine to the documents that a page of any browser loads from now on."""
    register_engine(page, ENGINE, _source())


@cache
def _source() -> str:
    source = f"(() => {{ const dom = ({script('dom')})(); const aria = ({script('aria')})(dom);"
    source += f" return ({script('same_element')})({{ dom, aria }}); }})()"
    return source


def is_positional(locator: Locator) -> bool:
    """Tell whether what a locator finds depends on the place among others, or on their state."""
    place = place_of(locator)
    return place is not None and _POSITIONAL.search(place.selector) is not None


def identity_of(locator: Locator) -> ElementIdentity | None:
    """Return what tells the element from its twins now; None if there is none, or several."""
    try:
        told = locator.locator(f"{ENGINE}=look").text_content(timeout=_LOOK_MS)
    except Error:
        return None
    return _seen(read_json(told)) if told else None


def note_elements(page: Page) -> None:
    """Note what tells each element from its twins, as a model is shown them at this moment."""
    for frame in page.frames[:MAX_FRAMES]:
        # A frame that is gone, or does not answer, has nothing that could be acted on.
        with suppress(Error):
            call_within(frame, _NOTE_MS, frame.locator(f"{_ACTIVE} >> {ENGINE}=note").count)


def kept_node(locator: Locator) -> tuple[Locator, Locator] | None:
    """Return a locator that keeps the node which it finds, and one that finds this very node later.

    The second finds nothing once the page has removed the node, whatever has taken its place.

    Returns:
        None where Playwright has changed its names.
    """
    place, number = place_of(locator), next(_NUMBERS)
    if place is None:
        return None
    return locator.locator(f"{ENGINE}={number}:keep"), place.beside(f"{ENGINE}={number}:kept")


def without_engine(error: Error) -> Error:
    """Return an error without what only this module added to its locators."""
    return type(error)(_OWN_PART.sub("", error.message))


def pinned(locator: Locator, shown: ElementIdentity | None = None) -> Locator:
    """Return a locator that finds only the element which is there now.

    Args:
        locator: finds one element.
        shown: what a model was shown of it.

    Raises:
        RowsMovedError: another element than was shown is there, and not exactly one elsewhere is.
    """
    if shown is None and _is_pinned(locator):
        return locator
    found = locator.locator(_body(next(_NUMBERS), "none", shown))
    try:
        found.count()
    except Error as error:
        if moved := _TOLD.search(error.message):
            raise RowsMovedError(moved[0]) from None
        return locator
    return found


def on_same(
    locator: Locator,
    method: str,
    call: Callable[[Locator], T],
    *,
    shown: ElementIdentity | None = None,
) -> tuple[T, ElementIdentity | None]:
    """Make a call that acts on a positional locator's element, and on no other one.

    Args:
        locator: finds the element; it may appear while the call waits.
        method: the method that the call uses, one of `GUARDS`.
        call: makes the call on the locator that it is given.
        shown: what a model was shown of the element.

    Returns:
        The call's result, and what it acted on; None where the page was left, or cannot tell.

    Raises:
        RowsMovedError: the element is gone, or another one is in its place.
    """
    number, guard = next(_NUMBERS), GUARDS[method]
    found = locator.locator(_body(number, guard, shown))
    if guard != "none":
        _scroll_ahead(found, number)
    for left in reversed(range(_TRIES)):
        result, failed = _tried(call, found)
        if failed is not None and _lacks_engine(failed):
            return _by_texts(locator, call), None
        verdict = _verdict(locator, number, "pause" if left else "end")
        stopped = str(verdict.get("stopped", ""))
        if stopped and verdict["late"]:
            # What came before, such as the press of a click, has been done.
            raise RowsMovedError(f"{stopped} (it moved when it was pressed; nothing was clicked)")
        if stopped and not left:
            raise RowsMovedError(stopped)
        if stopped:
            continue
        if failed is not None:
            raise _as_moved(failed, verdict) from None
        return cast("T", result), _seen(verdict.get("seen"))
    raise AssertionError("unreachable: the last try returns or raises")


def _scroll_ahead(found: Locator, number: int) -> None:
    """Scroll to the element before the call does, and let the list be drawn anew.

    Playwright scrolls to a node and keeps to it. Where the node then shows another record further
    down, it scrolls to it again, and so on to the end of the list.
    """
    with suppress(Error):
        # The first look notes what the element is; one that is yet to come is waited for later.
        if found.count() and _told(found, number, "view").get("scrolled"):
            page = found.page
            call_within(page, _LOOK_MS, lambda: found.evaluate(_AFTER_DRAWING, timeout=_LOOK_MS))


def _by_texts(locator: Locator, call: Callable[[Locator], T]) -> T:
    """Make a call in a document that was open before the engine was offered.

    There nobody can look at each event. But a list moves when it is scrolled to its element, so
    that is done before, and what the element says is compared.
    """
    first = locator.first
    before = _said(first)
    with suppress(Error):
        first.scroll_into_view_if_needed(timeout=_LOOK_MS)
        # Lists are drawn anew soon after they were scrolled.
        call_within(
            locator.page, _LOOK_MS, lambda: first.evaluate(_AFTER_DRAWING, timeout=_LOOK_MS)
        )
    after = _said(first)
    if before and before != after:
        there = f"; {' beside '.join(after)} is in its place" if after else ""
        moved = f"the rows moved: {' beside '.join(before)} is no longer there{there}"
        raise RowsMovedError(whole_text(moved))
    return call(locator)


def _said(locator: Locator) -> tuple[str, ...]:
    """Return what an element says, and what stands beside it."""

    def ask() -> tuple[str, ...]:
        if not (told := run_on_elements(locator, "locator_facts")):
            return ()
        own = f'{told[0]["role"]} "{str(told[0]["name"])[:_SAID_CHARS]}"'
        return own, *(
            json.dumps(str(row)) for row in run_on_elements(locator, "row_text", _ROW_CHARS)
        )

    with suppress(Error):
        return call_within(locator.page, _LOOK_MS, ask)
    return ()


def _tried(call: Callable[[Locator], T], found: Locator) -> tuple[T | None, Error | None]:
    try:
        return call(found), None
    except Error as error:
        return None, error


def _is_pinned(locator: Locator) -> bool:
    place = place_of(locator)
    return place is not None and _PINNED.search(place.selector) is not None


def _body(number: int, guard: str, shown: ElementIdentity | None) -> str:
    body = f"{ENGINE}={number}:{guard}"
    if shown is None:
        return body
    facts = {name: str(text) for name, text in shown._asdict().items() if text}
    return f"{body}:{urlencode(facts, quote_via=quote, safe='')}"


def _verdict(locator: Locator, number: int, ends: str) -> Mapping[str, Any]:
    """End a call's watch and return what it saw; nothing if the document was left."""
    try:
        return _told(locator, number, ends)
    except Error:
        # The page was left, or does not answer.
        return {}


def _told(locator: Locator, number: int, question: str) -> Mapping[str, Any]:
    """Return what the engine says of a call's element; nothing if it does not know the call."""
    place = place_of(locator)
    if place is None:
        return {}
    answer = place.beside(f"{ENGINE}={number}:{question}").text_content(timeout=_VERDICT_MS)
    told: Mapping[str, Any] = read_json(answer or "{}")
    return told


def _as_moved(error: Error, verdict: Mapping[str, Any]) -> Exception:
    """Return the error of a call without what only this module added to it."""
    if moved := _TOLD.search(error.message):
        return RowsMovedError(whole_text(moved[0]))
    if (lost := verdict.get("lost") or verdict.get("gone")) and isinstance(error, TimeoutError):
        return RowsMovedError(str(lost))
    return without_engine(error)


def _lacks_engine(error: Error) -> bool:
    """Tell whether a document was loaded before the engine was offered."""
    return "reading 'queryAll'" in error.message or f'Unknown engine "{ENGINE}"' in error.message


def _seen(told: Any) -> ElementIdentity | None:
    return ElementIdentity(**told) if told else None
