"""Limits on model calls: the time that a whole call may take, a service's rates, hopeless calls."""

import ctypes
import re
import threading
import time
from collections import defaultdict
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, NamedTuple, TypeVar

from pytest_autoweb.errors import ModelCause, ModelError

Outcome = TypeVar("Outcome")


class CallOverdue(Exception):
    """Raised when a call was given up because its time was over."""


class _Abandoned(BaseException):
    """Raised inside a call that was given up; no library takes it for an error of its own."""


def within(seconds: float, call: Callable[[], Outcome]) -> Outcome:
    """Return what a call returns, or give it up after that many seconds, whatever it is doing.

    The time limits of HTTP libraries are for single reads, so that a server that sends a byte now
    and then could hold a call for ever.

    Raises:
        CallOverdue: the time was over.
    """
    results: list[Outcome] = []
    errors: list[Exception] = []

    def run() -> None:
        try:
            results.append(call())
        except _Abandoned:
            return
        except Exception as error:
            errors.append(error)

    thread = threading.Thread(target=run, name="model-call", daemon=True)
    thread.start()
    thread.join(seconds)
    if errors:
        raise errors[0]
    if not results:
        _abandon(thread)
        raise CallOverdue(f"no end after {seconds:g} s")
    return results[0]


def _abandon(thread: threading.Thread) -> None:
    """Make a thread end at its next instruction, which closes its connection.

    A thread that waits for a byte gets there with the next byte, or when that one read times out.
    """
    if thread.ident is not None:
        ctypes.pythonapi.PyThreadState_SetAsyncExc(
            ctypes.c_ulong(thread.ident), ctypes.py_object(_Abandoned)
        )


LONGEST_WAIT_S = 60.0
"""The call fails if a service asks for a longer wait than this."""


def retry_after(error: Exception, now: datetime) -> float | None:
    """Return the seconds that the service asked to wait, or None.

    Args:
        error: the failure of a call.
        now: the time, from which a date counts.
    """
    for holder in (error, getattr(error, "response", None), error.__cause__):
        for name in ("litellm_response_headers", "headers"):
            headers: Any = getattr(holder, name, None)
            if not hasattr(headers, "get"):
                continue
            for header, seconds in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
                with suppress(TypeError, ValueError):
                    return max(0.0, float(headers.get(header)) * seconds)
            # The header may also be a date, which has a time zone of its own.
            with suppress(TypeError, ValueError):
                until = parsedate_to_datetime(str(headers.get("retry-after")))
                until = until if until.tzinfo else until.replace(tzinfo=UTC)
                return max(0.0, (until - now).total_seconds())
    return None


_RESET_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)")
_UNIT_S = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


_SPENT = {
    "requests": "",
    "tokens": "total_tokens",
    "input-tokens": "prompt_tokens",
    "output-tokens": "completion_tokens",
}
"""What a service counts, and the field of a call's usage that says how much of it a call takes."""


def pause_before_next(response: Any, now: datetime) -> float:
    """Return the seconds until a service that has nothing left to give takes calls again, or 0.

    Services say in headers how many requests and tokens are left of a minute's: those with OpenAI's
    API as `x-ratelimit-remaining-KIND`, Anthropic as `anthropic-ratelimit-KIND-remaining`, which
    litellm hands on with a prefix. Calls wait for the tokens of one like this, and for a minute at
    most.

    Args:
        response: the reply of litellm, or of a server with OpenAI's API.
        now: the time, from which Anthropic's dates count.
    """
    hidden = getattr(response, "_hidden_params", None) or {}
    headers: Any = getattr(response, "headers", None) or hidden.get("additional_headers")
    if not hasattr(headers, "get"):
        return 0.0
    pause = 0.0
    for kind, spent in _SPENT.items():
        least = getattr(getattr(response, "usage", None), spent, None) if spent else 1
        anthropic = f"llm_provider-anthropic-ratelimit-{kind}"
        for left, reset in (
            (f"x-ratelimit-remaining-{kind}", f"x-ratelimit-reset-{kind}"),
            (f"{anthropic}-remaining", f"{anthropic}-reset"),
        ):
            said = str(headers.get(left) or "")
            if said.isdecimal() and int(said) < int(least or 1):
                pause = max(pause, _seconds_until(str(headers.get(reset) or ""), now))
    return min(pause, LONGEST_WAIT_S)


def _seconds_until(reset: str, now: datetime) -> float:
    """Read a duration such as `6m0s`, or a date as of RFC 3339; 0 if it is neither."""
    with suppress(ValueError, TypeError):
        return (datetime.fromisoformat(reset) - now).total_seconds()
    parts = _RESET_PART.findall(reset)
    return sum(float(number) * _UNIT_S[unit] for number, unit in parts)


