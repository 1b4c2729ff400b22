"""The formulas against SciPy, statsmodels, published numbers and plain enumeration."""

from fractions import Fraction
from itertools import combinations, product
from math import exp, isclose, log, sqrt
from statistics import fmean

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.contingency_tables import mcnemar as statsmodels_mcnemar
from statsmodels.stats.inter_rater import cohens_kappa
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.proportion import proportion_confint

from pytest_autoweb.results.analysis.statistics import (
    all_failures_late,
    cohen_kappa,
    detectable_by_mcnemar,
    detectable_mean,
    difference_error,
    difference_interval,
    effective_cases,
    holm,
    mcnemar,
    mcnemar_power,
    pass_at_k,
    pass_hat_k,
    rate_interval,
    ratio_interval,
    sign_flip,
    t_quantile,
    wilson,
)

# Two published tables of pairs (both, only the first, only the second, neither): airway
# reactivity before and after transplantation, and response before and after a therapy. The results
# are those of chapter 8 of M. Fagerland, S. Lydersen and P. Laake, "Statistical analysis of
# contingency tables" (2017).
AIRWAY = (1, 1, 7, 12)
THERAPY = (59, 6, 16, 80)


def pairs_of(table: tuple[int, int, int, int]) -> list[float]:
    both, first, second, neither = table
    return [0.0] * (both + neither) + [1.0] * first + [-1.0] * second


