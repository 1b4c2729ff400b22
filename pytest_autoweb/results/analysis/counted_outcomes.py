"""Which outcomes count as a verdict on the model, and which of them as a pass."""

from collections.abc import Sequence
from typing import Literal

from pytest_autoweb.results.analysis.cell_numbers import CellSummary, PassRate, rate_of
from pytest_autoweb.results.records import Outcome

Metric = Literal["first_attempt", "after_repair", "executed"]
"""What counts as a pass: `passed` alone, or both `passed` and `healed`; or, of cells without
checks, that every step ran at the first attempt."""

GOOD: dict[Metric, frozenset[Outcome]] = {
    "first_attempt": frozenset({"passed"}),
    "after_repair": frozenset({"passed", "healed"}),
    "executed": frozenset({"passed"}),
}
"""The outcomes that count as a pass, for each metric."""

GRADED: frozenset[Outcome] = frozenset({"passed", "healed", "failed"})
"""Outcomes that are a verdict on the model."""


def first_attempt_rate(rows: Sequence[CellSummary], confidence: float = 0.95) -> PassRate:
    """Return the rate over cases; only a pass at the first attempt counts."""
    return rate_of(rows, GOOD["first_attempt"], confidence)
