"""The calls of one step: the report's tool calls, and the answers for a retried step."""

import json
import re
import time
from collections.abc import Iterable
from typing import Any, NamedTuple

from pytest_autoweb.results import ToolCall

Reply = tuple[Any, "tuple[str, str] | None"]
"""Encoded value, and error as (type, message) or None."""

_CALLBACK = re.compile(r'\{"\$cb": \d+\}')


class Entry(NamedTuple):
    """One call with what is needed to answer it again."""

    call: ToolCall
    key: str
    reply: Reply
    live: bool
    """Performed anew in a retry: listeners, answers, and what happened inside a callback."""


class DivergedError(Exception):
    """Raised when a retried step asks for other calls than it made the first time."""


class Record:
    """Counts and keeps the calls of a step.

    Args:
        step_index: the step's number.
        earlier: entries that answer the first calls of a retried step.
    """

    def __init__(self, step_index: int, earlier: Iterable[Entry]) -> None:
        self.entries: list[Entry] = []
        self._step = step_index
        self._earlier = [entry for entry in earlier if not entry.live]
        self._replayed = 0

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """The tool calls so far, in the order in which they began."""
        return tuple(sorted((entry.call for entry in self.entries), key=lambda call: call.seq))

    @property
    def catching_up(self) -> bool:
        """Whether the next call will be answered from the record."""
        return self._replayed < len(self._earlier)

    def replay(self, key: str, number: int) -> Reply:
        """The recorded answer to the next call.

        Raises:
            DivergedError: the record holds another call at this place.
        """
        entry = self._earlier[self._replayed]
        if entry.key != key:
            raise DivergedError(
                "the continued step took another way: the first run called "
                f"{entry.call.target}.{entry.call.method}({entry.call.arguments}) here"
            )
        call = entry.call.model_copy(update={"replayed": True, "seq": number})
        self.entries.append(entry._replace(call=call))
        self._replayed += 1
        return entry.reply


class Timed:
    """Measures one call and files it."""

    def __init__(self, record: Record, number: int, *, live: bool) -> None:
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
            duration_ms=(time.perf_counter() - self._began) * 1000,
            line=line,
            duplicate=duplicate,
            cached=cached,
        )
        self._record.entries.append(Entry(call, key, reply, self._live))


def key_of(frame: dict[str, Any], page: str) -> str:
    """What makes two calls the same: receiver, method and arguments.

    Functions are all alike, and so is whatever `page` stands for: a retry may choose another frame.

    Args:
        frame: the call.
        page: the number of the object that `page` stands for.
    """
    names = ("root", "chain", "expect", "method", "args", "kwargs")
    text = json.dumps({name: frame[name] for name in names}, sort_keys=True)
    return _CALLBACK.sub("{}", text).replace(f'"root": "{page}"', '"root": "page"')
