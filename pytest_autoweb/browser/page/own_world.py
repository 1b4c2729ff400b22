"""Scripts of ours that no script of the page has a hand in.

A page may replace `Element.prototype.getAttribute` and the like, and could so forge what our
scripts tell of it, or never let them end. Here they run in the isolated world of Playwright's own
scripts, which shares the document with the page and nothing else.

Playwright hands a selector engine to each document, used or not. So ours is small
(`js/own_world.js`). The text of a long script follows only where a document is asked for the first
time; that of a short one comes with each question, which takes less than to be told that it lacks.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from itertools import count
from typing import Any, NamedTuple

from playwright.sync_api import Error, Frame, Locator, Page, TimeoutError

from pytest_autoweb.base.waiting.playwright_internals import SNAPSHOT_NOTE, register_engine
from pytest_autoweb.base.whole_characters import read_json
from pytest_autoweb.browser.egress.browser_watch import call_within
from pytest_autoweb.browser.page.frames import of_elements, run_on_elements, script, tools_of

_ENGINE = "own"
"""The name by which Playwright finds the answers."""
_UNKNOWN = "unknown script"
_NO_ENGINE = re.compile(r"Unknown engine|'queryAll'|queryAll is not")
_LOOKS = count(1)
_SHORT = 2_000
"""So many characters of a script are sent each time."""


class LateWorldError(Exception):
    """Raised for a document that was open before the engine was known."""


class Told(NamedTuple):
    """What a script told of a document."""

    value: Any
    kept: Callable[[int], str]
    """Returns what finds one of the elements that it was about, by its place. It finds nothing once
    the element is gone, or the script was run there anew."""


def register_own_world(page: Page) -> None:
    """Let documents that this page opens from now on be asked in a world of their own."""
    register_engine(page, _ENGINE, _engine())


def ask_about(locator: Locator, name: str, arg: Any = None, *, timeout_ms: float) -> Any:
    """Return what `js/NAME.js` tells of the first element that a locator finds now.

    In documents that were open before the engine was known, the page could have a hand in it.

    Returns:
        A list of one answer; empty if there is no such element.

    Raises:
        Error: Playwright's error if the page does not answer in time.
    """
    asked = {"script": name, "arg": arg}
    try:
        # An element that is not there is not waited for all the time.
        return _told(locator.first, asked, timeout_ms, wait_ms=timeout_ms / 2)
    except TimeoutError:
        return []
    except LateWorldError:
        return call_within(locator.page, timeout_ms, lambda: run_on_elements(locator, name, arg))


def ask_within(
    frame: Frame, query: str, name: str, *, timeout_ms: float
) -> Sequence[tuple[Any, Locator]]:
    """Return what `js/NAME.js` tells of each element of a frame, with what finds that very element.

    In documents that were open before the engine was known, the page could have a hand in it.

    Args:
        frame: the frame.
        query: a selector of CSS; it finds elements of open shadow trees, too.
        name: the name of the script.
        timeout_ms: how long the frame has to answer, in milliseconds.

    Raises:
        Error: Playwright's error if the frame does not answer in time.
    """
    look = next(_LOOKS)
    asked = {"script": name, "look": look, "within": query}
    try:
        told = _told(frame.locator(":root"), asked, timeout_ms)
    except LateWorldError:
        found = frame.locator(query)
        told = call_within(frame, timeout_ms, lambda: run_on_elements(found, name))
        return [(one, found.nth(at)) for at, one in enumerate(told)]
    return [(one, frame.locator(_kept(name, look, at))) for at, one in enumerate(told)]


def ask_document(root: Page | Frame, name: str, arg: Any, *, timeout_ms: float) -> Told:
    """Return what `js/NAME.js` tells of a document, and the elements that it is about.

    Raises:
        LateWorldError: the document was open before the engine was known.
        Error: Playwright's error if the page does not answer in time.
    """
    look = next(_LOOKS)
    asked = {"script": name, "look": look, "arg": arg}
    value = _told(root.locator(":root"), asked, timeout_ms, source=_document_script)
    return Told(value, partial(_kept, name, look))


def snapshot_root(root: Page | Frame, rows: Mapping[str, int] | None) -> Locator:
    """Return what Playwright's snapshot is to begin at; see `js/snapshot_root.js`."""
    return root.locator(_named({"snapshot": {"noted": SNAPSHOT_NOTE, "rows": rows}}))


@cache
def _engine() -> str:
    return (
        f"(() => {{ {tools_of('snapshot_root')} return ({script('own_world')})("
        f"tools, {script('elements_within')}, {script('snapshot_root')}, '{_UNKNOWN}'); }})()"
    )


@cache
def _element_script(name: str) -> str:
    """Return `js/NAME.js`, which tells of the elements that it is asked about."""
    return f"(given) => {of_elements(name, tools_of(name, dom='given'))}"


@cache
def _document_script(name: str) -> str:
    """Return `js/NAME.js`, which tells of the whole document, with the elements that it keeps."""
    tools = tools_of(name, dom="given")
    return f"(given) => (elements, arg) => {{ {tools} return ({script(name)})(tools, arg); }}"


def _named(asked: Mapping[str, Any]) -> str:
    return f"{_ENGINE}={json.dumps(asked)}"


def _kept(name: str, look: int, place: int) -> str:
    return _named({"script": name, "look": look, "kept": place})


def _told(
    locator: Locator,
    asked: Mapping[str, Any],
    timeout_ms: float,
    *,
    wait_ms: float | None = None,
    source: Callable[[str], str] = _element_script,
) -> Any:
    """Return what a script tells of the element that a locator finds.

    Raises:
        LateWorldError: the document was open before the engine was known.
        TimeoutError: there is no such element.
        Error: Playwright's error if the page does not answer in time.
    """

    def ask(more: Mapping[str, str]) -> str:
        apart = locator.locator(_named({**asked, **more}))
        return apart.text_content(timeout=wait_ms or timeout_ms) or ""

    sent = {"source": source(str(asked["script"]))}
    try:
        first = sent if len(sent["source"]) <= _SHORT else {}
        told = call_within(locator.page, timeout_ms, lambda: ask(first))
        if told == _UNKNOWN:
            told = call_within(locator.page, timeout_ms, lambda: ask(sent))
    except Error as error:
        if _NO_ENGINE.search(error.message):
            raise LateWorldError from None
        raise
    return read_json(told)
