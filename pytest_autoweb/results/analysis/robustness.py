"""What a change of the page costs a model, on the cases to which the change is fair; pure.

Other cases are left out, as everywhere, and counted.
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from pytest_autoweb.results.analysis.cell_numbers import CaseKey, RunRows
from pytest_autoweb.results.analysis.comparison import compare_models, contestants
from pytest_autoweb.results.analysis.controls import proves_change
from pytest_autoweb.results.analysis.fair_changes import Doubt, doubts, is_met, page_change
from pytest_autoweb.results.analysis.statistics import Interval
from pytest_autoweb.results.records import Record


class Robustness(Record):
    """What one change of the page costs one model, paired by case."""

    model: str
    """The model, on unchanged pages."""
    change: str
    """The change, as `--autoweb-perturb` names it."""
    cases: int
    """The cases that were compared."""
    loss: float | None
    """The rate of first attempts on unchanged pages less that under the change; None without a
    case."""
    interval: Interval | None
    """The 95% interval of the loss."""
    unfair: tuple[str, ...] = ()
    """The ids of cases that the oracle cannot do under the change."""
    unproven: tuple[str, ...] = ()
    """The ids of cases whose oracle has no verdict under the change, or that have none."""
    never_met: tuple[str, ...] = ()
    """The ids of cases with cells that were left out because nothing went wrong in them."""


class PairedLoss(NamedTuple):
    """What a change costs a model, with what that rests on."""

    told: Robustness
    by_case: Mapping[CaseKey, float]
    """The loss of each case that was compared."""


def robustness_of(rows: RunRows, changes: tuple[str, ...]) -> Iterator[Robustness]:
    """Yield the cost of each change for each model; see `paired_losses`."""
    return (loss.told for loss in paired_losses(rows, changes))


def paired_losses(rows: RunRows, changes: tuple[str, ...]) -> Iterator[PairedLoss]:
    """Yield the cost of each change for each model that ran both with and without it.

    Args:
        rows: the run, including its control cells.
        changes: the changes.
    """
    every = contestants(rows)
    for model in every:
        for change in changes:
            changed = f"{model}@{change}"
            if any(row.model == changed and page_change(row) == change for row in rows.rows):
                yield _loss(rows, model, changed, change)


def _loss(rows: RunRows, model: str, changed: str, change: str) -> PairedLoss:
    found = doubts(row for row in rows.rows if row.model == changed or proves_change(row.model))

    def doubted(why: Doubt) -> tuple[str, ...]:
        ids = (of.case[1] for of, doubt in found.items() if (of.change, doubt) == (change, why))
        return tuple(dict.fromkeys(ids))

    (pair,) = compare_models(rows, models=(model, changed))
    between = pair.interval
    told = Robustness(
        model=model,
        change=change,
        cases=len(pair.cases),
        loss=None if pair.difference is None else -pair.difference,
        interval=Interval(low=-between.high, high=-between.low) if between else None,
        unfair=doubted("unfair"),
        unproven=doubted("unproven"),
        never_met=tuple(
            dict.fromkeys(
                row.case_id for row in rows.rows if row.model == changed and not is_met(row)
            )
        ),
    )
    return PairedLoss(
        told, {(case.case_path, case.case_id): case.mean_a - case.mean_b for case in pair.cases}
    )
