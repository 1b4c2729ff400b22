"""What a gate is, and everything that it may base its decision on."""

from collections.abc import Callable, Iterable
from functools import cached_property
from typing import NamedTuple

from msgspec import Struct

from pytest_autoweb.report.gates.gate_policy import GatePolicy
from pytest_autoweb.results.analysis.cell_numbers import CellSummary, RunRows
from pytest_autoweb.results.analysis.comparison import Comparison, compare_runs
from pytest_autoweb.results.analysis.controls import is_control
from pytest_autoweb.results.analysis.fair_changes import fair_cells
from pytest_autoweb.results.analysis.past_runs import History
from pytest_autoweb.results.runs.side_files import GateResult

AFTER_THE_BUILT_IN_ONES = 10_000
"""The default order of a gate."""


class Spending(NamedTuple):
    """The cost of a session's live calls."""

    usd: float
    refused: int
    """Calls that were not made because of the cap."""


class GateContext(Struct, frozen=True, dict=True):
    """Everything that a gate may base its decision on; immutable."""

    run: RunRows
    """The whole run, controls included."""
    policy: GatePolicy
    """The requirements from flags and groups."""
    baseline: RunRows | None = None
    """The run to compare with."""
    missing: str = ""
    """Why there is no baseline."""
    history: History | None = None
    """Findings from earlier runs in the storage folder."""
    spending: Spending | None = None
    """The cost of the session's live calls; None for a past run."""

    @cached_property
    def contestants(self) -> tuple[CellSummary, ...]:
        """Return the run's rows without those of the controls, and those that were not needed.

        Of cells under a change of the page, only those count to which it is fair.
        """
        rows = (row for row in fair_cells(self.run.rows) if not row.not_needed)
        return tuple(row for row in rows if not is_control(row.model))

    @cached_property
    def stopped(self) -> tuple[CellSummary, ...]:
        """Return the rows of cells that somebody stopped while the run went on, without controls.

        What was stopped is not shown to pass, so gates that demand something of all cells count it.
        """
        rows = (row for row in self.run.rows if row.not_needed == "steered")
        return tuple(row for row in rows if not is_control(row.model))

    @cached_property
    def hard(self) -> tuple[CellSummary, ...]:
        """Return the contestants' rows without cases that belong only to soft groups."""
        return tuple(row for row in self.contestants if not self.policy.is_soft(row))

    @cached_property
    def compared(self) -> RunRows:
        """Return the run for comparison with the baseline: without the cases of soft groups."""
        # The controls stay, because the comparison leaves out cases whose controls are broken.
        controls = tuple(row for row in self.run.rows if is_control(row.model))
        return self.run.model_copy(update={"rows": (*self.hard, *controls)})

    @cached_property
    def pairs(self) -> tuple[Comparison, ...]:
        """Return each model compared with itself in the baseline; empty without a baseline."""
        return () if self.baseline is None else tuple(compare_runs(self.baseline, self.compared))


class Gate(Struct, frozen=True):
    """One rule that a run has to satisfy.

    `evaluate` returns a result for each decision, such as one for each model, and nothing where
    the rule does not apply.
    """

    name: str
    summary: str
    evaluate: Callable[[GateContext], Iterable[GateResult]]
    order: int = AFTER_THE_BUILT_IN_ONES
    """Gates with a lower number come first in the report."""
