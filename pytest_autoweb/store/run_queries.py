"""Queries about runs and their cells, and the results of models over time.

Rates come with their counts.
"""

import datetime as dt
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from pydantic import Field
from sqlalchemy import Connection, RowMapping, Select, case, func, select

from pytest_autoweb.base.specs import Count
from pytest_autoweb.results.analysis.statistics import Interval
from pytest_autoweb.store.query_results import Fraction, Served, begin_of
from pytest_autoweb.store.roll_ups import sum_of
from pytest_autoweb.store.tables import (
    AttemptRow,
    CellRow,
    CheckRow,
    CorrectionRecord,
    ModelResults,
    OutcomeCount,
    RunRow,
    ToolCallRecord,
)

Row = dict[str, Any]


class ModelInRun(Served):
    """The results of one model in one run, a point of its trend."""

    run_id: str
    started_at: dt.datetime
    commit: str
    model: str
    cells: Count
    cases: Count
    """The number of cases, which are the units of the interval."""
    pass_rate: Fraction | None
    """The share of cells that passed at the first attempt, among all cells that were run."""
    pass_interval: Interval | None
    after_repair_rate: Fraction | None
    cost_usd: float | None
    """The cost in US dollars; None when no call had a price."""
    cost_complete: bool
    failure_types: dict[str, int]
    """How many cells failed in each way."""


class RunSummary(Served):
    """One run with the counts of its cells."""

    id: str
    ts: str
    started_at: dt.datetime
    duration_s: float
    commit: str
    interrupted: bool
    models: tuple[str, ...]
    cells: Count
    """The number of cells, including controls."""
    passed: Count
    """The number of cells that passed, healed ones included, without controls."""
    failed: Count
    broken: Count
    failure_types: dict[str, int]
    """The causes of its failed cells with their numbers, without controls."""
    folder: str = Field(exclude=True)
    """Where the run was, a path of the machine that stored it."""


class CauseCount(Served):
    """How many cells failed for one cause."""

    failure_type: str
    web_kind: str
    count: Count
    share: Fraction
    """The share of these cells among all failed cells."""


_CAUSED = (
    ~OutcomeCount.control
    & (OutcomeCount.outcome != "skipped")
    & OutcomeCount.failure_type.is_not(None)
)
"""Cells with a cause of failure; overview, trends and runs all count these."""


def causes(connection: Connection, since: dt.date) -> tuple[CauseCount, ...]:
    """Return how many cells of runs since a day failed for each cause, the most frequent first.

    A cause is the type of the failure of the cell as a whole: if a click finds nothing because the
    server answered 500, that call failed as `DATA_NOT_FOUND` and the cell as `SERVICE_UNAVAILABLE`.
    """
    kind = (OutcomeCount.failure_type, OutcomeCount.web_kind)
    rows = connection.execute(
        select(*kind, sum_of(OutcomeCount.cells))
        .join(RunRow, RunRow.id == OutcomeCount.run_id)
        .where(RunRow.started_at >= begin_of(since), _CAUSED)
        .group_by(*kind)
    ).all()
    total = sum(count for _, _, count in rows)
    return tuple(
        CauseCount(
            failure_type=str(name), web_kind=web_kind or "", count=count, share=count / total
        )
        for name, web_kind, count in sorted(rows, key=lambda row: (-row[2], row[0], row[1] or ""))
    )


def trends(
    connection: Connection, since: dt.date, *, newest: int | None = None
) -> tuple[ModelInRun, ...]:
    """Return the numbers of every model in every run, oldest run first, without controls.

    Args:
        connection: a connection to the store.
        since: the first day.
        newest: of each model, only so many of its newest runs; None means all.
    """
    wanted = _results(since)
    if newest is not None:
        latest_first = (RunRow.started_at.desc(), RunRow.id.desc())
        place = func.row_number().over(partition_by=ModelResults.model, order_by=latest_first)
        placed = wanted.add_columns(place.label("place")).subquery()
        near = select(placed.c.id).where(placed.c.place <= newest)
        wanted = wanted.where(ModelResults.id.in_(near))
    return _points(connection, wanted, (RunRow.started_at, RunRow.id, ModelResults.model))


