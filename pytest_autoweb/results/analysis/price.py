"""What a passed task took: money, tokens, calls, seconds and actions; pure.

Means over all cells mix what a success costs with what failing costs, and a few long cells move
them. Here only cells that passed count, with medians and their intervals.
"""

from collections.abc import Mapping, Sequence
from statistics import fmean

from pytest_autoweb.results.analysis.cell_numbers import CaseKey, case_key
from pytest_autoweb.results.analysis.controls import ORACLE
from pytest_autoweb.results.analysis.statistics import Interval, median_interval, percentile
from pytest_autoweb.results.records import CellResult, Record, ToolCall


class Median(Record):
    """The middle of some values."""

    value: float
    """The median."""
    interval: Interval | None
    """Its 95% interval (`statistics.median_interval`); None for fewer than six values."""


class PriceOfPass(Record):
    """What a passed cell of a model took, its repairs included."""

    passed: int
    """The number of cells that passed, at the first attempt or after a repair."""
    usd: Median | None
    """US dollars; None if the cost of a passed cell is unknown."""
    tokens: Median
    """Tokens, sent and written."""
    calls: Median
    """Model calls."""
    seconds: Median
    """Seconds."""
    actions: Median | None
    """Actions on the page in the attempt that passed: clicks, texts, choices, addresses; None where
    they are not recorded, as with outside agents."""
    beside_oracle: Median | None
    """These actions as a multiple of those of the case's oracle, over cases; None where no oracle
    was played."""


def price_of(cells: Sequence[CellResult], oracle: Mapping[CaseKey, float]) -> PriceOfPass | None:
    """Return what the passed cells of a model took; None if none passed.

    Args:
        cells: the cells of the model.
        oracle: the actions of each case's oracle.
    """
    passed = [cell for cell in cells if cell.passed and cell.attempts]
    if not passed:
        return None
    usages = [cell.total_usage for cell in passed]
    known = all(not usage.unpriced_calls for usage in usages)
    counted = [(case_key(cell), count) for cell in passed if (count := _actions(cell)) is not None]
    ratios = [count / oracle[key] for key, count in counted if oracle.get(key)]
    return PriceOfPass(
        passed=len(passed),
        usd=median_of([usage.cost_usd or 0.0 for usage in usages]) if known else None,
        tokens=median_of([usage.input_tokens + usage.output_tokens for usage in usages]),
        calls=median_of([usage.calls for usage in usages]),
        seconds=median_of([cell.duration_ms / 1000 for cell in passed]),
        actions=median_of([count for _, count in counted]) if counted else None,
        beside_oracle=median_of(ratios) if ratios else None,
    )


def oracle_actions(cells: Sequence[CellResult]) -> dict[CaseKey, float]:
    """Return the actions of each case's oracle, averaged over the runs that passed."""
    own: dict[CaseKey, list[int]] = {}
    for cell in cells:
        if cell.model == ORACLE and cell.passed and (count := _actions(cell)) is not None:
            own.setdefault(case_key(cell), []).append(count)
    return {key: fmean(counts) for key, counts in own.items()}


def acted(calls: Sequence[ToolCall]) -> int | None:
    """Return the number of calls that acted and were done; None if no call is recorded."""
    return sum(call.acting and call.ok for call in calls) if calls else None


def _actions(cell: CellResult) -> int | None:
    if not cell.attempts:
        return None
    last = cell.attempts[-1]
    # Earlier versions did not count them.
    return acted(last.tool_calls) if last.actions is None else last.actions


def median_of(values: Sequence[float]) -> Median:
    """Return the median of at least one value, with its interval."""
    middle = percentile([*values], 0.5)
    assert middle is not None, "there are values"
    return Median(value=middle, interval=median_interval(values))
