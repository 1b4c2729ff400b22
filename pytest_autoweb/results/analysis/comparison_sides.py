"""The numbers of each side of a comparison, and the change between the two."""

from collections.abc import Callable, Collection, Sequence
from fractions import Fraction
from functools import cached_property
from math import fsum
from statistics import fmean

from msgspec import Struct

from pytest_autoweb.results.analysis.cell_numbers import (
    CaseKey,
    CellSummary,
    Cost,
    PassRate,
    Rates,
    rate_of,
    rates_of,
)
from pytest_autoweb.results.analysis.counted_outcomes import GOOD, Metric
from pytest_autoweb.results.analysis.pairing import mean_over_modes
from pytest_autoweb.results.analysis.price import Median, median_of
from pytest_autoweb.results.analysis.restraint import Restraint, restraint_of
from pytest_autoweb.results.analysis.served import served_of
from pytest_autoweb.results.analysis.statistics import Interval, ratio_interval
from pytest_autoweb.results.records import CaptureModeName, Record, ServedModel


class Change(Record):
    """How much more or less side b used than side a, over the compared cells."""

    relative: float | None
    """The relative change, 0.2 for a fifth more; None if it is unknown or side a used nothing."""
    interval: Interval | None = None
    """The 95% interval over cases (`statistics.ratio_interval`); None with less than two cases."""


class Side(Record):
    """One side of a comparison."""

    label: str
    """The model when models of a run are compared, or the run's name or time between runs."""
    model: str
    """Name of the model."""
    capture_mode: CaptureModeName | None = None
    """The capture mode, when two modes of one model are compared."""
    run: str
    """The run's `ts`."""
    first_attempt: Rates
    """The rates over all cases of this side, compared or not."""
    after_repair: Rates
    """The rate that counts repaired cells as passed."""
    compared: PassRate
    """In the comparison's metric, over the compared cases and their graded cells only: the
    difference is between these two."""
    compared_all: PassRate
    """The same cases with `broken` and `ungraded` cells counted as not passed."""
    total_cost: Cost
    """The cost of all cells of this side."""
    cost: Cost
    """The cost of the compared cells."""
    cost_per_cell: float | None
    """The mean cost of a compared cell in US dollars, averaged within cases first; None if it is
    unknown or a lower bound."""
    seconds_per_cell: float | None
    """The mean wall time of a compared cell in seconds, averaged within cases first."""
    served: tuple[ServedModel, ...] = ()
    """The models that answered, as the provider tells, over all cells of this side."""
    restraint: Restraint | None = None
    """What was written beyond the solutions of the cases, over all cells of this side; None if that
    is not known of any."""
    median_s: Median | None = None
    """The median over the compared cases of these times, with its interval; None without cases."""


class Half(Struct, frozen=True, dict=True):
    """One side before it is compared with any number of others."""

    label: str
    model: str
    run: str
    rows: Sequence[CellSummary]
    doubtful: Collection[CaseKey]
    """The cases whose controls are broken."""
    capture_mode: CaptureModeName | None = None

    @cached_property
    def first_attempt(self) -> Rates:
        """Return the rates of first attempts over all its cells."""
        return rates_of(self.rows, GOOD["first_attempt"], self.doubtful)

    @cached_property
    def after_repair(self) -> Rates:
        """Return the rates over all its cells, repaired ones counted as passed."""
        return rates_of(self.rows, GOOD["after_repair"], self.doubtful)


def side_of(half: Half, cases: Sequence[tuple[CellSummary, ...]], metric: Metric) -> Side:
    """Compute the numbers of a side.

    Args:
        half: the side.
        cases: the side's cells of each compared case.
        metric: what counts as a pass.
    """
    good = GOOD[metric]
    compared = [row for case in cases for row in case]
    keys = {(row.case_path, row.case_id) for row in compared}
    everywhere = [
        row
        for row in half.rows
        if (row.case_path, row.case_id) in keys and row.outcome != "skipped"
    ]
    spent, took = costs(cases), times(cases)
    return Side(
        label=half.label,
        model=half.model,
        capture_mode=half.capture_mode,
        run=half.run,
        first_attempt=half.first_attempt,
        after_repair=half.after_repair,
        compared=rate_of(compared, good),
        compared_all=rate_of(everywhere, good),
        total_cost=cost_of(half.rows),
        cost=cost_of(compared),
        cost_per_cell=fmean(spent) if spent else None,
        seconds_per_cell=fmean(took) if took else None,
        median_s=median_of(took) if took else None,
        served=served_of(half.rows),
        restraint=restraint_of(half.rows),
    )


def cost_of(rows: Sequence[CellSummary]) -> Cost:
    """Return the total cost of cells, as far as prices are known."""
    known = [row.cost_usd for row in rows if row.cost_usd is not None]
    return Cost(
        usd=fsum(known) if known or not rows else None,
        complete=all(row.cost_complete for row in rows),
    )


def costs(cases: Sequence[tuple[CellSummary, ...]]) -> list[float] | None:
    """Return the mean cost of a cell for each case; None unless all costs are known."""
    # A mean over the priced cells alone would compare different cells of the two sides.
    if not all(row.cost_complete and row.cost_usd is not None for case in cases for row in case):
        return None
    return _per_case(cases, lambda row: row.cost_usd or 0.0)


def times(cases: Sequence[tuple[CellSummary, ...]]) -> list[float]:
    """Return the mean time of a cell in seconds for each case."""
    return _per_case(cases, lambda row: row.duration_ms / 1000)


def _per_case(
    cases: Sequence[tuple[CellSummary, ...]], value: Callable[[CellSummary], float]
) -> list[float]:
    return [
        value(case[0])
        if len(case) == 1
        else float(mean_over_modes(case, [Fraction(value(row)) for row in case]))
        for case in cases
    ]


def change_of(before: list[float] | None, after: list[float] | None) -> Change:
    """Return the relative change between two sides' cases, where None stands for unknown values."""
    if not before or not after or not any(before):
        return Change(relative=None)
    ratio = ratio_interval(before, after)
    return Change(
        relative=fsum(after) / fsum(before) - 1,
        interval=Interval(low=ratio.low - 1, high=ratio.high - 1) if ratio else None,
    )
