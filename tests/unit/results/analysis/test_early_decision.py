"""When it is decided, while cells still end, which of several models is worse."""

import random
from collections.abc import Sequence
from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_autoweb.results.analysis.controls import NOOP
from pytest_autoweb.results.analysis.e_process import adjusted, capital
from pytest_autoweb.results.analysis.early_decision import EarlyDecision, Entry, PairDecision
from pytest_autoweb.results.analysis.statistics import mcnemar
from pytest_autoweb.results.records import Outcome


def entries(cases: int, repeats: int = 1, models: Sequence[str] = "ab") -> list[Entry]:
    return [
        Entry(f"{case}/{repeat}/{model}", ("shop.yaml", str(case)), model, (repeat, "ARIA"))
        for case in range(cases)
        for repeat in range(repeats)
        for model in models
    ]


def verdict(*, passes: bool) -> Outcome:
    return "passed" if passes else "failed"


def play(plan: list[Entry], ends: dict[str, Outcome], alpha: float) -> tuple[EarlyDecision, int]:
    """Run cell after cell until nothing is left, and return the state and how many ran."""
    state, ran, version = EarlyDecision(plan, alpha), 0, -1
    left = [entry.name for entry in plan]
    while left:
        if state.version != version:
            left, version = state.in_order(left), state.version
        name = left.pop(0)
        if not state.why_not(name):
            state.begin(name)
            state.end(name, ends[name])
            state.decide()
            ran += 1
    return state, ran


@given(st.integers(0, 40), st.integers(0, 40))
def test_the_capital_is_fair_and_never_bolder_than_the_exact_test(won: int, lost: int) -> None:
    now = capital({1.0: won, -1.0: lost})
    after = (capital({1.0: won + 1, -1.0: lost}) + capital({1.0: won, -1.0: lost + 1})) / 2

    # A fair coin neither adds to it nor takes from it, whatever came before.
    assert after == pytest.approx(now, rel=1e-9)
    # 1/e is a p value as well, and one that has to hold at every look.
    assert min(1.0, 1 / now) >= mcnemar(lost, won) * (1 - 1e-9)


@pytest.mark.parametrize("proof", ["passed", "failed", None])
def test_cells_under_a_change_count_once_their_oracle_has_passed_there(
    proof: Outcome | None,
) -> None:
    plan = [
        entry._replace(change="zoom" if entry.model in ("b", "builtin/oracle@zoom") else "")
        for model in ("a", "b", "builtin/oracle@zoom")
        for entry in entries(20, models=[model])
        if proof or "oracle" not in model
    ]
    ends = {e.name: verdict(passes=e.model == "a") for e in plan}
    ends |= {e.name: proof for e in plan if proof and "oracle" in e.model}
    state = EarlyDecision(plan, 0.05)
    # In another order than usual: what models did is known before it is known to be fair.
    for entry in plan:
        state.begin(entry.name)
        state.end(entry.name, ends[entry.name])
        state.decide()

    decided = [(one.better, one.worse) for one in state.decisions.values()]
    assert decided == ([("a", "b")] if proof == "passed" else [])


def test_seven_cases_in_a_row_decide_at_5_percent_and_ten_at_1_percent() -> None:
    plan = entries(20)
    ends = {entry.name: verdict(passes=entry.model == "b") for entry in plan}

    usual, surer = play(plan, ends, 0.05), play(plan, ends, 0.01)

    (decision,) = usual[0].decisions.values()
    assert (decision.better, decision.worse, decision.won, decision.lost) == ("b", "a", 7, 0)
    assert (usual[1], surer[1]) == (14, 20)
    assert decision.told == (
        "a was decided worse than b after 7 pairs in 7 cases (e = 27, 20 needed)"
    )


@settings(max_examples=60)
@given(st.lists(st.floats(0, 1000), min_size=1, max_size=6))
def test_several_pairs_are_decided_no_sooner_than_one_and_no_later_than_by_bonferroni(
    found: list[float],
) -> None:
    for own, kept in zip(found, adjusted(found), strict=True):
        assert own / len(found) * (1 - 1e-9) <= kept <= own


