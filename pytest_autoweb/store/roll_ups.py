"""Counts that the dashboard adds up, so that it need not read all cells and calls of a large store.

There are two kinds. Those of a run (`model_results`, `outcome_counts`, `call_counts`) are made when
the run is written, and removed with it. Those of a day or a tool are sums of the first over all
runs, made again when a run that they count comes or goes.
"""

import datetime as dt
from collections.abc import Sequence
from itertools import groupby
from typing import Any, NamedTuple

from sqlalchemy import Connection, Select, and_, case, delete, func, insert, select

from pytest_autoweb.results.analysis.cell_numbers import CellSummary, rates_of
from pytest_autoweb.results.analysis.comparison_sides import cost_of
from pytest_autoweb.results.analysis.counted_outcomes import GOOD
from pytest_autoweb.store.table_rows import row_id
from pytest_autoweb.store.tables import (
    AttemptRow,
    CallCount,
    CellRow,
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
    ):
        if rows:
            connection.execute(insert(table), rows)


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


class Reach(NamedTuple):
    """The days and tools whose sums count records of a run."""

    days: set[dt.date]
    tools: set[str]


def reach_of(connection: Connection, run: str) -> Reach:
    """Return the sums that a run affects, judged by its counts and corrections."""
    called = connection.execute(
        select(CallCount.date, CallCount.tool_name).where(CallCount.run_id == run).distinct()
    ).all()
    corrected = connection.execute(
        select(CorrectionRecord.created_at).where(CorrectionRecord.id.in_(attempts_of(run)))
    ).scalars()
    days = {day for day, _ in called} | {moment.date() for moment in corrected}
    return Reach(days, {tool for _, tool in called})


# -- of days and tools ---------------------------------------------------------------------


def roll_up(connection: Connection, reach: Reach) -> None:
    """Compute the sums of days and tools again, and remove those without records."""
    for day in sorted(reach.days):
        _day(connection, day)
    for tool in sorted(reach.tools):
        _tool(connection, tool)


def roll_up_all(connection: Connection) -> None:
    """Make the counts of all runs, none of which has any, and all sums."""
    runs = list(connection.execute(select(RunRow.id).order_by(RunRow.id)).scalars())
    reach = Reach(set(), set())
    for run in runs:
        count_run(connection, run)
        own = reach_of(connection, run)
        reach = Reach(reach.days | own.days, reach.tools | own.tools)
    roll_up(connection, reach)


_CALLS = (
    sum_of(CallCount.calls),
    sum_of(CallCount.duplicates),
    sum_of(case((CallCount.failed, CallCount.calls), else_=0)),
    sum_of(CallCount.time_ms),
    func.max(CallCount.latest_at),
)


def _day(connection: Connection, day: dt.date) -> None:
    begin = dt.datetime.combine(day, dt.time(), dt.UTC)
    within = (begin, begin + dt.timedelta(days=1))
    connection.execute(delete(DailyMetrics).where(DailyMetrics.date == day))
    total, twice, failed, _, latest = connection.execute(
        select(*_CALLS).where(CallCount.date == day)
    ).one()
    corrections = connection.execute(
        select(
            func.count(),
            count_if(CorrectionRecord.is_successful),
            func.sum(AttemptRow.duration_ms),
            func.max(CorrectionRecord.created_at),
        )
        .join(AttemptRow, AttemptRow.id == CorrectionRecord.id)
        .where(_in(CorrectionRecord.created_at, within))
    ).one()
    # Not the present moment, so that the same records always give the same row.
    moments = [moment for moment in (latest, corrections[3]) if moment is not None]
    if not moments:
        return
    connection.execute(
        insert(DailyMetrics).values(
            id=row_id("day", day),
            date=day,
            total_tool_calls=total,
            duplicate_calls=twice,
            failed_calls=failed,
            corrected_calls=corrections[0],
            correction_success=corrections[1],
            avg_correction_time=share(corrections[2], corrections[0]),
            created_at=max(moments),
        )
    )


def _in(column: Any, within: tuple[dt.datetime, dt.datetime]) -> Any:
    return and_(column >= within[0], column < within[1])


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
