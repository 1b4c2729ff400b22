"""What a comparison may claim, in one sentence that says no more than its numbers do; pure."""

from math import ceil
from typing import TYPE_CHECKING

from pytest_autoweb.report.statistics import LEAST_DISCORDANT

if TYPE_CHECKING:
    from pytest_autoweb.report.comparison import Comparison


def verdict_on(comparison: "Comparison") -> str:
    """The sentence for a comparison."""
    if comparison.decisive is None:
        left_out = len({(each.case_path, each.case_id) for each in comparison.left_out})
        return f"Nothing to compare: no case has a verdict on both sides ({left_out} left out)."
    return _decisive(comparison) if comparison.decisive else _not_decisive(comparison)


def points(difference: float | None) -> str:
    """A difference of rates: `+18 points`."""
    return "–" if difference is None else f"{_signed(difference)} points"


def p_text(p: float | None) -> str:
    """A p value as it is usually written."""
    if p is None:
        return "–"
    return "< 0.001" if p < 0.001 else f"{p:.2f}" if p >= 0.1 else f"{p:.3f}"


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
        differ = (
            f"the sides differ in {differing} of {_count(cases)}"
            if differing
            else (
                f"the sides agree in all {_count(cases)}"
                if cases > 1
                else "the sides agree in 1 case"
            )
        )
        why = f"{differ}, and with fewer than {LEAST_DISCORDANT} no result could be significant"
    else:
        why = f"{points(comparison.difference)} over {_count(cases)} ({_numbers(comparison)})"
    return f"Not decisive: {why}; {_detectable(comparison.detectable)}."


def _detectable(detectable: float | None) -> str:
    if detectable is None:
        return "so few cases cannot show any difference"
    return f"a difference of {_up(detectable)} points or more would probably have shown"


def _numbers(comparison: "Comparison") -> str:
    interval, p = comparison.interval, comparison.p
    between = f"{_signed(interval.low)} to {_signed(interval.high)}, " if interval else ""
    text = f"95% {between}p {_equals(p)}"
    if comparison.family > 1:
        text += f", {_equals(comparison.p_holm)} corrected for {comparison.family} comparisons"
    return text


def _equals(p: float | None) -> str:
    text = p_text(p)
    return text if text.startswith("<") else f"= {text}"


def _signed(difference: float) -> str:
    rounded = round(difference * 100)
    return f"{rounded:+d}".replace("-", "−") if rounded else "0"


def _up(difference: float) -> int:
    """Whole points, never fewer than needed."""
    return ceil(round(difference * 100, 6))


def _count(cases: int) -> str:
    return "1 case" if cases == 1 else f"{cases} cases"
