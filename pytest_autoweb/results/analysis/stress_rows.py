"""Success, robustness, resistance and restraint of each model of a board, side by side; pure.

A board is two runs of the same cases: one on unchanged pages and under each change of the page, one
on attacked pages, because an attack meets every cell of its run.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from statistics import fmean

from pytest_autoweb.results.analysis.cell_numbers import (
    CaseKey,
    CellSummary,
    PassRate,
    RunRows,
    rates_of,
)
from pytest_autoweb.results.analysis.comparison import contestants
from pytest_autoweb.results.analysis.fair_changes import page_change
from pytest_autoweb.results.analysis.resistance import Resistance, resistance_of, unfair_attacks
from pytest_autoweb.results.analysis.restraint import Restraint, restraint_of
from pytest_autoweb.results.analysis.robustness import PairedLoss, Robustness, paired_losses
from pytest_autoweb.results.analysis.statistics import Interval, difference_interval, wilson
from pytest_autoweb.results.records import Record


class OverallRobustness(Record):
    """What all changes of the page together cost a model."""

    cases: int
    """The cases that could be compared under at least one change."""
    loss: float | None
    """The mean over these cases of the rate on unchanged pages less the mean rate under the
    changes; None without a case."""
    interval: Interval | None
    """The 95% interval of the loss."""
    worst: Robustness | None
    """The change that costs most; None if none costs anything."""
    changes: tuple[Robustness, ...]
    """What each change costs alone."""
    unfair: int
    """Pairs of a case and a change that were left out because the oracle fails there."""
    unproven: int
    """The same of pairs in which the oracle has no verdict, or that have no oracle."""
    never_met: int = 0
    """The same of pairs in which nothing went wrong."""


class StressRow(Record):
    """What is known of one model, and of its agent if there are several."""

    model: str
    """The model, with its agent if several were run."""
    success: PassRate | None
    """The rate of first attempts on unchanged pages; None if there was no such cell."""
    robustness: OverallRobustness | None
    """What changes of the page cost it; None if it met none."""
    resistance: Resistance | None
    """How it bore attacks by the page; None if it met none."""
    restraint: Restraint | None
    """What it wrote beyond the solutions, on unchanged pages; None if that is not known of any
    cell."""
    restraint_interval: Interval | None
    """Wilson's 95% interval of the share of cells with such a write."""


def stress_rows(
    pages: RunRows | None, attacks: RunRows | None, changes: Sequence[str]
) -> tuple[StressRow, ...]:
    """Return a row for each model, in the order in which they were named.

    Args:
        pages: the run on unchanged and changed pages, including its control cells; None if there
            is none.
        attacks: the run on attacked pages, likewise.
        changes: the changes of the first run.
    """
    found = (model for run in (pages, attacks) if run for model in contestants(run))
    changed = {row.model for run in (pages, attacks) if run for row in run.rows if page_change(row)}
    models = dict.fromkeys(model for model in found if model not in changed)
    losses = tuple(paired_losses(pages, tuple(changes))) if pages else ()
    return tuple(_row(model, pages, attacks, losses) for model in models)


def _row(
    model: str, pages: RunRows | None, attacks: RunRows | None, losses: Sequence[PairedLoss]
) -> StressRow:
    plain = _of(model, pages)
    ran = any(row.outcome != "skipped" for row in plain)
    restraint = restraint_of(plain)
    unfair = unfair_attacks(attacks.rows) if attacks else frozenset()
    return StressRow(
        model=model,
        success=rates_of(plain, {"passed"}, ()).all_trials if ran else None,
        robustness=_overall([loss for loss in losses if loss.told.model == model]),
        resistance=resistance_of(_of(model, attacks), unfair),
        restraint=restraint,
        restraint_interval=wilson(restraint.beyond, restraint.cells) if restraint else None,
    )


def _of(model: str, run: RunRows | None) -> list[CellSummary]:
    return [row for row in run.rows if row.model == model] if run else []


def _overall(found: Sequence[PairedLoss]) -> OverallRobustness | None:
    each = tuple(loss.told for loss in found)
    if not each:
        return None
    losses = list(_by_case(found))
    costly = [one for one in each if (one.loss or 0) > 0]
    return OverallRobustness(
        cases=len(losses),
        loss=fmean(losses) if losses else None,
        interval=difference_interval(losses),
        worst=max(costly, key=lambda one: one.loss or 0, default=None),
        changes=each,
        unfair=sum(len(one.unfair) for one in each),
        unproven=sum(len(one.unproven) for one in each),
        never_met=sum(len(one.never_met) for one in each),
    )


def _by_case(losses: Sequence[PairedLoss]) -> Iterator[float]:
    """Yield the mean loss of each case over the changes under which it could be compared.

    A case counts once, however many changes it met, because its pairs are not independent.
    """
    found: dict[CaseKey, list[float]] = defaultdict(list)
    for loss in losses:
        for case, lost in loss.by_case.items():
            found[case].append(lost)
    yield from map(fmean, found.values())
