"""Limits on model calls: a run's spending, a call's duration, a service's rates.

Calls that cannot succeed are not repeated.
"""

import ctypes
import json
import re
import threading
import time
from collections import defaultdict
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from pydantic import BaseModel, ConfigDict

from pytest_autoweb.base.errors import ModelCause, ModelError
from pytest_autoweb.base.files import replace_text
from pytest_autoweb.models.client import Request
from pytest_autoweb.models.model_spec import ModelSpec

_MTOK = 1_000_000
# Allowance for a service's additions to each message: roles, separators, a system text.
_MESSAGE_TOKENS = 64
# Allowance for one picture of a page, higher than what any provider counts.
_PICTURE_TOKENS = 40_000

Outcome = TypeVar("Outcome")


class Price(BaseModel):
    """Price of one token in US dollars."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    input_usd: float
    output_usd: float
    cached_usd: float | None = None
    """Price of a token of the prompt that is read from the service's cache, if it differs."""

    def of(self, input_tokens: int, output_tokens: int, cached_tokens: int = 0) -> float:
        """Return the price of a prompt and a reply of these lengths.

        Args:
            input_tokens: tokens of the prompt.
            output_tokens: tokens of the reply.
            cached_tokens: tokens of the prompt that were read from the service's cache.
        """
        cached_usd = self.input_usd if self.cached_usd is None else self.cached_usd
        fresh = input_tokens - cached_tokens
        return fresh * self.input_usd + cached_tokens * cached_usd + output_tokens * self.output_usd


class TokenBound(BaseModel):
    """Upper bound on the tokens for which a request can be billed."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    input_tokens: int
    output_tokens: int


def price_in_spec(spec: ModelSpec) -> Price | None:
    """Return the price that the settings imply; controls and embedded models cost nothing."""
    input_usd, output_usd = spec.input_cost_per_mtok, spec.output_cost_per_mtok
    if input_usd is None and output_usd is None:
        return Price(input_usd=0, output_usd=0) if spec.provider != "litellm" else None
    cached = spec.cached_input_cost_per_mtok
    return Price(
        input_usd=(input_usd or 0) / _MTOK,
        output_usd=(output_usd or 0) / _MTOK,
        cached_usd=None if cached is None else cached / _MTOK,
    )


def token_bound(spec: ModelSpec, request: Request) -> TokenBound:
    """Return an upper bound on a request's tokens.

    A token is at least one byte of text, and the length of a reply is limited.
    """
    texts = [message.content for message in request.messages]
    texts += [request.grammar or "", str(request.json_schema or ""), str(spec.extra_body or "")]
    if request.chat:
        texts.append(str(request.chat.beside_messages()))
    size = sum(len(text.encode("utf-8", "surrogatepass")) for text in texts)
    pictures = sum(len(message.images) for message in request.messages) if spec.vision else 0
    input_tokens = size + _MESSAGE_TOKENS * len(request.messages) + _PICTURE_TOKENS * pictures
    return TokenBound(
        input_tokens=input_tokens,
        output_tokens=spec.reply_limit(request.max_tokens, more_room=request.more_room),
    )


# Sums of floats are compared, so a rounding error must not refuse the last affordable call.
_ROUNDING = 1e-12
LEDGER_FILE = "spent.json"


@dataclass(frozen=True, slots=True)
class Ledger:
    """The file from which a gateway restarted for the same run reads the money spent so far."""

    folder: Path
    run: str = ""
    """The id of the run; a file of another run is ignored. Empty accepts any file."""
    session: str = ""
    """The name of the session, whose refused calls are counted."""
    spent: float = 0.0
    """US dollars spent earlier and not recorded in the file."""


class Reservation:
    """Money reserved for one call."""

    def __init__(self, budget: "CostBudget", amount: float) -> None:
        self._budget, self._amount = budget, amount

    def settle(self, cost: float | None) -> None:
        """Charge what the call cost, or the full reservation if `cost` is None (unknown)."""
        self._budget.settle(self._amount, self._amount if cost is None else cost)


class CostBudget:
    """The cost of all live calls of a run, counted over all its processes.

    With a cap, a call that might exceed it is refused. The sums are kept in a file. Money reserved
    when a gateway died counts as spent, because the call may have been billed.

    Args:
        cap: limit in US dollars; None for no limit.
        allow_unpriced: let models without a known price run, uncounted.
        ledger: where the sums are kept.
    """

    def __init__(
        self, cap: float | None = None, *, allow_unpriced: bool = False, ledger: Ledger
    ) -> None:
        self.cap, self._ledger = cap, ledger
        self._allow_unpriced, self._file = allow_unpriced, ledger.folder / LEDGER_FILE
        self._changed = threading.Condition()
        saved = _read(ledger.folder, ledger.run)
        self._spent = max(ledger.spent, _sum(saved))
        self._reserved = 0.0
        same = saved.get("session", "") == ledger.session
        self._refused = int(saved.get("refused", 0)) if same else 0

    @property
    def sums(self) -> tuple[float, float, int]:
        """Return US dollars spent, US dollars reserved and the number of refused calls."""
        with self._changed:
            return self._spent, self._reserved, self._refused

    def reserve(self, model: str, price: Price | None, most: TokenBound) -> Reservation:
        """Reserve the maximum cost of a call.

        Waits as long as calls under way may turn out cheap enough to leave room for this one.

        Raises:
            ModelError: cause `budget`; the call might exceed the cap, or has no price.
        """
        if self.cap is None:
            return Reservation(self, 0.0)
        if price is None:
            if self._allow_unpriced:
                return Reservation(self, 0.0)
            raise self._refusal(model, f"its price is not known: {price_advice(model)}")
        amount = price.of(most.input_tokens, most.output_tokens)
        with self._changed:
            # Waiting helps only if this call would fit without the open reservations.
            while self._reserved and self._fits(amount, 0.0):
                if self._fits(amount, self._reserved):
                    break
                self._changed.wait()
            if self._fits(amount, self._reserved):
                self._reserved += amount
                self._save()
                return Reservation(self, amount)
        raise self._refusal(model, f"this call may cost up to {amount:.6f} USD")

    def settle(self, reserved: float, cost: float) -> None:
        """Replace a reservation by the actual cost."""
        with self._changed:
            left = self._reserved - reserved
            self._reserved = left if left > _ROUNDING else 0.0
            self._spent += cost
            self._save()
            self._changed.notify_all()

    def _fits(self, amount: float, reserved: float) -> bool:
        assert self.cap is not None
        return amount == 0 or self._spent + reserved + amount <= self.cap + _ROUNDING

    def _refusal(self, model: str, why: str) -> ModelError:
        with self._changed:
            self._refused += 1
            self._save()
            detail = (
                f"not called, {why}; the run's cap is {self.cap:.6f} USD, "
                f"spent {self._spent:.6f}, reserved {self._reserved:.6f} (--autoweb-max-cost)"
            )
        return ModelError("budget", model, detail)

    def _save(self) -> None:
        if self.cap is None and not self._ledger.run:
            return
        sums = {
            "run": self._ledger.run,
            "session": self._ledger.session,
            "spent": self._spent,
            "reserved": self._reserved,
            "refused": self._refused,
        }
        # As a whole, because a gateway killed while writing must leave a readable file.
        replace_text(self._file, json.dumps(sums))


def price_advice(name: str) -> str:
    """Say how to run a model whose price is unknown."""
    return (
        "give input_cost_per_mtok and output_cost_per_mtok (0 for a model that costs nothing) in "
        f'[tool.autoweb.models."{name}"], or let it run uncounted with --autoweb-allow-unpriced'
    )


def read_ledger(folder: Path, run: str = "") -> float | None:
    """Return the US dollars that were, or may have been, spent; None if unknown.

    Args:
        folder: the folder of the file.
        run: the id of the run; a file of another run is ignored. Empty accepts any file.
    """
    saved = _read(folder, run)
    return _sum(saved) if saved else None


def _read(folder: Path, run: str) -> dict[str, Any]:
    try:
        saved: dict[str, Any] = json.loads((folder / LEDGER_FILE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return saved if not run or saved.get("run") == run else {}


def _sum(saved: dict[str, Any]) -> float:
    return float(saved.get("spent", 0.0)) + float(saved.get("reserved", 0.0))


class CallOverdue(Exception):
    """Raised when a call was given up at its time limit."""


class _Abandoned(BaseException):
    """Raised inside an abandoned call; no library mistakes it for an error of its own."""


def within(seconds: float, call: Callable[[], Outcome]) -> Outcome:
    """Return a call's result, or abandon it after that many seconds, whatever it is doing.

    HTTP libraries limit the time of single reads, so a server that sends an occasional byte could
    hold a call for ever.

    Raises:
        CallOverdue: the time limit was reached.
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

    A thread blocked in a read ends at the next byte, or when that read times out.
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


