"""The built-in gates, each added to `GATES` by its own function.

Some look at the run alone: missing verdicts, pinned cases, pass rates, groups and the cost cap.
Others compare it with a saved run: a significant drop, a steady case that broke, cost and time.

Missing scores fail closed: a cell that broke, could not be judged or was not run counts as not
passed. A model without any verdict at all is an error, not a rate of 0 %.
"""

from collections.abc import Iterator, Sequence
from datetime import timedelta

from pytest_autoweb.report.gates.gate_decision import (
    GATES,
    CaseGroup,
    Gate,
    GateContext,
    Spending,
    empty_group_warning,
)
from pytest_autoweb.report.wording import rate
from pytest_autoweb.results.analysis.cell_numbers import (
    CellSummary,
    RunRows,
    by_model,
    has_unknown_cost,
)
from pytest_autoweb.results.analysis.comparison import Comparison, compare_runs, contestants
from pytest_autoweb.results.analysis.comparison_sides import Change
from pytest_autoweb.results.analysis.counted_outcomes import GOOD, GRADED, first_attempt_rate
from pytest_autoweb.results.analysis.past_runs import SteadyCase
from pytest_autoweb.results.analysis.statistics import ALPHA
from pytest_autoweb.results.runs.side_files import GateResult

_PASSED = GOOD["after_repair"]
_LISTED = 20
# A rate equal to the requirement meets it, although shares such as 7/10 are inexact in binary.
_ROUNDING = 1e-9


def without_verdict(context: GateContext) -> Iterator[GateResult]:
    """Report an error for each model whose cells came to no verdict at all."""
    if not context.policy.asks_anything:
        return
    for model, own in by_model(context.contestants).items():
        if not any(row.outcome in GRADED for row in own):
            yield GateResult(
                name="infrastructure",
                model=model,
                passed=False,
                message=f"not one of {len(own)} cells came to a verdict ({_counts(own)}); "
                "that is an error, not a pass rate of 0%",
            )


GATES.add(
    Gate(
        name="infrastructure",
        summary="a model none of whose cells reached a verdict is an error, not a pass rate of 0%",
        order=100,
        evaluate=without_verdict,
    )
)


def pinned_cases(context: GateContext) -> Iterator[GateResult]:
    """Demand that every cell of a pinned case passes, if need be after a repair."""
    pinned = [row for row in context.contestants if context.policy.is_pinned(row)]
    if not pinned:
        return
    bad = [row for row in pinned if row.outcome not in _PASSED]
    yield GateResult(
        name="must pass",
        passed=not bad,
        message=f"{len(bad)} of {len(pinned)} pinned cells did not pass"
        if bad
        else f"all {len(pinned)} pinned cells passed",
        details=_listed(bad),
    )


GATES.add(
    Gate(
        name="must_pass",
        summary="every cell of a pinned case passes, if need be after a repair",
        order=200,
        evaluate=pinned_cases,
    )
)


def pass_rates(context: GateContext) -> Iterator[GateResult]:
    """Judge each model's first-attempt rate over all cells that were planned."""
    policy = context.policy
    if policy.min_pass_rate is None:
        return
    for model, own in by_model(context.contestants).items():
        hard = [row for row in own if not policy.is_soft(row)]
        result = _least_rate("pass rate", model, hard, policy.min_pass_rate)
        if len(hard) < len(own):
            note = f"{len(own) - len(hard)} cells of soft groups are left out"
            result = result.model_copy(update={"details": (*result.details, note)})
        yield result


GATES.add(
    Gate(
        name="pass_rate",
        summary="each model passes a minimum share of the cells at the first attempt",
        order=300,
        evaluate=pass_rates,
    )
)


