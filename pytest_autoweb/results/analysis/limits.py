"""Which attempts were ended by a limit, and by which; pure.

An attempt that a limit ended tells how far the limit reaches, and not only what the model can do.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Literal

from pytest_autoweb.base.errors import ModelCause
from pytest_autoweb.results.analysis.statistics import Interval, wilson
from pytest_autoweb.results.records import Attempt, CellResult, Failure, Record

LimitName = Literal["time", "steps", "tokens", "cost"]


class LimitShare(Record):
    """The attempts that were ended by a limit; each is counted under one."""

    attempts: int
    """All attempts, repairs included."""
    time: int = 0
    """By the seconds for a step or an attempt, or for the model's reply."""
    steps: int = 0
    """By the number of turns, decisions or model calls, or because they went in circles."""
    tokens: int = 0
    """By the length of the model's reply or context."""
    cost: int = 0
    """By the cap on what the run may spend."""
    share: float
    """The share of all attempts that one of them ended."""
    interval: Interval | None
    """Its 95% interval (`statistics.wilson`) over attempts."""


def limits_of(cells: Sequence[CellResult]) -> LimitShare | None:
    """Return how many attempts of a model were ended by a limit; None without attempts."""
    attempts = [attempt for cell in cells for attempt in cell.attempts]
    if not attempts:
        return None
    found = Counter(name for attempt in attempts if (name := ended_by(attempt)))
    return LimitShare(
        attempts=len(attempts),
        time=found["time"],
        steps=found["steps"],
        tokens=found["tokens"],
        cost=found["cost"],
        share=found.total() / len(attempts),
        interval=wilson(found.total(), len(attempts)),
    )


def ended_by(attempt: Attempt) -> LimitName | None:
    """Return the limit that ended an attempt; None if it passed, or ended otherwise."""
    return None if attempt.checks_passed or attempt.failure is None else _limit(attempt.failure)


_BY_CAUSE: dict[ModelCause, LimitName] = {
    "timeout": "time",
    "truncated": "tokens",
    "context_window": "tokens",
    "budget": "cost",
}


def _limit(failure: Failure) -> LimitName | None:
    if failure.kind == "timeout":
        return "time"
    if failure.kind == "limit":
        return "steps"
    if failure.kind == "model" and failure.cause:
        return _BY_CAUSE.get(failure.cause)
    return None
