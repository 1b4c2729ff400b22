"""What decides whether a run is good enough: all registered gates, one after the other."""

from collections.abc import Iterable

from pytest_autoweb.gates.gate_context import GATES, Gate, GateContext, Spending
from pytest_autoweb.gates.gate_policy import GatePolicy
from pytest_autoweb.report.gate_result import GateResult
from pytest_autoweb.report.history import History
from pytest_autoweb.report.rows import RunRows


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