def groups(context: GateContext) -> Iterator[GateResult]:
    """Judge, model by model, what `[tool.autoweb.groups]` asks."""
    for group in context.policy.groups:
        name = f"group {group.name}"
        members = [row for row in context.contestants if group.has(row)]
        if not members:
            message = empty_group_warning(group, context.contestants)
            yield GateResult(name=name, passed=None, message=message, soft=group.soft)
        for model, own in by_model(members).items():
            yield from _group_gates(name, group, model, own)


GATES.add(
    Gate(
        name="groups",
        summary="each group of `[tool.autoweb.groups]` meets what its table asks",
        order=400,
        evaluate=groups,
    )
)


def cost_cap(context: GateContext) -> Iterator[GateResult]:
    """Fail a run that was not measured in full, because the cap refused some of its calls.

    Without the session's own count (a saved or merged run) the cells' cost is added up.
    """
    rows, policy, spending = context.contestants, context.policy, context.spending
    if policy.max_cost is None:
        return
    unknown = sum(map(has_unknown_cost, rows))
    details = [f"{unknown} cells have calls without a known price"] if unknown else []
    if spending is None:
        spending = Spending(sum(row.cost_usd or 0.0 for row in rows), 0)
    if spending.refused:
        details.insert(0, f"{spending.refused} calls were not made, as they might have exceeded it")
    within = not spending.refused and spending.usd <= policy.max_cost
    yield GateResult(
        name="cost cap",
        passed=within and (not unknown or policy.allow_unpriced),
        message=f"${spending.usd:.4f} of ${policy.max_cost:g} spent",
        details=tuple(details),
    )


GATES.add(
    Gate(
        name="cost_cap",
        summary="the run spends no more than the cap, and no call was refused because of it",
        order=1000,
        evaluate=cost_cap,
    )
)


def _group_gates(
    name: str, group: CaseGroup, model: str, rows: Sequence[CellSummary]
) -> Iterator[GateResult]:
    if group.must_pass:
        bad = [row for row in rows if row.outcome not in _PASSED]
        yield GateResult(
            name=f"{name}: must pass",
            model=model,
            passed=not bad,
            message=f"{len(rows) - len(bad)} of {len(rows)} cells passed",
            details=_listed(bad),
            soft=group.soft,
        )
    if group.min_pass_rate is not None:
        least = _least_rate(f"{name}: pass rate", model, rows, group.min_pass_rate)
        yield least.model_copy(update={"soft": group.soft})
    elif not group.must_pass:
        message = f"nothing is demanded of it; first attempt {rate(first_attempt_rate(rows))}"
        yield GateResult(
            name=name, model=model, passed=None, message=message, soft=True, notice=True
        )


def _least_rate(name: str, model: str, rows: Sequence[CellSummary], least: float) -> GateResult:
    reached = first_attempt_rate(rows)
    if reached.value is None:
        return GateResult(name=name, model=model, passed=None, message="there are no cells to rate")
    passed = reached.value >= least / 100 - _ROUNDING
    details = []
    missing = [row for row in rows if row.outcome not in GRADED]
    if missing:
        details.append(f"{len(missing)} cells without a verdict count as not passed")
    inside = reached.interval and reached.interval.low <= least / 100 <= reached.interval.high
    if inside and not passed:
        details.append(
            f"{least:g}% lies inside the 95% interval: a model that deserves it fails this often"
        )
    sign = "reaches" if passed else "is below"
    return GateResult(
        name=name,
        model=model,
        passed=passed,
        message=f"first attempt {rate(reached)} {sign} {least:g}%",
        details=tuple(details),
    )


def _counts(rows: Sequence[CellSummary]) -> str:
    outcomes = [row.outcome for row in rows]
    return ", ".join(f"{outcomes.count(each)} {each}" for each in dict.fromkeys(outcomes))


def _listed(rows: Sequence[CellSummary]) -> tuple[str, ...]:
    lines = [_cell_line(row) for row in rows[:_LISTED]]
    return (*lines, f"and {len(rows) - _LISTED} more") if len(rows) > _LISTED else tuple(lines)


