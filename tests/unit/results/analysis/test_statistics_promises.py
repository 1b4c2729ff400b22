"""What intervals and tests promise, by counting every possible outcome of small runs."""

from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations_with_replacement, product
from math import comb, factorial, prod
from statistics import fmean

import pytest
from scipy import stats

from pytest_autoweb.results.analysis.statistics import (
    ALPHA,
    Interval,
    difference_interval,
    mcnemar,
    rate_interval,
    sign_flip,
)

RATES = (0.05, 0.1, 0.3, 0.5, 0.8, 0.95)


def covers(interval: Interval | None, truth: float) -> bool:
    return interval is not None and interval.low - 1e-12 <= truth <= interval.high + 1e-12


def samples(n: int, chances: dict[float, float]) -> Iterator[tuple[tuple[float, ...], float]]:
    """Every unordered sample of n cases with its chance."""
    for values in combinations_with_replacement(chances, n):
        counts = Counter(values)
        ways = factorial(n) // prod(map(factorial, counts.values()))
        yield values, ways * prod(chances[value] ** count for value, count in counts.items())


def rate_coverage(n: int, repeats: int, rate: float, likeness: float) -> float:
    if likeness == 1:
        chances = {0.0: 1 - rate, 1.0: rate}
    else:
        size = 1 / likeness - 1
        pmf = stats.betabinom(repeats, rate * size, (1 - rate) * size).pmf
        chances = {passed / repeats: float(pmf(passed)) for passed in range(repeats + 1)}
    return sum(
        chance
        for means, chance in samples(n, chances)
        if covers(rate_interval(means, [repeats] * n), rate)
    )


@pytest.mark.parametrize("n", [5, 10, 30])
def test_the_interval_of_a_rate_covers_it_without_repeats(n: int) -> None:
    coverage = [rate_coverage(n, 1, rate, 1) for rate in RATES]

    assert min(coverage) > 0.9
    assert fmean(coverage) > 0.93


@pytest.mark.parametrize(("n", "repeats"), [(5, 2), (5, 5), (12, 3)])
def test_the_interval_of_a_rate_covers_it_whether_repeats_agree_or_not(
    n: int, repeats: int
) -> None:
    coverage = [
        rate_coverage(n, repeats, rate, likeness)
        for rate, likeness in product(RATES, (0.05, 0.3, 0.7, 1))
    ]

    assert min(coverage) > 0.89
    assert fmean(coverage) > 0.95


@pytest.mark.parametrize("n", [6, 12, 25])
def test_the_interval_of_a_difference_covers_it(n: int) -> None:
    coverage = []
    for better, worse in product((0.02, 0.1, 0.3, 0.6), (0.01, 0.05, 0.2, 0.35)):
        chances = {1.0: better, -1.0: worse, 0.0: 1 - better - worse}
        coverage.append(
            sum(
                chance
                for differences, chance in samples(n, chances)
                if covers(difference_interval(differences), better - worse)
            )
        )

    assert min(coverage) > 0.91
    assert fmean(coverage) > 0.95


def test_an_interval_is_never_of_zero_width() -> None:
    for n in (1, 2, 10, 200):
        for mean in (0.0, 0.6, 1.0):
            rate = rate_interval([mean] * n, [5] * n)
            difference = difference_interval([mean] * n)

            assert rate is not None
            assert difference is not None
            assert rate.high - rate.low > 0.005
            assert difference.high - difference.low > 0.005


def test_mcnemar_rejects_equal_models_in_five_of_a_hundred_runs_at_most() -> None:
    for differing in range(61):
        rejected = sum(
            comb(differing, k) / 2**differing
            for k in range(differing + 1)
            if mcnemar(k, differing - k) <= ALPHA
        )

        assert rejected <= ALPHA


@pytest.mark.parametrize("chance", [0.2, 0.5, 0.9])
def test_sign_flips_reject_equal_models_in_five_of_a_hundred_runs_at_most(chance: float) -> None:
    pmf = [comb(2, k) * chance**k * (1 - chance) ** (2 - k) for k in range(3)]
    chances = dict.fromkeys((-1.0, -0.5, 0.0, 0.5, 1.0), 0.0)
    for a, b in product(range(3), repeat=2):
        chances[(a - b) / 2] += pmf[a] * pmf[b]

    rejected = sum(
        weight
        for differences, weight in samples(9, chances)
        if sign_flip(Fraction(d) for d in differences).p <= ALPHA
    )

    assert 0 < rejected <= ALPHA
