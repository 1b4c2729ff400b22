"""The formulas behind the report's numbers; pure, each with its source."""

import random
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Sequence
from fractions import Fraction
from functools import cache
from itertools import accumulate
from math import (
    atan,
    ceil,
    comb,
    copysign,
    cos,
    exp,
    fsum,
    gcd,
    inf,
    lcm,
    lgamma,
    log,
    log1p,
    pi,
    sin,
    sqrt,
)
from statistics import NormalDist, fmean, stdev
from typing import NamedTuple

from pytest_autoweb.results.records import Record

ALPHA = 0.05
"""The significance level of every test."""
LEAST_DISCORDANT = 6
"""With fewer cases that differ, no two-sided exact test reaches 0.05, as 2 * 0.5**5 is 0.0625."""


class Interval(Record):
    """A confidence interval."""

    low: float
    """Lower end."""
    high: float
    """Upper end."""


def wilson(passed: float, n: float, confidence: float = 0.95) -> Interval | None:
    """Return Wilson's score interval of a pass rate, without continuity correction.

    Source: E. B. Wilson, "Probable inference, the law of succession, and statistical inference",
    JASA 22 (1927) 209-212; recommended for small n by L. D. Brown, T. T. Cai and A. DasGupta,
    "Interval estimation for a binomial proportion", Statistical Science 16 (2001) 101-133.

    Args:
        passed: the number of successes; not a whole number if the units are means of repeats.
        n: the number of independent units; not a whole number if it is an effective number.
        confidence: between 0 and 1.

    Returns:
        The interval; None if there are no units.

    Raises:
        ValueError: an argument is out of its range.
    """
    z = _z(confidence)
    if not 0 <= passed <= n:
        raise ValueError(f"needs 0 <= passed <= n, got passed={passed}, n={n}")
    if n == 0:
        return None
    rate = passed / n
    centre = rate + z * z / (2 * n)
    reach = z * sqrt(rate * (1 - rate) / n + z * z / (4 * n * n))
    scale = 1 + z * z / n
    # Through rounding, the closed form may miss the rate itself by a tiny amount.
    low = max(0.0, min(rate, (centre - reach) / scale)) if passed > 0 else 0.0
    high = min(1.0, max(rate, (centre + reach) / scale)) if passed < n else 1.0
    return Interval(low=low, high=high)


def rate_interval(
    case_means: Sequence[float], repeats: Sequence[int], confidence: float = 0.95
) -> Interval | None:
    """Return the interval of a pass rate over cases that may have been tried several times.

    It is Wilson's interval on the effective number of cases, which is the number of independent
    trials with the variance that the case means show. Without repeats it is Wilson's interval.

    Source: effective sample size as in E. L. Korn and B. I. Graubard, "Confidence intervals for
    proportions with small expected number of positive counts estimated from survey data", Survey
    Methodology 24 (1998) 193-201; with Wilson's interval in N. Dean and M. Pagano, "Evaluating
    confidence interval methods for binomial proportions in clustered surveys", Journal of Survey
    Statistics and Methodology 3 (2015) 484-503.

    Args:
        case_means: the share of passed trials, for each case.
        repeats: the number of trials, for each case.
        confidence: between 0 and 1.

    Returns:
        The interval, which never has zero width; None if there are no cases.

    Raises:
        ValueError: an argument is out of its range.
    """
    if not case_means:
        return None
    return wilson(fmean(case_means) * (n := effective_cases(case_means, repeats)), n, confidence)


def effective_cases(case_means: Sequence[float], repeats: Sequence[int]) -> float:
    """Return the number of independent trials that the repeated cases are worth.

    The variance of the case means is computed with one passed and one failed case added, so that a
    few equal means do not look like certainty. The result is at least the number of cases (as if
    all repeats of a case agree) and at most the number of trials (as if they were independent).

    Raises:
        ValueError: the arguments do not fit each other or are out of their range.
    """
    if len(case_means) != len(repeats) or min(repeats, default=1) < 1:
        raise ValueError("needs as many numbers of repeats as case means, each at least 1")
    if not all(0 <= mean <= 1 for mean in case_means):
        raise ValueError("needs case means from 0 to 1")
    n = len(case_means)
    if n == 0 or max(repeats) == 1:
        return float(n)
    smoothed = (*case_means, 0.0, 1.0)
    rate = fmean(smoothed)
    variance = stdev(smoothed) ** 2
    most = n * n / fsum(1 / tries for tries in repeats)
    return min(max(n * rate * (1 - rate) / variance, float(n)), most)


