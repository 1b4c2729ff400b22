from fractions import Fraction
from math import isclose
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_up_rows import SUMS, cases, cells, row, run

from pytest_autoweb.results.analysis.cell_numbers import CellSummary, RunRows
from pytest_autoweb.results.analysis.comparison import Comparison, compare_models, compare_runs
from pytest_autoweb.results.analysis.controls import NOOP, ORACLE
from pytest_autoweb.results.analysis.counted_outcomes import first_attempt_rate
from pytest_autoweb.results.analysis.statistics import (
    detectable_by_mcnemar,
    difference_interval,
    holm,
    mcnemar,
    sign_flip,
)


def before_and_after(a: list[CellSummary], b: list[CellSummary], **kind: Any) -> Comparison:
    (comparison,) = compare_runs(run(a, name="old"), run(b, day=1, name="new"), **kind)
    return comparison


def between(a: list[CellSummary], b: list[CellSummary], **kind: Any) -> Comparison:
    (comparison,) = compare_models(run(a, b), **kind)
    return comparison


def reasons(comparison: Comparison) -> dict[str, tuple[str, str]]:
    return {each.case_id: (each.reason, each.side) for each in comparison.left_out}


def test_one_cell_a_case_is_compared_by_mcnemars_exact_test() -> None:
    found = between(cases("F" * 9 + "P" * 12, "a"), cases("P" * 19 + "F" * 2, "b"))

    assert (found.test, found.p) == ("exact McNemar", mcnemar(2, 9))
    assert (found.lost, found.gained, found.same) == (2, 9, 10)
    assert found.difference == 7 / 21
    assert found.interval == difference_interval([1] * 9 + [-1] * 2 + [0] * 10)
    assert (found.a.compared.value, found.b.compared.value) == (12 / 21, 19 / 21)
    assert [case.flip for case in found.cases] == ["lost"] * 2 + ["gained"] * 9 + ["same"] * 10


def test_repeats_are_averaged_inside_the_case_and_compared_by_sign_flips() -> None:
    a = {"x": "PFF", "y": "PP", "z": "FFF"}
    b = {"x": "PPP", "y": "PF", "z": "PPF"}

    found = between(cells(a, "a"), cells(b, "b"))

    differences = [Fraction(2, 3), Fraction(-1, 2), Fraction(2, 3)]
    assert found.test == "exact sign-flip"
    assert found.p == sign_flip(differences).p
    assert found.difference is not None
    assert isclose(found.difference, float(sum(differences) / 3))


def test_a_case_counts_once_however_many_capture_modes_it_ran_in() -> None:
    aria = {"capture_mode": "ARIA"}
    a = [*cells({"x": "PPPP"}, "a"), *cells({"x": "F"}, "a", **aria), *cells({"y": "F"}, "a")]
    b = [*cells({"x": "F"}, "b"), *cells({"x": "FF"}, "b", **aria), *cells({"y": "F"}, "b")]

    found = between(a, b)

    by_case = {case.case_id: case for case in found.cases}
    assert (by_case["x"].mean_a, by_case["x"].mean_b) == (0.5, 0)
    assert found.difference == -0.25
    assert by_case["x"].outcomes_a == ("failed", "passed", "passed", "passed", "passed")


def test_only_a_capture_mode_that_both_sides_ran_is_compared() -> None:
    a = [*cells({"x": "P"}, "a"), *cells({"x": "F"}, "a", capture_mode="ARIA")]
    b = cells({"x": "P"}, "b")

    found = between(a, b)

    assert found.difference == 0
    (left_out,) = found.left_out
    assert (left_out.capture_mode, left_out.reason, left_out.side) == ("ARIA", "missing", "b")
    assert left_out.message == "not run in ARIA on b"


def test_runs_in_different_capture_modes_are_compared_and_marked() -> None:
    capture = {"capture": "ARIA/8000"}
    other: dict[str, Any] = {"capture_mode": "ARIA", "checksums": {**SUMS, **capture}}

    found = before_and_after(cases("PPF"), cases("PFF", **other))

    assert found.lost == 1
    assert found.changed == ("capture",)
    assert any("`capture` differs in 3 of 3 cases" in note for note in found.notes)


