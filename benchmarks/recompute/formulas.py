"""The formulas behind the numbers of a report, from SciPy and statsmodels where these have them.

`docs/statistics.md` has their sources.
"""

import math
import random
from collections import defaultdict
from statistics import fmean, stdev

import numpy as np
from scipy.stats import binom, binomtest, norm, quantile_test, t
from statsmodels.stats.inter_rater import cohens_kappa, fleiss_kappa
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.proportion import proportion_confint

Z = norm.ppf(0.975)


# --- intervals and tests --------------------------------------------------------------------------


def wilson(passed, n):
    if n == 0:
        return None
    low, high = proportion_confint(passed, n, alpha=0.05, method="wilson")
    # At the ends, rounding may leave the rate itself out.
    low = 0.0 if passed <= 0 else min(float(low), passed / n)
    high = 1.0 if passed >= n else max(float(high), passed / n)
    return {"low": max(0.0, low), "high": min(1.0, high)}


def rate_interval(means, tries):
    n = len(means)
    if n and max(tries) > 1:  # Wilson's on the number of independent trials the cases are worth
        smoothed = [*means, 0.0, 1.0]
        rate, variance = fmean(smoothed), stdev(smoothed) ** 2
        n = min(max(n * rate * (1 - rate) / variance, n), n * n / sum(1 / t for t in tries))
    return wilson(fmean(means) * n, n) if means else None


def score_interval(scores):
    """Wilson's on the number of passed or failed cases that would vary as little as the scores."""
    n = len(scores)
    if not scores or set(scores) <= {0, 1}:
        return wilson(sum(scores), n)
    smoothed = np.array([*scores, 0.0, 1.0])
    worth = max(n, n * smoothed.mean() * (1 - smoothed.mean()) / smoothed.var(ddof=1))
    return wilson(fmean(scores) * worth, worth)


def difference_error(differences):
    adjusted = [*differences, -1.0, 1.0]
    return math.sqrt((fmean(d * d for d in adjusted) - fmean(adjusted) ** 2) / len(adjusted))


def difference_interval(differences):
    if not differences:
        return None
    centre, reach = sum(differences) / (len(differences) + 2), Z * difference_error(differences)
    return {"low": max(-1.0, centre - reach), "high": min(1.0, centre + reach)}


def change(before, after):
    if not before or not after or sum(before) == 0:
        return {"relative": None, "interval": None}
    relative = sum(after) / sum(before) - 1
    if len(before) < 2 or sum(after) == 0:
        return {"relative": relative, "interval": None}
    a, b = fmean(before), fmean(after)
    spread = stdev(y / b - x / a for x, y in zip(before, after, strict=True))
    reach = min(300.0, t.ppf(0.975, len(before) - 1) * spread / math.sqrt(len(before)))
    interval = {"low": b / a * math.exp(-reach) - 1, "high": b / a * math.exp(reach) - 1}
    return {"relative": relative, "interval": interval}


def mcnemar(lost, gained):
    n = lost + gained
    return float(binomtest(lost, n).pvalue) if n else 1.0


