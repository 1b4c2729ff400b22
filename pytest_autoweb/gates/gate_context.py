"""What a gate is, what it may look at, and the evaluation of all of them."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from pytest_autoweb.analysis.cell_numbers import CellSummary, RunRows
from pytest_autoweb.analysis.comparison import Comparison, compare_runs
from pytest_autoweb.analysis.past_runs import History
from pytest_autoweb.analysis.verdict_validity import is_control
from pytest_autoweb.gates.gate_policy import GatePolicy
from pytest_autoweb.runs.side_files import GateResult
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
    """What the flags and the groups demand."""
    baseline: RunRows | None = None
    """The run to compare with."""
    missing: str = ""
    """Why there is no baseline."""
    history: History | None = None
    """What earlier runs of the storage folder show."""
    spending: Spending | None = None
    """What the session's live calls cost; None for a run of the past."""

    @cached_property
    def contestants(self) -> tuple[CellSummary, ...]:
        """Return the run's rows without those of the controls."""
        return tuple(row for row in self.run.rows if not is_control(row.model))

    @cached_property
    def hard(self) -> tuple[CellSummary, ...]:
        """Return the contestants' rows without the cases that belong to soft groups only."""
        return tuple(row for row in self.contestants if not self.policy.is_soft(row))

    @cached_property
    def compared(self) -> RunRows:
        """Return the run as it is compared with the baseline: without the cases of soft groups."""
        # The controls stay, because the comparison leaves out cases whose controls are broken.
        controls = tuple(row for row in self.run.rows if is_control(row.model))
        return self.run.model_copy(update={"rows": (*self.hard, *controls)})

    @cached_property
    def pairs(self) -> tuple[Comparison, ...]:
        """Return each model compared with itself in the baseline; empty without a baseline."""
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


def evaluate_gates(
    rows: RunRows,
    policy: GatePolicy,
    *,
    baseline: RunRows | None = None,
    missing: str = "",
    history: History | None = None,
    spending: Spending | None = None,
) -> tuple[GateResult, ...]:
    """Return the results of every gate, in the order in which a reader wants them.

    Args:
        rows: the run, its controls included; the built-in gates never judge these.
        policy: what is asked.
        baseline: the run to compare with.
        missing: why there is no baseline.
        history: what earlier runs say.
        spending: what the session's live calls cost.
    """
    context = GateContext(rows, policy, baseline, missing, history, spending)
    gates = sorted(GATES.values(), key=lambda gate: gate.order)
    return tuple(result for gate in gates for result in _results(gate, context))


def verdict_of(results: Iterable[GateResult]) -> bool | None:
    """Return whether the run is good enough, or None where no gate came to a decision."""
    decided = [result.passed for result in results if result.passed is not None and not result.soft]
    return all(decided) if decided else None


def _results(gate: Gate, context: GateContext) -> tuple[GateResult, ...]:
    """Return what the gate decided; a gate that raises has failed, and the others still decide."""
    try:
        results = tuple(gate.evaluate(context))
        for result in results:
            if not isinstance(result, GateResult):
                raise TypeError(f"it returned {result!r}, which is not a GateResult")
    except Exception as error:
        message = f"the gate could not decide: {type(error).__name__}: {error}"
        return (GateResult(name=gate.name, passed=False, message=message),)
    return results