class CallTurn(NamedTuple):
    """The permission to send one call."""

    service: str
    round: int
    """Rises with each refusal of a call that was not yet under way at the one before."""
    waited_s: float


@dataclass(slots=True)
class _Line:
    """The calls of one service."""

    until: float = 0.0
    round: int = 0
    out: int = 0
    """Calls of this round that are under way."""
    width: int | None = None
    """How many of them there may be; None while no call was refused."""


class RateGate:
    """Holds back the calls of a service that refused one because of its rate.

    After a refusal nobody calls until the time is over for which the service asked. Then one call
    goes out, and each reply lets one more be under way, until there is no reason to count any more.

    Args:
        clock: tells the time in seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._changed = threading.Condition()
        self._lines: defaultdict[str, _Line] = defaultdict(_Line)

    def enter(self, service: str, most_s: float) -> CallTurn | None:
        """Wait until a call may be sent; None if that takes longer than `most_s` seconds.

        Each turn that is given has to be ended.
        """
        began = self._clock()
        with self._changed:
            line = self._lines[service]
            while (now := self._clock()) < line.until or self._is_full(line):
                left = began + most_s - now
                if left <= 0:
                    return None
                self._changed.wait(min(left, line.until - now) if now < line.until else left)
            line.out += 1
            return CallTurn(service, line.round, self._clock() - began)

    def end(self, turn: CallTurn) -> None:
        """Note that a call is over, whatever became of it."""
        with self._changed:
            line = self._lines[turn.service]
            line.out -= turn.round == line.round
            self._changed.notify_all()

    def refused(self, turn: CallTurn, seconds: float) -> bool:
        """Let nobody call for a time, and then one call alone.

        Returns:
            Whether this is a refusal of its own, and not one that the service gave to all calls
            that were under way when it refused the first.
        """
        with self._changed:
            line = self._lines[turn.service]
            own = turn.round == line.round
            if own:
                line.round, line.out, line.width = line.round + 1, 0, 1
            line.until = max(line.until, self._clock() + seconds)
            self._changed.notify_all()
            return own

    def replied(self, turn: CallTurn, pause_s: float) -> None:
        """Let one more call be under way; with a pause, none begins before that is over."""
        with self._changed:
            line = self._lines[turn.service]
            if turn.round == line.round and line.width is not None:
                line.width = line.width + 1 if line.width < _WIDE else None
            line.until = max(line.until, self._clock() + pause_s)
            self._changed.notify_all()

    @staticmethod
    def _is_full(line: _Line) -> bool:
        return line.width is not None and line.out >= line.width


_WIDE = 64
"""Calls at once that were all replied to, after which they are not counted any more."""
_FAILURES_IN_A_ROW = 3
_PAUSE_S = 60.0
# Failures of a service that is down; rate limits are answered by waiting instead.
_DOWN: tuple[ModelCause, ...] = ("timeout", "unavailable")


@dataclass(slots=True)
class _Failures:
    cause: ModelCause
    in_a_row: int
    at: float


class CircuitBreaker:
    """Refuses calls of a model that would fail as its last ones did, without sending them.

    A refused key stays refused, so one refusal is enough for the whole session. A service that is
    down may come back, so after three failures in a row its model is left alone for a minute, and
    then a call is tried again.

    Args:
        clock: tells the time in seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._failed: dict[str, _Failures] = {}

    def check(self, model: str) -> None:
        """Let a call pass, or refuse it.

        Raises:
            ModelError: the call would fail; its cause is that of the calls before.
        """
        with self._lock:
            failed = self._failed.get(model)
            if failed is None or not self._is_open(failed):
                return
            if failed.cause == "auth":
                detail = (
                    "not called: the service refused the key earlier in this run; that call's "
                    "error says why"
                )
            else:
                left = max(1.0, failed.at + _PAUSE_S - self._clock())
                detail = (
                    f"not called: the last {failed.in_a_row} calls failed ({failed.cause}); the "
                    f"next one is tried in {left:.0f} s"
                )
        raise ModelError(failed.cause, model, detail)

    def note(self, model: str, cause: ModelCause | None) -> None:
        """Remember how a call ended; None means that there was a reply."""
        with self._lock:
            before = self._failed.pop(model, None)
            if cause == "auth" or cause in _DOWN:
                same = before is not None and before.cause == cause
                count = before.in_a_row + 1 if before is not None and same else 1
                self._failed[model] = _Failures(cause, count, self._clock())

    def _is_open(self, failed: _Failures) -> bool:
        if failed.cause == "auth":
            return True
        if failed.in_a_row < _FAILURES_IN_A_ROW:
            return False
        return self._clock() < failed.at + _PAUSE_S
