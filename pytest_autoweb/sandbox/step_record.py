"""The recorded calls of a step.

A report shows them as tool calls, and a retry of the step is answered from them.
"""

import hashlib
import json
import re
import time
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from pytest_autoweb.base.errors import first_line
from pytest_autoweb.base.redaction import redact_shapes
from pytest_autoweb.results.records import ReadBack, ToolCall
from pytest_autoweb.sandbox.allowed_members import TELLING
from pytest_autoweb.sandbox.border_values import shortened

Reply = tuple[Any, "tuple[str, str] | None"]
"""Encoded value, and error as (type, message) or None."""

MAX_RESULT = 500
"""Limit on the recorded characters of a call's result."""
_HANDLE = '{"$p": '
_CALLBACK = re.compile(r'\{"\$cb": \d+\}')


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
        """Replace what the call of this number read from its field."""
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
        element: str = "",
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
            result="" if error or (acting and method not in TELLING) else _told(reply[0]),
            duration_ms=(time.perf_counter() - self._began) * 1000,
            line=line,
            duplicate=duplicate,
            cached=cached,
            read_back=read_back,
            element=element,
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
