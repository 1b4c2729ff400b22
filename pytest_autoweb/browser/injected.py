"""Runs the scripts of `js/` in a page, with a deadline that a busy page cannot outlast."""

import json
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from playwright.sync_api import Frame, JSHandle, Locator, Page

_FOLDER = Path(__file__).parent / "js"

OBSERVE_TIMEOUT_MS = 10_000.0
"""How long one look at the page may take."""


class CallResult(NamedTuple):
    """What a case author's JavaScript gave."""

    truthy: bool = False
    shown: str = ""
    """The result as short text."""
    error: str = ""
    """What it threw; empty when it ran."""


@cache
def script(name: str) -> str:
    """The text of `js/NAME.js`, without its leading comment lines."""
    lines = (_FOLDER / f"{name}.js").read_text(encoding="utf-8").splitlines()
    while lines and lines[0].startswith("//"):
        lines.pop(0)
    return "\n".join(lines).strip()


@cache
def _wrapped(name: str) -> str:
    return (
        f"async arg => {{ const dom = ({script('dom')})(); const aria = ({script('aria')})(dom);"
        f" const made = ({script(name)})({{dom, aria}}, arg);"
    )


def run_script(
    context: "Page | Frame",
    name: str,
    arg: Any = None,
    *,
    timeout_ms: float = OBSERVE_TIMEOUT_MS,
) -> Any:
    """Run `js/NAME.js` and return its result, a JSON value.

    `evaluate` knows no timeout, so a page in an endless loop would hang the test. Waiting for a
    function has one, and a text it returns needs no second visit to the page.
    """
    handle = context.wait_for_function(
        f"{_wrapped(name)} return 'v' + dom.stringify(await made); }}", arg=arg, timeout=timeout_ms
    )
    return json.loads(handle.json_value()[1:])


def run_script_handle(
    context: "Page | Frame",
    name: str,
    arg: Any = None,
    *,
    timeout_ms: float = OBSERVE_TIMEOUT_MS,
) -> "JSHandle":
    """Run `js/NAME.js` and keep its result, an object, in the page."""
    return context.wait_for_function(
        f"{_wrapped(name)} return made; }}", arg=arg, timeout=timeout_ms
    )


@cache
def element_script(name: str) -> str:
    """`js/NAME.js` as a function of a list of elements and an argument, for `evaluate_all`."""
    return (
        f"(elements, arg) => {{ const dom = ({script('dom')})();"
        f" const aria = ({script('aria')})(dom);"
        f" return dom.stringify(({script(name)})({{dom, aria, elements}}, arg)); }}"
    )


def run_on_elements(locator: "Locator", name: str, arg: Any = None) -> Any:
    """Run `js/NAME.js` on all elements of a locator; has no timeout of its own."""
    return json.loads(locator.evaluate_all(element_script(name), arg))


def call_function(context: "Page | Frame", code: str, *, timeout_ms: float) -> CallResult:
    """Run a case author's JavaScript: a function, an expression or statements; await a promise.

    The code becomes part of the script instead of an argument to `eval`, which a page's content
    security policy may forbid.
    """
    for form in ("call_expression", "call_statements"):
        text = script(form).replace("USER_CODE", code)
        try:
            handle = context.wait_for_function(text, timeout=timeout_ms)
        except Exception as error:
            # What the code itself throws is caught in the page: this one did not compile.
            if form == "call_expression" and "SyntaxError" in str(error):
                continue
            raise
        return CallResult(**json.loads(handle.json_value()))
    raise AssertionError("unreachable: the second form returns or raises")
