"""The formulas behind the numbers of a report, written a second time for `recompute.py`.

`docs/statistics.md` has their sources. Python 3.11 and nothing else.
"""

import math
import random
from collections import defaultdict
from statistics import NormalDist, fmean, stdev

Z = NormalDist().inv_cdf(0.975)


# --- intervals and tests (docs/statistics.md has the sources) -----------------------------------


def wilson(passed, n):
    if n == 0:
        return None
    rate = passed / n
    centre, scale = rate + Z * Z / (2 * n), 1 + Z * Z / n
    reach = Z * math.sqrt(rate * (1 - rate) / n + Z * Z / (4 * n * n))
    low = max(0.0, min(rate, (centre - reach) / scale)) if passed > 0 else 0.0
    high = min(1.0, max(rate, (centre + reach) / scale)) if passed < n else 1.0
    return {"low": low, "high": high}


def rate_interval(means, tries):
    n = len(means)
    if n and max(tries) > 1:  # Wilson's on the number of independent trials the cases are worth
        smoothed = [*means, 0.0, 1.0]
        rate, variance = fmean(smoothed), stdev(smoothed) ** 2
        n = min(max(n * rate * (1 - rate) / variance, n), n * n / sum(1 / t for t in tries))
    return wilson(fmean(means) * n, n) if means else None


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
    reach = min(300.0, t_quantile(0.975, len(before) - 1) * spread / math.sqrt(len(before)))
    interval = {"low": b / a * math.exp(-reach) - 1, "high": b / a * math.exp(reach) - 1}
    return {"relative": relative, "interval": interval}


def t_quantile(share, df):
    """By bisection of the finite series of Student's t; for shares above a half."""

    def within(t):
        angle = math.atan(t / math.sqrt(df))
        term, series = (math.cos(angle) if df % 2 else 1.0), 0.0
        for step in range(1 + df % 2, df, 2):
            series += term
            term *= math.cos(angle) ** 2 * step / (step + 1)
        if df % 2:
            return 2 / math.pi * (angle + math.sin(angle) * series)
        return math.sin(angle) * series

    low, high = 0.0, 1e6
    for _ in range(120):
        middle = (low + high) / 2
        low, high = (middle, high) if within(middle) < 2 * share - 1 else (low, middle)
    return (low + high) / 2


def mcnemar(lost, gained):
    n = lost + gained
    return min(1.0, 2 * sum(math.comb(n, k) for k in range(min(lost, gained) + 1)) / 2**n)


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
    order = sorted(range(len(values)), key=values.__getitem__)
    adjusted, worst = [0.0] * len(values), 0.0
    for rank, at in enumerate(order):
        worst = max(worst, min(1.0, (len(values) - rank) * values[at]))
        adjusted[at] = worst
    return adjusted


def percentile(values, share):
    if not values:
        return None
    ordered = sorted(values)
    below = int(share * (len(ordered) - 1))
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (share * (len(ordered) - 1) - below)


# --- the power of the tests: what difference would have been found in 80% of runs ---------------


def detectable(differences, single, family):
    n, alpha = len(differences), 0.05 / max(1, family)
    if not n:
        return None
    if not single:
        if most_against(n, alpha) is None:
            return None
        quantiles = t_quantile(1 - alpha / 2, n - 1) + t_quantile(0.8, n - 1)
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
    if discordant == 0:
        return 0.0
    against, found = (discordant - difference) / (2 * discordant), 0.0
    for differing, chance in enumerate(binomial(n, discordant)):
        most = most_against(differing, alpha) if chance > 1e-9 else None
        if most is not None:
            found += chance * sum(binomial(differing, against)[: most + 1])
    return found


def binomial(n, p):
    if p in (0.0, 1.0):
        return [float(k == n * p) for k in range(n + 1)]
    whole, odds = math.lgamma(n + 1) + n * math.log1p(-p), math.log(p) - math.log1p(-p)
    return [
        math.exp(whole - math.lgamma(k + 1) - math.lgamma(n - k + 1) + k * odds)
        for k in range(n + 1)
    ]


def most_against(n, alpha):
    tail, most = 0, None
    for k in range(n + 1):
        tail += math.comb(n, k)
        if 2 * tail > alpha * 2**n:
            return most
        most = k
    return most


# --- agreement of a judge with people ---------------------------------------------------------


def kappa(both_pass, both_fail, first_only, second_only):
    n = both_pass + both_fail + first_only + second_only
    passes = (both_pass + first_only) * (both_pass + second_only)
    by_chance = passes + (both_fail + first_only) * (both_fail + second_only)
    agreed = (both_pass + both_fail) * n
    return None if by_chance == n * n else (agreed - by_chance) / (n * n - by_chance)


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