def score_interval(scores: Sequence[float], confidence: float = 0.95) -> Interval | None:
    """Return the interval of a mean over cases of scores from 0 to 1, such as partial credit.

    It is Wilson's interval on the number of passed or failed cases that would vary as little as
    the scores do, and at least on the number of cases. Where all scores are 0 or 1 it is Wilson's.

    Source: as for `rate_interval`; that no scores from 0 to 1 vary more than passes and failures of
    the same mean, A. Bhatia and C. Davis, "A better bound on the variance", The American
    Mathematical Monthly 107 (2000) 353-357.

    Args:
        scores: one for each case, averaged over its repeats.
        confidence: between 0 and 1.

    Returns:
        The interval, which never has zero width; None if there are no cases.

    Raises:
        ValueError: an argument is out of its range.
    """
    if not all(0 <= score <= 1 for score in scores):
        raise ValueError("needs scores from 0 to 1")
    n = len(scores)
    if n == 0:
        return None
    if all(score in (0, 1) for score in scores):
        return wilson(fsum(scores), n, confidence)
    smoothed = (*scores, 0.0, 1.0)
    rate = fmean(smoothed)
    worth = max(float(n), n * rate * (1 - rate) / stdev(smoothed) ** 2)
    # Through rounding, the product may miss its bounds by a tiny amount.
    return wilson(min(worth, max(0.0, fmean(scores) * worth)), worth, confidence)


def difference_interval(differences: Sequence[float], confidence: float = 0.95) -> Interval | None:
    """Return the interval of the mean paired difference between two pass rates.

    Before the usual interval is computed, two cases are added, one won by each side. So it does not
    have zero width when all cases agree, and it stays in [-1, 1].

    Source: D. G. Bonett and R. M. Price, "Adjusted Wald confidence interval for a difference of
    binomial proportions based on paired data", Journal of Educational and Behavioral Statistics
    37 (2012) 479-488. There each difference is -1, 0 or 1; here it may be one of case means.

    Args:
        differences: the mean on one side minus the mean on the other, for each case.
        confidence: between 0 and 1.

    Returns:
        The interval; None if there are no cases.

    Raises:
        ValueError: an argument is out of its range.
    """
    z = _z(confidence)
    if not all(-1 <= difference <= 1 for difference in differences):
        raise ValueError("needs differences from -1 to 1")
    if not differences:
        return None
    centre, reach = fsum(differences) / (len(differences) + 2), z * difference_error(differences)
    return Interval(low=max(-1.0, centre - reach), high=min(1.0, centre + reach))


def difference_error(differences: Sequence[float]) -> float:
    """Return the standard error used in `difference_interval`, which is never 0."""
    adjusted = (*differences, -1.0, 1.0)
    return sqrt((fmean(d * d for d in adjusted) - fmean(adjusted) ** 2) / len(adjusted))


def ratio_interval(
    before: Sequence[float], after: Sequence[float], confidence: float = 0.95
) -> Interval | None:
    """Return the interval of sum(after) / sum(before) over paired cases, such as for costs.

    Source: the ratio estimator and its linearised variance, W. G. Cochran, "Sampling Techniques",
    3rd edition (Wiley 1977), sections 6.3-6.4; on the logarithmic scale, so that the limits stay
    positive, and with Student's t at n - 1 degrees of freedom.

    Returns:
        The interval; None with fewer than two cases, or when a side adds up to 0.

    Raises:
        ValueError: the lengths differ or a value is negative.
    """
    if len(before) != len(after) or min((*before, *after), default=0.0) < 0:
        raise ValueError("needs two sequences of one length, without negative values")
    n = len(before)
    if n < 2 or not any(before) or not any(after):
        return None
    mean_before, mean_after = fmean(before), fmean(after)
    spread = stdev(b / mean_after - a / mean_before for a, b in zip(before, after, strict=True))
    # Two very different cases would overflow; an interval that wide is meaningless anyway.
    reach = min(300.0, t_quantile((1 + confidence) / 2, n - 1) * spread / sqrt(n))
    ratio = mean_after / mean_before
    return Interval(low=ratio * exp(-reach), high=ratio * exp(reach))


