"""Limits on what crosses between code, browser and page: texts, counts, pictures, results.

Playwright's driver has no limits of its own: a text of some hundred megabytes ends it, and a click
that counts to a million cannot be stopped. So arguments are measured before Playwright sees them,
and what a page answers is measured inside the page, before it leaves it.
"""

import json
import math
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

from pytest_autoweb.sandbox.rules import Refusal
from pytest_autoweb.sandbox.slow_patterns import slow_part

MAX_TEXT = 20_000
"""Characters of a selector, a name, an expected text or a text that is typed key by key."""
MAX_FILL = 200_000
"""Characters that `fill` and its like put into a field at once."""
MAX_SCRIPT = 100_000
MAX_SCRIPT_ARGUMENT = 1_000_000
MAX_ITEMS = 5_000
"""Values in all arguments of one call."""
MAX_SELECTOR_PARTS = 500
MAX_NESTED_STEPS = 1
"""Levels of conditions in a selector that may look through the whole page again; each level
multiplies the time by the number of elements."""
MAX_COUNTS = {"click_count": 20, "steps": 1_000}
MAX_READ = 2_000_000
"""Characters that one reading of a page may return."""
MAX_READ_ITEMS = 100_000
MAX_PIXELS = 40_000_000
"""Area of a picture, in pixels of the page."""
MAX_VIEWPORT = 8_192
"""Width or height of a viewport, in pixels."""

RULE = "AW511"
_SELECTOR_METHODS = frozenset({"locator", "frame_locator"})
_SELECTOR_NAMES = frozenset({"selector", "source", "target"})
_SCRIPTS = frozenset(
    {"evaluate", "evaluate_all", "eval_on_selector", "eval_on_selector_all", "wait_for_function"}
)
_FILLS = frozenset({"fill", "insert_text", "set_files", "set_input_files"})
_PART = re.compile(r">>|//|::|[,\[:>+~ ]")
_SEARCH = re.compile(r"//|descendant|ancestor|following|preceding|:has\(|:not\(|:is\(")
_SNAPSHOT_PATTERN = re.compile(r"/((?:\\.|[^/\\\n])+)/")
# As Playwright reads them: `text=/…/i` up to the last slash, `role=button[name=/…/]`, and the
# argument of `:text-matches("…")`. Steps of an XPath are none.
_ENGINE_PATTERN = re.compile(r"\s*(?!xpath\b)[\w:+*-]+\s*=\s*/(.+)/[a-z]*\s*", re.DOTALL)
_ATTRIBUTE_PATTERN = re.compile(
    r"\[\s*[\w.-]+\s*=\s*/((?:\\.|\[(?:\\.|[^\]\\])*\]|[^/\\\[])+)/", re.DOTALL
)
_TEXT_MATCHES = re.compile(
    r""":text-matches\(\s*(["'])((?:\\.|(?!\1)[^\\])*)\1""", re.DOTALL | re.IGNORECASE
)
_CSS_ESCAPE = re.compile(r"\\([0-9a-fA-F]{1,6})\s?")
# Selectors within selectors, as text of JSON.
_INNER = re.compile(r'internal:[a-z-]+\s*=\s*("(?:\\.|[^"\\])*")', re.DOTALL)


def check_sizes(kind: str, method: str, args: list[Any], kwargs: Mapping[str, Any]) -> None:
    """Refuse arguments that are too large, or patterns that would be matched too slowly.

    Args:
        kind: class of what the method is called on.
        method: name of the method.
        args: positional arguments, as the code gave them.
        kwargs: named arguments.

    Raises:
        Refusal: with the limit in its reason.
    """
    weight = _Weight(method)
    for place, value in enumerate(args):
        weight.add(value)
        if place == 0 and isinstance(value, str) and _begins_with_selector(kind, method):
            check_selector(value)
    for name, value in kwargs.items():
        weight.add(value)
        if name in _SELECTOR_NAMES and isinstance(value, str):
            check_selector(value)
        most = MAX_COUNTS.get(name)
        if most is not None and isinstance(value, int | float) and value > most:
            raise Refusal(RULE, f"{method}({name}=…) is at most {most:,}")
    if method.endswith("to_match_aria_snapshot"):
        for text in [*args[:1], kwargs.get("expected")]:
            if isinstance(text, str):
                _check_snapshot(text)


def _begins_with_selector(kind: str, method: str) -> bool:
    if method in _SELECTOR_METHODS:
        return True
    if method == "wait_for_selector":
        return True
    is_text = method.startswith(("get_by_", "goto", "wait_for_", "expect_")) or method in _SCRIPTS
    return kind in {"Page", "Frame"} and not is_text


