"""The calls of one step, as tool calls for the report and as answers for a retry of the step."""

import hashlib
import json
import re
import time
from collections.abc import Iterable
from typing import Any, NamedTuple

from pytest_autoweb.redaction import redact_keys
from pytest_autoweb.results import ToolCall
from pytest_autoweb.sandbox.crossing_values import shortened

Reply = tuple[Any, "tuple[str, str] | None"]
"""Encoded value, and error as (type, message) or None."""

MAX_RESULT = 500
"""The most characters that are recorded of a call's result."""
_HANDLE = '{"$p": '
_CALLBACK = re.compile(r'\{"\$cb": \d+\}')


class AnsweredCall(NamedTuple):
    """A call together with what is needed to answer it again."""

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
        # A retry makes these calls itself, so they are no part of what it has to catch up with.
        self._earlier = [entry for entry in earlier if not entry.live]
        self._replayed = 0

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """Return the tool calls so far, in the order in which they began."""
        return tuple(sorted((entry.call for entry in self.entries), key=lambda call: call.seq))

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
        # Code that depends on the time or on chance may take another path, on which the recorded
        # answers would be those of other calls.
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
        self._record, self._number, self._live = record, number, live
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
    ) -> None:
        """Add the finished call to the record."""
        error = reply[1]
        call = ToolCall(
            step_index=self._record._step,
            seq=self._number,
            target=target,
            method=method,
            arguments=arguments,
            acting=acting,
            ok=error is None,
            error=None if error is None else f"{error[0]}: {error[1]}".splitlines()[0][:300],
            result="" if acting or error else _told(reply[0]),
            duration_ms=(time.perf_counter() - self._began) * 1000,
            line=line,
            duplicate=duplicate,
            cached=cached,
        )
        self._record.entries.append(AnsweredCall(call, key, reply, self._live))


def _told(value: Any) -> str:
    """Return a result as it is recorded; empty if it is nothing or an object of the page."""
    if value is None:
        return ""
    text = redact_keys(json.dumps(value, ensure_ascii=False))
    return "" if text.startswith(_HANDLE) else shortened(text, MAX_RESULT)


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
    # A retry creates its functions anew, under other numbers.
    text = _CALLBACK.sub("{}", text).replace(f'"root": "{page}"', '"root": "page"')
    # Arguments may be megabytes, and the keys of all calls of a step are kept.
    return hashlib.sha256(text.encode()).hexdigest()
