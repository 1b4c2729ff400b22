"""What crosses the border: values, objects by number, and how a report shows both."""

import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple
from urllib.parse import ParseResult

from pytest_autoweb.sandbox.allowed_members import CLASSES
from pytest_autoweb.sandbox.frame_codec import WireError, encode

# A handle keeps its object alive in the test process, so without a limit generated code could fill
# that process's memory.
MAX_HANDLES = 20_000


class Refusal(Exception):
    """Raised when the border refuses a call; the step fails even if its code catches the error.

    Attributes:
        rule: the id of the border rule.
        reason: a sentence for the report and the repair prompt.
    """

    def __init__(self, rule: str, reason: str) -> None:
        self.rule, self.reason = rule, reason
        super().__init__(reason)


class Handle(NamedTuple):
    """An object to which the worker may refer."""

    object: Any
    kind: str
    """Name of its class in `allowed_members`; `Page` also for a frame that `page` stands for."""
    label: str
    """Name of the object in a report."""


class Handles:
    """The objects of one attempt, by number."""

    def __init__(self) -> None:
        self._by_id: dict[str, Handle] = {}
        self._ids: dict[tuple[int, str], str] = {}

    def add(self, item: Any, kind: str, label: str | None = None) -> str:
        """Return the number of an object; the same object always gets the same number."""
        # Handles keep their objects alive, so an id cannot be reused for another object.
        key = (id(item), kind)
        if key not in self._ids:
            if len(self._by_id) >= MAX_HANDLES:
                raise Refusal("AW505", f"the attempt holds more than {MAX_HANDLES} objects")
            number = f"h{len(self._by_id) + 1}"
            self._ids[key] = number
            self._by_id[number] = Handle(item, kind, label or _label(kind, number))
        return self._ids[key]

    def replace(self, old: Any, new: Any) -> None:
        """Let the number of one object stand for another object of the same class."""
        for (_, kind), number in [item for item in self._ids.items() if item[0][0] == id(old)]:
            del self._ids[id(old), kind]
            self._ids[id(new), kind] = number
            self._by_id[number] = self._by_id[number]._replace(object=new)

    def get(self, number: str) -> Handle:
        """Return the object with this number.

        Raises:
            Refusal: no object has this number.
        """
        if number not in self._by_id:
            raise Refusal("AW504", "the code refers to an object that it was never given")
        return self._by_id[number]


def kind_of(item: object) -> str | None:
    """Return the class name under which a Playwright object may cross the border, or None."""
    cls = type(item)
    if cls.__module__.startswith("playwright.") and cls.__name__ in CLASSES:
        return cls.__name__
    return None


def _label(kind: str, number: str) -> str:
    return f"{kind[0].lower()}{kind[1:]}_{number[1:]}"


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
            return {"$tuple": [redact(part) for part in item]}
        if isinstance(item, Exception):
            return {"$error": ["Error", redact(str(item))[:2_000]]}
        if type(item).__module__.startswith("playwright."):
            raise WireError(f"a {type(item).__name__} is not available in the step language")
        return None

    try:
        return encode(redacted(value, redact), special)
    except RecursionError:
        raise WireError("value is nested too deeply") from None


def redacted(value: Any, redact: Callable[[str], str]) -> Any:
    """Return the value with every text in it redacted."""
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, list):
        return [redacted(item, redact) for item in value]
    if isinstance(value, dict):
        return {redacted(k, redact): redacted(v, redact) for k, v in value.items()}
    if isinstance(value, bytes):
        return _redacted_bytes(value, redact)
    return value


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
    """Return the text, or its beginning and an ellipsis."""
    return text if len(text) <= limit else text[: limit - 1] + "…"
