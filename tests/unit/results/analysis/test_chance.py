"""How far above chance a model is, which cases chance passes, and which tell models apart."""

import pytest
from made_up_rows import run
from made_up_run import CellKey, cell

from pytest_autoweb.results.analysis.cell_numbers import cell_row
from pytest_autoweb.results.analysis.chance import (
    above_chance,
    discrimination,
    floors,
    passed_by_chance,
)
from pytest_autoweb.results.analysis.comparison import compare_models
from pytest_autoweb.results.analysis.controls import control_rows, is_control, must_fail
from pytest_autoweb.results.records import CellResult, Outcome

RANDOM = "builtin/random"
WON: Outcome = "passed"
LOST: Outcome = "failed"


def played(case: str, model: str, *outcomes: Outcome) -> list[CellResult]:
    return [cell(CellKey(case, model, repeat=n), outcome) for n, outcome in enumerate(outcomes, 1)]


def test_the_floor_is_the_share_of_random_runs_with_a_verdict_that_pass() -> None:
    cells = [
        *played("a", RANDOM, "passed", "failed", "broken"),
        *played("b", RANDOM, "passed", "passed", "passed"),
        *played("d", RANDOM, "passed", "passed"),
        *played("c", "builtin/noop", "failed"),
    ]

    rows = control_rows(cells)

    assert {key[1]: floor for key, floor in floors(rows).items()} == {"a": 0.5, "b": 1.0, "d": 1.0}
    # Two runs are too few to say that chance always passes.
    assert {key[1] for key in passed_by_chance(rows)} == {"b"}


def test_random_actions_are_a_control_that_may_pass_or_fail() -> None:
    assert is_control(RANDOM)
    assert not must_fail(RANDOM)
    (row,) = control_rows(played("a", RANDOM, "passed"))
    assert (row.oracle, row.noop, row.reason) == (None, None, "")


def test_a_model_is_compared_with_the_floor_of_the_same_cases() -> None:
    mine = [*played("a", "m", "passed"), *played("b", "m", "failed"), *played("c", "m", "passed")]
    rows = control_rows(
        [*played("a", RANDOM, "failed", "passed"), *played("b", RANDOM, "failed", "failed")]
    )

    found = above_chance(mine, floors(rows))

    assert found is not None
    # The third case has no floor.
    assert (found.cases, found.rate, found.floor) == (2, 0.5, 0.25)
    assert found.difference == pytest.approx(0.25)
    assert found.interval is not None
    assert found.interval.low < 0 < found.interval.high
    assert above_chance(mine, {}) is None


def test_cases_are_sorted_by_whether_they_tell_models_apart() -> None:
    cells = [
        *played("apart", "m", "passed"),
        *played("apart", "n", "failed"),
        *played("easy", "m", "passed"),
        *played("easy", "n", "passed"),
        *played("hard", "m", "failed"),
        *played("hard", "n", "healed"),
        *played("even", "m", "passed", "failed"),
        *played("even", "n", "failed", "passed"),
        *played("alone", "m", "passed"),
    ]

    found = discrimination(cells)

    assert found is not None
    assert found.apart == ("apart",)
    assert found.all_pass == ("easy",)
    assert found.none_pass == ("hard",)
    assert found.alike == ("even",)
    assert discrimination(played("alone", "m", "passed")) is None


def test_cases_that_chance_passes_do_not_count_towards_what_would_have_shown() -> None:
    plain = [
        one
        for n in range(30)
        for one in (*played(f"c{n}", "m", "passed"), *played(f"c{n}", "k", LOST if n < 8 else WON))
    ]
    by_chance = [one for n in range(20, 30) for one in played(f"c{n}", RANDOM, WON, WON, WON)]

    def detectable(cells: list[CellResult]) -> tuple[float | None, tuple[str, ...]]:
        (found,) = compare_models(run(list(map(cell_row, cells))))
        return found.detectable, found.notes

    whole, nothing = detectable(plain)
    without, told = detectable([*plain, *by_chance])

    assert nothing == ()
    assert whole is not None
    assert without is not None
    assert without > whole
    assert told == (
        "Random actions pass 10 of 30 cases every time; what would have shown is computed without "
        "them.",
    )
