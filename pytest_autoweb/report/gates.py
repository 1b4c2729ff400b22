"""What decides whether a run is good enough: all gates, from rows alone; pure."""

from collections.abc import Iterable

from pytest_autoweb.report.comparison import compare_runs
from pytest_autoweb.report.controls import is_control
from pytest_autoweb.report.gate_changes import (
    about_baseline,
    costs,
    drops,
    durations,
    steady_cases,
)
from pytest_autoweb.report.gate_policy import GatePolicy
from pytest_autoweb.report.gate_rates import (
    Spending,
    cost_cap,
    groups,
    pass_rates,
    pinned_cases,
    without_verdict,
)
from pytest_autoweb.report.gate_result import GateResult
from pytest_autoweb.report.history import History
from pytest_autoweb.report.rows import RunRows

__all__ = ["GateResult", "evaluate_gates", "verdict_of"]


def evaluate_gates(
    rows: RunRows,
    policy: GatePolicy,
    *,
    baseline: RunRows | None = None,
    missing: str = "",
    history: History | None = None,
    spending: Spending | None = None,
) -> tuple[GateResult, ...]:
    """Every gate of the run, in the order in which a reader wants them.

    Args:
        rows: the run, its controls included; these are never gated here.
        policy: what is asked.
        baseline: the run to compare with.
        missing: why there is no baseline.
        history: what earlier runs say.
        spending: what the session's live calls cost.
    """
    contestants = [row for row in rows.rows if not is_control(row.model)]
    hard = tuple(row for row in contestants if not policy.is_soft(row))
    controls = tuple(row for row in rows.rows if is_control(row.model))
    compared = rows.model_copy(update={"rows": (*hard, *controls)})
    results = [
        *(without_verdict(contestants) if policy.asks_anything else ()),
        *pinned_cases(contestants, policy),
        *pass_rates(contestants, policy),
        *groups(contestants, policy),
        *about_baseline(rows, policy, baseline, missing),
    ]
    if baseline is not None and policy.limits:
        pairs = compare_runs(baseline, compared)
        results += drops(compared, policy, baseline, pairs)
        results += costs(compared, policy, pairs)
        results += durations(compared, policy, baseline, pairs)
    results += steady_cases(hard, policy, history)
    results += cost_cap(contestants, policy, spending)
    return tuple(results)


def verdict_of(results: Iterable[GateResult]) -> bool | None:
    """Whether the run is good enough; None: no gate came to a decision."""
    decided = [result.passed for result in results if result.passed is not None and not result.soft]
    return all(decided) if decided else None
