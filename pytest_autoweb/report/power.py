"""The power of the paired tests: how large a difference must be to be found."""

from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from math import comb, exp, lgamma, log, log1p

from pytest_autoweb.report.statistics import ALPHA, difference_error, t_quantile

POWER = 0.8
"""The probability of being found above which a difference counts as detectable."""


def detectable_by_mcnemar(n: int, discordant: float, alpha: float = ALPHA) -> float | None:
    """Return the smallest difference of pass rates that McNemar's test finds in 80% of runs.

    Source: exact unconditional power, S. W. Duffy, "Asymptotic and exact power for the McNemar test
    and its analogue with R controls per case", Biometrics 40 (1984) 1005-1015; solved for the
    difference by bisection.

    Args:
        n: the number of cases.
        discordant: the share of cases that only one side passes. No difference can exceed it, so
            for larger ones all cases that differ are assumed to differ in the same direction.
        alpha: the level of the test.

    Returns:
        None when not even a difference of 1 would be found.

    Raises:
        ValueError: an argument is out of its range.
    """
    if n < 0 or not 0 <= discordant <= 1 or not 0 < alpha < 1:
        raise ValueError(f"needs n >= 0 and shares from 0 to 1, got {n}, {discordant}, {alpha}")
    if mcnemar_power(n, 1.0, 1.0, alpha) < POWER:
        return None
    low, high = 0, 1000
    while high - low > 1:
        middle = (low + high) // 2
        difference = middle / 1000
        enough = mcnemar_power(n, max(discordant, difference), difference, alpha) >= POWER
        low, high = (low, middle) if enough else (middle, high)
    return high / 1000


def mcnemar_power(n: int, discordant: float, difference: float, alpha: float = ALPHA) -> float:
    """Return the probability that McNemar's exact test finds a difference of this size and sign.

    Source: as for `detectable_by_mcnemar`.

    Args:
        n: the number of cases.
        discordant: the expected share of cases that only one side passes.
        difference: the expected difference of the pass rates, from 0 up to `discordant`.
        alpha: the level of the test.

    Raises:
        ValueError: an argument is out of its range.
    """
    if not 0 <= difference <= discordant <= 1:
        raise ValueError(
            f"needs 0 <= difference <= discordant <= 1, got {difference}, {discordant}"
        )
    if discordant == 0:
        return 0.0
    against = (discordant - difference) / (2 * discordant)
    power = 0.0
    for differing, chance in enumerate(_binomial(n, discordant)):
        if chance > 1e-9 and (most := _most_against(differing, alpha)) is not None:
            power += chance * sum(_binomial(differing, against)[: most + 1])
    return power


def detectable_mean(differences: Sequence[float], alpha: float = ALPHA) -> float | None:
    """Return the smallest mean difference over repeated cases that is found in 80% of runs.

    The standard error is that of `difference_interval`, so it is never 0.

    Source: minimum detectable effect, H. S. Bloom, "Minimum detectable effects: a simple way to
    report the statistical power of experimental designs", Evaluation Review 19 (1995) 547-556.

    Returns:
        None when there are too few cases for any result to be significant, or when not even a
        difference of 1 would be found.
    """
    if _most_against(len(differences), alpha) is None:
        return None
    df = len(differences) - 1
    multiplier = t_quantile(1 - alpha / 2, df) + t_quantile(POWER, df)
    found = multiplier * difference_error(differences)
    return found if found <= 1 else None


def _binomial(n: int, p: float) -> list[float]:
    """Return the probabilities of 0 to n successes."""
    if p in (0.0, 1.0):
        return [float(k == n * p) for k in range(n + 1)]
    # With logarithms, because the binomial coefficients of many cases overflow a float.
    head = lgamma(n + 1) + n * log1p(-p)
    odds = log(p) - log1p(-p)
    return [exp(head - lgamma(k + 1) - lgamma(n - k + 1) + k * odds) for k in range(n + 1)]


@cache
def _most_against(n: int, alpha: float) -> int | None:
    """Return how many of n differing cases may contradict the others in a significant result."""
    tail, most = Fraction(0), None
    for k in range(n + 1):
        tail += Fraction(comb(n, k), 2**n)
        if 2 * tail > alpha:
            break
        most = k
    return most
