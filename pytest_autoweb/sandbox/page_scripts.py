"""Scripts that the code runs in the page, whose results are measured before they leave it."""

import json
from typing import Any

from playwright.sync_api import Error

from pytest_autoweb.sandbox import size_limits
from pytest_autoweb.sandbox.rules import Refusal

# Methods whose script is called with an element, or several, before its argument.
_OF_ELEMENTS = frozenset({"evaluate_all", "eval_on_selector", "eval_on_selector_all"})
_OF_SELECTORS = frozenset({"eval_on_selector", "eval_on_selector_all"})
_NO_EXPRESSION, _NO_EVAL = "SyntaxError", "EvalError"


def bounded_result(
    kind: str, method: str, item: Any, args: list[Any], kwargs: dict[str, Any]
) -> Any:
    """Run a script of the code and return its result, if that is small enough to pass.

    Raises:
        Refusal: the result is too large.
        Error: the script raised; the text is cut inside the page.
    """
    place = 1 if method in _OF_SELECTORS else 0
    source = args[place] if len(args) > place else kwargs.get("expression")
    if not isinstance(source, str):
        raise TypeError(f"{method}() takes a script as text")
    if len(source) > size_limits.MAX_SCRIPT:
        most = f"at most {size_limits.MAX_SCRIPT:,} characters"
        raise Refusal(size_limits.RULE, f"a script has {most}")
    of_elements = method in _OF_ELEMENTS or kind == "Locator"
    bounded = size_limits.bounded_script(source, of_elements=of_elements)
    try:
        told = getattr(item, method)(*_with_script(args, place, bounded), **_named(kwargs, bounded))
    except Error as error:
        # Errors of the script itself are caught in the page: it has statements, no expression.
        if _NO_EXPRESSION not in str(error) or of_elements:
            raise
        return _statements(kind, method, item, args, kwargs)
    return _told(kind, method, told)


def _with_script(args: list[Any], place: int, script: str) -> list[Any]:
    return [script if number == place else value for number, value in enumerate(args)]


def _named(kwargs: dict[str, Any], script: str) -> dict[str, Any]:
    return {**kwargs, "expression": script} if "expression" in kwargs else kwargs


def _told(kind: str, method: str, told: Any) -> Any:
    match told:
        case ["value", value]:
            return value
        case ["value"]:
            return None
        case ["error", str() as text]:
            raise Error(f"{kind}.{method}: {text}")
    most = f"{size_limits.MAX_READ:,} characters and {size_limits.MAX_READ_ITEMS:,} values"
    raise Refusal(size_limits.RULE, f"{method}() may return at most {most}")


def _statements(kind: str, method: str, item: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """Run a script of several statements, whose result is that of the last one."""
    source = args[0] if args else kwargs["expression"]
    # Called like this, `eval` runs in the global scope, which is where Playwright runs statements.
    bounded = size_limits.bounded_script(f"(0, eval)({json.dumps(source)})", of_elements=False)
    told = getattr(item, method)(*_with_script(args, 0, bounded), **_named(kwargs, bounded))
    if told[0] == "error" and str(told[1]).startswith(_NO_EVAL):
        # The page's content security policy forbids it, but does not bind Playwright.
        return getattr(item, method)(*args, **kwargs)
    return _told(kind, method, told)