def test_models_that_are_equal_are_seldom_decided_however_often_one_looks() -> None:
    chance, decided, runs = random.Random(5), 0, 150
    for _ in range(runs):
        plan = entries(15, repeats=3)
        rates = {entry.case: chance.random() for entry in plan}
        ends = {e.name: verdict(passes=chance.random() < rates[e.case]) for e in plan}
        decided += bool(play(plan, ends, 0.05)[0].decisions)

    # With a chance of 5 % each, more than 14 of 150 come once in a hundred times.
    assert decided <= 14


def test_outcomes_that_come_late_count_before_anything_begun_after_them() -> None:
    plan = entries(8)
    state = EarlyDecision(plan, 0.05)
    slow = "0/0/a"
    for entry in plan:
        state.begin(entry.name)
    for entry in plan:
        if entry.name != slow:
            state.end(entry.name, verdict(passes=entry.model == "b"))

    assert state.decide() == []
    state.end(slow, "failed")
    assert [decision.pairs for decision in state.decide()] == [8]


@settings(max_examples=30)
@given(st.permutations(range(24)))
def test_the_order_in_which_cells_end_changes_no_decision(order: list[int]) -> None:
    plan = entries(12)
    state = EarlyDecision(plan, 0.05)
    for entry in plan:
        state.begin(entry.name)
    for place in order:
        state.end(plan[place].name, verdict(passes=plan[place].model == "a"))

    (decision,) = state.decide()
    assert (decision.better, decision.pairs) == ("a", 12)


def test_a_cell_whose_process_died_holds_up_nobody() -> None:
    plan = entries(9)
    state = EarlyDecision(plan, 0.05)
    state.begin("0/0/a")
    for entry in plan[1:]:
        state.begin(entry.name)
        state.end(entry.name, verdict(passes=entry.model == "b"))

    assert state.in_flight() == ["0/0/a"]
    state.end("0/0/a", None)
    assert [decision.pairs for decision in state.decide()] == [8]


def test_repeats_go_where_models_differ_until_one_leads_clearly() -> None:
    plan = entries(3, repeats=4)
    state = EarlyDecision(plan, 0.05)
    for name in ("0/0/a", "0/0/b", "1/0/a"):
        state.end(name, "passed")
    state.end("1/0/b", "failed")

    left = [entry.name for entry in plan if not state.has_begun(entry.name)]
    first = state.in_order(left)
    assert [name[0] for name in first[:4]] == ["2", "2", "1", "1"]
    state.end("1/1/a", "passed")
    state.end("1/1/b", "failed")
    # Case 1 is won by two; nothing more can be learnt from it.
    assert {name[0] for name in state.in_order(left)[-4:]} == {"1"}


def test_a_model_that_is_worse_gets_no_more_cells_and_the_others_go_on() -> None:
    plan = entries(40, models="abc")
    ends = {
        entry.name: verdict(passes=entry.model != "a" and int(entry.case[1]) % 2 == 0)
        for entry in plan
    }

    state, ran = play(plan, ends, 0.05)

    assert {decision.worse for decision in state.decisions.values()} == {"a"}
    assert state.left == ("b", "c")
    assert len(plan) - 40 < ran < len(plan)


def test_pinned_cases_are_run_whatever_is_decided() -> None:
    plan = [entry._replace(pinned=entry.case[1] == "3") for entry in entries(5)]
    state = EarlyDecision(plan, 0.05)
    state.adopt(
        PairDecision(better="b", worse="a", e=20, needed=20, pairs=9, cases=9, won=9, lost=0)
    )

    assert [entry.case[1] for entry in plan if not state.why_not(entry.name)] == ["3", "3"]


def test_a_case_that_doing_nothing_passes_decides_nothing() -> None:
    plan = entries(7)
    plan.append(Entry("noop", plan[0].case, NOOP, (1, "ARIA")))
    state = EarlyDecision(plan, 0.05)
    for entry in plan[:-1]:
        state.end(entry.name, verdict(passes=entry.model == "b"))
    state.end("noop", "passed")

    assert state.decide() == []


def test_the_name_of_a_model_changes_no_decision() -> None:
    for models in permutations("abc"):
        plan = entries(30, models="".join(models))
        ends = {entry.name: verdict(passes=entry.model == models[0]) for entry in plan}
        state, _ = play(plan, ends, 0.05)
        assert state.left == (models[0],)
