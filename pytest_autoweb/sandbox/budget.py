"""The time that is left to a step, and what single calls get of it."""

import time
from collections.abc import Callable
from datetime import timedelta

DEFAULT_MS = 30_000.0
CLAIM_MS = 5_000.0
"""Playwright's own defaults, for calls and for `expect`."""

GRACE_S = 1.0
"""How long the worker may take to handle the error that its time is over."""


class Budget:
    """Counts one step down.

    Args:
        seconds: what the step may take.
        waited: seconds spent so far on what is not counted, such as waiting for a model.

    Attributes:
        cut: the call at hand got less time than it asked for.
        spent: a call ran into the end of the step.
    """

    def __init__(self, seconds: float, waited: Callable[[], float] = lambda: 0.0) -> None:
        self._waited, self._waited_before = waited, waited()
        self._over = self._hard = time.monotonic() + seconds
        self.cut = False
        self.spent = False

    @property
    def hard_deadline(self) -> float:
        """`time.monotonic()` at which a worker that computes on is stopped."""
        return self._hard + self._not_counted

    @property
    def remaining_s(self) -> float:
        """Seconds left, never negative."""
        return max(0.0, self._over + self._not_counted - time.monotonic())

    def grant_ms(self, requested: object, default: float) -> float:
        """The timeout that a call gets: what it asks for, but not more than is left.

        Raises:
            TypeError: the request is not a time.
        """
        left = self.remaining_s * 1000
        wanted = _milliseconds(requested, default)
        self.cut = wanted > left
        return float(max(1, round(min(wanted, left))))

    def allow_grace(self) -> None:
        """After a late reply: leave the worker a moment to handle it."""
        late = time.monotonic() + GRACE_S - self._not_counted
        self._hard = min(max(self._hard, late), self._over + 3 * GRACE_S)

    @property
    def _not_counted(self) -> float:
        return self._waited() - self._waited_before


def _milliseconds(requested: object, default: float) -> float:
    if requested is None:
        return default
    if isinstance(requested, timedelta):
        return requested.total_seconds() * 1000
    if isinstance(requested, bool) or not isinstance(requested, int | float):
        raise TypeError(f"timeout must be a number of milliseconds, not {requested!r:.80}")
    # Zero means "no limit" to Playwright; here the step's own limit remains.
    return float(requested) if requested > 0 else float("inf")
