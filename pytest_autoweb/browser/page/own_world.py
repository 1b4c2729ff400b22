"""Questions about elements that a page cannot answer in place of our scripts.

A page may replace `Element.prototype.getAttribute` and the like, and could so forge what our
scripts tell of it, or never let them end. Here they run in the isolated world of Playwright's own
scripts, which shares the document with the page and nothing else.
"""

import json
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from playwright.sync_api import Error, Frame, Locator, Page, TimeoutError

from pytest_autoweb.base.waiting.playwright_internals import register_engine
from pytest_autoweb.base.whole_characters import read_json
from pytest_autoweb.browser.egress.browser_watch import call_within
from pytest_autoweb.browser.page.frames import run_on_elements, script, tools_of

ENGINE = "asked"
"""The name by which Playwright finds the answers."""
_SCRIPTS = ("field_texts", "locator_facts", "row_text")


@cache
def _engine() -> str:
    made = ", ".join(
        f"{name}: (elements, arg) => {{ {tools_of(name)}"
        f" return tools.dom.stringify(({script(name)})({{...tools, elements}}, arg)); }}"
        for name in _SCRIPTS
    )
    return f"""{{
  query(root, selector) {{ return this.queryAll(root, selector)[0] || null; }},
  queryAll(root, selector) {{
    const {{ name, arg, within, kept }} = JSON.parse(selector);
    if (kept !== undefined) return (this.kept || []).slice(kept, kept + 1);
    const dom = ({script("dom")})();
    const elements = within ? ({script("elements_within")})(dom, root, within) : [root];
    if (within) this.kept = elements;
    // Only a text gets out of this world, and that of an element which is not in the page.
    const carrier = document.createElement('script');
    carrier.textContent = ({{ {made} }})[name](elements, arg);
    return [carrier];
  }},
}}"""


def register_questions(page: Page) -> None:
    """Let elements of documents that this page opens from now on be asked about."""
    register_engine(page, ENGINE, _engine())


def ask_about(locator: Locator, name: str, arg: Any = None, *, timeout_ms: float) -> Any:
    """Return what `js/NAME.js` tells of the first element that a locator finds now.

    In documents that were open before the engine was known, the page could have a hand in it.

    Returns:
        A list of one answer; empty if there is no such element.

    Raises:
        Error: Playwright's error if the page does not answer in time.
    """
    try:
        told = _told(locator.first, {"name": name, "arg": arg}, timeout_ms)
    except TimeoutError:
        return []
    if told is not None:
        return told
    return call_within(locator.page, timeout_ms, lambda: run_on_elements(locator, name, arg))


def ask_within(
    frame: Frame, query: str, name: str, *, timeout_ms: float
) -> Sequence[tuple[Any, Locator]]:
    """Return what `js/NAME.js` tells of each element of a frame, with what finds that very element.

    The elements are found until the frame is asked again, which then keeps others. In documents
    that were open before the engine was known, the page could have a hand in it.

    Args:
        frame: the frame.
        query: a selector of CSS; it finds elements of open shadow trees, too.
        name: the name of the script.
        timeout_ms: how long the frame has to answer, in milliseconds.

    Raises:
        Error: Playwright's error if the frame does not answer in time.
    """
    told = _told(frame.locator(":root"), {"name": name, "within": query}, timeout_ms)
    if told is not None:
        return [(one, frame.locator(_named({"kept": at}))) for at, one in enumerate(told)]
    found = frame.locator(query)
    told = call_within(frame, timeout_ms, lambda: run_on_elements(found, name))
    return [(one, found.nth(at)) for at, one in enumerate(told)]


def _named(asked: Mapping[str, Any]) -> str:
    return f"{ENGINE}={json.dumps(asked)}"


def _told(locator: Locator, asked: Mapping[str, Any], timeout_ms: float) -> Any:
    """Return what a script tells in this world, or None where the document does not know it.

    Raises:
        TimeoutError: there is no such element.
        Error: Playwright's error if the page does not answer in time.
    """
    apart = locator.locator(_named(asked))
    try:
        told = call_within(
            locator.page, timeout_ms, lambda: apart.text_content(timeout=timeout_ms / 2)
        )
    except Error as error:
        if "queryAll" not in error.message and "Unknown engine" not in error.message:
            raise
        return None
    return read_json(told or "[]")
