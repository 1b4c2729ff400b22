from collections.abc import Callable
from fractions import Fraction
from math import isclose
from statistics import fmean

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_autoweb.results.analysis.statistics import (
    Interval,
    all_failures_late,
    cohen_kappa,
    detectable_by_mcnemar,
    detectable_mean,
    difference_interval,
    effective_cases,
    holm,
    mcnemar,
    mcnemar_power,
    pass_at_k,
    pass_hat_k,
    percentile,
    rate_interval,
    ratio_interval,
    sign_flip,
    t_quantile,
    wilson,
)

# scipy.stats.binomtest(k, n).proportion_ci(0.95, method="wilson"), scipy 1.16. The rows with
# n = 263, 148, 20 and 29 are also those of method 3 in table I of R. G. Newcombe, "Two-sided
# confidence intervals for the single proportion", Statistics in Medicine 17 (1998) 857-872.
KNOWN = [
    (81, 263, 0.2552885199, 0.3662095770),
    (15, 148, 0.0623863995, 0.1604872417),
    (0, 20, 0.0, 0.1611251581),
    (1, 29, 0.0061132143, 0.1717552188),
    (10, 20, 0.2992980082, 0.7007019918),
    (20, 20, 0.8388748419, 1.0),
    (1, 1, 0.2065493144, 1.0),
    (48, 60, 0.6821819419, 0.8817149468),
]

trials = st.integers(1, 3000).flatmap(
    lambda n: st.tuples(st.floats(0, n, allow_nan=False), st.just(n))
)

repeated = st.integers(1, 6).flatmap(
    lambda m: st.lists(st.integers(0, m), min_size=1, max_size=40).map(lambda k: (k, m))
)
shares = st.integers(1, 6).flatmap(lambda m: st.builds(Fraction, st.integers(-m, m), st.just(m)))
differing = st.lists(shares, max_size=25)
p_values = st.lists(st.floats(0, 1), max_size=12)


def interval(passed: float, n: int, confidence: float = 0.95) -> Interval:
    found = wilson(passed, n, confidence)
    assert found is not None
    return found


@pytest.mark.parametrize(("passed", "n", "low", "high"), KNOWN)
def test_wilson_agrees_with_published_values(passed: int, n: int, low: float, high: float) -> None:
    found = interval(passed, n)

    assert isclose(low, found.low, abs_tol=1e-9)
    assert isclose(high, found.high, abs_tol=1e-9)


def test_wilson_at_another_confidence_agrees_with_scipy() -> None:
    found = interval(48, 60, confidence=0.9)

    assert isclose(0.7029665084, found.low, abs_tol=1e-9)
    assert isclose(0.8711454124, found.high, abs_tol=1e-9)


@settings(deadline=None)
@given(trials)
def test_wilson_contains_the_rate_and_stays_between_zero_and_one(trial: tuple[float, int]) -> None:
    passed, n = trial

    found = interval(passed, n)

    assert 0 <= found.low <= passed / n <= found.high <= 1


