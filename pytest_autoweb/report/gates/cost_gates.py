"""Gates on what a run costs, in money and in time: the cap, and the growth since the baseline."""

from collections.abc import Iterator

from pytest_autoweb.report.gates.gate_context import GateContext, Spending
from pytest_autoweb.report.wording import count_of
from pytest_autoweb.results.analysis.cell_numbers import RunRows, has_unknown_cost
from pytest_autoweb.results.analysis.comparison import Comparison
from pytest_autoweb.results.analysis.comparison_sides import Change
from pytest_autoweb.results.runs.side_files import GateResult


def cost_cap(context: GateContext) -> Iterator[GateResult]:
    """Fail a run that was not measured in full, because the cap refused some of its calls.

    Without the session's own count (a saved or merged run) the cells' cost is added up.
    """
    rows, policy, spending = context.contestants, context.policy, context.spending
    if policy.max_cost is None:
        return
    unknown = sum(map(has_unknown_cost, rows))
    details = [f"{count_of(unknown, 'cell')} made calls without a known price"] if unknown else []
    if spending is None:
        spending = Spending(sum(row.cost_usd or 0.0 for row in rows), 0)
    if spending.refused:
        details.insert(0, f"{count_of(spending.refused, 'call')} not made for fear of exceeding it")
    within = not spending.refused and spending.usd <= policy.max_cost
    yield GateResult(
        name="cost cap",
        passed=within and (not unknown or policy.allow_unpriced),
        message=f"${spending.usd:.4f} of ${policy.max_cost:g} spent",
        details=tuple(details),
    )


def costs(context: GateContext) -> Iterator[GateResult]:
    """Fail a cost per cell that grew by more than its margin; unknown never counts as none."""
    policy = context.policy
    if "cost" not in policy.limits:
        return
    for pair in context.pairs:
        own = [row for row in context.compared.rows if row.model == pair.b.model]
        unknown = sum(map(has_unknown_cost, own))
        if pair.a.cost_per_cell == pair.b.cost_per_cell == 0:
            message = "no cell costs anything, as before"
            yield GateResult(name="cost", model=pair.b.model, passed=True, message=message)
            continue
        if not unknown:
            yield _growth("cost", pair, pair.cost_change, policy.limits["cost"])
            continue
        yield GateResult(
            name="cost",
            model=pair.b.model,
            passed=None if policy.allow_unpriced else False,
            message=f"the cost of {unknown} of {count_of(len(own), 'cell')} is unknown",
            details=("give the model prices: input_cost_per_mtok, output_cost_per_mtok",),
        )


def durations(context: GateContext) -> Iterator[GateResult]:
    """Fail a time per cell that grew by more than its margin on the same kind of machine."""
    limits, baseline = context.policy.limits, context.baseline
    if "duration" not in limits or baseline is None:
        return
    here, there = _machine(context.run), _machine(baseline)
    for pair in context.pairs:
        if here == there:
            yield _growth("duration", pair, pair.time_change, limits["duration"])
            continue
        yield GateResult(
            name="duration",
            model=pair.b.model,
            passed=None,
            message=f"not comparable: {there} before, {here} now",
        )


def _growth(name: str, pair: Comparison, change: Change, margin: float) -> GateResult:
    result = GateResult(
        name=name,
        model=pair.b.model,
        passed=None,
        message="unknown in the run compared with, or no case can be compared",
    )
    if change.relative is None:
        return result
    if change.interval is None:
        return result.model_copy(update={"message": "too few cases to tell a change from noise"})
    beyond, sure = change.relative * 100 > margin, change.interval.low > 0
    low, high = change.interval.low, change.interval.high
    return result.model_copy(
        update={
            "passed": not (beyond and sure),
            "message": f"{change.relative:+.0%} a cell (95%: {low:+.0%} to {high:+.0%}; "
            f"margin {margin:g}%)",
        }
    )


def _machine(rows: RunRows) -> str:
    cpus = rows.environment.get("cpus", "?")
    return f"{rows.environment.get('platform', '?')}, {cpus} CPUs, {rows.workers} workers"