def _cell_line(row: CellSummary) -> str:
    """Describe a cell and its outcome on one line."""
    repeat = f", repeat {row.repeat}" if row.repeat > 1 else ""
    return f"{row.case_id} on {row.model} ({row.capture_mode}{repeat}): {row.outcome}"


def about_baseline(context: GateContext) -> Iterator[GateResult]:
    """Report what a reader must know about the baseline: whether it is missing, old or partial."""
    rows, policy, baseline = context.run, context.policy, context.baseline
    if not policy.compare:
        return
    if baseline is None:
        yield GateResult(
            name="baseline",
            passed=None,
            message=f"nothing is compared: {context.missing or 'there is no earlier run'}",
            notice=True,
        )
        return
    label = baseline.name or baseline.ts
    details = []
    age = rows.started - baseline.started
    if age > timedelta(days=policy.baseline_days):
        details.append(f"it is {age.days} days old, more than {policy.baseline_days}")
    if baseline.interrupted or baseline.shard:
        details.append("it is only a part of a run")
    if baseline.gates is False:
        details.append("it failed its own gates")
    details += [
        f"it has no model {model}, which is therefore not compared"
        for model in contestants(rows)
        if model not in contestants(baseline)
    ]
    yield GateResult(
        name="baseline",
        passed=None,
        message=f"compared with {label}",
        details=tuple(details),
        notice=True,
    )


GATES.add(
    Gate(
        name="baseline",
        summary="a notice, never a failure: the run that this one is compared with, or why none is",
        order=500,
        evaluate=about_baseline,
    )
)


def drops(context: GateContext) -> Iterator[GateResult]:
    """Fail a pass rate that fell by more than its margin if the paired test finds it so."""
    limits, baseline = context.policy.limits, context.baseline
    if "pass_rate" not in limits or baseline is None:
        return
    margin = limits["pass_rate"]
    closed = {}
    # Pairs leave out cells without a verdict, so a run whose hardest cells broke would look better
    # than it is.
    if filled := _missing_as_failed(context.compared, baseline):
        closed = {pair.b.model: _drop(pair, margin) for pair in compare_runs(baseline, filled)}
    for pair in context.pairs:
        graded = _drop(pair, margin)
        with_missing = closed.get(pair.b.model, graded)
        if graded.passed is not False and with_missing.passed is False:
            note = "cells without a verdict count as failed; without them the gate would hold"
            graded = with_missing.model_copy(update={"details": (note, *with_missing.details)})
        yield graded


GATES.add(
    Gate(
        name="pass_rate_drop",
        summary="no model's pass rate fell significantly and by more than the margin",
        order=600,
        evaluate=drops,
    )
)


def steady_cases(context: GateContext) -> Iterator[GateResult]:
    """Fail a case that never failed under its checksums and now fails on every repeat.

    Each case's Fisher test says how surprising that is; the p values are corrected for the number
    of cases looked at (Bonferroni), so that a run of many cases raises no more false alarms than a
    run of one.
    """
    history = context.history
    if "pass_rate" not in context.policy.limits or history is None or not history.runs:
        return
    for model, own in by_model(context.hard).items():
        groups = {(row.case_path, row.case_id, row.capture_mode) for row in own}
        steady = [case for case in history.steady if case.model == model]
        broke = [case for case in steady if case.broke and _all_failed(case, own)]
        alarms = [case for case in broke if (case.p or 0.0) * len(groups) <= ALPHA]
        yield GateResult(
            name="steady cases",
            model=model,
            passed=not alarms,
            message=f"{len(alarms)} cases that never failed before fail on every repeat"
            if alarms
            else f"of {len(steady)} cases that never failed before, none is shown to be broken",
            details=tuple(_steady_line(case, len(groups)) for case in (alarms or broke)[:_LISTED]),
        )


GATES.add(
    Gate(
        name="steady_cases",
        summary="no case that never failed in earlier runs now fails on every repeat",
        order=900,
        evaluate=steady_cases,
    )
)


