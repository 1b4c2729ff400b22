"""Execution of the scripts in `js/` in a page, with a deadline that even a busy page keeps."""

import json
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from playwright.sync_api import Error, Frame, JSHandle, Locator, Page

from pytest_autoweb import waiting
from pytest_autoweb.egress.browser_watch import WATCH, call_within

_FOLDER = Path(__file__).parent / "js"

OBSERVE_TIMEOUT_MS = 10_000.0
"""Time limit for one look at the page."""


MAX_FRAMES = 60
"""Limit on the frames of a page that are looked at, in the order of the page."""
MAX_SILENT = 3
"""Frames that do not answer in time; after so many the others are not asked."""


_LEFT = "context was destroyed"
"""In Playwright's error when a page was left while a script ran in it."""


T = TypeVar("T")


class CallResult(NamedTuple):
    """The result of a case author's JavaScript."""

    truthy: bool = False
    shown: str = ""
    """The result as a short text."""
    error: str = ""
    """The error that it threw; empty if it succeeded."""


@cache
def script(name: str) -> str:
    """Return the text of `js/NAME.js` without its leading comment lines."""
    lines = (_FOLDER / f"{name}.js").read_text(encoding="utf-8").splitlines()
    while lines and lines[0].startswith("//"):
        lines.pop(0)
    return "\n".join(lines).strip()


@cache
def _wrapped(name: str) -> str:
    text = script(name)
    # Short scripts are sent often, so they do without what they do not use.
    aria = f"({script('aria')})(dom)" if "aria" in text else "null"
    return (
        f"async arg => {{ const dom = ({script('dom')})(); const aria = {aria};"
        f" const made = ({text})({{dom, aria}}, arg);"
    )


def run_script(
    context: Page | Frame,
    name: str,
    arg: Any = None,
    *,
    part: str = "",
    timeout_ms: float = OBSERVE_TIMEOUT_MS,
) -> Any:
    """Run `js/NAME.js` and return its result, a JSON value, or one part of it.

    A page in an endless loop fails in time. A page that is left meanwhile is followed to the next.

    Raises:
        Error: Playwright's error if the page does not answer, or the script fails.
    """
    chosen = f".{part}" if part else ""
    code = f"{_wrapped(name)} return dom.stringify((await made){chosen}); }}"
    return json.loads(_within(context, timeout_ms, lambda: context.evaluate(code, arg)))


def run_script_handle(
    context: Page | Frame,
    name: str,
    arg: Any = None,
    *,
    timeout_ms: float = OBSERVE_TIMEOUT_MS,
) -> JSHandle:
    """Run `js/NAME.js` and return a handle of its result, an object that stays in the page."""
    code = f"{_wrapped(name)} return made; }}"
    return _within(context, timeout_ms, lambda: context.evaluate_handle(code, arg))


def _within(context: Page | Frame, timeout_ms: float, call: Callable[[], T]) -> T:
    ends = waiting.now() + timeout_ms / 1000
    while True:
        left = max(1.0, (ends - waiting.now()) * 1000)
        try:
            return call_within(context, left, call)
        except Error as error:
            if _LEFT not in str(error) or waiting.now() >= ends:
                raise


@cache
def element_script(name: str) -> str:
    """Return `js/NAME.js` as a function of elements and an argument, for `evaluate_all`."""
    return (
        f"(elements, arg) => {{ const dom = ({script('dom')})();"
        f" const aria = ({script('aria')})(dom);"
        f" return dom.stringify(({script(name)})({{dom, aria, elements}}, arg)); }}"
    )


def run_on_elements(locator: Locator, name: str, arg: Any = None) -> Any:
    """Run `js/NAME.js` on all elements of a locator; this has no timeout of its own."""
    return json.loads(locator.evaluate_all(element_script(name), arg))


def answers(context: Page | Frame, *, timeout_ms: float) -> bool:
    """Tell whether the page answers at all; if not, less patience is had with it from now on."""
    try:
        return call_function(context, "1", timeout_ms=timeout_ms).shown == "1"
    except Error:
        WATCH.trust(again=False)
        return False


def call_function(context: Page | Frame, code: str, *, timeout_ms: float) -> CallResult:
    """Run a case author's JavaScript (function, expression or statements) and await promises.

    The code becomes part of the script instead of an argument to `eval`, which a page's content
    security policy may forbid.
    """
    for form in ("call_expression", "call_statements"):
        # An expression is tried first; code that is none is run as statements.
        text = script(form).replace("USER_CODE", code)
        try:
            told = _within(context, timeout_ms, partial(context.evaluate, text))
        except Exception as error:
            # Errors of the code itself are caught in the page, so this one is a compile error.
            if form == "call_expression" and "SyntaxError" in str(error):
                continue
            raise
        return CallResult(**json.loads(told))
    raise AssertionError("unreachable: the second form returns or raises")
