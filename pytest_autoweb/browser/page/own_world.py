"""Questions about one element that a page cannot answer in place of our scripts.

A page may replace `Element.prototype.getAttribute` and the like, and could so forge what our
scripts tell of it, or never let them end. Here they run in the isolated world of Playwright's own
scripts, which shares the document with the page and nothing else.
"""

import json
from functools import cache
from typing import Any

from playwright.sync_api import Error, Locator, Page, TimeoutError

from pytest_autoweb.base.waiting.playwright_internals import register_engine
from pytest_autoweb.base.whole_characters import read_json
from pytest_autoweb.browser.egress.browser_watch import call_within
from pytest_autoweb.browser.page.frames import run_on_elements, script, tools_of

ENGINE = "asked"
"""The name by which Playwright finds the answers."""
_SCRIPTS = ("locator_facts", "row_text")


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
    const {{ name, arg }} = JSON.parse(selector);
    // Only a text gets out of this world, and that of an element which is not in the page.
    const carrier = document.createElement('script');
    carrier.textContent = ({{ {made} }})[name]([root], arg);
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
    asked = json.dumps({"name": name, "arg": arg})
    apart = locator.first.locator(f"{ENGINE}={asked}")
    try:
        told = call_within(
            locator.page, timeout_ms, lambda: apart.text_content(timeout=timeout_ms / 2)
        )
        return read_json(told or "[]")
    except TimeoutError:
        return []
    except Error as error:
        if "queryAll" not in error.message and "Unknown engine" not in error.message:
            raise
    return call_within(locator.page, timeout_ms, lambda: run_on_elements(locator, name, arg))
