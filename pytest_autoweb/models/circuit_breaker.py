"""Calls that cannot succeed are not repeated: of a refused key, or of a service that is down."""

import threading
import time
from collections.abc import Callable

from msgspec import Struct

from pytest_autoweb.base.errors import ModelCause, ModelError

_FAILURES_IN_A_ROW = 3
_PAUSE_S = 60.0
# Failures of a service that is down; rate limits are answered by waiting instead.
_DOWN: tuple[ModelCause, ...] = ("timeout", "unavailable")

_REFUSED = "refused the key"


class _Failures(Struct):
    cause: ModelCause
    in_a_row: int
    at: float
    said: str
    """What a service did that refuses for good."""


class CircuitBreaker:
    """Refuses, without sending them, calls of a model that would fail like its last ones.

    A refused key stays refused, and an empty account stays empty, so one refusal is enough for the
    whole session. A service that is down may recover, so after three failures in a row its model is
    not called for a minute; then one call is tried.

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