class _Weight:
    """The weight of all arguments of a call so far."""

    def __init__(self, method: str) -> None:
        self._method = method
        self._limit = MAX_FILL if method in _FILLS else MAX_TEXT
        if method in _SCRIPTS:
            self._limit = MAX_SCRIPT_ARGUMENT
        self._items = self._chars = 0

    def add(self, value: Any) -> None:
        """Add an argument with everything in it."""
        self._items += 1
        if self._items > MAX_ITEMS:
            raise Refusal(RULE, f"{self._method}() takes at most {MAX_ITEMS:,} values")
        if isinstance(value, re.Pattern):
            check_pattern(value)
        elif isinstance(value, str):
            self._chars += len(value)
            if self._chars > self._limit:
                most = f"at most {self._limit:,} characters"
                raise Refusal(RULE, f"{self._method}() takes {most}, not {self._chars:,}")
        elif isinstance(value, int) and not isinstance(value, bool):
            # Beyond that, Playwright's messages would hold thousands of digits.
            if value.bit_length() > 2_048:
                raise ValueError("a number has at most 600 digits")
        elif isinstance(value, list | tuple | set | frozenset):
            for item in value:
                self.add(item)
        elif isinstance(value, Mapping):
            for key, item in value.items():
                self.add(key)
                self.add(item)


def check_selector(selector: str) -> None:
    """Refuse a selector with too many parts, a slow pattern, or a search inside a search."""
    if sum(1 for _ in _PART.finditer(selector)) > MAX_SELECTOR_PARTS:
        raise Refusal(RULE, f"a selector has at most {MAX_SELECTOR_PARTS} parts")
    depth = 0
    for token in re.finditer(rf"{_SEARCH.pattern}|[\[\](){{}}]", selector):
        # Without its brackets, a search is still there and a mere bracket is not.
        text = token[0]
        if depth > MAX_NESTED_STEPS and text.strip("([{}])"):
            raise Refusal(RULE, "a condition inside a condition of a selector may not search again")
        depth += (text[-1] in "([") - (text in ")]")
    check_patterns_of_selector(selector)


def check_patterns_of_selector(selector: str) -> None:
    """Refuse a selector with a regular expression that the browser would match too slowly.

    Raises:
        Refusal: it holds one, or one that cannot be read.
    """
    for pattern in _patterns_of(selector):
        _check_written(pattern, "selector")


def _patterns_of(selector: str) -> Iterator[str]:
    """Yield the regular expressions that a selector holds."""
    for part in selector.split(">>"):
        if found := _ENGINE_PATTERN.fullmatch(part):
            yield found[1]
        else:
            yield from _ATTRIBUTE_PATTERN.findall(part)
    # A name may be written with escapes, and an expression as well.
    for form in {selector, _CSS_ESCAPE.sub(_escaped, selector)}:
        for found in _TEXT_MATCHES.finditer(form):
            yield re.sub(r"\\(.)", r"\1", found[2], flags=re.DOTALL)
    for inner in _INNER.findall(selector):
        with suppress(ValueError):
            yield from _patterns_of(json.loads(inner))


def _escaped(found: re.Match[str]) -> str:
    code = int(found[1], 16)
    return chr(code) if 0 < code <= sys.maxunicode else ""


def check_pattern(pattern: re.Pattern[str]) -> None:
    """Refuse an expression that can take exponential time on a text that it does not fit."""
    if part := slow_part(pattern.pattern, pattern.flags):
        raise Refusal(
            RULE,
            f"{part} in a regular expression can be matched in too many ways; "
            "write it without a repetition inside a repetition",
        )


def _check_snapshot(text: str) -> None:
    for found in _SNAPSHOT_PATTERN.finditer(text):
        _check_written(found[1], "snapshot")


def _check_written(pattern: str, where: str) -> None:
    """Check an expression that stands within a text, in JavaScript's syntax."""
    try:
        # JavaScript writes named groups as `(?<name>…)`. A look-behind begins in the same way
        # and becomes unreadable here, so it is refused.
        check_pattern(re.compile(pattern.replace("(?<", "(?P<")))
    except re.error:
        # If only Playwright can read it, nobody has checked it, so it may not pass.
        raise Refusal(RULE, f"/{pattern:.60}/ of a {where} cannot be read") from None


# -- what leaves the page --------------------------------------------------------------


_TEXT = "(e.textContent || '').length + String(e.value || '').length"
_READINGS = {
    **dict.fromkeys(("inner_text", "text_content", "all_inner_texts", "all_text_contents"), _TEXT),
    **dict.fromkeys(("input_value", "aria_snapshot", "select_option"), _TEXT),
    "inner_html": "e.innerHTML.length",
    "get_attribute": "Math.max(0, ...[...e.attributes].map(a => a.value.length))",
}
_CLAIMS = re.compile(r"(?:not_)?to_(?:have|contain|match)_(?!count|js_property)\w+")
_CLAIMED = f"{_TEXT} + Math.max(0, ...[...e.attributes].map(a => a.value.length))"
_OF_PAGE = {
    "content": "document.documentElement.outerHTML.length",
    "title": "document.title.length",
    "to_have_title": "document.title.length",
    "not_to_have_title": "document.title.length",
}


