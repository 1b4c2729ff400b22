"""The verdict on a comparison: one sentence that claims no more than the numbers support."""

from math import ceil
from typing import TYPE_CHECKING

from pytest_autoweb.report.statistics import LEAST_DISCORDANT

if TYPE_CHECKING:
    from pytest_autoweb.report.comparison import Comparison


def verdict_on(comparison: "Comparison") -> str:
    """Return the verdict on a comparison."""
    if comparison.decisive is None:
        left_out = len({(each.case_path, each.case_id) for each in comparison.left_out})
        return f"Nothing to compare: no case has a verdict on both sides ({left_out} left out)."
    return _decisive(comparison) if comparison.decisive else _not_decisive(comparison)


def points(difference: float | None) -> str:
    """Return a difference of rates in points, such as `+18 points`."""
    return "–" if difference is None else f"{signed(difference)} points"


def signed(difference: float) -> str:
    """Return a share in hundredths with its sign, such as `+18`."""
    rounded = round(difference * 100)
    return f"{rounded:+d}".replace("-", "−") if rounded else "0"


def p_text(p: float | None) -> str:
    """Return what follows the letter p, such as `= 0.031` or `< 0.001`."""
    if p is None:
        return "–"
    return "< 0.001" if p < 0.001 else f"= {p:.2f}" if p >= 0.1 else f"= {p:.3f}"


def _decisive(comparison: "Comparison") -> str:
    a, b = comparison.a, comparison.b
    better, worse = (a, b) if (comparison.difference or 0) < 0 else (b, a)
    return (
        f"{better.label} passes more: {better.compared.value or 0:.0%} against "
        f"{worse.compared.value or 0:.0%} for {worse.label} on the same {len(comparison.cases)} "
        f"cases ({_numbers(comparison)})."
    )


def _not_decisive(comparison: "Comparison") -> str:
    cases, differing = len(comparison.cases), comparison.gained + comparison.lost
    if differing < LEAST_DISCORDANT:
        differ = f"differ in {differing}" if differing else "differ in none"
        why = (
            f"the sides {differ} of {_count(cases)}, and with fewer than {LEAST_DISCORDANT} "
            "no result could be significant"
        )
    else:
        why = f"{points(comparison.difference)} over {_count(cases)} ({_numbers(comparison)})"
    return f"Not decisive: {why}; {_detectable(comparison.detectable)}."


def _detectable(detectable: float | None) -> str:
    if detectable is None:
        return "with so few cases no difference would reliably have shown"
    return f"a difference of {_up(detectable)} points or more would probably have shown"


def _numbers(comparison: "Comparison") -> str:
    interval, p = comparison.interval, comparison.p
    between = f"{signed(interval.low)} to {signed(interval.high)}, " if interval else ""
    text = f"95% {between}p {p_text(p)}"
    if comparison.family > 1:
        text += f", p {p_text(comparison.p_holm)} corrected for {comparison.family} comparisons"
    return text


def _up(difference: float) -> int:
    """Return a difference in whole points, rounded up so that the claim stays true."""
    # Rounded first: 0.29 * 100 is a little more than 29 in binary and would become 30.
    return ceil(round(difference * 100, 6))


def _count(cases: int) -> str:
    return "1 case" if cases == 1 else f"{cases} cases"
