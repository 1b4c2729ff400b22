"""The two roll-up tables, always computed again from the records and never incremented.

Incrementing would count a run twice when it is written again, and miss the removal of one.
"""

import datetime as dt
from collections.abc import Iterable
from typing import Any

from sqlalchemy import Connection, and_, case, delete, func, insert, select

from pytest_autoweb.store.fields import row_id
from pytest_autoweb.store.tables import (
    AttemptRow,
    CorrectionRecord,
    DailyMetrics,
    ToolCallRecord,
    ToolReliability,
)

ok = ToolCallRecord.result["ok"].as_boolean()


def roll_up(connection: Connection, days: Iterable[dt.date], tools: Iterable[str]) -> None:
    """Compute the roll-ups of these days and tools again, and remove those without records."""
    for day in sorted(set(days)):
        _day(connection, day)
    for tool in sorted(set(tools)):
        _tool(connection, tool)


def count_if(condition: Any) -> Any:
    """Return the SQL expression that counts the rows which meet a condition."""
    return func.coalesce(func.sum(case((condition, 1), else_=0)), 0)


def _day(connection: Connection, day: dt.date) -> None:
    begin = dt.datetime.combine(day, dt.time(), dt.UTC)
    within = (begin, begin + dt.timedelta(days=1))
    connection.execute(delete(DailyMetrics).where(DailyMetrics.date == day))
    calls = connection.execute(
        select(
            func.count(),
            count_if(ToolCallRecord.is_duplicate),
            count_if(~ok),
            func.max(ToolCallRecord.created_at),
        ).where(_in(ToolCallRecord.created_at, within))
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
    moments = [moment for moment in (calls[3], corrections[3]) if moment is not None]
    if not moments:
        return
    connection.execute(
        insert(DailyMetrics).values(
            id=row_id("day", day),
            date=day,
            total_tool_calls=calls[0],
            duplicate_calls=calls[1],
            failed_calls=calls[2],
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
    of_tool = ToolCallRecord.tool_name == tool
    total, good, time, latest = connection.execute(
        select(
            func.count(),
            count_if(ok),
            func.sum(ToolCallRecord.execution_time_ms),
            func.max(ToolCallRecord.created_at),
        ).where(of_tool)
    ).one()
    if not total:
        return
    tried, solved = connection.execute(
        select(func.count(), count_if(CorrectionRecord.is_successful))
        .join(ToolCallRecord, ToolCallRecord.id == CorrectionRecord.tool_call_id)
        .where(of_tool)
    ).one()
    last = connection.execute(
        select(ToolCallRecord.result)
        .where(of_tool, ~ok)
        .order_by(ToolCallRecord.created_at.desc(), ToolCallRecord.id.desc())
        .limit(1)
    ).scalar()
    connection.execute(
        insert(ToolReliability).values(
            id=row_id("tool", tool),
            tool_name=tool,
            total_calls=total,
            success_count=good,
            failure_count=total - good,
            avg_execution_time=share(time, total),
            correction_success_rate=share(solved, tried),
            last_failure_type=last["failure_type"] if last else None,
            updated_at=latest,
        )
    )


def share(part: Any, whole: int) -> float | None:
    """Return `part` divided by `whole`, or None when `whole` is 0."""
    return float(part) / whole if whole else None
