"""What calls of models cost: prices, the most that a call may cost, and the run's cap.

The gateway reserves the most that a call may cost before it is sent, so that calls under way
together cannot exceed the cap.
"""

import json
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict

from pytest_autoweb.base.errors import ModelError
from pytest_autoweb.base.files import replace_text
from pytest_autoweb.models.messages import Request
from pytest_autoweb.models.model_spec import ModelSpec
from pytest_autoweb.results.runs.steering import OrdersFile, OrdersToSession

_MTOK = 1_000_000
# Allowance for a service's additions to each message: roles, separators, a system text.
_MESSAGE_TOKENS = 64
# Allowance for one picture of a page, higher than what any provider counts.
_PICTURE_TOKENS = 40_000


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
    started: float = 0.0
    """When the session began, in seconds since the epoch; earlier orders do not change its cap."""


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
        self._cap, self._ledger = cap, ledger
        self._orders = OrdersToSession(OrdersFile(ledger.folder), ledger.started)
        self._allow_unpriced, self._file = allow_unpriced, ledger.folder / LEDGER_FILE
        self._changed = threading.Condition()
        saved = _read(ledger.folder, ledger.run)
        self._spent = max(ledger.spent, _sum(saved))
        self._reserved = 0.0
        same = saved.get("session", "") == ledger.session
        self._refused = int(saved.get("refused", 0)) if same else 0

    @property
    def cap(self) -> float | None:
        """Return the cap that holds now, which an order to the run may have changed."""
        order = self._orders.course.cost
        return self._cap if order is None else order.number

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
