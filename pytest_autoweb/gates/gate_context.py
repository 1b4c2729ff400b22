"""What a gate is, what it may look at, and the mapping of all gates."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from pytest_autoweb.gates.gate_policy import GatePolicy
from pytest_autoweb.report.comparison import Comparison, compare_runs
from pytest_autoweb.report.controls import is_control
from pytest_autoweb.report.gate_result import GateResult
from pytest_autoweb.report.history import History
from pytest_autoweb.report.rows import CellSummary, RunRows
from pytest_autoweb.variants import Variants

AFTER_THE_BUILT_IN_ONES = 10_000
"""The order of a gate that does not ask for a place."""


class Spending(NamedTuple):
    """What a session's live calls cost."""

    usd: float
    refused: int
    """Calls that were not made because of the cap."""


@dataclass(frozen=True)
class GateContext:
    """Everything a gate may decide on. Nothing in it can be changed."""

    run: RunRows
    """The whole run, controls included."""
    policy: GatePolicy
    """What the flags and the groups ask."""
    baseline: RunRows | None = None
    """The run to compare with."""
    missing: str = ""
    """Why there is no baseline."""
    history: History | None = None
    """What earlier runs of the storage folder say."""
    spending: Spending | None = None
    """What the session's live calls cost; None for a run of the past."""

    @cached_property
    def contestants(self) -> tuple[CellSummary, ...]:
        """The run's rows without those of the controls."""
        return tuple(row for row in self.run.rows if not is_control(row.model))

    @cached_property
    def hard(self) -> tuple[CellSummary, ...]:
        """The contestants' rows without the cases that belong to soft groups only."""
        return tuple(row for row in self.contestants if not self.policy.is_soft(row))

    @cached_property
    def compared(self) -> RunRows:
        """The run as it is compared with the baseline: without the cases of soft groups."""
        controls = tuple(row for row in self.run.rows if is_control(row.model))
        return self.run.model_copy(update={"rows": (*self.hard, *controls)})

    @cached_property
    def pairs(self) -> tuple[Comparison, ...]:
        """Each model compared with itself in the baseline; empty without a baseline."""
        return () if self.baseline is None else tuple(compare_runs(self.baseline, self.compared))


@dataclass(frozen=True, slots=True)
class Gate:
    """One rule that a run has to satisfy.

    `evaluate` returns a result for each decision, such as one for each model, and nothing where
    the rule does not apply.
    """

    name: str
    summary: str
    evaluate: Callable[[GateContext], Iterable[GateResult]]
    order: int = AFTER_THE_BUILT_IN_ONES
    """Gates with a lower number come first in the report."""


GATES: Variants[Gate] = Variants("gate", "pytest_autoweb.gates.rules")