@settings(deadline=None)
@given(st.integers(1, 500).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_wilson_of_failures_mirrors_wilson_of_passes(trial: tuple[int, int]) -> None:
    passed, n = trial

    passes, failures = interval(passed, n), interval(n - passed, n)

    assert isclose(passes.low, 1 - failures.high, abs_tol=1e-12)
    assert isclose(passes.high, 1 - failures.low, abs_tol=1e-12)


@settings(deadline=None)
@given(trials, st.integers(2, 20))
def test_more_trials_at_the_same_rate_never_widen_the_interval(
    trial: tuple[float, int], factor: int
) -> None:
    passed, n = trial
    few, many = interval(passed, n), interval(min(passed * factor, n * factor), n * factor)

    assert many.high - many.low <= few.high - few.low + 1e-12


@settings(deadline=None)
@given(trials)
def test_more_confidence_never_narrows_the_interval(trial: tuple[float, int]) -> None:
    passed, n = trial
    narrow, wide = interval(passed, n, 0.8), interval(passed, n, 0.99)

    assert wide.low <= narrow.low + 1e-12
    assert wide.high >= narrow.high - 1e-12


def test_without_trials_nothing_is_known() -> None:
    assert wilson(0, 0) is None


@pytest.mark.parametrize(
    ("passed", "n", "confidence"), [(-1, 5, 0.95), (6, 5, 0.95), (0, -1, 0.95), (1, 2, 1.0)]
)
def test_impossible_arguments_are_refused(passed: float, n: int, confidence: float) -> None:
    with pytest.raises(ValueError, match=r"needs|must"):
        wilson(passed, n, confidence)


@settings(deadline=None)
@given(repeated)
def test_the_interval_over_repeats_contains_the_rate_and_mirrors(
    trial: tuple[list[int], int],
) -> None:
    passed, m = trial
    means, repeats = [k / m for k in passed], [m] * len(passed)

    found = rate_interval(means, repeats)
    mirrored = rate_interval([(m - k) / m for k in passed], repeats)

    assert found is not None
    assert mirrored is not None
    assert 0 <= found.low <= fmean(means) + 1e-12
    assert fmean(means) - 1e-12 <= found.high <= 1
    assert isclose(found.low, 1 - mirrored.high, abs_tol=1e-9)


@settings(deadline=None)
@given(repeated)
def test_repeats_never_make_cases_count_for_less_or_more_than_their_trials(
    trial: tuple[list[int], int],
) -> None:
    passed, m = trial

    effective = effective_cases([k / m for k in passed], [m] * len(passed))

    assert len(passed) - 1e-9 <= effective <= len(passed) * m + 1e-9


@settings(deadline=None)
@given(st.lists(st.floats(-1, 1), min_size=1, max_size=60))
def test_the_interval_of_a_difference_mirrors_and_stays_within_bounds(values: list[float]) -> None:
    found, mirrored = difference_interval(values), difference_interval([-v for v in values])

    assert found is not None
    assert mirrored is not None
    assert -1 <= found.low < found.high <= 1
    assert found.low - 1e-9 <= fmean(values) <= found.high + 1e-9
    assert isclose(found.low, -mirrored.high, abs_tol=1e-9)


@settings(deadline=None)
@given(st.lists(st.tuples(st.floats(0.01, 1e4), st.floats(0.01, 1e4)), min_size=2, max_size=30))
def test_the_ratio_interval_contains_the_ratio_and_inverts(
    pairs: list[tuple[float, float]],
) -> None:
    before, after = [a for a, _ in pairs], [b for _, b in pairs]

    found, inverse = ratio_interval(before, after), ratio_interval(after, before)

    assert found is not None
    assert inverse is not None
    assert found.low <= sum(after) / sum(before) * (1 + 1e-9)
    assert found.high >= sum(after) / sum(before) * (1 - 1e-9)
    assert isclose(found.low, 1 / inverse.high, rel_tol=1e-6)


def test_a_ratio_needs_two_cases_and_something_on_both_sides() -> None:
    assert ratio_interval([1.0], [2.0]) is None
    assert ratio_interval([0.0, 0.0], [1.0, 2.0]) is None
    assert ratio_interval([1.0, 2.0], [0.0, 0.0]) is None


@settings(deadline=None)
@given(st.integers(0, 60), st.integers(0, 60))
def test_sign_flips_of_whole_cases_are_mcnemars_test(only_a: int, only_b: int) -> None:
    differences = [Fraction(-1)] * only_a + [Fraction(1)] * only_b + [Fraction(0)] * 3

    found = sign_flip(differences)

    assert found.exact
    assert isclose(mcnemar(only_a, only_b), found.p, rel_tol=1e-12)
    assert mcnemar(only_a, only_b) == mcnemar(only_b, only_a)


@settings(deadline=None)
@given(differing, st.integers(1, 7))
def test_sign_flips_do_not_care_for_direction_order_or_scale(
    differences: list[Fraction], scale: int
) -> None:
    p = sign_flip(differences).p

    assert 0 < p <= 1
    assert sign_flip([-d for d in reversed(differences)]).p == p
    assert sign_flip([d / scale for d in differences]).p == p
    assert p >= min(1.0, 2 / 2 ** sum(d != 0 for d in differences))


@settings(deadline=None)
@given(p_values)
def test_holm_only_raises_and_keeps_the_order(values: list[float]) -> None:
    adjusted = holm(values)

    assert all(p <= q <= min(1, p * len(values)) for p, q in zip(values, adjusted, strict=True))
    ranked = sorted(zip(values, adjusted, strict=True))
    assert [q for _, q in ranked] == sorted(adjusted)


@settings(deadline=None)
@given(st.integers(1, 12).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n))))
def test_more_tries_help_one_pass_and_hurt_all_passes(trial: tuple[int, int]) -> None:
    n, passed = trial
    any_of = [pass_at_k(n, passed, k) for k in range(1, n + 1)]
    all_of = [pass_hat_k(n, passed, k) for k in range(1, n + 1)]

    assert any_of == sorted(any_of)
    assert all_of == sorted(all_of, reverse=True)
    assert isclose(any_of[0], passed / n)
    assert isclose(all_of[0], passed / n)


