"""Gates on what changed since earlier runs: a pass rate that fell, a steady case that broke."""

from collections.abc import Iterator, Sequence
from datetime import timedelta

from pytest_autoweb.report.gates.gate_context import GateContext
from pytest_autoweb.report.wording import count_of
from pytest_autoweb.results.analysis.cell_numbers import CellSummary, RunRows, by_model
from pytest_autoweb.results.analysis.comparison import Comparison, compare_runs, contestants
from pytest_autoweb.results.analysis.counted_outcomes import GRADED
from pytest_autoweb.results.analysis.past_runs import SteadyCase
from pytest_autoweb.results.analysis.statistics import ALPHA
from pytest_autoweb.results.runs.side_files import GateResult

_LISTED = 20


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
        never_failed = f"{count_of(len(steady), 'case')} that never failed before"
        yield GateResult(
            name="steady cases",
            model=model,
            passed=not alarms,
            message=f"{len(alarms)} of {never_failed} failed on every repeat"
            if alarms
            else f"none of {never_failed} is shown to be broken",
            details=tuple(_steady_line(case, len(groups)) for case in (alarms or broke)[:_LISTED]),
        )


def _drop(pair: Comparison, margin: float) -> GateResult:
    details = [pair.verdict, *pair.notes]
    if pair.left_out:
        details.append(f"{count_of(len(pair.left_out), 'case')} left out")
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
        f"{_signed(points)} points over {count_of(len(pair.cases), 'case')} (margin {margin:g}, "
        f"p = {pair.p_holm:.3f}): "
    )
    if failed:
        message += "a significant drop"
    else:
        message += "not significant" if beyond else "within the margin"
    return result.model_copy(update={"passed": not failed, "message": message})


def _signed(value: float) -> str:
    return f"{value:+.1f}".replace("-", "−")


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
        f"{count_of(case.runs, 'earlier run')}, now 0 of {case.trials_now} "
        f"(p = {corrected:.3f} over {count_of(looked_at, 'case')})"
    )