def trend(
    connection: Connection, since: dt.date, model: str, *, limit: int, offset: int = 0
) -> tuple[ModelInRun, ...]:
    """Return the numbers of a model in up to `limit` runs, newest first, from an offset on."""
    latest_first = (RunRow.started_at.desc(), RunRow.id.desc())
    wanted = _results(since).where(ModelResults.model == model).order_by(*latest_first)
    return _points(connection, wanted.limit(limit).offset(offset), latest_first)


def runs_of_models(connection: Connection, since: dt.date) -> dict[str, int]:
    """Return in how many runs each model has results, without controls."""
    counted = _results(since).with_only_columns(ModelResults.model, func.count())
    return dict(connection.execute(counted.group_by(ModelResults.model)).all())


def _results(since: dt.date) -> Select[Any]:
    """Return the query for the ids of the models' results in runs since a day."""
    return (
        select(ModelResults.id)
        .join(RunRow, RunRow.id == ModelResults.run_id)
        .where(RunRow.started_at >= begin_of(since))
    )


def _points(connection: Connection, wanted: Select[Any], order: Any) -> tuple[ModelInRun, ...]:
    """Return the points of the results with the wanted ids."""
    chosen = wanted.subquery()
    of_run = select(ModelResults.run_id).join(chosen, chosen.c.id == ModelResults.id)
    types = _failure_types(connection, OutcomeCount.run_id.in_(of_run))
    rows = connection.execute(
        select(ModelResults.pass_low, ModelResults.pass_high, *_STORED.values())
        .join(RunRow, RunRow.id == ModelResults.run_id)
        .join(chosen, chosen.c.id == ModelResults.id)
        .order_by(*order)
    ).all()
    return tuple(
        ModelInRun(
            **(stored := dict(zip(_STORED, values, strict=True))),
            pass_interval=_interval(low, high),
            failure_types=types.get((stored["run_id"], stored["model"]), {}),
        )
        for low, high, *values in rows
    )


_STORED = {
    name: getattr(RunRow if name in ("started_at", "commit") else ModelResults, name)
    for name in ModelInRun.model_fields
    if name not in ("pass_interval", "failure_types")
}
"""The columns of a point that are stored as they are, by the names of its fields."""


def _interval(low: float | None, high: float | None) -> Interval | None:
    return None if low is None or high is None else Interval(low=low, high=high)


def _failure_types(connection: Connection, which: Any) -> dict[tuple[str, str], dict[str, int]]:
    """Return how many cells of each model in each run failed in each way, without controls."""
    counted = connection.execute(
        select(
            OutcomeCount.run_id,
            OutcomeCount.model,
            OutcomeCount.failure_type,
            sum_of(OutcomeCount.cells),
        )
        .where(which, _CAUSED)
        .group_by(OutcomeCount.run_id, OutcomeCount.model, OutcomeCount.failure_type)
        .order_by(OutcomeCount.failure_type)
    ).all()
    types: dict[tuple[str, str], dict[str, int]] = {}
    for run_id, model, name, count in counted:
        types.setdefault((run_id, model), {})[str(name)] = count
    return types


def runs(
    connection: Connection, *, limit: int = 50, offset: int = 0, model: str = ""
) -> tuple[RunSummary, ...]:
    """Return runs, newest first.

    Args:
        connection: a connection to the store.
        limit: the maximum number of runs to return.
        offset: how many of the newest runs to skip.
        model: return only runs with cells of this model; empty means all runs.
    """
    # The id settles the order of runs that began at the same moment, so that no run appears on two
    # pages of the list or on none.
    wanted = select(RunRow.id).order_by(RunRow.started_at.desc(), RunRow.id)
    if model:
        wanted = wanted.where(
            RunRow.id.in_(select(OutcomeCount.run_id).where(OutcomeCount.model == model))
        )
    found = list(connection.execute(wanted.limit(limit).offset(offset)).scalars())
    summaries = {summary.id: summary for summary in _summaries(connection, found)}
    return tuple(summaries[identity] for identity in found)


