"""Whether and when a failed attempt is retried."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from pytest_autoweb.results.records import Attempt
from pytest_autoweb.results.records.record import FailureType

UNRECOVERABLE: frozenset[FailureType] = frozenset({"PERMISSION_ERROR"})
"""Types that no repair of a script can fix; only the user's own login hook may, once."""
TRANSIENT: frozenset[FailureType] = frozenset({"SERVICE_UNAVAILABLE", "RESOURCE_CONFLICT"})
"""Transient types, so a retry pauses first."""

MIN_SUCCESS_SHARE = 0.1
"""Minimum share of past corrections that must have helped."""
CORRECTIONS_COUNTED = 100
"""Number of the latest corrections that count for this share."""
MIN_CORRECTIONS = 30
"""Minimum number of corrections for a conclusion: if one in ten helps, 20 in a row still fail in an
eighth of all runs."""

PastCorrections = Mapping[str, tuple[int, int]]
"""For each type, how many of the latest corrections by this model in this arm helped, and their
number."""


class Rules(NamedTuple):
    """The limits for one cell."""

    max_retries: int
    """Maximum number of attempts after the first one."""
    resettable: bool
    """Whether every attempt starts from the same state of the server."""
    can_relogin: bool = False
    """Whether the user has a hook that logs in again."""
    past: PastCorrections = MappingProxyType({})
    """The record of earlier corrections from a store; empty if there is none."""
    compared: bool = False
    """Whether several arms are compared, all of which must then keep these rules."""


class RetryDecision(NamedTuple):
    """Whether and how to continue after the last attempt."""

    retry: bool
    reason: str = ""
    """The reason if there is no retry."""
    wait_s: float = 0.0
    relogin: bool = False


def may_pass(attempt: Attempt) -> bool:
    """Return whether the failure may be transient, so that repeating the calls may help."""
    return attempt.classification is not None and attempt.classification.type in TRANSIENT


_REFUSED = frozenset(("lint", "plan", "repair"))
"""Kinds of failures that end an attempt before it does anything on the page."""


def last_run(attempts: Sequence[Attempt]) -> Attempt:
    """Return the last attempt that reached the page, or the last one if none did.

    A retry refused before it ran shows nothing new about the task, so the failure's type and the
    observations of the page are still those of the previous attempt.
    """
    return next((each for each in reversed(attempts) if not was_refused(each)), attempts[-1])


def was_refused(attempt: Attempt) -> bool:
    """Return whether the attempt ended before it did anything on the page."""
    return attempt.failure is not None and attempt.failure.kind in _REFUSED


def decide_retry(attempts: Sequence[Attempt], rules: Rules) -> RetryDecision:
    """Decide whether to stop or to retry after a pause.

    The pause before retry 1, 2 and 3 is 1, 2 and 4 s, but only if the failure may be transient.
    Missing permissions end the retries, unless the user's hook logs in again, which is tried once.
    There is no retry if the attempt may have changed something that cannot be reset, or if such
    corrections have hardly ever helped.

    Args:
        attempts: the attempts so far, of which the last one failed.
        rules: the limits for the cell.
    """
    last, made = last_run(attempts), len(attempts) - 1
    if made >= rules.max_retries:
        return RetryDecision(
            False, f"{made} retries were made" if made else "no retries are allowed"
        )
    # This rule applies to every type of failure, because nothing may be ordered or sent twice.
    if any(attempt.writes for attempt in attempts) and not rules.resettable:
        return RetryDecision(
            False, "it may have changed something, and nothing puts the server back"
        )
    kind = last.classification.type if last.classification else "UNKNOWN"
    if kind in UNRECOVERABLE:
        used = any(attempt.correction and attempt.correction.relogin for attempt in attempts)
        if used or not rules.can_relogin:
            done = "logging in again did not help" if used else "nothing logs in again"
            return RetryDecision(False, f"{kind} is not retried: {done}")
        return RetryDecision(True, relogin=True)
    # Past success decides last, because the rules above apply regardless of it.
    helped, tried = rules.past.get(kind, (0, 0))
    if tried >= MIN_CORRECTIONS and helped / tried < MIN_SUCCESS_SHARE:
        return RetryDecision(False, f"{helped} of the last {tried} corrections of {kind} helped")
    return RetryDecision(True, wait_s=float(2**made) if kind in TRANSIENT else 0.0)
