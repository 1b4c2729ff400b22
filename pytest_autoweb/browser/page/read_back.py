"""What a field holds right after a call has written to it.

A page may refuse a text, cut it or put another one in its place, and Playwright raises no error.
The moment matters: once a form is sent, its fields are empty whatever was written to them.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from playwright.sync_api import ElementHandle, Error, JSHandle, Locator

from pytest_autoweb.browser.egress.browser_watch import call_within
from pytest_autoweb.browser.page.frames import element_script
from pytest_autoweb.results.records import ReadBack

_TEXTS = frozenset({"clear", "fill", "press_sequentially", "type"})
_TYPES = frozenset({"press_sequentially", "type"})
_TICKS = frozenset({"check", "set_checked", "uncheck"})
_LOOK_MS = 2_000.0
# In what was typed, these keys may send a form or leave the field.
_KEYS = ("\n", "\r", "\t")


def read_back(
    locator: Locator, method: str, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> Callable[[], ReadBack | None]:
    """Find the field that a call is about to write to; the result reads it afterwards.

    The element itself is kept, because afterwards its locator may find another one: the next
    question of a form, or the same field of the next page. No look waits for anything.

    Many fields refuse a text only when they are left. So each further reading returns what a field
    that took its text held when it lost the focus, before anything else happened; or None.

    Args:
        locator: finds the field.
        method: a method that leaves something behind in a field.
        args: the call's arguments without a selector.
        kwargs: its named arguments.
    """
    found: list[ElementHandle] = []
    left: list[JSHandle] = []
    with suppress(Error):
        # A locator that fits several elements fails anyway.
        found = call_within(locator.page, _LOOK_MS, locator.first.element_handles)

    def look(where: JSHandle, code: str) -> Any:
        return json.loads(call_within(locator.page, _LOOK_MS, lambda: where.evaluate(code)))

    def read() -> ReadBack | None:
        if not found and not left:
            return None
        try:
            if left:
                held = look(left[0], "(seen) => seen.held")
                return _compared(method, args, kwargs, held) if held else None
            field = found.pop()
            held = look(field, _SCRIPT)
            if held and method in _TEXTS:
                watch = call_within(locator.page, _LOOK_MS, lambda: field.evaluate_handle(_LEAVING))
                left.append(watch)
            call_within(locator.page, _LOOK_MS, field.dispose)
        except Error:
            left.clear()
            # The page was left, or does not answer.
            return None
        return _compared(method, args, kwargs, held) if held else None

    return read


# After the handlers of the field and its document, which this one must not come before.
_LEAVING = f"""(element) => {{
  const seen = {{ held: 'null' }};
  const view = element.ownerDocument.defaultView;
  const leave = (event) => {{
    if (event.composedPath()[0] !== (element.control || element)) return;
    view.removeEventListener('focusout', leave);
    seen.held = ({element_script("held")})([element]);
  }};
  view.addEventListener('focusout', leave);
  return seen;
}}"""
_SCRIPT = f"(element) => ({element_script('held')})([element])"


def _compared(
    method: str, args: Sequence[Any], kwargs: Mapping[str, Any], held: Mapping[str, Any]
) -> ReadBack | None:
    if method in _TICKS:
        return _ticked(args[0] if args else kwargs.get("checked", method == "check"), held)
    if method == "select_option":
        return _chosen(args[0] if args else None, kwargs, held)
    wanted = (
        "" if method == "clear" else args[0] if args else kwargs.get("value", kwargs.get("text"))
    )
    if not isinstance(wanted, str) or held["value"] is None:
        return None
    shown, text = _plain(held["value"]), _plain(wanted)
    if method in _TYPES:
        # What is typed is added to what stands there.
        return None if any(key in wanted for key in _KEYS) else _read(text in shown, held["value"])
    # The browser writes colours in small letters.
    same = shown == text or (held["kind"] == "color" and shown == text.lower())
    return _read(same, held["value"])


def _ticked(wanted: Any, held: Mapping[str, Any]) -> ReadBack | None:
    if held["checked"] is None:
        return None
    return ReadBack(
        same=held["checked"] is bool(wanted), held="checked" if held["checked"] else "not checked"
    )


def _chosen(given: Any, kwargs: Mapping[str, Any], held: Mapping[str, Any]) -> ReadBack | None:
    texts = [*_listed(given), *_listed(kwargs.get("value")), *_listed(kwargs.get("label"))]
    if held["chosen"] is None or not texts or kwargs.get("index") is not None:
        return None
    labels = [label for label, _ in held["chosen"]]
    known = {text for option in held["chosen"] for text in option}
    same = all(" ".join(text.split()) in known or text in known for text in texts)
    return ReadBack(same=same, held=", ".join(labels))


def _listed(given: Any) -> list[str]:
    every = given if isinstance(given, list | tuple) else [given]
    return [text for text in every if isinstance(text, str)]


def _read(same: bool, value: str) -> ReadBack:
    return ReadBack(same=same, held=value)


def _plain(text: str) -> str:
    """Return a text as fields give it back, without what no reader sees."""
    return text.replace("\r\n", "\n").replace("\xa0", " ").strip()
