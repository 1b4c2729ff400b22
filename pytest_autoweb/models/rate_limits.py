"""The rates that services allow: what their headers say, and the calls held back because of it."""

import re
import threading
import time
from collections import defaultdict
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, NamedTuple

from msgspec import Struct

LONGEST_WAIT_S = 60.0
"""The call fails if a service asks for a longer wait than this."""

_WIDE = 64
"""Concurrent successful calls above which the limit is dropped."""


def retry_after(error: Exception, now: datetime) -> float | None:
    """Return the seconds that the service asked to wait, or None.

    Args:
        error: the failure of a call.
        now: the current time, to which a date is relative.
    """
    for holder in (error, getattr(error, "response", None), error.__cause__):
        for name in ("litellm_response_headers", "headers"):
            headers: Any = getattr(holder, name, None)
            if not hasattr(headers, "get"):
                continue
            for header, seconds in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
                with suppress(TypeError, ValueError):
                    return max(0.0, float(headers.get(header)) * seconds)
            # The header may also be a date with its own time zone.
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
"""What a service counts, and the usage field with a call's share of it."""


def pause_before_next(response: Any, now: datetime) -> float:
    """Return the seconds until a service with an exhausted quota takes calls again, or 0.

    Services state in headers how many requests and tokens remain of the minute's quota: those with
    OpenAI's API as `x-ratelimit-remaining-KIND`, Anthropic as `anthropic-ratelimit-KIND-remaining`,
    which litellm passes on with a prefix. Calls wait until there are tokens for one like this, and
    for a minute at most.

    Args:
        response: the reply of litellm, or of a server with OpenAI's API.
        now: the current time, to which Anthropic's dates are relative.
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
    """Read a duration such as `6m0s` or an RFC 3339 date; 0 if it is neither."""
    with suppress(ValueError, TypeError):
        return (datetime.fromisoformat(reset) - now).total_seconds()
    parts = _RESET_PART.findall(reset)
    return sum(float(number) * _UNIT_S[unit] for number, unit in parts)


class CallTurn(NamedTuple):
    """The permission to send one call."""

    service: str
    round: int
    """Incremented by each refusal of a call that started after the previous refusal."""
    waited_s: float


class _Line(Struct):
    """The calls of one service."""

    until: float = 0.0
    round: int = 0
    out: int = 0
    """Calls of this round that are under way."""
    width: int | None = None
    """How many may be under way at once; None while no call was refused."""


class RateGate:
    """Holds back the calls of a service that refused one because of its rate.

    After a refusal, all calls wait for as long as the service asked. Then one call goes out, and
    each reply allows one more at a time, until the limit is high enough to drop.

    Args:
        clock: tells the time in seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._changed = threading.Condition()
        self._lines: defaultdict[str, _Line] = defaultdict(_Line)

    def enter(self, service: str, most_s: float) -> CallTurn | None:
        """Wait until a call may be sent; None if that takes longer than `most_s` seconds.

        Each turn that is granted has to be ended.
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
        """Note that a call is over, whatever its outcome."""
        with self._changed:
            line = self._lines[turn.service]
            line.out -= turn.round == line.round
            self._changed.notify_all()

    def refused(self, turn: CallTurn, seconds: float) -> bool:
        """Block all calls for a time, then allow one at a time.

        Returns:
            Whether this is a new refusal, not one of those that hit all calls under way at the
            first refusal.
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
        """Allow one more call at a time; after a pause, if there is one."""
        with self._changed:
            line = self._lines[turn.service]
            if turn.round == line.round and line.width is not None:
                line.width = line.width + 1 if line.width < _WIDE else None
            line.until = max(line.until, self._clock() + pause_s)
            self._changed.notify_all()

    @staticmethod
    def _is_full(line: _Line) -> bool:
        return line.width is not None and line.out >= line.width
