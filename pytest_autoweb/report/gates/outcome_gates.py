"""Gates on the outcomes of a run alone: missing verdicts, pinned cases, pass rates, groups.

Missing scores fail closed: a cell that broke, could not be judged or was not run counts as not
passed. A model without any verdict at all is an error, not a rate of 0 %.
"""

from collections.abc import Iterator, Sequence

from pytest_autoweb.base.values.flag_texts import LeastRate
from pytest_autoweb.report.gates.case_groups import CaseGroup, empty_group_warning
from pytest_autoweb.report.gates.gate_context import GateContext
from pytest_autoweb.report.wording import count_of, rate
from pytest_autoweb.results.analysis.cell_numbers import CellSummary, by_model
from pytest_autoweb.results.analysis.counted_outcomes import GOOD, GRADED, first_attempt_rate
from pytest_autoweb.results.analysis.scores import MeanScore, mean_score
from pytest_autoweb.results.analysis.statistics import below_by_chance, highest_rate
from pytest_autoweb.results.runs.side_files import GateResult

_PASSED = GOOD["after_repair"]
_LISTED = 20
# A rate equal to the requirement meets it, although shares such as 7/10 are inexact in binary.
_ROUNDING = 1e-9
_SELDOM = 0.05


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
                message=f"none of {count_of(len(own), 'cell')} came to a verdict ({_counts(own)}); "
                "that is an error, not a pass rate of 0%",
            )
    ran = {row.model for row in context.contestants}
    for model, own in by_model(context.stopped).items():
        if model not in ran:
            message = f"all its cells ({len(own)}) were stopped, so that nothing is known of it"
            yield GateResult(name="stopped", model=model, passed=False, message=message)


def pinned_cases(context: GateContext) -> Iterator[GateResult]:
    """Demand that every cell of a pinned case passes, if need be after a repair."""
    demanded = (*context.contestants, *context.stopped)
    pinned = [row for row in demanded if context.policy.is_pinned(row)]
    if not pinned:
        return
    bad = [row for row in pinned if row.outcome not in _PASSED]
    yield GateResult(
        name="must pass",
        passed=not bad,
        message=f"{len(bad)} of {count_of(len(pinned), 'pinned cell')} did not pass"
        if bad
        else f"{len(pinned)} of {count_of(len(pinned), 'pinned cell')} passed",
        details=_listed(bad),
    )


def pass_rates(context: GateContext) -> Iterator[GateResult]:
    """Judge each model's first-attempt rate over all cells that were planned."""
    policy = context.policy
    if policy.min_pass_rate is None:
        return
    for model, own in by_model(context.contestants).items():
        hard = [row for row in own if not policy.is_soft(row)]
        result = _least_rate("pass rate", model, hard, policy.min_pass_rate, policy.confidence)
        if len(hard) < len(own):
            note = f"{count_of(len(own) - len(hard), 'cell')} of soft groups left out"
            result = result.model_copy(update={"details": (*result.details, note)})
        yield result


def least_scores(context: GateContext) -> Iterator[GateResult]:
    """Judge the share of the points that each model earns at the first attempt."""
    least = context.policy.min_score
    if least is None:
        return
    for model, own in by_model(context.hard).items():
        both_sides = 0.95 if least.confidence is None else 2 * least.confidence / 100 - 1
        found = mean_score(own, "first_attempt", both_sides)
        if found is None:
            message = "no check of its cases carries `points`"
            yield GateResult(name="score", model=model, passed=None, message=message)
            continue
        yield _least_score(model, found, least)


def _least_score(model: str, found: MeanScore, least: LeastRate) -> GateResult:
    seen = f"{found.value:.0%} of the points in {count_of(found.cases, 'case')}"
    if least.confidence is None:
        passed = found.value >= least.percent / 100 - _ROUNDING
        between = f"95% {found.interval.low:.0%} to {found.interval.high:.0%}"
        sign = "reaches" if passed else "is below"
        message = f"{seen} ({between}) {sign} {least.percent:g}%"
    else:
        passed = found.interval.high >= least.percent / 100 - _ROUNDING
        highest = f"at most {found.interval.high:.0%} at {least.confidence:g}%, one-sided"
        sign = "does not rule out" if passed else "rules out"
        message = f"{seen}, {highest}: {sign} {least.percent:g}%"
    return GateResult(name="score", model=model, passed=passed, message=message)


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


