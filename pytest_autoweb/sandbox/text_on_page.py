"""Text by which generated code finds an element, as it may stand on the page.

A model is shown U+FFFD in place of half of a surrogate pair, so that is what it writes; the page
still holds the half.
"""

import re
from collections.abc import Mapping
from typing import Any

_SHOWN = "\ufffd"
_ON_PAGE = r"[\ufffd\ud800-\udfff]"
_SPACE = re.compile(r"\s+")
_BY_FIRST = frozenset(
    {"get_by_alt_text", "get_by_label", "get_by_placeholder", "get_by_text", "get_by_title"}
)
_BY_NAME = {"get_by_role": "name", "filter": "has_text", "locator": "has_text"}


def as_on_page(
    method: str, args: list[Any], kwargs: Mapping[str, Any]
) -> tuple[list[Any], dict[str, Any]]:
    """Return a locator's arguments, with texts that hold U+FFFD as patterns that fit halves too."""
    args, named = list(args), dict(kwargs)
    exact = bool(named.get("exact"))
    if method in _BY_FIRST and args and _is_shown(args[0]):
        args[0] = _pattern(args[0], exact=exact)
        named.pop("exact", None)
    name = "text" if method in _BY_FIRST else _BY_NAME.get(method)
    if name is not None and _is_shown(named.get(name)):
        named[name] = _pattern(named[name], exact=exact)
        named.pop("exact", None)
    return args, named


def _is_shown(value: Any) -> bool:
    return isinstance(value, str) and _SHOWN in value


def _pattern(text: str, *, exact: bool) -> re.Pattern[str]:
    words = (re.escape(word).replace(_SHOWN, _ON_PAGE) for word in _SPACE.split(text.strip()))
    whole = r"\s+".join(words)
    return re.compile(rf"^\s*{whole}\s*$") if exact else re.compile(whole, re.IGNORECASE)