def t_quantile(probability: float, df: int) -> float:
    """Return a quantile of Student's t distribution with a whole number of degrees of freedom.

    Source: the finite series 26.7.3 and 26.7.4 of M. Abramowitz and I. A. Stegun, "Handbook of
    Mathematical Functions" (1964), solved by bisection.

    Raises:
        ValueError: an argument is out of its range.
    """
    if not 0 < probability < 1 or df < 1:
        raise ValueError(f"needs 0 < probability < 1 and df >= 1, got {probability}, {df}")
    if probability < 0.5:
        return -t_quantile(1 - probability, df)
    low, high, within = 0.0, 1.0, 2 * probability - 1
    while _t_within(high, df) < within:
        low, high = high, high * 2
    # Eighty halvings exhaust the precision of a float.
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if _t_within(middle, df) < within else (low, middle)
    return (low + high) / 2


def mcnemar(only_a: int, only_b: int) -> float:
    """Return the exact two-sided p value of McNemar's test.

    It tests whether the cases that only one side passes are evenly split between the sides.

    Source: Q. McNemar, "Note on the sampling error of the difference between correlated proportions
    or percentages", Psychometrika 12 (1947) 153-157; its exact form is the binomial (sign) test,
    F. Mosteller, "Some statistical problems in measuring the subjective response to drugs",
    Biometrics 8 (1952) 220-226.

    Raises:
        ValueError: a count is negative.
    """
    if min(only_a, only_b) < 0:
        raise ValueError(f"needs counts of at least 0, got {only_a}, {only_b}")
    n = only_a + only_b
    tail = sum(comb(n, k) for k in range(min(only_a, only_b) + 1))
    return float(min(Fraction(1), Fraction(2 * tail, 2**n)))


def paired_score(gained: int, lost: int, n: int, difference: float) -> float:
    """Return the score statistic against a given difference of two paired pass rates.

    Under that difference it is about standard normal; large values speak for a larger one. Other
    than Wald's, it keeps its level where few cases differ.

    Source: T. Tango, "Equivalence test and confidence interval for the difference in proportions
    for the paired-sample design", Statistics in Medicine 17 (1998) 891-908; the test is that of
    J.-m. Nam, Biometrics 53 (1997) 1422-1430.

    Args:
        gained: cases that only the second side passes.
        lost: cases that only the first side passes.
        n: all cases.
        difference: the rate of the second side minus that of the first, between -1 and 1.

    Raises:
        ValueError: an argument is out of its range.
    """
    if min(gained, lost) < 0 or gained + lost > n or n < 1 or not -1 < difference < 1:
        raise ValueError(
            f"needs counts within {n} cases and a difference within 1, got "
            f"{gained}, {lost}, {difference}"
        )
    # The likeliest share of cases that only the first side passes, if the difference holds.
    a, c = 2 * n, -lost * difference * (1 - difference)
    b = -gained - lost + (2 * n - gained + lost) * difference
    share = (sqrt(max(0.0, b * b - 4 * a * c)) - b) / (2 * a)
    variance = n * (2 * share + difference * (1 - difference))
    beyond = gained - lost - n * difference
    if variance <= _NO_VARIANCE:
        return 0.0 if beyond == 0 else copysign(inf, beyond)
    return beyond / sqrt(variance)


def paired_score_interval(
    gained: int, lost: int, n: int, confidence: float = 0.95
) -> Interval | None:
    """Return the differences that `paired_score` does not speak against; None without cases.

    Its lower end at a confidence of 0.9 is the one-sided bound at 0.95.
    """
    if n == 0:
        return None
    z = _z(confidence)
    observed = (gained - lost) / n

    def end(outermost: float, sign: float) -> float:
        near, far = observed, outermost
        for _ in range(60):
            middle = (near + far) / 2
            inside = sign * paired_score(gained, lost, n, middle) < z
            near, far = (middle, far) if inside else (near, middle)
        return (near + far) / 2

    low = -1.0 if lost == n else end(-_WHOLE, 1.0)
    return Interval(low=low, high=1.0 if gained == n else end(_WHOLE, -1.0))


_NO_VARIANCE = 1e-12
_WHOLE = 1 - 1e-9


def below_by_chance(n: int, rate: float) -> float:
    """Return how often a side that passes a share of independent trials shows less than that.

    Args:
        n: the number of trials.
        rate: the true share, and the one that is asked for, from 0 to 1.

    Raises:
        ValueError: an argument is out of its range.
    """
    if n < 1 or not 0 <= rate <= 1:
        raise ValueError(f"needs trials and a share from 0 to 1, got {n}, {rate}")
    # As many passes as are asked for are enough, although shares such as 7/10 are inexact.
    return _at_most(ceil(n * rate - 1e-9) - 1, n, rate)


