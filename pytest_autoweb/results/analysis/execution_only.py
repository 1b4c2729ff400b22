"""Cases without checks: whether every step ran, which is no proof that the task was done. Pure."""

from collections.abc import Sequence

from pytest_autoweb.results.analysis.cell_numbers import CellSummary, PassRate, RunRows, rate_of
from pytest_autoweb.results.analysis.comparison import Comparison, compare_models, contestants
from pytest_autoweb.results.analysis.controls import is_control
from pytest_autoweb.results.analysis.counted_outcomes import GOOD
from pytest_autoweb.results.records import Outcome, Record


class ModelExecution(Record):
    """How often every step of a model ran, in cases without checks."""

    model: str
    """Name of the model."""
    first_attempt: PassRate
    """The rate of cells in which every step ran at the first attempt."""
    after_repair: PassRate
    """The rate of cells in which every step ran at last."""


class ExecutionOnly(Record):
    """What a run tells of cases without checks; no pass rate includes any of it."""

    cases: int
    """The number of cases without checks."""
    models: tuple[ModelExecution, ...]
    """The models that were run on them, the best one first."""
    comparisons: tuple[Comparison, ...]
    """All pairs of models; a cell counts as passed if every step ran at the first attempt."""


def execution_only(rows: RunRows) -> ExecutionOnly | None:
    """Return what is known of a run's cases without checks; None if there are none."""
    ran = as_executed(rows)
    if not ran.rows:
        return None
    return ExecutionOnly(
        cases=len({(row.case_path, row.case_id) for row in ran.rows}),
        models=tuple(_models(ran)),
        comparisons=compare_models(ran, metric="executed"),
    )


def as_executed(rows: RunRows) -> RunRows:
    """Return the run with its cases without checks alone, each cell passed if its steps ran."""
    kept = [row for row in rows.rows if row.without_checks and not is_control(row.model)]
    return rows.model_copy(update={"rows": tuple(map(_as_executed, kept))})


def _as_executed(row: CellSummary) -> CellSummary:
    if row.outcome != "ungraded":
        return row
    outcome: Outcome = "passed" if row.executed else "healed"
    return row.model_copy(update={"outcome": outcome})


def _models(ran: RunRows) -> Sequence[ModelExecution]:
    rows = {
        model: [row for row in ran.rows if row.model == model and row.outcome != "skipped"]
        for model in contestants(ran)
    }
    models = [
        ModelExecution(
            model=model,
            first_attempt=rate_of(own, GOOD["first_attempt"]),
            after_repair=rate_of(own, GOOD["after_repair"]),
        )
        for model, own in rows.items()
        if own
    ]
    return sorted(
        models, key=lambda each: (-_value(each.first_attempt), -_value(each.after_repair))
    )


def _value(rate: PassRate) -> float:
    return rate.value or 0.0