def test_models_in_different_capture_modes_are_not_compared() -> None:
    found = between(cases("PP", "a"), cases("PP", "b", capture_mode="ARIA"))

    assert found.decisive is None
    assert {each.reason for each in found.left_out} == {"missing"}
    assert found.verdict.startswith("Nothing to compare")


@pytest.mark.parametrize(
    ("a", "b", "reason"),
    [
        ("B", "P", ("broken", "a")),
        ("P", "U", ("ungraded", "b")),
        ("BB", "UU", ("broken", "both")),
        ("P", "S", ("not_run", "b")),
        ("P", "", ("missing", "b")),
        ("", "P", ("missing", "a")),
    ],
)
def test_a_case_without_a_verdict_on_a_side_is_left_out_with_the_reason(
    a: str, b: str, reason: tuple[str, str]
) -> None:
    found = between(
        cells({"x": a, "sure": "P"}, "model-a"), cells({"x": b, "sure": "F"}, "model-b")
    )

    assert reasons(found) == {"x": reason}
    assert [case.case_id for case in found.cases] == ["sure"]


def test_broken_repeats_leave_the_graded_ones_to_be_compared() -> None:
    found = between(cells({"x": "PBP"}, "a"), cells({"x": "FFB"}, "b"))

    assert found.difference == -1
    assert (found.a.compared.trials, found.a.compared.value) == (2, 1)
    assert (found.a.compared_all.trials, found.a.compared_all.passed_trials) == (3, 2)


@pytest.mark.parametrize("name", ["case", "checks"])
def test_a_changed_question_is_left_out_unless_allowed(name: str) -> None:
    a = cases("PPP")
    b = [*cases("PP"), row("c03", "F", checksums={**SUMS, name: "new"})]

    refused = before_and_after(a, b)
    allowed = before_and_after(a, b, allow_changed=True)

    assert reasons(refused) == {"c03": ("changed", "both")}
    assert refused.left_out[0].changed == (name,)
    assert refused.lost == 0
    assert allowed.left_out == ()
    assert (allowed.lost, allowed.changed) == (1, (name,))
    assert any("not the same question" in note for note in allowed.notes)


def test_changed_prompts_are_marked_and_compared() -> None:
    found = before_and_after(cases("PP"), cases("PF", checksums={**SUMS, "prompts": "p2"}))

    assert (found.lost, found.changed) == (1, ("prompts",))
    assert found.cases[0].changed == ("prompts",)


def test_cases_with_broken_controls_are_left_out_of_both_kinds() -> None:
    controls = [row("c01", "P", NOOP), row("c02", "F", ORACLE), row("c03", "P", ORACLE)]
    models = run(controls, cases("PPPP", "a"), cases("FFFF", "b"))

    (pair,) = compare_models(models, left_out=[("cases/shop.yaml", "c04")])
    runs = compare_runs(models, run(cases("PPPP", "a"), cases("FFFF", "b"), day=1))

    assert [case.case_id for case in pair.cases] == ["c03"]
    assert reasons(pair)["c01"] == ("controls", "both")
    assert {case.case_id for each in runs for case in each.cases} == {"c03", "c04"}
    assert [each.a.model for each in runs] == ["a", "b"]


def test_healed_counts_only_after_repair() -> None:
    a, b = cases("HHHHHH", "a"), cases("PPPPPP", "b")

    assert between(a, b).decisive is True
    assert between(a, b, metric="after_repair").difference == 0


def test_the_rate_of_first_attempts_is_over_cases_and_counts_no_repair() -> None:
    found = first_attempt_rate(cells({"a": "PPFF", "b": "H", "c": "P", "d": "B"}))

    assert (found.value, found.cases, found.passed_trials) == (1.5 / 4, 4, 3)