def sign_flip(differences):
    """Share of all ways to exchange the sides that come out as far from 0, and the test's name."""
    moved = [d for d in differences if d]
    scale = math.lcm(*(d.denominator for d in moved))
    steps = [int(d * scale) for d in moved]
    unit = math.gcd(*steps) or 1
    sizes, far = [abs(step) // unit for step in steps], abs(sum(steps)) // unit
    total = sum(sizes)
    if far == 0:
        return 1.0, "exact sign-flip"
    if total * (len(sizes) // 8 + 1) > 4_000_000:
        return random_flips(sizes, far), "Monte Carlo sign-flip"
    ways = {0: 1}
    for size in sizes:
        after = defaultdict(int, ways)
        for reached, count in ways.items():
            after[reached + size] += count
        ways = after
    extreme = sum(count for reached, count in ways.items() if abs(2 * reached - total) >= far)
    return extreme / 2 ** len(sizes), "exact sign-flip"


def random_flips(sizes, far):
    chance, reached = random.Random(0), 0
    for _ in range(9999):
        signs = chance.getrandbits(len(sizes))
        positive = sum(size for at, size in enumerate(sizes) if signs >> at & 1)
        reached += abs(2 * positive - sum(sizes)) >= far
    return (reached + 1) / 10_000


def holm(values):
    return multipletests(values, method="holm")[1].tolist() if values else []


def median(values):
    """The median with its interval from the order statistics, as scipy.stats.quantile_test."""
    bounds = quantile_test(values, q=np.median(values), p=0.5).confidence_interval(0.95)
    known = not (math.isnan(bounds.low) or math.isnan(bounds.high))
    interval = {"low": float(bounds.low), "high": float(bounds.high)} if known else None
    return {"value": float(np.median(values)), "interval": interval}


def percentile(values, share):
    return float(np.quantile(values, share)) if values else None


# --- the power of the tests: what difference would have been found in 80% of runs ---------------


def detectable(differences, single, family):
    n, alpha = len(differences), 0.05 / max(1, family)
    if not n:
        return None
    if not single:
        if most_against(n, alpha) is None:
            return None
        quantiles = t.ppf(1 - alpha / 2, n - 1) + t.ppf(0.8, n - 1)
        found = difference_error([float(d) for d in differences]) * quantiles
        return found if found <= 1 else None
    discordant = sum(d != 0 for d in differences) / n
    if power(n, 1.0, 1.0, alpha) < 0.8:
        return None
    low, high = 0, 1000
    while high - low > 1:
        middle = (low + high) // 2
        enough = power(n, max(discordant, middle / 1000), middle / 1000, alpha) >= 0.8
        low, high = (low, middle) if enough else (middle, high)
    return high / 1000


def power(n, discordant, difference, alpha):
    """The share of runs in which the exact test of n cases would find the difference."""
    if discordant == 0:
        return 0.0
    against = min(1.0, max(0.0, (discordant - difference) / (2 * discordant)))
    counts = [k for k in range(n + 1) if binom.pmf(k, n, discordant) > 1e-9]
    most = {k: most_against(k, alpha) for k in counts}
    return sum(
        binom.pmf(k, n, discordant) * binom.cdf(most[k], k, against)
        for k in counts
        if most[k] is not None
    )


def most_against(n, alpha):
    """The most cases against the better side with which the exact test is still significant."""
    near = int(binom.ppf(alpha / 2, n, 0.5))
    most = (k for k in (near + 1, near, near - 1) if 2 * binom.cdf(k, n, 0.5) <= alpha)
    return next((k for k in most if k >= 0), None)


# --- agreement of a judge with people ---------------------------------------------------------


def kappa(both_pass, both_fail, first_only, second_only):
    n = both_pass + both_fail + first_only + second_only
    if n in (both_pass, both_fail):  # Without two kinds of answer, chance agrees always.
        return None
    return float(cohens_kappa([[both_pass, first_only], [second_only, both_fail]]).kappa)


def alpha(units):
    """Krippendorff's, by way of Fleiss' kappa where every item has all ratings."""
    units = [ratings for ratings in units if len(ratings) > 1]
    words = sorted({word for ratings in units for word in ratings})
    table = np.array([[ratings.count(word) for word in words] for ratings in units])
    if len(words) < 2:
        return None
    if len({len(ratings) for ratings in units}) == 1:
        n = table.sum()
        return 1 - (1 - float(fleiss_kappa(table))) * (n - 1) / n
    # With gaps, from the matrix of coincidences.
    together = sum((np.outer(own, own) - np.diag(own)) / (own.sum() - 1) for own in table)
    by_word, n = together.sum(axis=0), together.sum()
    apart = n - np.trace(together)
    return float(1 - (n - 1) * apart / (n * n - (by_word**2).sum()))


# --- confidence -----------------------------------------------------------------------------------


def reliability(pairs):
    """Brier score, expected calibration error and the bins, of confidence and right or wrong."""
    if not pairs:
        return {"n": 0, "brier": None, "ece": None, "bins": []}
    groups = defaultdict(list)
    for confidence, right in pairs:
        groups[min(9, int(confidence * 10))].append((confidence, right))
    bins = [
        {
            "low": at / 10,
            "high": (at + 1) / 10,
            "n": len(group),
            "confidence": fmean(c for c, _ in group),
            "right": fmean(r for _, r in group),
        }
        for at, group in sorted(groups.items())
    ]
    return {
        "n": len(pairs),
        "brier": fmean((c - r) ** 2 for c, r in pairs),
        "ece": sum(b["n"] * abs(b["confidence"] - b["right"]) for b in bins) / len(pairs),
        "bins": bins,
    }
