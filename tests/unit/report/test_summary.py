from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_up_run import BEGAN, CellKey, cell, run_info

from pytest_autoweb.report.json_report import build_report
from pytest_autoweb.report.summary import Summary
from pytest_autoweb.results.analysis.cell_numbers import Numbers
from pytest_autoweb.results.records import (
    Attempt,
    CellResult,
    Failure,
    LintFinding,
    Outcome,
    PlanStep,
    Usage,
)
from pytest_autoweb.results.runs.run_folder import KILLED, RecordedRun

OUTCOMES: list[Outcome] = ["passed", "healed", "failed", "broken", "ungraded", "skipped"]


def summary_of(*cells: CellResult, **info: Any) -> Summary:
    summary = build_report(RecordedRun(Path(), run_info(list(cells), **info), cells)).summary
    assert summary is not None
    return summary


def numbers_of(*cells: CellResult) -> Numbers:
    (row,) = summary_of(*cells).models
    return row.numbers


def cells_with(*outcomes: Outcome, model: str = "m") -> list[CellResult]:
    return [cell(CellKey(f"case-{i}", model), outcome) for i, outcome in enumerate(outcomes)]


def test_both_denominators_and_both_rates_stand_side_by_side() -> None:
    numbers = numbers_of(
        *cells_with("passed", "passed", "healed", "failed", "broken", "ungraded", "skipped")
    )

    first, after = numbers.first_attempt, numbers.after_repair
    assert (first.all_trials.passed_trials, first.all_trials.trials) == (2, 6)
    assert (first.graded.passed_trials, first.graded.trials) == (2, 4)
    assert (after.all_trials.passed_trials, after.all_trials.trials) == (3, 6)
    assert after.graded.value == 0.75
    assert numbers.counts.skipped == 1


def test_repeats_are_averaged_within_their_case_first() -> None:
    often = [cell(CellKey("a", "m", repeat=i), "passed") for i in range(1, 9)]
    once = [cell(CellKey("b", "m"), "failed")]

    rate = numbers_of(*often, *once).first_attempt.all_trials

    assert rate.value == 0.5
    assert (rate.cases, rate.trials, rate.passed_trials) == (2, 9, 8)


def test_the_interval_counts_cases_not_trials() -> None:
    single = numbers_of(*cells_with("passed", "failed"))
    repeated = numbers_of(
        *(
            cell(CellKey(c, "m", repeat=i), o)  # type: ignore[arg-type]
            for c, o in (("case-0", "passed"), ("case-1", "failed"))
            for i in range(1, 6)
        )
    )

    assert single.first_attempt.all_trials.interval == repeated.first_attempt.all_trials.interval


@settings(deadline=None)
@given(st.lists(st.sampled_from(OUTCOMES), max_size=40))
def test_rates_are_consistent_whatever_the_outcomes(outcomes: list[Outcome]) -> None:
    cells = cells_with(*outcomes)
    summary = summary_of(*cells, models=("m",))
    numbers = summary.models[0].numbers

    assert sum(numbers.counts.model_dump().values()) == len(outcomes)
    for first, after in (
        (numbers.first_attempt.all_trials, numbers.after_repair.all_trials),
        (numbers.first_attempt.graded, numbers.after_repair.graded),
    ):
        assert first.passed_trials <= after.passed_trials <= after.trials <= len(outcomes)
        assert (first.value is None) == (first.trials == 0) == (first.interval is None)
    assert numbers.first_attempt.graded.trials <= numbers.first_attempt.all_trials.trials


def test_the_best_first_attempt_rate_comes_first() -> None:
    summary = summary_of(
        *cells_with("failed", "healed", model="repairs"),
        *cells_with("passed", "failed", model="passes"),
        *cells_with("failed", "failed", model="fails"),
    )

    assert [row.model for row in summary.models] == ["passes", "repairs", "fails"]


def test_two_models_that_differ_in_one_case_are_not_told_apart() -> None:
    summary = summary_of(
        *cells_with("passed", "passed", model="a"), *cells_with("passed", "failed", model="b")
    )

    assert summary.decisive is False
    assert summary.verdict == "a against b: Too few cases to compare: 2 (6 needed)."


def test_a_leader_is_named_when_the_paired_test_tells_it_apart() -> None:
    good: list[Outcome] = ["passed"] * 20
    bad: list[Outcome] = ["failed"] * 20

    summary = summary_of(*cells_with(*bad, model="b"), *cells_with(*good, model="a"))

    assert summary.decisive is True
    assert summary.verdict.startswith("a passes more: 100% against 0% for b")


def test_the_verdict_is_on_the_two_models_that_lead() -> None:
    names = {"a": 9, "b": 0, "c": 8}
    cells = [
        cell(CellKey(f"case-{i}", model), "passed" if i < good else "failed")
        for model, good in names.items()
        for i in range(10)
    ]

    summary = summary_of(*cells)

    assert [row.model for row in summary.models] == ["a", "c", "b"]
    assert summary.decisive is False


def test_one_model_alone_gets_no_verdict() -> None:
    summary = summary_of(*cells_with("passed"))

    assert (summary.decisive, summary.verdict) == (None, "")


def test_a_model_that_was_named_but_never_ran_still_has_its_row() -> None:
    summary = summary_of(*cells_with("passed", model="a"), models=("a", "absent"))

    absent = summary.models[-1]
    assert absent.model == "absent"
    assert absent.numbers.first_attempt.all_trials.value is None


def with_usage(model: str, **usage: Any) -> CellResult:
    return cell(CellKey("c", model), usage={"plan": Usage(**usage)})


