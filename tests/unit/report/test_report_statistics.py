from math import isclose

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_autoweb.report.statistics import Interval, percentile, wilson

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


def test_percentile_interpolates_between_neighbours() -> None:
    assert percentile([4, 1, 3, 2], 0.5) == 2.5
    assert percentile([10, 20, 30, 40, 50], 0.95) == 48
    assert percentile([7], 0.95) == 7
    assert percentile([], 0.5) is None
