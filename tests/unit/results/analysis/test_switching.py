"""May one model take the place of another: three answers, and what each rests on."""

import math
from itertools import product

import pytest
from made_up_rows import cases, run
from scipy.stats import binom, norm

from pytest_autoweb.results.analysis.comparison import Comparison, compare_models
from pytest_autoweb.results.analysis.statistics import paired_score, paired_score_interval
from pytest_autoweb.results.analysis.switching import switch_of, switch_sentence


def compared(a: str, b: str) -> Comparison:
    """Two models on the same cases, a letter each: P passed, F failed."""
    (found,) = compare_models(run(cases(a, "a"), cases(b, "b")))
    return found


def test_many_cases_without_a_difference_are_safe() -> None:
    found = switch_of(compared("P" * 100 + "F" * 20, "P" * 100 + "F" * 20), 0.05)

    assert found.answer == "safe"
    assert found.bounds is not None
    assert -0.05 < found.bounds.low < 0
    assert switch_sentence(found).startswith("a → b: safe, not worse by more than 5 points (+0.0")


def test_few_cases_without_a_difference_are_no_proof() -> None:
    found = switch_of(compared("P" * 12, "P" * 12), 0.05)

    assert found.answer == "cannot tell"
    assert found.more_cases is not None
    assert found.more_cases > 20
    assert f"about {found.more_cases} more cases would show it" in switch_sentence(found)


def test_a_loss_beyond_the_margin_is_not_safe() -> None:
    found = switch_of(compared("P" * 60, "P" * 30 + "F" * 30), 0.05)

    assert (found.answer, found.more_cases) == ("not safe", None)


def test_no_number_of_cases_helps_where_the_loss_seems_larger_than_the_margin() -> None:
    found = switch_of(compared("P" * 30, "P" * 26 + "F" * 4), 0.05)

    assert (found.answer, found.more_cases) == ("cannot tell", None)
    assert "more cases will not make it safe" in switch_sentence(found)


def test_without_a_common_case_nothing_can_be_told() -> None:
    found = switch_of(compared("P", "B"), 0.05)

    assert (found.answer, found.bounds, found.more_cases) == ("cannot tell", None, None)
    assert switch_sentence(found).endswith("no case is graded on both sides")


@pytest.mark.parametrize("margin", [0.0, 1.0, -0.1])
def test_a_margin_out_of_its_range_is_refused(margin: float) -> None:
    with pytest.raises(ValueError, match="needs a margin"):
        switch_of(compared("P", "P"), margin)


def test_against_no_difference_the_score_is_mcnemars() -> None:
    for gained, lost in product(range(6), range(6)):
        if gained + lost:
            expected = (gained - lost) / math.sqrt(gained + lost)
            assert paired_score(gained, lost, 20, 0.0) == pytest.approx(expected)


@pytest.mark.parametrize(("gained", "lost", "n"), [(0, 1, 44), (4, 9, 60), (0, 0, 25), (7, 0, 7)])
def test_the_interval_ends_where_the_score_begins_to_speak_against_it(
    gained: int, lost: int, n: int
) -> None:
    found = paired_score_interval(gained, lost, n)

    assert found is not None
    assert -1 <= found.low <= (gained - lost) / n <= found.high <= 1
    z = norm.ppf(0.975)
    assert paired_score(gained, lost, n, found.low) == pytest.approx(z, abs=1e-6)
    if found.high < 0.999:
        assert paired_score(gained, lost, n, found.high) == pytest.approx(-z, abs=1e-6)


@pytest.mark.parametrize(("n", "margin"), [(20, 0.1), (60, 0.05), (120, 0.05)])
@pytest.mark.parametrize("differing", [0.12, 0.3])
def test_a_switch_at_the_margin_is_seldom_called_safe(
    n: int, margin: float, differing: float
) -> None:
    """The exact share of runs of cases at the margin itself that would be called safe."""
    z, share = norm.ppf(0.95), 0.0
    lost_of = (differing + margin) / 2 / differing
    for moved in range(n + 1):
        for lost in range(moved + 1):
            if paired_score(moved - lost, lost, n, -margin) > z:
                share += binom.pmf(moved, n, differing) * binom.pmf(lost, moved, lost_of)

    assert share < 0.06