def highest_rate(passed: int, n: int, confidence: float = 0.95) -> float:
    """Return the highest share of passing trials that this many passes do not rule out, one-sided.

    The bound is exact: a side that passes a higher share shows so few passes in at most
    `1 - confidence` of all runs, however few the trials are.

    Source: C. J. Clopper and E. S. Pearson, "The use of confidence or fiducial limits illustrated
    in the case of the binomial", Biometrika 26 (1934) 404-413.

    Args:
        passed: the number of successes.
        n: the number of independent trials.
        confidence: between 0 and 1.

    Raises:
        ValueError: an argument is out of its range.
    """
    if not 0 <= passed <= n or not 0 < confidence < 1:
        raise ValueError(f"needs 0 <= passed <= n, got passed={passed}, n={n}, {confidence}")
    low, high = 0.0, 1.0
    while high - low > 1e-12:
        middle = (low + high) / 2
        low, high = (
            (middle, high) if _at_most(passed, n, middle) > 1 - confidence else (low, middle)
        )
    return high


def all_failures_late(before: int, after: int, failures: int) -> float:
    """Return the probability that all failures fall into the later trials by chance alone.

    Source: Fisher's exact test, one-sided, for a table with an empty cell; R. A. Fisher,
    "Statistical Methods for Research Workers", 5th edition (1934), section 21.02.

    Args:
        before: the number of earlier trials, none of which failed.
        after: the number of later trials.
        failures: the number of failures among the later trials.

    Raises:
        ValueError: a count is out of its range.
    """
    if before < 0 or not 0 <= failures <= after:
        raise ValueError(f"needs before >= 0 and 0 <= failures <= after, got {failures=}, {after=}")
    return comb(after, failures) / comb(before + after, failures)


class SignFlip(NamedTuple):
    """The result of the sign-flip test."""

    p: float
    exact: bool
    """Whether all flips were counted; random ones are drawn if there is no small common
    denominator of the differences."""


