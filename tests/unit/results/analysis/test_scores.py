"""Points: mean scores and their differences; what limits ended; how several judges agree."""

import itertools
import random
from statistics import fmean
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_up_run import CellKey, cell

from pytest_autoweb.results.analysis.cell_numbers import cell_row
from pytest_autoweb.results.analysis.limits import limits_of
from pytest_autoweb.results.analysis.scores import mean_score, model_scores, score_difference
from pytest_autoweb.results.analysis.statistics import krippendorff_alpha, score_interval, wilson
from pytest_autoweb.results.records import Attempt, CellResult, Failure

SHARES = st.floats(0, 1) | st.sampled_from([0.0, 0.25, 0.5, 1.0])


def scored(case: str, score: float | None, outcome: Any = "failed", **changes: Any) -> CellResult:
    attempts = (Attempt(score=score),) if score is not None else ()
    fields = {"attempts": attempts, "with_points": True} | changes
    return cell(CellKey(case, "m"), outcome, **fields)


def test_a_model_has_a_score_over_the_cases_with_points_and_a_broken_cell_earns_nothing() -> None:
    found = model_scores(
        [
            scored("a", 1.0, "passed"),
            scored("b", 0.5),
            scored("b", 0.0, repeat=2),
            scored("c", None, "broken"),
            scored("d", None, "skipped"),
            scored("e", 0.9, with_points=False),
        ]
    )

    assert found is not None
    assert found.first_attempt.value == pytest.approx(1.25 / 3)
    assert (found.first_attempt.cases, found.first_attempt.trials) == (3, 4)
    assert found.first_attempt_graded is not None
    assert (found.first_attempt_graded.value, found.first_attempt_graded.cases) == (0.625, 2)


def test_repairs_count_only_after_repair() -> None:
    healed = scored("a", 0.25, "healed", attempts=(Attempt(score=0.25), Attempt(score=1.0)))
    found = model_scores([healed])

    assert found is not None
    assert (found.first_attempt.value, found.after_repair.value) == (0.25, 1.0)


def test_without_points_there_is_no_score() -> None:
    plain = scored("a", 1.0, "passed", with_points=False)

    assert model_scores([plain]) is None
    assert mean_score([cell_row(plain)], "first_attempt") is None
    assert score_difference([((cell_row(plain),), (cell_row(plain),))], "first_attempt") is None


def test_two_sides_are_compared_on_the_same_cases() -> None:
    rows = {score: cell_row(scored("a", score)) for score in (0.0, 0.25, 0.75, 1.0)}
    found = score_difference(
        [((rows[0.25],), (rows[0.75],)), ((rows[0.0],), (rows[1.0],))], "first_attempt"
    )

    assert found is not None
    assert (found.a, found.b, found.difference) == (0.125, 0.875, 0.75)
    assert found.interval.low < 0.75 < found.interval.high


@given(st.lists(SHARES, min_size=1, max_size=30))
def test_the_interval_of_a_score_holds_it_and_has_a_width(scores: list[float]) -> None:
    found = score_interval(scores)

    assert found is not None
    assert 0 <= found.low <= fmean(scores) + 1e-9
    assert fmean(scores) - 1e-9 <= found.high <= 1
    assert found.low < found.high


@given(st.lists(st.sampled_from([0.0, 1.0]), min_size=1, max_size=30))
def test_scores_of_all_or_nothing_are_a_pass_rate(scores: list[float]) -> None:
    assert score_interval(scores) == wilson(sum(scores), len(scores))


def test_scores_out_of_range_are_refused() -> None:
    with pytest.raises(ValueError, match="scores from 0 to 1"):
        score_interval([0.5, 1.5])
    assert score_interval([]) is None


@pytest.mark.parametrize(
    ("failure", "passed", "ended"),
    [
        ({"kind": "timeout"}, False, "time"),
        ({"kind": "limit"}, False, "steps"),
        ({"kind": "model", "cause": "timeout"}, None, "time"),
        ({"kind": "model", "cause": "truncated"}, None, "tokens"),
        ({"kind": "model", "cause": "context_window"}, None, "tokens"),
        ({"kind": "model", "cause": "budget"}, None, "cost"),
        ({"kind": "model", "cause": "auth"}, None, ""),
        ({"kind": "check"}, False, ""),
        ({"kind": "timeout"}, True, ""),
        (None, True, ""),
    ],
)
def test_an_attempt_is_ended_by_one_limit_or_none(
    failure: dict[str, Any] | None, passed: bool | None, ended: str
) -> None:
    attempt = Attempt(
        checks_passed=passed,
        failure=Failure(message="made up", **failure) if failure else None,
    )
    found = limits_of([scored("a", None, attempts=(attempt, Attempt()))])

    assert found is not None
    assert found.attempts == 2
    assert found.share == (0.5 if ended else 0)
    counts = {name: getattr(found, name) for name in ("time", "steps", "tokens", "cost")}
    assert counts == {name: int(name == ended) for name in counts}


def test_without_attempts_nothing_is_said_of_limits() -> None:
    assert limits_of([scored("a", None, "broken")]) is None


def test_krippendorffs_alpha_is_that_of_his_own_example() -> None:
    """Section C of his text of 2011: four observers, twelve units, gaps."""
    table = (
        (1, 2, 3, 3, 2, 1, 4, 1, 2, None, None, None),
        (1, 2, 3, 3, 2, 2, 4, 1, 2, 5, None, 3),
        (None, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, None),
        (1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, None),
    )
    units = [[said for said in unit if said is not None] for unit in zip(*table, strict=True)]

    assert krippendorff_alpha(units) == pytest.approx(0.743, abs=0.0005)


def test_alpha_says_nothing_where_nobody_differs_or_nothing_can_be_compared() -> None:
    assert krippendorff_alpha([]) is None
    assert krippendorff_alpha([["pass"], ["fail"]]) is None
    assert krippendorff_alpha([["pass", "pass"], ["pass", "pass"]]) is None
    assert krippendorff_alpha([["pass", "pass"], ["fail", "fail"]]) == 1


def test_alpha_of_ratings_by_chance_is_about_0() -> None:
    chance = random.Random(1)
    units = [[chance.choice("ab") for _ in range(3)] for _ in range(3000)]

    found = krippendorff_alpha(units)
    assert found is not None
    assert abs(found) < 0.05
    opposite = krippendorff_alpha(itertools.repeat(["a", "b"], 50))
    assert opposite is not None
    assert opposite < 0