def test_both_denominators_and_both_rates_stand_on_each_side() -> None:
    side = between(cases("PHFBUS", "a"), cases("PPPPPP", "b")).a

    assert (side.first_attempt.all_trials.passed_trials, side.first_attempt.all_trials.trials) == (
        1,
        5,
    )
    assert side.first_attempt.graded.trials == 3
    assert side.after_repair.graded.passed_trials == 2
    assert side.compared.trials == 3


def test_p_values_are_corrected_for_the_number_of_pairs() -> None:
    pairs = compare_models(
        run(cases("P" * 20, "a"), cases("P" * 13 + "F" * 7, "b"), cases("F" * 20, "c"))
    )

    assert [(pair.a.model, pair.b.model) for pair in pairs] == [("a", "b"), ("a", "c"), ("b", "c")]
    assert [pair.p_holm for pair in pairs] == holm([pair.p or 0 for pair in pairs])
    assert {pair.family for pair in pairs} == {3}


def test_the_time_of_a_case_is_the_mean_of_its_cells() -> None:
    slow = [
        *cells({"x": "P"}, "b", duration_ms=1000.0),
        row("x", "P", "b", repeat=2, duration_ms=5000.0),
    ]
    found = between(cells({"x": "PP"}, "a", duration_ms=2000.0), slow)

    assert found.a.seconds_per_cell == 2
    assert found.b.seconds_per_cell == 3


def test_only_the_models_asked_for_are_compared_and_controls_too_if_asked_for() -> None:
    rows = run(cases("PF", "a"), cases("PF", "b"), cases("PF", "c"), cases("PP", ORACLE))

    assert len(compare_models(rows)) == 3
    (pair,) = compare_models(rows, models=("c", ORACLE))
    assert (pair.a.model, pair.b.model) == ("c", ORACLE)


def test_a_winner_is_named_only_when_the_corrected_test_says_so() -> None:
    good, bad = cases("P" * 12, "good"), cases("P" * 6 + "F" * 6, "bad")

    alone = between(good, bad)
    third = compare_models(run(good, bad, cases("P" * 12, "other")))[0]

    assert alone.decisive is True
    assert alone.verdict == (
        "good passes more: 100% against 50% for bad on the same 12 cases "
        "(95% −75 to −10, p = 0.031)."
    )
    assert third.p == alone.p
    assert third.decisive is False
    assert third.verdict.startswith("Not decisive: −50 points over 12 cases")


def test_fewer_than_six_differing_cases_cannot_be_significant_and_that_is_said() -> None:
    found = between(cases("P" * 20, "a"), cases("P" * 15 + "F" * 5, "b"))

    assert found.decisive is False
    assert found.detectable == detectable_by_mcnemar(20, 0.25)
    assert found.verdict == (
        "Not decisive: the sides differ in 5 of 20 cases, and with fewer than 6 no result could be "
        "significant; a difference of 37 points or more would probably have shown."
    )


def test_too_few_cases_are_told_once_and_a_handful_is_warned_of() -> None:
    found = between(cases("PPPPP", "a"), cases("FFFFF", "b"))

    assert (found.decisive, found.detectable) == (False, None)
    assert found.verdict == "Too few cases to compare: 5 (6 needed)."
    assert found.notes == ()

    more = between(cases("PPPPPP", "a"), cases("PPPPPF", "b"))
    assert more.verdict.startswith("Not decisive: the sides differ in 1 of 6 cases")
    assert any("Only 6 cases" in note for note in more.notes)


def test_unknown_cost_stays_unknown() -> None:
    unpriced = cases("PP", "b", cost_usd=None, cost_complete=False)

    found = between(cases("PP", "a"), unpriced)

    assert found.a.cost_per_cell == 0.01
    assert (found.b.cost_per_cell, found.b.cost.usd, found.b.cost.complete) == (None, None, False)
    assert found.cost_change.relative is None


def test_cost_and_time_are_compared_on_the_same_cells() -> None:
    a = [*cells({"x": "PP", "y": "P"}), row("gone", "P", cost_usd=5.0)]
    b = [
        *cells({"x": "P"}, cost_usd=0.03, duration_ms=4000.0),
        *cells({"y": "PB"}, cost_usd=0.01, duration_ms=1000.0),
    ]

    found = before_and_after(a, b)

    assert found.cost_change.relative is not None
    assert isclose(found.cost_change.relative, 1.0)
    assert found.time_change.relative is not None
    assert isclose(found.time_change.relative, 0.25)
    assert found.a.total_cost.usd == 5.03
    assert found.cost_change.interval is not None
    assert found.cost_change.interval.low < 1.0 < found.cost_change.interval.high


