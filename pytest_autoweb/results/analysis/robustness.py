"""What a change of the page costs a model, on the cases to which the change is fair; pure.

The oracle runs once under each change. Where it fails, the task cannot be done any more, and the
case says nothing about a model; where it has no verdict, nothing is proven. Both are left out and
counted.
"""

from collections.abc import Iterator

from pytest_autoweb.results.analysis.cell_numbers import CaseKey, RunRows
from pytest_autoweb.results.analysis.comparison import compare_models, contestants
from pytest_autoweb.results.analysis.controls import ORACLE
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


def robustness_of(rows: RunRows, changes: tuple[str, ...]) -> Iterator[Robustness]:
    """Yield the cost of each change for each model that ran both with and without it.

    Args:
        rows: the run, including its control cells.
        changes: the changes.
    """
    every = contestants(rows)
    for model in every:
        for change in changes:
            if (changed := f"{model}@{change}") in every:
                yield _robustness(rows, model, changed, change)


def _robustness(rows: RunRows, model: str, changed: str, change: str) -> Robustness:
    met = dict.fromkeys((r.case_path, r.case_id) for r in rows.rows if r.model == changed)
    proof = {(r.case_path, r.case_id): r.outcome for r in rows.rows if _proves(r.model, change)}
    unfair = [key for key in met if proof.get(key) == "failed"]
    unproven = [key for key in met if proof.get(key) not in ("passed", "failed")]
    left_out: list[CaseKey] = [*unfair, *unproven]
    (found,) = compare_models(rows, left_out=left_out, models=(model, changed))
    between = found.interval
    return Robustness(
        model=model,
        change=change,
        cases=len(found.cases),
        loss=None if found.difference is None else -found.difference,
        interval=Interval(low=-between.high, high=-between.low) if between else None,
        unfair=tuple(case_id for _, case_id in unfair),
        unproven=tuple(case_id for _, case_id in unproven),
    )


def _proves(model: str, change: str) -> bool:
    return model == f"{ORACLE}@{change}"
