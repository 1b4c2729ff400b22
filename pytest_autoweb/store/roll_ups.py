"""Counts that the dashboard adds up, so that it need not read all cells and calls of a large store.

There are two kinds. Those of a run (`model_results`, `outcome_counts`, `call_counts`,
`correction_counts`) are made when the run is written, and removed with it. Those of a day or a tool
are sums of the first over all runs, made again when a run that they count comes or goes.
"""

import datetime as dt
from collections.abc import Sequence
from itertools import groupby
from typing import Any, NamedTuple

from sqlalchemy import Connection, Select, case, delete, func, insert, select

from pytest_autoweb.results.analysis.cell_numbers import CellSummary, rates_of
from pytest_autoweb.results.analysis.comparison_sides import cost_of
from pytest_autoweb.results.analysis.counted_outcomes import GOOD
from pytest_autoweb.store.table_rows import row_id
from pytest_autoweb.store.tables import (
    AttemptRow,
    CallCount,
    CellRow,
    CorrectionCount,
    CorrectionRecord,
    DailyMetrics,
    ModelResults,
    OutcomeCount,
    RunRow,
    ToolCallRecord,
    ToolReliability,
)

ok = ToolCallRecord.result["ok"].as_boolean()


def count_if(condition: Any) -> Any:
    """Return the SQL expression that counts the rows which meet a condition."""
    return sum_of(case((condition, 1), else_=0))


def sum_of(column: Any) -> Any:
    """Return the SQL expression of a sum, which is 0 without rows."""
    return func.coalesce(func.sum(column), 0)


def share(part: Any, whole: int) -> float | None:
    """Return `part` divided by `whole`, or None when `whole` is 0."""
    return float(part) / whole if whole else None


# -- of a run ------------------------------------------------------------------------------


def count_run(connection: Connection, run: str) -> None:
    """Make the counts of a run that has none, from its rows."""
    for table, rows in (
        (ModelResults, _model_results(connection, run)),
        (OutcomeCount, _outcome_counts(connection, run)),
        (CallCount, _call_counts(connection, run)),
        (CorrectionCount, _correction_counts(connection, run)),
    ):
        if rows:
            connection.execute(insert(table), rows)


def count_corrections(connection: Connection) -> None:
    """Make the counts of the corrections of all runs, none of which has any."""
    for run in _all_runs(connection):
        if rows := _correction_counts(connection, run):
            connection.execute(insert(CorrectionCount), rows)


def _model_results(connection: Connection, run: str) -> list[dict[str, Any]]:
    rows = connection.execute(
        # Columns by name, because a migration counts the runs of an older store, whose cells may
        # lack later ones.
        select(*(getattr(CellRow, name) for name in _RATED))
        .where(CellRow.run_id == run, ~CellRow.control, CellRow.outcome != "skipped")
        .order_by(CellRow.model, CellRow.id)
    ).mappings()
    # The store keeps no checksums, and no rate depends on them.
    cells = [CellSummary(**row, checksums={}) for row in rows]
    return [
        _of_model(run, model, list(own)) for model, own in groupby(cells, lambda cell: cell.model)
    ]


_RATED = (
    *("case_id", "case_path", "model", "capture_mode", "repeat", "outcome"),
    *("cost_usd", "cost_complete"),
)


def _of_model(run: str, model: str, cells: Sequence[CellSummary]) -> dict[str, Any]:
    rate = rates_of(cells, GOOD["first_attempt"]).all_trials
    cost = cost_of(cells)
    return {
        "id": row_id("model", run, model),
        "run_id": run,
        "model": model,
        "cells": len(cells),
        "cases": rate.cases,
        "pass_rate": rate.value,
        "pass_low": rate.interval and rate.interval.low,
        "pass_high": rate.interval and rate.interval.high,
        "after_repair_rate": rates_of(cells, GOOD["after_repair"]).all_trials.value,
        "cost_usd": cost.usd,
        "cost_complete": cost.complete,
    }