def _group_gates(
    name: str, group: CaseGroup, model: str, rows: Sequence[CellSummary]
) -> Iterator[GateResult]:
    if group.must_pass:
        bad = [row for row in rows if row.outcome not in _PASSED]
        yield GateResult(
            name=f"{name}: must pass",
            model=model,
            passed=not bad,
            message=f"{len(rows) - len(bad)} of {count_of(len(rows), 'cell')} passed",
            details=_listed(bad),
            soft=group.soft,
        )
    if group.min_pass_rate is not None:
        named = f"{name}: pass rate"
        least = _least_rate(named, model, rows, group.min_pass_rate, group.confidence)
        yield least.model_copy(update={"soft": group.soft})
    elif not group.must_pass:
        message = f"nothing is demanded of it; first attempt {rate(first_attempt_rate(rows))}"
        yield GateResult(
            name=name, model=model, passed=None, message=message, soft=True, notice=True
        )


def _least_rate(
    name: str, model: str, rows: Sequence[CellSummary], least: float, confidence: float | None
) -> GateResult:
    reached = first_attempt_rate(rows)
    if reached.value is None:
        return GateResult(name=name, model=model, passed=None, message="there are no cells to rate")
    if confidence is not None:
        return _not_ruled_out(name, model, rows, least, confidence)
    passed = reached.value >= least / 100 - _ROUNDING
    details = []
    missing = [row for row in rows if row.outcome not in GRADED]
    if missing:
        details.append(_without_verdict(len(missing)))
    inside = reached.interval and reached.interval.low <= least / 100 <= reached.interval.high
    if inside and not passed:
        often = f"{below_by_chance(reached.cases, least / 100):.0%} of runs"
        details.append(
            f"{least:g}% lies inside the 95% interval: a model that deserves it fails in {often}; "
            f"{least:g}%@95 decides on the bound"
        )
    sign = "reaches" if passed else "is below"
    return GateResult(
        name=name,
        model=model,
        passed=passed,
        message=f"first attempt {rate(reached)} {sign} {least:g}%",
        details=tuple(details),
    )


def fails_by_chance(least: float, cases: int) -> str:
    """Return how often a model that deserves a least rate misses it; empty if that is seldom.

    Args:
        least: the rate in percent.
        cases: the number of cases.
    """
    if not cases:
        return ""
    often = below_by_chance(cases, least / 100)
    if often < _SELDOM:
        return ""
    return (
        f"a model that passes {least:g}% of such cases in the long run misses this in {often:.0%} "
        f"of runs; {least:g}%@95 decides on the bound"
    )


def _not_ruled_out(
    name: str, model: str, rows: Sequence[CellSummary], least: float, confidence: float
) -> GateResult:
    """Fail a rate only if its upper bound, one-sided, is below what is asked."""
    reached = first_attempt_rate(rows, 2 * confidence / 100 - 1)
    assert reached.interval is not None, "there are cells"
    bound = reached.interval.high
    if reached.trials == reached.cases:
        # Without repeats there is an exact bound; that of few cases by approximation is too low.
        bound = highest_rate(reached.passed_trials, reached.trials, confidence / 100)
    passed = bound >= least / 100 - _ROUNDING
    sign = "does not rule out" if passed else "rules out"
    highest = f"at most {bound:.0%} at {confidence:g}%, one-sided"
    seen = f"{reached.value:.0%}, {reached.passed_trials} of {reached.trials}"
    message = f"first attempt {seen}, {highest}: {sign} {least:g}%"
    missing = sum(row.outcome not in GRADED for row in rows)
    details = (_without_verdict(missing),) if missing else ()
    return GateResult(name=name, model=model, passed=passed, message=message, details=details)


def _without_verdict(cells: int) -> str:
    return f"{count_of(cells, 'cell')} without a verdict, counted as not passed"


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