def sign_flip(differences: Iterable[Fraction], seed: int = 0) -> SignFlip:
    """Return the result of the paired permutation test, which exchanges the sides within cases.

    The p value is the share of all possible exchanges for which the sum of differences is at least
    as far from 0 as the observed one. They are all counted, as the coefficients of the product of
    (1 + x^2|d|). Where that would take too long, 9999 are drawn at random and the observed one is
    added. With differences of -1, 0 and 1 this is McNemar's exact test.

    Source: R. A. Fisher, "The Design of Experiments" (1935), section 21; the random version with
    its +1 from B. Phipson and G. K. Smyth, "Permutation p-values should never be zero",
    Statistical Applications in Genetics and Molecular Biology 9 (2010), article 39.
    """
    moved = [d for d in differences if d]
    scale = lcm(*(d.denominator for d in moved))
    steps = [int(d * scale) for d in moved]
    unit = gcd(*steps) or 1
    sizes = [abs(step) // unit for step in steps]
    # The sum of a pattern is 2T - total, where T adds up the sizes left positive.
    total, far = sum(sizes), abs(sum(steps)) // unit
    if far == 0:
        return SignFlip(1.0, exact=True)
    # No coefficient exceeds 2**n, for which these bytes suffice.
    width = len(sizes) // 8 + 1
    if total * width > _LARGEST_TABLE:
        return SignFlip(_random_flips(sizes, far, seed), exact=False)
    table = 1
    for size in sizes:
        table += table << (8 * width * size)
    # One big integer holds all coefficients, each in `width` bytes: multiplying by (1 + x^size) is
    # a shift and an addition, which is much faster than a loop over a list.
    packed = table.to_bytes((total + 1) * width, "little")
    tail = sum(
        int.from_bytes(packed[at * width : (at + 1) * width], "little")
        for at in range((total - far) // 2 + 1)
    )
    # Both tails have the same number of patterns, because each pattern has an opposite one.
    return SignFlip(float(Fraction(2 * tail, 2 ** len(sizes))), exact=True)


def holm(p_values: Sequence[float]) -> list[float]:
    """Return p values adjusted so that the level bounds the chance of any false claim among them.

    Source: S. Holm, "A simple sequentially rejective multiple test procedure", Scandinavian Journal
    of Statistics 6 (1979) 65-70.

    Raises:
        ValueError: a value lies outside of [0, 1].
    """
    if not all(0 <= p <= 1 for p in p_values):
        raise ValueError("needs p values from 0 to 1")
    order = sorted(range(len(p_values)), key=lambda at: p_values[at])
    weighed = (min(1.0, (len(order) - rank) * p_values[at]) for rank, at in enumerate(order))
    adjusted = dict(zip(order, accumulate(weighed, max), strict=True))
    return [adjusted[at] for at in range(len(p_values))]


def pass_at_k(n: int, passed: int, k: int) -> float:
    """Return the unbiased estimate from n tries that at least one of k tries passes (pass@k).

    Source: M. Chen et al., "Evaluating large language models trained on code" (2021),
    arXiv:2107.03374, section 2.1.

    Raises:
        ValueError: k is larger than n, or a count is out of its range.
    """
    _check_tries(n, passed, k)
    return 1 - comb(n - passed, k) / comb(n, k)


def pass_hat_k(n: int, passed: int, k: int) -> float:
    """Return the unbiased estimate from n tries that all of k tries pass (pass^k).

    Source: S. Yao et al., "tau-bench: a benchmark for tool-agent-user interaction in real-world
    domains" (2024), arXiv:2406.12045, section 3.

    Raises:
        ValueError: k is larger than n, or a count is out of its range.
    """
    _check_tries(n, passed, k)
    return comb(passed, k) / comb(n, k)


def cohen_kappa(pairs: Sequence[tuple[Hashable, Hashable]]) -> float | None:
    """Return the agreement of two raters beyond chance, from 0 for chance to 1 for perfect.

    Source: J. Cohen, "A coefficient of agreement for nominal scales", Educational and Psychological
    Measurement 20 (1960) 37-46.

    Args:
        pairs: the two raters' verdicts on each item.

    Returns:
        Cohen's kappa; None without items, or if both raters gave the same verdict throughout, in
        which case chance alone would agree as well.
    """
    n = len(pairs)
    first, second = Counter(a for a, _ in pairs), Counter(b for _, b in pairs)
    by_chance = sum(first[verdict] * second[verdict] for verdict in first)
    if by_chance == n * n:
        return None
    return (sum(a == b for a, b in pairs) * n - by_chance) / (n * n - by_chance)


def krippendorff_alpha(units: Iterable[Sequence[Hashable]]) -> float | None:
    """Return the agreement of several raters beyond chance, from 0 for chance to 1 for perfect.

    Other than Fleiss' kappa it takes any number of ratings of each item, so one that a rater could
    not give is left out. With all ratings given, it is Fleiss' kappa but for a correction that
    matters only for few ratings.

    Source: K. Krippendorff, "Computing Krippendorff's alpha-reliability" (2011), nominal data,
    any number of observers, missing data.

    Args:
        units: the ratings of each item; an item with a single rating says nothing.

    Returns:
        The nominal alpha; None if no item has two ratings, or if all ratings are the same, in which
        case chance alone would agree as well.
    """
    counts = [Counter(ratings) for ratings in units if len(ratings) > 1]
    every = sum(counts, Counter[Hashable]())
    by_chance = _unlike_pairs(every)
    if not by_chance:
        return None
    apart = fsum(_unlike_pairs(own) / (own.total() - 1) for own in counts)
    return 1 - (every.total() - 1) * apart / by_chance


def _unlike_pairs(ratings: Counter[Hashable]) -> int:
    """Return the number of ordered pairs of ratings that differ."""
    return ratings.total() ** 2 - sum(count * count for count in ratings.values())


def percentile(values: list[float], share: float) -> float | None:
    """Return the value below which `share` of the values lie, interpolated between neighbours.

    Source: definition 7 of R. J. Hyndman and Y. Fan, "Sample quantiles in statistical packages",
    The American Statistician 50 (1996) 361-365; the default of R, NumPy and spreadsheets.
    """
    if not values:
        return None
    ordered = sorted(values)
    position = share * (len(ordered) - 1)
    below = int(position)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (position - below)


def median_interval(values: Sequence[float], confidence: float = 0.95) -> Interval | None:
    """Return the interval of a median from two of the values; None if there are too few.

    It assumes nothing about how the values are distributed.

    Source: W. R. Thompson, "On confidence ranges for the median and other expectation
    distributions", Annals of Mathematical Statistics 7 (1936) 122-128.
    """
    ordered, n = sorted(values), len(values)
    outside = next(
        (k for k in range(n // 2, 0, -1) if _at_most(k - 1, n, 0.5) <= (1 - confidence) / 2), 0
    )
    return Interval(low=ordered[outside - 1], high=ordered[n - outside]) if outside else None


_UNLIKELY = 1e-9
_LARGEST_TABLE = 4_000_000
# With the observed pattern they are 10,000.
_FLIPS = 9999


def _z(confidence: float) -> float:
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must lie between 0 and 1, got {confidence}")
    return NormalDist().inv_cdf((1 + confidence) / 2)


def _t_within(t: float, df: int) -> float:
    """Return the probability that |T| <= t."""
    angle = atan(t / sqrt(df))
    square = cos(angle) ** 2
    term = cos(angle) if df % 2 else 1.0
    series = 0.0
    for step in range(1 + df % 2, df, 2):
        series += term
        term *= square * step / (step + 1)
    if df % 2:
        return 2 / pi * (angle + sin(angle) * series)
    return sin(angle) * series


def _random_flips(sizes: Sequence[int], far: int, seed: int) -> float:
    chance = random.Random(seed)
    total = sum(sizes)
    reached = 0
    for _ in range(_FLIPS):
        signs = chance.getrandbits(len(sizes))
        positive = sum(size for at, size in enumerate(sizes) if signs >> at & 1)
        reached += abs(2 * positive - total) >= far
    return (reached + 1) / (_FLIPS + 1)


def _check_tries(n: int, passed: int, k: int) -> None:
    if not 0 <= passed <= n or not 1 <= k <= n:
        raise ValueError(f"needs 0 <= passed <= n and 1 <= k <= n, got {n=}, {passed=}, {k=}")


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
    # In thousandths, which is finer than any verdict states.
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
    likely = sorted(_likely(n, discordant))
    found = _significant(likely[0][0], likely[-1][0], against, alpha)
    return fsum(chance * share for (_, chance), share in zip(likely, found, strict=True))


def _significant(fewest: int, most: int, against: float, alpha: float) -> Iterator[float]:
    """Yield for each number of differing cases the chance that they are a significant result.

    Each chance follows from the previous one: one more case can only add to those that contradict.
    """
    share, border = 0.0, None
    for differing in range(fewest, most + 1):
        before, border = border, _most_against(differing, alpha)
        if border is None:
            yield 0.0
            continue
        if before is None:
            share = _at_most(border, differing, against)
        else:
            share -= against * _chance(before, differing - 1, against)
            share += _chance(border, differing, against) if border > before else 0.0
        yield share


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


def _likely(n: int, p: float) -> Iterator[tuple[int, float]]:
    """Yield numbers of successes with their probabilities, except for very unlikely ones."""
    if p in (0.0, 1.0):
        yield round(n * p), 1.0
        return
    middle = min(n, int((n + 1) * p))
    for numbers in (range(middle, n + 1), range(middle - 1, -1, -1)):
        for k in numbers:
            if (chance := _chance(k, n, p)) <= _UNLIKELY:
                break
            yield k, chance


def _chance(k: int, n: int, p: float) -> float:
    if p in (0.0, 1.0):
        return float(k == n * p)
    # With logarithms, because the binomial coefficients of many cases overflow a float.
    ways = lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1)
    return exp(ways + k * log(p) + (n - k) * log1p(-p))


def _at_most(most: int, n: int, p: float) -> float:
    """Return the probability of at most `most` successes.

    The terms are added away from the border, on the side where they shrink from the start, until
    they no longer matter: out of thousands of cases, only a few dozen do.
    """
    if p in (0.0, 1.0) or most >= n:
        return float(most >= n * p)
    if most > n * p:
        return 1 - _at_most(n - most - 1, n, 1 - p)
    term, total, k = _chance(most, n, p), 0.0, most
    while k >= 0 and term > total * 1e-17:
        total += term
        term *= k * (1 - p) / ((n - k + 1) * p)
        k -= 1
    return total


@cache
def _most_against(n: int, alpha: float) -> int | None:
    """Return how many of n differing cases may contradict the others in a significant result."""
    # In whole numbers: two tails are at most alpha when twice the ways are at most this many.
    ways, tail, most = 1, 0, None
    significant = Fraction(alpha) * 2**n
    for k in range(n + 1):
        tail += ways
        if 2 * tail > significant:
            break
        most, ways = k, ways * (n - k) // (k + 1)
    return most
