from math import isclose

from hypothesis import given, settings
from hypothesis import strategies as st
from made_up_rows import SUMS, cases, cells, row, run

from pytest_autoweb.results.analysis.cell_numbers import Cost
from pytest_autoweb.results.analysis.controls import NOOP
from pytest_autoweb.results.analysis.past_runs import History, history_of


def test_the_trend_has_a_point_per_model_and_run_oldest_first() -> None:
    old = run(cases("PF"), cases("FF", "n"), day=0, name="first", commit="abc")
    new = run(cases("PP", cost_usd=None, cost_complete=False), day=2)
    current = run(cases("PH"), day=3)

    history = history_of([new, old], current)

    assert history.runs == 2
    assert [(point.run, point.model, point.current) for point in history.points] == [
        (old.ts, "m", False),
        (new.ts, "m", False),
        (current.ts, "m", True),
    ]
    first, second, last = history.points
    assert (first.name, first.commit, first.first_attempt.graded.value) == ("first", "abc", 0.5)
    assert second.cost == Cost(usd=None, complete=False)
    assert (last.first_attempt.graded.value, last.after_repair.graded.value) == (0.5, 1)
    assert (last.cases, last.cells, last.median_s) == (2, 2, 2)


def test_another_set_of_cases_shows_in_the_trend() -> None:
    changed = {**SUMS, "checks": "new"}
    runs = [
        run(cases("PPP"), day=0),
        run(cases("PP"), day=1),
        run(cases("PPP", checksums=changed), day=2),
        run(cases("PPP", checksums={**SUMS, "prompts": "new"}), day=3),
    ]

    history = history_of(runs, run(cases("FFF"), day=4))

    assert [point.same_cases for point in history.points] == [True, False, False, True, True]
    assert len({point.case_set for point in history.points}) == 3


def test_a_saved_copy_of_the_current_run_and_controls_are_not_history() -> None:
    current = run(cases("P"), [row("c01", "F", NOOP)])

    history = history_of([current, run([row("c01", "P", NOOP)], day=-1)], current)

    assert [point.model for point in history.points] == ["m"]
    assert (history.runs, history.steady, history.flaky) == (1, (), ())


def test_a_case_with_both_outcomes_under_its_checksums_is_flaky() -> None:
    other = {**SUMS, "case": "other"}
    earlier = [
        run(cells({"mixed": "P", "odd": "PPP", "changed": "F"}, checksums=SUMS), day=0),
        run(cells({"mixed": "F", "odd": "PPF", "good": "P"}), day=1),
        run(cells({"good": "F"}, checksums=other), day=2),
    ]
    current = run(
        cells({"mixed": "H", "odd": "PB", "good": "P"}),
        cells({"changed": "P"}, checksums=other),
        cells({"within": "PF"}),
        day=3,
    )

    flaky = {case.case_id: case for case in history_of(earlier, current).flaky}

    assert set(flaky) == {"mixed", "odd", "within"}
    assert (flaky["mixed"].passed, flaky["mixed"].healed, flaky["mixed"].failed) == (1, 1, 1)
    assert (flaky["odd"].runs, flaky["odd"].within_run) == (3, False)
    assert (flaky["within"].runs, flaky["within"].within_run) == (1, True)
    assert history_of(earlier, current).flaky[0].case_id == "within"


def test_a_case_that_never_failed_before_is_steady_and_says_how_surprising_a_failure_is() -> None:
    earlier = [run(cells({"solid": "PPP", "weak": "PF", "healed": "H"}), day=day) for day in (0, 1)]
    current = run(cells({"solid": "FF", "weak": "F", "healed": "P", "new": "F"}), day=2)

    (case,) = history_of(earlier, current).steady

    assert (case.case_id, case.trials, case.runs) == ("solid", 6, 2)
    assert (case.trials_now, case.passed_now, case.broke) == (2, 0, True)
    assert case.p is not None
    assert isclose(case.p, 1 / 28)


def test_a_steady_case_that_was_not_graded_now_did_not_break() -> None:
    earlier = [run(cases("PP"), day=0)]

    history = history_of(earlier, run(cells({"c01": "B", "c02": "PF"}), day=1))

    lost, partly = sorted(history.steady, key=lambda case: case.case_id)
    assert (lost.broke, lost.p, lost.trials_now) == (False, None, 0)
    assert (partly.broke, partly.passed_now) == (False, 1)


def test_slow_cases_are_the_longest_and_those_that_needed_more_time() -> None:
    quick = [row(f"q{at:02}", "P", duration_ms=1000.0 + at) for at in range(12)]
    strained = row("strained", "P", duration_ms=500.0, slow=True)
    before = run([row("q11", "P", duration_ms=100.0)], day=-1)

    slow = history_of([before], run([*quick, strained])).slow

    assert [case.case_id for case in slow] == [
        *(f"q{at:02}" for at in range(11, 1, -1)),
        "strained",
    ]
    assert (slow[0].median_s, slow[0].earlier_median_s) == (1.011, 0.1)
    assert (slow[-1].slow_trials, slow[-1].earlier_median_s) == (1, None)


runs = st.lists(
    st.dictionaries(st.sampled_from("wxyz"), st.text("PHFBUS", min_size=1, max_size=3)), max_size=5
)


@settings(deadline=None, max_examples=60)
@given(runs, st.dictionaries(st.sampled_from("wxyz"), st.text("PHFBUS", min_size=1, max_size=3)))
def test_no_case_is_both_flaky_in_earlier_runs_and_steady(
    earlier: list[dict[str, str]], now: dict[str, str]
) -> None:
    history = history_of(
        [run(cells(each), day=day) for day, each in enumerate(earlier)], run(cells(now), day=9)
    )

    steady = {case.case_id for case in history.steady}
    assert steady <= set(now)
    for case_id in steady:
        assert set("".join(each.get(case_id, "") for each in earlier)) <= set("PBUS")
    for flaky in history.flaky:
        assert flaky.failed
        assert flaky.passed + flaky.healed
    assert sum(point.current for point in history.points) <= 1
    assert History.model_validate_json(history.model_dump_json()) == history