@dataclass(slots=True)
class _Line:
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


_WIDE = 64
"""Concurrent successful calls above which the limit is dropped."""
_FAILURES_IN_A_ROW = 3
_PAUSE_S = 60.0
# Failures of a service that is down; rate limits are answered by waiting instead.
_DOWN: tuple[ModelCause, ...] = ("timeout", "unavailable")


_REFUSED = "refused the key"


@dataclass(slots=True)
class _Failures:
    cause: ModelCause
    in_a_row: int
    at: float
    said: str
    """What a service did that refuses for good."""


class CircuitBreaker:
    """Refuses, without sending them, calls of a model that would fail like its last ones.

    A refused key stays refused, and an empty account stays empty, so one refusal is enough for the
    whole session. A service that is
    down may recover, so after three failures in a row its model is not called for a minute; then
    one call is tried.

    Args:
        clock: tells the time in seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._failed: dict[str, _Failures] = {}

    def check(self, model: str) -> None:
        """Allow a call, or refuse it.

        Raises:
            ModelError: the call would fail; the cause is that of the earlier calls.
        """
        with self._lock:
            failed = self._failed.get(model)
            if failed is None or not self._is_open(failed):
                return
            if failed.cause == "auth":
                detail = (
                    f"not called: the service {failed.said} earlier in this run; that call's "
                    "error says why"
                )
            else:
                left = max(1.0, failed.at + _PAUSE_S - self._clock())
                detail = (
                    f"not called: the last {failed.in_a_row} calls failed ({failed.cause}); the "
                    f"next one is tried in {left:.0f} s"
                )
        raise ModelError(failed.cause, model, detail)

    def note(self, model: str, cause: ModelCause | None, said: str = _REFUSED) -> None:
        """Record how a call ended.

        Args:
            model: the model that was called.
            cause: why the call failed; None means success.
            said: what the service did, if the cause is `auth`.
        """
        with self._lock:
            before = self._failed.pop(model, None)
            if cause == "auth" or cause in _DOWN:
                same = before is not None and before.cause == cause
                count = before.in_a_row + 1 if before is not None and same else 1
                self._failed[model] = _Failures(cause, count, self._clock(), said)

    def _is_open(self, failed: _Failures) -> bool:
        if failed.cause == "auth":
            return True
        if failed.in_a_row < _FAILURES_IN_A_ROW:
            return False
        return self._clock() < failed.at + _PAUSE_S