def costs(context: GateContext) -> Iterator[GateResult]:
    """Fail a cost per cell that grew by more than its margin; unknown never counts as none."""
    policy = context.policy
    if "cost" not in policy.limits:
        return
    for pair in context.pairs:
        own = [row for row in context.compared.rows if row.model == pair.b.model]
        unknown = sum(map(has_unknown_cost, own))
        if not unknown:
            yield _growth("cost", pair, pair.cost_change, policy.limits["cost"])
            continue
        yield GateResult(
            name="cost",
            model=pair.b.model,
            passed=None if policy.allow_unpriced else False,
            message=f"the cost of {unknown} of {len(own)} cells is unknown",
            details=("give the model prices: input_cost_per_mtok, output_cost_per_mtok",),
        )


GATES.add(
    Gate(
        name="cost",
        summary="no model's cost per cell grew certainly and by more than the margin",
        order=700,
        evaluate=costs,
    )
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


GATES.add(
    Gate(
        name="duration",
        summary="no model's time per cell grew certainly and by more than the margin",
        order=800,
        evaluate=durations,
    )
)


def _drop(pair: Comparison, margin: float) -> GateResult:
    details = [pair.verdict, *pair.notes]
    if pair.left_out:
        details.append(f"{len(pair.left_out)} cases are left out")
        details += [f"{each.case_id}: {each.message}" for each in pair.left_out[:_LISTED]]
    result = GateResult(
        name="drop of the pass rate",
        model=pair.b.model,
        passed=None,
        message="no case of the two runs can be compared",
        details=tuple(details),
    )
    if pair.difference is None or pair.p_holm is None:
        return result
    points = pair.difference * 100
    beyond = -points > margin
    failed = beyond and pair.decisive is True
    message = (
        f"{_signed(points)} points over {len(pair.cases)} cases (margin {margin:g}, "
        f"p = {pair.p_holm:.3f}): "
    )
    if failed:
        message += "a significant drop"
    else:
        message += "not significant" if beyond else "within the margin"
    return result.model_copy(update={"passed": not failed, "message": message})


def _signed(value: float) -> str:
    return f"{value:+.1f}".replace("-", "−")


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


def _missing_as_failed(rows: RunRows, baseline: RunRows) -> RunRows | None:
    """Count missing scores as failures where the baseline has a score.

    Returns:
        None if there is nothing to fill in.
    """
    known = {_place(row) for row in baseline.rows if row.outcome in GRADED}
    filled = tuple(
        row if row.outcome in GRADED or _place(row) not in known else _failed(row)
        for row in rows.rows
    )
    return None if filled == rows.rows else rows.model_copy(update={"rows": filled})


def _place(row: CellSummary) -> tuple[str, str, str, str]:
    return row.model, row.case_path, row.case_id, row.capture_mode


def _failed(row: CellSummary) -> CellSummary:
    return row.model_copy(update={"outcome": "failed"})


def _all_failed(case: SteadyCase, rows: Sequence[CellSummary]) -> bool:
    place = (case.model, case.case_path, case.case_id, case.capture_mode)
    graded = [row.outcome for row in rows if _place(row) == place and row.outcome in GRADED]
    return set(graded) == {"failed"}


def _steady_line(case: SteadyCase, looked_at: int) -> str:
    corrected = min(1.0, (case.p or 0.0) * looked_at)
    return (
        f"{case.case_id} ({case.capture_mode}): passed {case.trials} of {case.trials} in "
        f"{case.runs} earlier runs, now 0 of {case.trials_now} "
        f"(p = {corrected:.3f} over {looked_at} cases)"
    )


def _machine(rows: RunRows) -> str:
    cpus = rows.environment.get("cpus", "?")
    return f"{rows.environment.get('platform', '?')}, {cpus} CPUs, {rows.workers} workers"
