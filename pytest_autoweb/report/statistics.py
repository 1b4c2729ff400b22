"""The formulas behind the report's numbers; pure, each with its source."""

from math import sqrt
from statistics import NormalDist

from pytest_autoweb.results import Record


class Interval(Record):
    """A confidence interval of a proportion."""

    low: float
    high: float


def wilson(passed: float, n: int, confidence: float = 0.95) -> Interval | None:
    """Wilson's score interval of a pass rate, without continuity correction.

    Source: E. B. Wilson, "Probable inference, the law of succession, and statistical inference",
    JASA 22 (1927) 209-212; recommended for small n by L. D. Brown, T. T. Cai and A. DasGupta,
    "Interval estimation for a binomial proportion", Statistical Science 16 (2001) 101-133.

    Args:
        passed: number of successes. A fraction where each of the `n` units is itself a mean of
            repeats: such a mean varies no more than one trial does, so the interval is then
            rather too wide than too narrow.
        n: number of independent units.
        confidence: between 0 and 1.

    Returns:
        None without any unit: then nothing is known.

    Raises:
        ValueError: an argument is out of its range.
    """
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must lie between 0 and 1, got {confidence}")
    if n < 0 or not 0 <= passed <= n:
        raise ValueError(f"needs 0 <= passed <= n, got passed={passed}, n={n}")
    if n == 0:
        return None
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    rate = passed / n
    centre = rate + z * z / (2 * n)
    reach = z * sqrt(rate * (1 - rate) / n + z * z / (4 * n * n))
    scale = 1 + z * z / n
    # Rounding may leave the closed form a hair outside of what it must contain.
    low = max(0.0, min(rate, (centre - reach) / scale)) if passed > 0 else 0.0
    high = min(1.0, max(rate, (centre + reach) / scale)) if passed < n else 1.0
    return Interval(low=low, high=high)


def percentile(values: list[float], share: float) -> float | None:
    """The value below which `share` of the values lie, interpolated between neighbours.

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
