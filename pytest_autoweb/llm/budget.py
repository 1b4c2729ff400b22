"""The money of a run: counted in one place, and reserved before it is spent."""

import json
import threading
from pathlib import Path
from typing import Any

from pytest_autoweb.errors import ModelError
from pytest_autoweb.llm.price import Most, Price

_ROUNDING = 1e-12
LEDGER = "spent.json"
"""Name of the file, in the session's folder, that a restarted gateway goes on from."""


class Reservation:
    """Money put aside for one call."""

    def __init__(self, budget: "Budget", amount: float) -> None:
        self._budget, self._amount = budget, amount

    def settle(self, cost: float | None) -> None:
        """Pay what the call cost; None: nobody knows, so all that was put aside is gone."""
        self._budget.settle(self._amount, self._amount if cost is None else cost)


class Budget:
    """All live calls of a session, of all its processes.

    With a cap, a call that might go beyond it is not made. The sums are kept in a file, and what
    was reserved when a gateway died counts as spent.
    """

    def __init__(
        self, cap: float | None = None, *, allow_unpriced: bool = False, folder: Path
    ) -> None:
        self.cap = cap
        self._allow_unpriced, self._file = allow_unpriced, folder / LEDGER
        self._changed = threading.Condition()
        saved = _read(self._file)
        self._spent = saved.get("spent", 0.0) + saved.get("reserved", 0.0)
        self._reserved = 0.0
        self._refused = int(saved.get("refused", 0))

    @property
    def sums(self) -> tuple[float, float, int]:
        """US dollars spent, US dollars reserved, calls refused."""
        with self._changed:
            return self._spent, self._reserved, self._refused

    def reserve(self, model: str, price: Price | None, most: Most) -> Reservation:
        """Put aside what a call may cost; waits while calls under way may still leave enough.

        Raises:
            ModelError: cause `budget`; the call might exceed the cap, or has no price.
        """
        if self.cap is None:
            return Reservation(self, 0.0)
        if price is None:
            if self._allow_unpriced:
                return Reservation(self, 0.0)
            raise self._refusal(model, f"its price is not known: {price_advice(model)}")
        amount = price.of(most.given, most.made)
        with self._changed:
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
        """Turn a reservation into what was spent."""
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
        if self.cap is None:
            return
        sums = {"spent": self._spent, "reserved": self._reserved, "refused": self._refused}
        draft = self._file.with_suffix(".new")
        draft.parent.mkdir(parents=True, exist_ok=True)
        draft.write_text(json.dumps(sums), encoding="utf-8")
        draft.replace(self._file)


def price_advice(name: str) -> str:
    """What to do about a model without a price."""
    return (
        "give input_cost_per_mtok and output_cost_per_mtok (0 for a model that costs nothing) in "
        f'[tool.autoweb.models."{name}"], or let it run uncounted with --autoweb-allow-unpriced'
    )


def _read(path: Path) -> dict[str, Any]:
    try:
        saved: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    return saved