def _outcome_counts(connection: Connection, run: str) -> list[dict[str, Any]]:
    kinds = [getattr(CellRow, name) for name in _KINDS]
    rows = connection.execute(
        select(*kinds, func.count().label("cells")).where(CellRow.run_id == run).group_by(*kinds)
    ).mappings()
    return [
        {"id": row_id("outcome", run, *(row[name] for name in _KINDS)), "run_id": run, **row}
        for row in rows
    ]


_KINDS = ("model", "control", "outcome", "failure_type", "web_kind")


class _CallKey(NamedTuple):
    """What calls have in common that are counted together."""

    date: dt.date
    tool_name: str
    failed: bool
    failure_type: str | None
    web_kind: str | None


def _call_counts(connection: Connection, run: str) -> list[dict[str, Any]]:
    failure = [ToolCallRecord.result[name].as_string() for name in ("failure_type", "web_kind")]
    kind = (ToolCallRecord.created_at, ToolCallRecord.tool_name, ~ok, *failure)
    of_run = ToolCallRecord.session_id.in_(attempts_of(run))
    taken = (ToolCallRecord.is_duplicate, ToolCallRecord.execution_time_ms)
    calls = connection.execute(select(*kind, *taken).where(of_run))
    found: dict[_CallKey, dict[str, Any]] = {}
    for *of, twice, time in calls:
        counts = found.setdefault(_call_key(of), {**_NO_CALLS, "latest_at": of[0]})
        counts["calls"] += 1
        counts["duplicates"] += bool(twice)
        counts["time_ms"] += time
        counts["latest_at"] = max(counts["latest_at"], of[0])
    corrections = connection.execute(
        select(*kind, CorrectionRecord.is_successful)
        .join(CorrectionRecord, CorrectionRecord.tool_call_id == ToolCallRecord.id)
        .where(of_run)
    )
    for *of, solved in corrections:
        counts = found[_call_key(of)]
        counts["corrections"] += 1
        counts["solved"] += bool(solved)
    return [
        {"id": row_id("calls", run, *key), "run_id": run, **key._asdict(), **counts}
        for key, counts in found.items()
    ]


_NO_CALLS = {"calls": 0, "duplicates": 0, "time_ms": 0, "corrections": 0, "solved": 0}


def _call_key(of: Sequence[Any]) -> _CallKey:
    moment, tool, failed, failure_type, web_kind = of
    return _CallKey(moment.date(), tool, bool(failed), failure_type, web_kind)


def _correction_counts(connection: Connection, run: str) -> list[dict[str, Any]]:
    corrections = connection.execute(
        select(
            *(CorrectionRecord.created_at, AttemptRow.arm, CorrectionRecord.is_successful),
            *(AttemptRow.duration_ms, AttemptRow.calls),
        )
        .join(AttemptRow, AttemptRow.id == CorrectionRecord.id)
        .join(CellRow, CellRow.id == AttemptRow.cell_id)
        .where(CellRow.run_id == run)
    ).all()
    found: dict[tuple[dt.date, str], dict[str, Any]] = {}
    for moment, arm, solved, time, calls in corrections:
        fresh = {**_NO_CORRECTIONS, "latest_at": moment}
        counts = found.setdefault((moment.date(), arm), fresh)
        counts["tried"] += 1
        counts["solved"] += bool(solved)
        counts["time_ms"] += time
        counts["calls"] += calls
        counts["latest_at"] = max(counts["latest_at"], moment)
    return [
        {"id": row_id("corrections", run, day, arm), "run_id": run, "date": day, "arm": arm}
        | counts
        for (day, arm), counts in found.items()
    ]


_NO_CORRECTIONS = {"tried": 0, "solved": 0, "time_ms": 0, "calls": 0}


class Reach(NamedTuple):
    """The days and tools whose sums count records of a run."""

    days: set[dt.date]
    tools: set[str]


def reach_of(connection: Connection, run: str) -> Reach:
    """Return the sums that a run affects, judged by its counts."""
    called = connection.execute(
        select(CallCount.date, CallCount.tool_name).where(CallCount.run_id == run).distinct()
    ).all()
    corrected = connection.execute(
        select(CorrectionCount.date).where(CorrectionCount.run_id == run)
    ).scalars()
    return Reach({day for day, _ in called}.union(corrected), {tool for _, tool in called})