@pytest.mark.parametrize("confidence", [0.8, 0.95, 0.99])
def test_wilson_agrees_with_statsmodels(confidence: float) -> None:
    for n in (1, 7, 40, 350):
        for passed in range(0, n + 1, max(1, n // 7)):
            low, high = proportion_confint(passed, n, 1 - confidence, method="wilson")
            found = wilson(passed, n, confidence)

            assert found is not None
            assert isclose(max(low, 0), found.low, abs_tol=1e-12)
            assert isclose(min(high, 1), found.high, abs_tol=1e-12)


def test_the_effective_number_of_cases_is_the_variance_ratio_of_the_smoothed_cases() -> None:
    means = [1, 1, 2 / 3, 1 / 3, 0, 1, 2 / 3, 1, 0, 1]
    smoothed = np.array([*means, 0, 1])
    expected = smoothed.mean() * (1 - smoothed.mean()) / (smoothed.var(ddof=1) / len(means))

    effective = effective_cases(means, [3] * 10)

    assert 10 < effective < 30
    assert isclose(expected, effective)
    assert rate_interval(means, [3] * 10) == wilson(fmean(means) * effective, effective)


def test_the_effective_number_stays_between_cases_and_trials() -> None:
    assert effective_cases([0.0, 1.0, 1.0, 0.0], [4] * 4) == 4
    assert effective_cases([0.5] * 40, [2] * 40) == 80
    assert isclose(effective_cases([0.5] * 40, [2, 4] * 20), 40 * 40 / (20 / 2 + 20 / 4))
    assert effective_cases([1.0] * 3, [1] * 3) == 3


def test_the_interval_of_a_difference_agrees_with_a_published_one() -> None:
    found = difference_interval(pairs_of(THERAPY))

    assert found is not None
    assert (round(found.low, 4), round(found.high, 4)) == (-0.1195, -0.0032)


def test_the_ratio_interval_is_cochrans_on_the_logarithmic_scale() -> None:
    before, after = [1.0, 2.0, 4.0, 3.0, 9.0], [2.0, 2.5, 3.0, 6.0, 8.0]
    ratio = sum(after) / sum(before)
    residuals = np.array(after) - ratio * np.array(before)
    error = residuals.std(ddof=1) / sqrt(5) / np.mean(before)
    reach = stats.t.ppf(0.975, 4) * error / ratio

    found = ratio_interval(before, after)

    assert found is not None
    assert isclose(exp(log(ratio) - reach), found.low)
    assert isclose(exp(log(ratio) + reach), found.high)


@pytest.mark.parametrize("df", [1, 2, 3, 4, 7, 10, 29, 30, 199, 200])
def test_quantiles_of_student_agree_with_scipy(df: int) -> None:
    for probability in (0.001, 0.2, 0.5, 0.8, 0.975, 0.9999):
        expected = stats.t.ppf(probability, df)

        assert isclose(expected, t_quantile(probability, df), rel_tol=1e-9, abs_tol=1e-12)


def test_mcnemar_agrees_with_statsmodels() -> None:
    for only_a, only_b in product(range(0, 25, 3), range(0, 60, 7)):
        expected = statsmodels_mcnemar([[5, only_a], [only_b, 5]], exact=True).pvalue

        assert isclose(expected, mcnemar(only_a, only_b), rel_tol=1e-12)


@pytest.mark.parametrize(("table", "p"), [(AIRWAY, 0.0703), (THERAPY, 0.0525)])
def test_mcnemar_agrees_with_published_values(table: tuple[int, int, int, int], p: float) -> None:
    assert round(mcnemar(table[1], table[2]), 4) == p


def test_six_cases_that_differ_are_the_fewest_that_can_be_significant() -> None:
    assert mcnemar(0, 5) == 0.0625
    assert mcnemar(0, 6) == 0.03125


@pytest.mark.parametrize(
    "differences",
    [
        [Fraction(1, 3), Fraction(2, 3), Fraction(1), Fraction(-1, 3), Fraction(1, 3)],
        [Fraction(1, 2), Fraction(-1, 4), Fraction(2, 5), Fraction(0), Fraction(1), Fraction(-1)],
        [Fraction(k % 4 - 1, 3) for k in range(11)],
    ],
)
def test_sign_flips_agree_with_scipys_permutation_test(differences: list[Fraction]) -> None:
    # As whole numbers, so that ties of sums are ties.
    values = np.array([int(d * 60) for d in differences])
    expected = stats.permutation_test(
        (values,), np.sum, permutation_type="samples", n_resamples=np.inf
    )

    found = sign_flip(differences)

    assert found.exact
    assert isclose(expected.pvalue, found.p, rel_tol=1e-12)


def test_random_sign_flips_come_near_the_exact_ones_and_repeat_themselves() -> None:
    primes = (10007, 10009, 10037, 10039, 10061, 10067, 10069, 10079, 10091, 10093, 10099)
    differences = [Fraction(1 + at % 3, prime) for at, prime in enumerate(primes)]
    differences = [d * (-1 if at in (3, 8) else 1) for at, d in enumerate(differences)]
    values = [float(d) for d in differences]
    sums = [abs(sum(np.multiply(values, signs))) for signs in product((-1, 1), repeat=11)]
    exact = fmean(each >= abs(sum(values)) - 1e-12 for each in sums)

    found = sign_flip(differences)

    assert not found.exact
    assert abs(exact - found.p) < 0.01
    assert found == sign_flip(differences)


@pytest.mark.long
def test_holm_agrees_with_statsmodels() -> None:
    chance = np.random.default_rng(3)
    for size in (1, 2, 5, 20):
        p_values = [float(p) for p in chance.random(size) ** 3]
        expected = multipletests(p_values, method="holm")[1]

        assert np.allclose(expected, holm(p_values))


def test_kappa_agrees_with_statsmodels_and_with_a_textbook_table() -> None:
    table = np.array([[20, 5], [10, 15]])
    pairs = [(i, j) for i in (0, 1) for j in (0, 1) for _ in range(table[i, j])]

    kappa = cohen_kappa(pairs)

    assert kappa is not None
    assert isclose(0.4, kappa)
    assert isclose(cohens_kappa(table).kappa, kappa)


def test_pass_at_k_and_pass_hat_k_are_shares_of_all_draws() -> None:
    for n, passed in ((5, 0), (5, 2), (6, 5), (7, 7)):
        for k in range(1, n + 1):
            draws = list(combinations([True] * passed + [False] * (n - passed), k))

            assert isclose(fmean(map(any, draws)), pass_at_k(n, passed, k))
            assert isclose(fmean(map(all, draws)), pass_hat_k(n, passed, k))


def test_the_chance_that_all_failures_are_late_is_fishers() -> None:
    for before, after, failures in ((5, 3, 3), (19, 1, 1), (8, 4, 2), (3, 2, 0)):
        table = [[before, 0], [after - failures, failures]]
        expected = stats.fisher_exact(table, alternative="greater").pvalue

        assert isclose(expected, all_failures_late(before, after, failures))


@pytest.mark.parametrize(("discordant", "difference"), [(0.5, 0.3), (0.8, 0.8), (0.2, 0.0)])
def test_the_power_of_mcnemar_is_that_of_all_outcomes_counted(
    discordant: float, difference: float
) -> None:
    n = 14
    chances = ((discordant + difference) / 2, (discordant - difference) / 2, 1 - discordant)
    counts = [(b, a, n - a - b) for a in range(n + 1) for b in range(n + 1 - a)]
    expected = sum(
        stats.multinomial.pmf(count, n, chances)
        for count in counts
        if count[0] > count[1] and mcnemar(count[1], count[0]) <= 0.05
    )

    assert isclose(expected, mcnemar_power(n, discordant, difference), abs_tol=1e-6)


def test_the_detectable_difference_is_the_least_with_enough_power() -> None:
    for n, discordant in ((8, 0.0), (25, 0.3), (60, 0.2), (60, 0.5)):
        least = detectable_by_mcnemar(n, discordant)

        assert least is not None
        assert mcnemar_power(n, max(discordant, least), least) >= 0.8
        assert mcnemar_power(n, max(discordant, least - 0.002), least - 0.002) < 0.8


def test_with_five_cases_no_difference_is_detectable() -> None:
    assert detectable_by_mcnemar(5, 0.5) is None
    assert detectable_mean([0.5] * 5) is None
    assert detectable_by_mcnemar(6, 0.5, alpha=0.05 / 3) is None


def test_the_detectable_mean_is_blooms() -> None:
    differences = [0.2, -0.4, 0.0, 0.6, 0.2, -0.2, 0.0, 0.4] * 4
    multiplier = stats.t.ppf(0.975, 31) + stats.t.ppf(0.8, 31)

    found = detectable_mean(differences)

    assert found is not None
    assert isclose(multiplier * difference_error(differences), found)
