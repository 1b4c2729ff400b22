"""Queries about runs and their cells, and the results of models over time.

Rates come with their counts.
"""

import datetime as dt
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

from pydantic import Field
from sqlalchemy import Connection, func, select

from pytest_autoweb.base.specs import Count
from pytest_autoweb.results.analysis.cell_numbers import CellSummary as Reduced
from pytest_autoweb.results.analysis.cell_numbers import rates_of
from pytest_autoweb.results.analysis.comparison_sides import cost_of
from pytest_autoweb.results.analysis.counted_outcomes import GOOD
from pytest_autoweb.results.analysis.statistics import Interval
from pytest_autoweb.store.query_results import Fraction, Served, begin_of
from pytest_autoweb.store.sync import count_if
from pytest_autoweb.store.tables import (
    AttemptRow,
    CellRow,
    CheckRow,
    CorrectionRecord,
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


_CAUSED = ~CellRow.control & (CellRow.outcome != "skipped") & CellRow.failure_type.is_not(None)
"""Cells with a cause of failure; overview, trends and runs all count these."""


def causes(connection: Connection, since: dt.date) -> tuple[CauseCount, ...]:
    """Return how many cells of runs since a day failed for each cause, the most frequent first.

    A cause is the type of the failure of the cell as a whole: if a click finds nothing because the
    server answered 500, that call failed as `DATA_NOT_FOUND` and the cell as `SERVICE_UNAVAILABLE`.
    """
    rows = connection.execute(
        select(CellRow.failure_type, CellRow.web_kind, func.count())
        .join(RunRow, RunRow.id == CellRow.run_id)
        .where(RunRow.started_at >= begin_of(since), _CAUSED)
        .group_by(CellRow.failure_type, CellRow.web_kind)
    ).all()
    total = sum(count for _, _, count in rows)
    return tuple(
        CauseCount(
            failure_type=str(name), web_kind=web_kind or "", count=count, share=count / total
        )
        for name, web_kind, count in sorted(rows, key=lambda row: (-row[2], row[0], row[1] or ""))
    )


def trends(connection: Connection, since: dt.date) -> tuple[ModelInRun, ...]:
    """Return the numbers of every model in every run, oldest run first, without controls."""
    rows = connection.execute(
        select(CellRow.__table__, RunRow.started_at.label("run_started"), RunRow.commit)
        .join(RunRow, RunRow.id == CellRow.run_id)
        .where(RunRow.started_at >= begin_of(since), ~CellRow.control, CellRow.outcome != "skipped")
        .order_by(RunRow.started_at, RunRow.id, CellRow.model, CellRow.id)
    ).mappings()
    return tuple(
        _point(list(cells)) for _, cells in groupby(rows, lambda row: (row["run_id"], row["model"]))
    )


def _point(cells: Sequence[Any]) -> ModelInRun:
    first = cells[0]
    reduced = [_reduced(cell) for cell in cells]
    cost = cost_of(reduced)
    rate = rates_of(reduced, GOOD["first_attempt"]).all_trials
    kinds = sorted(cell["failure_type"] for cell in cells if cell["failure_type"])
    return ModelInRun(
        run_id=first["run_id"],
        started_at=first["run_started"],
        commit=first["commit"],
        model=first["model"],
        cells=len(cells),
        cases=rate.cases,
        pass_rate=rate.value,
        pass_interval=rate.interval,
        after_repair_rate=rates_of(reduced, GOOD["after_repair"]).all_trials.value,
        cost_usd=cost.usd,
        cost_complete=cost.complete,
        failure_types={kind: len(list(own)) for kind, own in groupby(kinds)},
    )


def _reduced(cell: Any) -> Reduced:
    kept = {name: cell[name] for name in Reduced.model_fields if name in cell}
    # The store keeps no checksums, and no rate depends on them.
    return Reduced(**kept, checksums={})


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
        wanted = wanted.where(RunRow.id.in_(select(CellRow.run_id).where(CellRow.model == model)))
    found = list(connection.execute(wanted.limit(limit).offset(offset)).scalars())
    summaries = {summary.id: summary for summary in _summaries(connection, found)}
    return tuple(summaries[identity] for identity in found)


def run(connection: Connection, identity: str) -> RunSummary | None:
    """Return one run, or None if the store does not have it."""
    return next(_summaries(connection, [identity]), None)


def _summaries(connection: Connection, identities: Sequence[str]) -> Iterator[RunSummary]:
    contestant = ~CellRow.control
    rows = connection.execute(
        select(
            RunRow.__table__,
            func.count(CellRow.id).label("cells"),
            count_if(contestant & CellRow.outcome.in_(("passed", "healed"))).label("passed"),
            count_if(contestant & (CellRow.outcome == "failed")).label("failed"),
            count_if(contestant & (CellRow.outcome == "broken")).label("broken"),
        )
        # An outer join, because a run that collected no cell would otherwise be missing.
        .outerjoin(CellRow, CellRow.run_id == RunRow.id)
        .where(RunRow.id.in_(identities))
        .group_by(RunRow.id)
    ).mappings()
    types: dict[str, dict[str, int]] = {}
    counted = connection.execute(
        select(CellRow.run_id, CellRow.failure_type, func.count())
        .where(CellRow.run_id.in_(identities), _CAUSED)
        .group_by(CellRow.run_id, CellRow.failure_type)
        .order_by(CellRow.failure_type)
    )
    for identity, name, count in counted:
        types.setdefault(identity, {})[str(name)] = count
    for row in rows.all():
        facts = {name: row[name] for name in RunSummary.model_fields if name in row}
        yield RunSummary(**facts, failure_types=types.get(row["id"], {}))


def cells(connection: Connection, run_id: str) -> list[Row]:
    """Return the cells of a run, contestants before controls."""
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
        )
    )
    return [dict(row) for row in rows.mappings()]


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
