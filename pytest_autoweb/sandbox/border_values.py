"""The values that cross the border: encoded, redacted, and as a report shows them."""

import re
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import ParseResult

from pytest_autoweb.base.json_values import map_texts
from pytest_autoweb.base.whole_characters import whole_text
from pytest_autoweb.sandbox.frame_codec import WireError, encode
from pytest_autoweb.sandbox.handles import Handles, kind_of

MAX_TEXT = 200
MAX_TARGET = 500
_SENSITIVE_HEADERS = frozenset({"authorization", "cookie", "proxy-authorization", "set-cookie"})


def outgoing(value: Any, handles: Handles, redact: Callable[[str], str]) -> Any:
    """Encode a result as wire data, with objects as handles and text redacted.

    Raises:
        WireError: the value cannot cross the border.
    """

    def special(item: Any) -> dict[str, Any] | None:
        kind = kind_of(item)
        if kind is not None:
            return {"$p": {"root": handles.add(item, kind), "kind": kind, "chain": []}}
        if isinstance(item, ParseResult):
            return {"$tuple": [redact(whole_text(part)) for part in item]}
        if isinstance(item, Exception):
            return {"$error": ["Error", redact(whole_text(str(item)))[:2_000]]}
        if type(item).__module__.startswith("playwright."):
            raise WireError(f"a {type(item).__name__} is not available in the step language")
        return None

    try:
        return encode(redacted(value, redact), special)
    except RecursionError:
        raise WireError("value is nested too deeply") from None


def redacted(value: Any, redact: Callable[[str], str]) -> Any:
    """Return the value with every text in it whole and redacted."""

    def other(value: Any) -> Any:
        return _redacted_bytes(value, redact) if isinstance(value, bytes) else value

    return map_texts(value, lambda text: redact(whole_text(text)), keys=True, other=other)


def _redacted_bytes(value: bytes, redact: Callable[[str], str]) -> bytes:
    # Bytes that are not UTF-8 survive this round trip unchanged.
    text = value.decode("utf-8", "surrogateescape")
    clean = redact(text)
    return value if clean == text else clean.encode("utf-8", "surrogateescape")


def plain_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """Return HTTP headers without those that carry credentials."""
    return {name: value for name, value in headers.items() if name not in _SENSITIVE_HEADERS}


def format_arguments(args: list[Any], kwargs: Mapping[str, Any]) -> str:
    """Format arguments as they would be written in code, shortened."""
    parts = [_format_argument(value) for value in args]
    parts += [f"{name}={_format_argument(value)}" for name, value in kwargs.items()]
    return ", ".join(parts)


class LocatorText:
    """Base of a locator given as an argument; a report shows its text."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text


def _format_argument(value: Any) -> str:
    if isinstance(value, re.Pattern):
        text = f"re.compile({value.pattern!r})"
    elif isinstance(value, bytes):
        text = f"<{len(value)} bytes>"
    elif callable(value):
        text = "<function>"
    else:
        text = repr(value)
    return shortened(text, MAX_TEXT)


def shortened(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"
