"""The time that remains for a step, and the share of it that single calls get."""

import time
from collections.abc import Callable
from datetime import timedelta

DEFAULT_MS = 30_000.0
CLAIM_MS = 5_000.0
"""Playwright's own default timeouts, for calls and for `expect`."""

GRACE_S = 1.0
"""Extra time in which the worker may handle the error that its time is over."""


class Budget:
    """The countdown of one step.

    Args:
        seconds: how long the step may take.
        waited: returns the seconds spent so far on what is not counted, such as model calls.

    Attributes:
        cut: whether the current call got less time than it asked for.
        spent: whether a call was ended by the step's limit.
    """

    def __init__(self, seconds: float, waited: Callable[[], float] = lambda: 0.0) -> None:
        self._waited, self._waited_before = waited, waited()
        self._over = self._hard = time.monotonic() + seconds
        self.cut = False
        self.spent = False

    @property
    def hard_deadline(self) -> float:
        """Return the `time.monotonic()` at which a worker that still computes is stopped."""
        return self._hard + self._not_counted

    @property
    def remaining_s(self) -> float:
        """Return the seconds left, never a negative number."""
        return max(0.0, self._over + self._not_counted - time.monotonic())

    def grant_ms(self, requested: object, default: float) -> float:
        """Return a call's timeout: the one it asks for, but not more than is left.

        Raises:
            TypeError: the requested timeout is not a number.
        """
        left = self.remaining_s * 1000
        wanted = _milliseconds(requested, default)
        # Only then is a timeout the fault of the step's limit instead of the call's own timeout.
        self.cut = wanted > left
        return float(max(1, round(min(wanted, left))))

    def allow_grace(self) -> None:
        """Give the worker a moment to handle a late reply."""
        late = time.monotonic() + GRACE_S - self._not_counted
        # Capped, so that code which catches each timeout cannot extend its time without end.
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