def script_of_reading(kind: str, method: str) -> str:
    """Return a script that measures what a method reads; "" if it reads nothing large.

    It is an expression for a page, or a function of elements.
    """
    if kind in {"Page", "Frame", "PageAssertions"} and method in _OF_PAGE:
        return _OF_PAGE[method]
    measure = _READINGS.get(method)
    if kind == "LocatorAssertions" and _CLAIMS.fullmatch(method):
        measure = _CLAIMED
    return f"es => es.reduce((n, e) => n + {measure}, 0)" if measure else ""


def of_all_elements(measure: str) -> str:
    """Return a script that measures all elements of a page by a function of elements.

    What it gives is null if the page is large or has parts of its own, whose elements a locator may
    find as well.
    """
    return f"""() => {{
  const all = [...document.querySelectorAll('*')].slice(0, 3001);
  return all.length > 3000 || all.some(e => e.shadowRoot) ? null : ({measure})(all);
}}"""


def check_read(method: str, chars: object) -> None:
    """Refuse a reading whose measured length is too large."""
    if isinstance(chars, int | float) and chars > MAX_READ:
        raise Refusal(
            RULE, f"{method}() would read {chars:,.0f} characters; at most {MAX_READ:,} may pass"
        )


def check_picture(sides: object) -> None:
    """Refuse a picture of too many pixels, given its width and height."""
    match sides:
        case [int() | float() as width, int() | float() as height] if width * height > MAX_PIXELS:
            shown = f"{width:,.0f} by {height:,.0f}"
            raise Refusal(RULE, f"a picture has at most {MAX_PIXELS:,} pixels, not {shown}")


WHOLE_PAGE = "[document.documentElement.scrollWidth, document.documentElement.scrollHeight]"
"""A script that gives the sides of a picture of the whole page."""
FIRST_ELEMENT = """es => es.length ? [es[0].getBoundingClientRect().width,
  es[0].getBoundingClientRect().height] : null"""
"""A function of elements that gives the sides of a picture of the first one."""


_BOUNDED = """async (first, second) => {
  const limit = __LIMIT__, most = __ITEMS__, huge = 2n ** 4096n;
  const measure = value => {
    let chars = 0, items = 0;
    const seen = new Set(), waiting = [value];
    while (waiting.length) {
      const one = waiting.pop();
      if (++items > most || chars > limit) return Infinity;
      if (typeof one === 'string') chars += one.length;
      else if (typeof one === 'bigint') chars += one > huge || -one > huge ? Infinity : 0;
      else if (one && typeof one === 'object' && !seen.has(one)) {
        seen.add(one);
        if (ArrayBuffer.isView(one)) chars += one.byteLength;
        else if (one instanceof RegExp) chars += one.source.length;
        else if (one instanceof URL) chars += one.href.length;
        else if (one instanceof Error) waiting.push(String(one.message), String(one.stack));
        else if (one instanceof Date || one === globalThis || one instanceof Node) continue;
        else if (Array.isArray(one)) {
          if (one.length > most) return Infinity;
          for (const item of one) waiting.push(item);
        } else {
          const keys = Object.keys(one);
          if (keys.length > most) return Infinity;
          for (const key of keys) waiting.push(key, one[key]);
        }
      }
    }
    return chars;
  };
  try {
    let made = (
__SOURCE__
    );
    if (typeof made === 'function') made = __TWO__ ? made(first, second) : made(first);
    made = await made;
    return measure(made) > limit ? ['over'] : ['value', made];
  } catch (error) {
    const said = error instanceof Error ? String(error.stack || error.message) : String(error);
    return ['error', said.slice(0, 2000)];
  }
}"""


def bounded_script(source: str, *, of_elements: bool) -> str:
    """Return a script that gives `value` and the result, `over`, or `error` and its text.

    Args:
        source: an expression or function of the code.
        of_elements: whether it is called with one or several elements before its argument.
    """
    plain = source.strip().rstrip(";")
    text = _BOUNDED.replace("__LIMIT__", str(MAX_READ)).replace("__ITEMS__", str(MAX_READ_ITEMS))
    # The source comes last, so that nothing in it is taken for a place to fill in.
    return text.replace("__TWO__", str(of_elements).lower()).replace("__SOURCE__", plain)


def check_viewport(size: object) -> None:
    """Refuse viewport sizes that no real screen has."""
    if isinstance(size, Mapping):
        for side in (size.get("width"), size.get("height")):
            if isinstance(side, int | float) and not 1 <= side <= MAX_VIEWPORT:
                raise ValueError(f"a viewport side is between 1 and {MAX_VIEWPORT} pixels")
        check_picture([size.get("width"), size.get("height")])


def check_finite(value: object) -> None:
    """Refuse infinity and NaN, which JSON lacks and which would make the driver disconnect."""
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"{value!r} is not a finite number")
    if isinstance(value, list | tuple | set):
        for item in value:
            check_finite(item)
    if isinstance(value, Mapping):
        for item in value.values():
            check_finite(item)