# -- of days and tools ---------------------------------------------------------------------


def roll_up(connection: Connection, reach: Reach) -> None:
    """Compute the sums of days and tools again, and remove those without records."""
    for day in sorted(reach.days):
        _day(connection, day)
    for tool in sorted(reach.tools):
        _tool(connection, tool)


def roll_up_all(connection: Connection) -> None:
    """Make the counts of all runs, none of which has any, and all sums."""
    reach = Reach(set(), set())
    for run in _all_runs(connection):
        count_run(connection, run)
        own = reach_of(connection, run)
        reach = Reach(reach.days | own.days, reach.tools | own.tools)
    roll_up(connection, reach)


def _all_runs(connection: Connection) -> list[str]:
    return list(connection.execute(select(RunRow.id).order_by(RunRow.id)).scalars())


_CALLS = (
    sum_of(CallCount.calls),
    sum_of(CallCount.duplicates),
    sum_of(case((CallCount.failed, CallCount.calls), else_=0)),
    sum_of(CallCount.time_ms),
    func.max(CallCount.latest_at),
)


def _day(connection: Connection, day: dt.date) -> None:
    connection.execute(delete(DailyMetrics).where(DailyMetrics.date == day))
    total, twice, failed, _, latest = connection.execute(
        select(*_CALLS).where(CallCount.date == day)
    ).one()
    tried, solved, time, last = connection.execute(
        select(
            sum_of(CorrectionCount.tried),
            sum_of(CorrectionCount.solved),
            sum_of(CorrectionCount.time_ms),
            func.max(CorrectionCount.latest_at),
        ).where(CorrectionCount.date == day)
    ).one()
    # Not the present moment, so that the same records always give the same row.
    moments = [moment for moment in (latest, last) if moment is not None]
    if not moments:
        return
    connection.execute(
        insert(DailyMetrics).values(
            id=row_id("day", day),
            date=day,
            total_tool_calls=total,
            duplicate_calls=twice,
            failed_calls=failed,
            corrected_calls=tried,
            correction_success=solved,
            avg_correction_time=share(time, tried),
            created_at=max(moments),
        )
    )


def _tool(connection: Connection, tool: str) -> None:
    connection.execute(delete(ToolReliability).where(ToolReliability.tool_name == tool))
    of_tool = CallCount.tool_name == tool
    total, _, failed, time, latest = connection.execute(select(*_CALLS).where(of_tool)).one()
    if not total:
        return
    tried, solved = connection.execute(
        select(sum_of(CallCount.corrections), sum_of(CallCount.solved)).where(of_tool)
    ).one()
    last = latest_failure(connection, tool)
    connection.execute(
        insert(ToolReliability).values(
            id=row_id("tool", tool),
            tool_name=tool,
            total_calls=total,
            success_count=total - failed,
            failure_count=failed,
            avg_execution_time=share(time, total),
            correction_success_rate=share(solved, tried),
            last_failure_type=last["failure_type"] if last else None,
            updated_at=latest,
        )
    )


def latest_failure(connection: Connection, tool: str, run: str = "") -> dict[str, Any] | None:
    """Return the result of the latest failed call of a tool, or None.

    Args:
        connection: a connection to the store.
        tool: the name of the tool.
        run: look only in this run; empty means in all runs.
    """
    failed = select(func.max(CallCount.latest_at)).where(
        CallCount.tool_name == tool, CallCount.failed
    )
    moment = connection.execute(failed.where(CallCount.run_id == run) if run else failed).scalar()
    # By its moment, because no index leads from a tool to its failed calls.
    wanted = select(ToolCallRecord.result).where(
        ToolCallRecord.tool_name == tool, ToolCallRecord.created_at == moment, ~ok
    )
    if run:
        wanted = wanted.where(ToolCallRecord.session_id.in_(attempts_of(run)))
    return connection.execute(wanted.order_by(ToolCallRecord.id.desc()).limit(1)).scalar()


def attempts_of(run: str) -> Select[Any]:
    """Return the query for the attempts of a run."""
    return select(AttemptRow.id).join(CellRow).where(CellRow.run_id == run)