@settings(deadline=None, max_examples=30)
@given(st.integers(6, 60), st.floats(0, 1))
def test_more_cases_and_a_larger_difference_are_easier_to_detect(n: int, discordant: float) -> None:
    few, many = detectable_by_mcnemar(n, discordant), detectable_by_mcnemar(4 * n, discordant)

    assert many is not None
    assert few is None or many < few
    assert mcnemar_power(n, discordant, discordant) >= mcnemar_power(n, discordant, 0)


def test_agreement_beyond_chance() -> None:
    assert cohen_kappa([("pass", "pass"), ("fail", "fail")]) == 1
    assert cohen_kappa([("pass", "fail"), ("fail", "pass")]) == -1
    assert cohen_kappa([("pass", "pass")] * 9) is None
    assert cohen_kappa([]) is None


def test_nothing_compared_is_no_evidence() -> None:
    assert mcnemar(0, 0) == 1
    assert sign_flip([]) == (1, True)
    assert holm([]) == []
    assert rate_interval([], []) is None
    assert difference_interval([]) is None
    assert detectable_by_mcnemar(0, 0) is None
    assert detectable_mean([]) is None


@pytest.mark.parametrize(
    "call",
    [
        lambda: rate_interval([0.5], [1, 2]),
        lambda: rate_interval([0.5], [0]),
        lambda: rate_interval([1.5], [2]),
        lambda: rate_interval([0.5], [2], confidence=0),
        lambda: difference_interval([1.5]),
        lambda: ratio_interval([1], [1, 2]),
        lambda: ratio_interval([1, -1], [1, 2]),
        lambda: t_quantile(1, 3),
        lambda: t_quantile(0.5, 0),
        lambda: mcnemar(-1, 2),
        lambda: holm([0.5, 1.5]),
        lambda: pass_at_k(3, 2, 4),
        lambda: pass_hat_k(3, 2, 4),
        lambda: pass_at_k(3, 4, 1),
        lambda: pass_at_k(3, 2, 0),
        lambda: all_failures_late(-1, 2, 1),
        lambda: all_failures_late(1, 2, 3),
        lambda: mcnemar_power(10, 0.2, 0.3),
        lambda: detectable_by_mcnemar(10, 1.2),
    ],
)
def test_arguments_that_mean_nothing_are_refused(call: Callable[[], object]) -> None:
    with pytest.raises(ValueError, match=r"needs|must"):
        call()


def test_percentile_interpolates_between_neighbours() -> None:
    assert percentile([4, 1, 3, 2], 0.5) == 2.5
    assert percentile([10, 20, 30, 40, 50], 0.95) == 48
    assert percentile([7], 0.95) == 7
    assert percentile([], 0.5) is None
