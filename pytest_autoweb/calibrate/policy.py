"""Whether a failed attempt is tried again, and when; pure."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from pytest_autoweb.calibrate.recovery import TRANSIENT, UNRECOVERABLE
from pytest_autoweb.results import Attempt

LEAST_CONFIDENCE = 0.3
"""Below it a reflection is not acted on (row 3.3.7 of the seed)."""

LEAST_SUCCESS = 0.1
"""Share of corrections that must have helped before (row 3.3.5 of the seed)."""
LAST = 100
"""Corrections that count for it, the latest ones."""
ENOUGH = 30
"""With fewer nothing is concluded: at one in ten, 20 in a row fail in an eighth of all runs."""

Past = Mapping[str, tuple[int, int]]
"""Of each type's latest corrections by this model in this way: how many helped, and of how many."""


class Rules(NamedTuple):
    """What may be done for one cell."""

    max_retries: int
    """After the first attempt."""
    resettable: bool
    """Every attempt starts from the same state of the server."""
    can_relogin: bool = False
    """The user has a hook that logs in again."""
    past: Past = MappingProxyType({})
    """What a store remembers; empty: nothing is known."""


class Move(NamedTuple):
    """What to do after the last attempt."""

    retry: bool
    reason: str = ""
    """Why there is no retry."""
    wait_s: float = 0.0
    relogin: bool = False


def may_pass(attempt: Attempt) -> bool:
    """Whether its failure may pass by itself, so that doing the same again is no folly."""
    return attempt.classification is not None and attempt.classification.type in TRANSIENT


def next_move(attempts: Sequence[Attempt], rules: Rules) -> Move:
    """Stop, or try again after a pause.

    Three retries come after the first attempt, so there are up to four. Before retry 1, 2 and 3 it
    waits 1, 2 and 4 s, but only where the failure may pass by itself. A failure for lack of rights
    ends it, unless the user's hook logs in again, once. What may have changed something that cannot
    be put back is not done twice. What hardly ever helped is not tried again.

    Args:
        attempts: so far, the first one included; the last one failed.
        rules: of the cell.
    """
    last, made = attempts[-1], len(attempts) - 1
    if made >= rules.max_retries:
        return Move(False, f"{made} retries were made" if made else "no retries are allowed")
    if any(attempt.writes for attempt in attempts) and not rules.resettable:
        return Move(False, "it may have changed something, and nothing puts the server back")
    kind = last.classification.type if last.classification else "UNKNOWN"
    if kind in UNRECOVERABLE:
        used = any(attempt.correction and attempt.correction.relogin for attempt in attempts)
        if used or not rules.can_relogin:
            done = "logging in again did not help" if used else "nothing logs in again"
            return Move(False, f"{kind} is not retried: {done}")
        return Move(True, relogin=True)
    helped, tried = rules.past.get(kind, (0, 0))
    if tried >= ENOUGH and helped / tried < LEAST_SUCCESS:
        return Move(False, f"{helped} of the last {tried} corrections of {kind} helped")
    return Move(True, wait_s=float(2**made) if kind in TRANSIENT else 0.0)