@pytest.mark.parametrize(
    ("usage", "usd", "complete"),
    [
        ({"calls": 2, "cost_usd": 0.5}, 0.5, True),
        ({"calls": 2, "cost_usd": 0.5, "unpriced_calls": 1}, 0.5, False),
        ({"calls": 2, "unpriced_calls": 2}, None, False),
        ({"calls": 0}, 0.0, True),
    ],
)
def test_unpriced_calls_make_the_cost_unknown_or_a_lower_bound(
    usage: dict[str, Any], usd: float | None, complete: bool
) -> None:
    cost = numbers_of(with_usage("m", **usage)).cost

    assert (cost.usd, cost.complete) == (usd, complete)


def test_a_killed_cell_makes_the_cost_a_lower_bound() -> None:
    killed = cell(
        CellKey("d", "m"), "broken", failure=Failure(kind="killed", message=KILLED), duration_ms=0
    )

    numbers = numbers_of(with_usage("m", calls=1, cost_usd=0.5), killed)

    assert (numbers.cost.usd, numbers.cost.complete) == (0.5, False)
    assert numbers.median_s == 1.5


def test_execution_checks_and_false_success_are_three_numbers() -> None:
    def judged(name: str, executed: bool, holds: bool | None) -> CellResult:
        attempt = Attempt(
            executed=executed, checks_passed=holds, false_success=executed and holds is False
        )
        return cell(CellKey(name, "m"), "passed" if holds else "failed", attempts=(attempt,))

    numbers = numbers_of(
        judged("a", True, True), judged("b", True, False), judged("c", False, False)
    )

    assert (numbers.executed, numbers.checks_passed, numbers.false_success) == (2, 1, 1)


def test_plans_and_lint_are_counted_on_first_attempts() -> None:
    lint = LintFinding(line=1, col=1, code="AW100", message="no")
    asks = Attempt(plan_has_question=True, plan_steps=(PlanStep(index=1),), code="x")
    sure = Attempt(plan_confirmed=True, plan_steps=(PlanStep(index=1),), code="x")
    dirty = Attempt(code="exec('x')", lint_errors=(lint,))

    numbers = numbers_of(
        cell(CellKey("a", "m"), "healed", attempts=(asks, sure)),
        cell(CellKey("b", "m"), attempts=(sure,)),
        cell(CellKey("c", "m"), "failed", attempts=(dirty,)),
    )

    assert (numbers.plans, numbers.plans_confirmed, numbers.plans_with_question) == (2, 1, 1)
    assert (numbers.scripts, numbers.scripts_lint_clean) == (3, 2)
    assert (numbers.repairs_tried, numbers.repairs_healed) == (1, 1)


def test_a_case_that_passes_and_fails_over_repeats_is_flaky() -> None:
    numbers = numbers_of(
        cell(CellKey("a", "m", repeat=1), "passed"),
        cell(CellKey("a", "m", repeat=2), "failed"),
        cell(CellKey("b", "m", repeat=1), "failed"),
        cell(CellKey("b", "m", repeat=2), "failed"),
    )

    assert numbers.flaky_cases == 1


def test_stages_add_up_time_and_usage() -> None:
    attempt = Attempt(stage_ms={"plan": 1000, "capture": 500})
    one = cell(CellKey("a", "m"), attempts=(attempt, attempt), usage={"plan": Usage(calls=2)})

    stages = {stage.stage: stage for stage in numbers_of(one).stages}

    assert (stages["plan"].seconds, stages["plan"].calls) == (2.0, 2)
    assert (stages["capture"].seconds, stages["capture"].calls) == (1.0, 0)


def test_several_capture_modes_get_numbers_of_their_own() -> None:
    summary = summary_of(
        cell(CellKey("a", "m", "ARIA"), "passed"), cell(CellKey("a", "m", "RAW_HTML"), "failed")
    )

    (row,) = summary.models
    by_mode = {c.capture_mode: c.numbers.first_attempt.all_trials.value for c in row.by_capture}
    assert by_mode == {"ARIA": 1.0, "RAW_HTML": 0.0}
    assert row.numbers.first_attempt.all_trials.cases == 1


def control(model: str, outcome: Outcome, holds: bool | None) -> CellResult:
    attempt = Attempt(executed=True, checks_passed=holds)
    return cell(CellKey("a", f"builtin/{model}"), outcome, attempts=(attempt,))


@pytest.mark.parametrize(
    ("oracle", "noop", "states"),
    [
        (("passed", True), ("failed", False), ("holds", "holds")),
        (("failed", False), ("passed", True), ("broken", "broken")),
        (("broken", None), ("failed", None), ("unproven", "unproven")),
        (("ungraded", None), ("ungraded", None), ("unproven", "unproven")),
    ],
)
def test_a_control_holds_is_broken_or_proves_nothing(
    oracle: tuple[Outcome, bool | None],
    noop: tuple[Outcome, bool | None],
    states: tuple[str, str],
) -> None:
    (row,) = summary_of(control("oracle", *oracle), control("noop", *noop)).controls

    assert (row.oracle, row.noop) == states
    assert bool(row.reason) == (states != ("holds", "holds"))


def test_controls_are_no_contestants() -> None:
    summary = summary_of(
        control("oracle", "passed", True), cell(CellKey("a", "m"), "failed", started=BEGAN)
    )

    assert [row.model for row in summary.models] == ["m"]
    assert summary.counts.passed == 0
    assert [c.model for row in summary.matrix for c in row.cells] == ["m"]


def test_equal_case_ids_of_two_files_are_two_cases() -> None:
    one = cell(CellKey("a", "m"), case_path="one.yaml")
    two = cell(CellKey("a", "m"), "failed", case_path="two.yaml")

    summary = summary_of(one, two)

    assert [row.case_path for row in summary.matrix] == ["one.yaml", "two.yaml"]
    assert summary.models[0].numbers.first_attempt.all_trials.cases == 2
