"""The values that cross the border, objects by number, and the record of both.

A report shows the calls of a step as tool calls, and a retry of the step is answered from them.
"""

import hashlib
import json
import re
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple
from urllib.parse import ParseResult

from pytest_autoweb.base.errors import first_line
from pytest_autoweb.base.json_values import map_texts
from pytest_autoweb.base.redaction import redact_shapes
from pytest_autoweb.base.whole_characters import whole_text
from pytest_autoweb.results.records import ReadBack, ToolCall
from pytest_autoweb.sandbox.allowed_members import CLASSES
from pytest_autoweb.sandbox.frame_codec import WireError, encode

# A handle keeps its object alive in the test process, so without a limit generated code could fill
# that process's memory.
MAX_HANDLES = 20_000

Reply = tuple[Any, "tuple[str, str] | None"]
"""Encoded value, and error as (type, message) or None."""

MAX_RESULT = 500
"""Limit on the recorded characters of a call's result."""
_HANDLE = '{"$p": '
_CALLBACK = re.compile(r'\{"\$cb": \d+\}')


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
    """Return the text, or its beginning and an ellipsis."""
    return text if len(text) <= limit else text[: limit - 1] + "…"


class AnsweredCall(NamedTuple):
    """A call together with the data needed to answer it again."""

    call: ToolCall
    key: str
    reply: Reply
    live: bool
    """Whether a retry performs it again: listeners, answers, and calls inside a callback."""


class OverdueCall(NamedTuple):
    """A call that ended because its time ran out, with the error that the code got."""

    number: int
    key: str
    error: tuple[str, str]


class DivergedError(Exception):
    """Raised when a retried step makes other calls than in its first run."""


class StepRecord:
    """The recorded calls of a step.

    Args:
        step_index: the step's number.
        earlier: calls whose answers a retried step gets for its first calls.
    """

    def __init__(self, step_index: int, earlier: Iterable[AnsweredCall]) -> None:
        self.entries: list[AnsweredCall] = []
        self._step = step_index
        # A retry makes these calls itself, so it does not have to catch up with them.
        self._earlier = [entry for entry in earlier if not entry.live]
        self._replayed = 0

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """Return the tool calls so far, in the order in which they began."""
        return tuple(sorted((entry.call for entry in self.entries), key=lambda call: call.seq))

    def correct(self, number: int, read_back: ReadBack | None) -> None:
        """Put another reading of its field beside the call of this number."""
        for place, entry in enumerate(self.entries):
            if entry.call.seq == number:
                call = entry.call.model_copy(update={"read_back": read_back})
                self.entries[place] = entry._replace(call=call)

    @property
    def catching_up(self) -> bool:
        """Tell whether the next call will be answered from the record."""
        return self._replayed < len(self._earlier)

    def replay(self, key: str, number: int) -> Reply:
        """Return the recorded answer to the next call.

        Raises:
            DivergedError: the record holds a different call at this place.
        """
        entry = self._earlier[self._replayed]
        # Code that depends on time or chance may take another path, on which the recorded answers
        # would belong to other calls.
        if entry.key != key:
            raise DivergedError(
                "the continued step took another path: the first run called "
                f"{entry.call.target}.{entry.call.method}({entry.call.arguments}) here"
            )
        call = entry.call.model_copy(update={"replayed": True, "seq": number})
        self.entries.append(entry._replace(call=call))
        self._replayed += 1
        return entry.reply


class CallTimer:
    """A stopwatch for one call that adds the finished call to the record."""

    def __init__(self, record: StepRecord, number: int, *, live: bool) -> None:
        self._record, self.number, self._live = record, number, live
        self._began = time.perf_counter()

    def file(
        self,
        key: str,
        reply: Reply,
        *,
        target: str,
        method: str,
        arguments: str,
        acting: bool,
        line: int | None,
        duplicate: bool = False,
        cached: bool = False,
        read_back: ReadBack | None = None,
    ) -> None:
        """Add the finished call to the record."""
        error = reply[1]
        call = ToolCall(
            step_index=self._record._step,
            seq=self.number,
            target=target,
            method=method,
            arguments=arguments,
            acting=acting,
            ok=error is None,
            error=None if error is None else first_line(f"{error[0]}: {error[1]}")[:300],
            result="" if acting or error else _told(reply[0]),
            duration_ms=(time.perf_counter() - self._began) * 1000,
            line=line,
            duplicate=duplicate,
            cached=cached,
            read_back=read_back,
        )
        self._record.entries.append(AnsweredCall(call, key, reply, self._live))


def _told(value: Any) -> str:
    """Return a result in recorded form; empty for None or an object of the page."""
    if value is None:
        return ""
    text = redact_shapes(json.dumps(value, ensure_ascii=False))
    return "" if text.startswith(_HANDLE) else shortened(text, MAX_RESULT)


def kept_read_back(read: ReadBack | None, redact: Callable[[str], str]) -> ReadBack | None:
    """Return what a field held in recorded form, redacted before it is shortened."""
    if read is None:
        return None
    return ReadBack(same=read.same, held=shortened(redact_shapes(redact(read.held)), MAX_RESULT))


def key_of(frame: dict[str, Any], page: str) -> str:
    """Return a digest that is equal for equal calls: receiver, method and arguments.

    All functions count as equal, and so do all objects that `page` stands for, because a retry
    may choose another frame.

    Args:
        frame: the call.
        page: the number of the object that `page` stands for.
    """
    names = ("root", "chain", "expect", "method", "args", "kwargs")
    text = json.dumps({name: frame[name] for name in names}, sort_keys=True)
    # A retry creates its functions again, under other numbers.
    text = _CALLBACK.sub("{}", text).replace(f'"root": "{page}"', '"root": "page"')
    # Arguments may be megabytes, and the keys of all calls of a step are kept.
    return hashlib.sha256(text.encode()).hexdigest()
