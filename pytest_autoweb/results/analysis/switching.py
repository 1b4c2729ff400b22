"""Whether one model may take the place of another: a test that it is not worse by a margin; pure.

"No significant difference" is no such proof: the fewer cases, the easier it is to find none. Here
the margin is fixed beforehand, and only numbers that rule out a larger loss call a switch safe.
"""

from collections.abc import Sequence
from math import ceil
from statistics import NormalDist
from typing import Literal

from pytest_autoweb.results.analysis.comparison import Comparison
from pytest_autoweb.results.analysis.statistics import (
    ALPHA,
    POWER,
    Interval,
    difference_error,
    difference_interval,
    paired_score_interval,
)
from pytest_autoweb.results.records import Record

Answer = Literal["safe", "not safe", "cannot tell"]

_TWO_SIDED = 1 - 2 * ALPHA
"""The confidence of an interval each end of which is a one-sided bound at 95%."""
_MOST_CASES = 100_000


class Switch(Record):
    """What is known of a switch from one model, side a, to another, side b."""

    before: str
    """The label of the model in use."""
    after: str
    """The label of the one that may take its place."""
    margin: float
    """The largest loss of the pass rate that is accepted, fixed beforehand, such as 0.05."""
    cases: int
    """The number of compared cases."""
    answer: Answer
    """`safe`: a loss beyond the margin is ruled out at 95%, one-sided; `not safe`: it is shown."""
    difference: float | None
    """The pass rate of b minus that of a."""
    bounds: Interval | None
    """The one-sided 95% bounds of the difference, below and above."""
    more_cases: int | None = None
    """About how many more cases would show it to be safe in 80% of runs, if the difference found is
    the true one; None if it is known, or if no number would."""
    price: float | None = None
    """The cost of b as a share of that of a; None if it is unknown, or a costs nothing."""


def switch_of(comparison: Comparison, margin: float) -> Switch:
    """Return whether the second side may take the place of the first.

    With one cell a case on each side the bounds are Tango's score interval; with repeats they are
    those of the mean difference of the cases.

    Args:
        comparison: the two sides on the same cases.
        margin: the accepted loss as a share, above 0 and below 1.

    Raises:
        ValueError: the margin is out of its range.
    """
    if not 0 < margin < 1:
        raise ValueError(f"needs a margin between 0 and 1, got {margin}")
    differences = [case.mean_b - case.mean_a for case in comparison.cases]
    bounds = _bounds(comparison, differences)
    answer = _answer(bounds, margin)
    relative = comparison.cost_change.relative
    return Switch(
        before=comparison.a.label,
        after=comparison.b.label,
        margin=margin,
        cases=len(differences),
        answer=answer,
        difference=comparison.difference,
        bounds=bounds,
        more_cases=_more_cases(differences, margin) if answer == "cannot tell" else None,
        price=None if relative is None else 1 + relative,
    )


def _bounds(comparison: Comparison, differences: Sequence[float]) -> Interval | None:
    if comparison.test == "exact McNemar":
        return paired_score_interval(
            comparison.gained, comparison.lost, len(differences), _TWO_SIDED
        )
    return difference_interval(differences, _TWO_SIDED)


def _answer(bounds: Interval | None, margin: float) -> Answer:
    if bounds is None:
        return "cannot tell"
    if bounds.low > -margin:
        return "safe"
    return "not safe" if bounds.high < -margin else "cannot tell"


def _more_cases(differences: Sequence[float], margin: float) -> int | None:
    """Return the cases that are missing, by the usual formula for a normal mean."""
    count = len(differences)
    if not count:
        return None
    to_spare = sum(differences) / count + margin
    if to_spare <= 0:
        return None
    spread = difference_error(differences) ** 2 * (count + 2)
    reach = NormalDist().inv_cdf(1 - ALPHA) + NormalDist().inv_cdf(POWER)
    needed = ceil(reach**2 * spread / to_spare**2)
    return max(1, needed - count) if needed <= _MOST_CASES else None


def switch_sentence(found: Switch) -> str:
    """Return the answer in one sentence, with what it rests on."""
    head = f"{found.before} → {found.after}: {found.answer}"
    if found.difference is None or found.bounds is None:
        return f"{head}: no case is graded on both sides"
    low, high = _points(found.bounds.low), _points(found.bounds.high)
    cases = f"{found.cases} case{'' if found.cases == 1 else 's'}"
    seen = f"{_points(found.difference)} points on {cases}, one-sided 95%"
    margin = f"worse by more than {found.margin * 100:g} points"
    told = {
        "safe": f", not {margin} ({seen}: at least {low})",
        "not safe": f", {margin} ({seen}: at most {high})",
        "cannot tell": f" whether it is {margin} ({seen}: from {low} to {high}); {_missing(found)}",
    }
    price = f"; it costs {found.price:.0%} as much" if found.price is not None else ""
    return f"{head}{told[found.answer]}{price}"


def _missing(found: Switch) -> str:
    if found.more_cases is None:
        return "if the difference is what it seems, more cases will not make it safe"
    return f"about {found.more_cases:,} more cases would show it"


def _points(difference: float) -> str:
    return f"{difference * 100:+.1f}".replace("-", "−")