def test_what_makes_runs_hard_to_compare_is_noted() -> None:
    old = run(cases("PP"), name="old", workers=2, environment={"browser": "140", "git": "a"})
    new = run(cases("PP"), day=1, interrupted=True, environment={"browser": "141", "git": "b"})

    (found,) = compare_runs(old, new)

    notes = " ".join(found.notes)
    assert "2 xdist workers" in notes
    assert "browser 140 and 141" in notes
    assert "only a part of a run" in notes
    assert "git" not in notes
    (same,) = compare_runs(old, old)
    assert "Both sides are the same run." in same.notes


def test_a_compared_case_names_the_folders_of_its_cells() -> None:
    found = before_and_after(
        [row("x", "P", folder="old/1"), row("x", "F", repeat=2, folder="old/2")],
        [row("x", "F", folder="new/1")],
    )

    (case,) = found.cases
    assert (case.folders_a, case.folders_b) == (("old/1", "old/2"), ("new/1",))


def test_runs_are_told_apart_by_their_names_or_else_by_their_times() -> None:
    def labels(**names: str) -> tuple[str, str]:
        runs = [
            run(cases("P"), day=day, name=names.get(side, ""))
            for day, side in enumerate(("before", "after"))
        ]
        (found,) = compare_runs(runs[0], runs[1])
        return found.a.label, found.b.label

    times = ("20261121_093000_000", "20261122_093000_000")
    assert labels() == times
    assert labels(before="main", after="topic") == ("main", "topic")
    assert labels(before="main") == ("main", times[1])
    assert labels(after="topic") == (times[0], "topic")
    assert labels(before="main", after="main") == times


def test_models_of_two_runs_can_be_set_against_each_other() -> None:
    (found,) = compare_runs(
        run(cases("PP", "old")), run(cases("PF", "new"), day=1), models=[("old", "new")]
    )

    assert (found.a.model, found.b.model, found.lost) == ("old", "new", 1)
    assert found.a.label == "old in 20261121_093000_000"
    assert compare_runs(run(cases("P", "old")), run(cases("P", "new"), day=1)) == ()


letters = st.text("PHFBUS", min_size=0, max_size=3)
sides = st.lists(st.tuples(letters, letters), max_size=14)


@settings(deadline=None, max_examples=60)
@given(sides)
def test_whatever_the_outcomes_the_numbers_of_a_comparison_agree(
    drawn: list[tuple[str, str]],
) -> None:
    a = {f"c{at}": ours for at, (ours, _) in enumerate(drawn)}
    b = {f"c{at}": theirs for at, (_, theirs) in enumerate(drawn)}
    rows = run(cells(a, "a"), cells(b, "b"), models=("a", "b"))
    mirrored = RunRows.model_validate({**rows.model_dump(), "models": ("b", "a")})

    (found,) = compare_models(rows)
    (other,) = compare_models(mirrored)

    seen = {case.case_id for case in found.cases} | {each.case_id for each in found.left_out}
    assert seen == {f"c{at}" for at, (ours, theirs) in enumerate(drawn) if ours or theirs}
    assert found.lost + found.gained + found.same == len(found.cases)
    assert (found.lost, found.gained) == (other.gained, other.lost)
    assert (found.p, found.decisive) == (other.p, other.decisive)
    assert (found.decisive is None) == (not found.cases)
    if found.decisive:
        assert found.lost + found.gained >= 6
    if found.cases:
        assert found.difference is not None
        assert found.a.compared.value is not None
        assert found.b.compared.value is not None
        assert isclose(
            found.difference, found.b.compared.value - found.a.compared.value, abs_tol=1e-12
        )
    assert Comparison.model_validate_json(found.model_dump_json()) == found