def run(connection: Connection, identity: str) -> RunSummary | None:
    """Return one run, or None if the store does not have it."""
    return next(_summaries(connection, [identity]), None)


def _summaries(connection: Connection, identities: Sequence[str]) -> Iterator[RunSummary]:
    def ended(*outcomes: str) -> Any:
        wanted = ~OutcomeCount.control & OutcomeCount.outcome.in_(outcomes)
        return sum_of(case((wanted, OutcomeCount.cells), else_=0))

    rows = connection.execute(
        select(
            RunRow.__table__,
            sum_of(OutcomeCount.cells).label("cells"),
            ended("passed", "healed").label("passed"),
            ended("failed").label("failed"),
            ended("broken").label("broken"),
        )
        # An outer join, because a run that collected no cell would otherwise be missing.
        .outerjoin(OutcomeCount, OutcomeCount.run_id == RunRow.id)
        .where(RunRow.id.in_(identities))
        .group_by(RunRow.id)
    ).mappings()
    types: dict[str, Counter[str]] = {}
    for (run_id, _), own in _failure_types(connection, OutcomeCount.run_id.in_(identities)).items():
        types.setdefault(run_id, Counter()).update(own)
    for row in rows.all():
        facts = {name: row[name] for name in RunSummary.model_fields if name in row}
        yield RunSummary(**facts, failure_types=dict(sorted(types.get(row["id"], {}).items())))


def cells(
    connection: Connection, run_id: str, *, limit: int | None = None, offset: int = 0
) -> Sequence[RowMapping]:
    """Return the cells of a run, contestants before controls.

    Args:
        connection: a connection to the store.
        run_id: the run.
        limit: the maximum number of cells to return; None means all.
        offset: how many of the first cells to skip.
    """
    rows = connection.execute(
        select(CellRow.__table__)
        .where(CellRow.run_id == run_id)
        .order_by(
            CellRow.control,
            CellRow.case_path,
            CellRow.case_id,
            CellRow.model,
            CellRow.capture_mode,
            CellRow.repeat,
            CellRow.id,
        )
        .limit(limit)
        .offset(offset)
    )
    # All at once, because fetching ten thousand rows one by one takes twice as long.
    return rows.mappings().all()


def cell(connection: Connection, identity: str) -> Row | None:
    """Return a cell's row with its `attempts`, or None if the store does not have the cell.

    Each attempt has its `checks`, its `tool_calls` and its `correction`.
    """
    found = connection.execute(select(CellRow.__table__).where(CellRow.id == identity))
    row = found.mappings().one_or_none()
    if row is None:
        return None
    attempts = connection.execute(
        select(AttemptRow.__table__)
        .where(AttemptRow.cell_id == identity)
        .order_by(AttemptRow.beside, AttemptRow.arm, AttemptRow.attempt_index)
    ).mappings()
    return {**row, "attempts": [_attempt(connection, dict(one)) for one in attempts.all()]}


def _attempt(connection: Connection, attempt: Row) -> Row:
    checks = connection.execute(
        select(CheckRow.__table__)
        .where(CheckRow.attempt_id == attempt["id"])
        .order_by(CheckRow.check_index, CheckRow.id)
    )
    calls = connection.execute(
        select(ToolCallRecord.__table__)
        .where(ToolCallRecord.session_id == attempt["id"])
        .order_by(ToolCallRecord.created_at, ToolCallRecord.id)
    )
    correction = connection.execute(
        select(CorrectionRecord.__table__).where(CorrectionRecord.id == attempt["id"])
    )
    return {
        **attempt,
        "checks": [dict(row) for row in checks.mappings()],
        "tool_calls": [dict(row) for row in calls.mappings()],
        "correction": dict(one) if (one := correction.mappings().one_or_none()) else None,
    }
