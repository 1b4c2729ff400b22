"""Queries about tool calls: how often they failed, repeated others or were corrected, and why.

Rates come with their counts.
"""

import datetime as dt
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from pydantic import Field
from sqlalchemy import Connection, Select, case, func, select

from pytest_autoweb.base.specs import Count
from pytest_autoweb.results.analysis.statistics import Interval, wilson
from pytest_autoweb.results.records import Record
from pytest_autoweb.store.query_results import Fraction, Served, ShareOfCalls, share_of
from pytest_autoweb.store.roll_ups import attempts_of, count_if, latest_failure, ok, share, sum_of
from pytest_autoweb.store.same_calls import recorded_as
from pytest_autoweb.store.table_rows import clean
from pytest_autoweb.store.tables import (
    CallCount,
    DailyMetrics,
    ToolCallRecord,
    ToolReliability,
)


class Day(Record):
    """The numbers of one day, or the sums over several days."""

    date: dt.date | None = None
    calls: int
    duplicates: ShareOfCalls
    failures: ShareOfCalls
    corrections: ShareOfCalls
    """How many of the corrections that were tried helped."""


class FailureCount(Served):
    """How often calls failed in one way."""

    failure_type: str
    web_kind: str
    count: Count
    share: Fraction
    """The share of these calls among all failed calls."""


class ToolStats(Served):
    """The reliability of one tool."""

    tool_name: str
    total_calls: Count
    success_rate: Fraction | None
    success_interval: Interval | None
    avg_execution_time: Annotated[float, Field(ge=0)] | None
    """The mean duration of a call in milliseconds."""
    correction_success_rate: Fraction | None
    corrections: Count
    """The number of corrections tried, which `correctionSuccessRate` refers to."""
    last_failure_type: str | None


def days(connection: Connection, since: dt.date) -> tuple[Day, ...]:
    """Return the days that have records, oldest first."""
    rows = connection.execute(
        select(DailyMetrics.__table__).where(DailyMetrics.date >= since).order_by(DailyMetrics.date)
    )
    return tuple(
        _day(
            row.total_tool_calls,
            row.duplicate_calls,
            row.failed_calls,
            row.corrected_calls,
            row.correction_success,
            date=row.date,
        )
        for row in rows
    )


def together(days: Sequence[Day]) -> Day:
    return _day(
        sum(day.calls for day in days),
        sum(day.duplicates.part for day in days),
        sum(day.failures.part for day in days),
        sum(day.corrections.n for day in days),
        sum(day.corrections.part for day in days),
    )


def _day(
    calls: int, twice: int, failed: int, tried: int, solved: int, date: dt.date | None = None
) -> Day:
    return Day(
        date=date,
        calls=calls,
        duplicates=share_of(twice, calls),
        failures=share_of(failed, calls),
        corrections=share_of(solved, tried),
    )


def failure_counts(connection: Connection, since: dt.date) -> tuple[FailureCount, ...]:
    """Return how often calls failed in each way, the most frequent way first."""
    kind, web = CallCount.failure_type, CallCount.web_kind
    rows = connection.execute(
        select(kind, web, sum_of(CallCount.calls))
        .where(CallCount.failed, CallCount.date >= since)
        .group_by(kind, web)
    ).all()
    total = sum(count for _, _, count in rows)
    return tuple(
        FailureCount(failure_type=name, web_kind=web_kind, count=count, share=count / total)
        for name, web_kind, count in sorted(rows, key=lambda row: (-row[2], row[0], row[1]))
    )


def ranking(connection: Connection) -> tuple[ToolStats, ...]:
    """Return all tools, the most reliable first.

    They are ranked by the lower end of the interval, so that a tool with a single success does not
    outrank one with a thousand.
    """
    tools = _tools(connection, select(ToolReliability.__table__))
    return tuple(sorted(tools, key=lambda tool: (-_certain(tool), tool.tool_name)))


def tool(connection: Connection, name: str) -> ToolStats | None:
    """Return one tool, or None if it was never called."""
    wanted = select(ToolReliability.__table__).where(ToolReliability.tool_name == clean(name))
    return next(iter(_tools(connection, wanted)), None)


def _certain(tool: ToolStats) -> float:
    return tool.success_interval.low if tool.success_interval else 0.0


def _tools(connection: Connection, wanted: Select[Any]) -> list[ToolStats]:
    counted = connection.execute(
        select(
            CallCount.tool_name, sum_of(CallCount.corrections), sum_of(CallCount.solved)
        ).group_by(CallCount.tool_name)
    )
    corrections = {name: (solved, tried) for name, tried, solved in counted}
    return [
        _tool(row, *corrections.get(row.tool_name, (0, 0))) for row in connection.execute(wanted)
    ]


def _tool(row: Any, solved: int, tried: int) -> ToolStats:
    return ToolStats(
        tool_name=row.tool_name,
        total_calls=row.total_calls,
        success_rate=share(row.success_count, row.total_calls),
        success_interval=wilson(row.success_count, row.total_calls),
        avg_execution_time=row.avg_execution_time,
        correction_success_rate=share(solved, tried),
        corrections=tried,
        last_failure_type=row.last_failure_type,
    )


COMPARED = 20_000
"""So many of the newest calls of a tool are compared with a call in question."""


class Precedent(Record):
    """What the records say about calls like the one in question."""

    same_call: ShareOfCalls
    """Successes of calls with the same tool and the same parameters, among the `COMPARED` newest
    of the tool; without parameters, of all its calls."""
    same_tool: ShareOfCalls
    """Successes of all calls of the tool."""
    last_error: str | None
    """The latest error of the tool."""


def precedent(
    connection: Connection, tool: str, params: Mapping[str, Any], run_id: str = ""
) -> Precedent:
    """Return how earlier calls like this one ended.

    Args:
        connection: a connection to the store.
        tool: the name of the tool, as in `tool_call_records`.
        params: `target`, `arguments` or both; those given must mean the same.
        run_id: look only in this run; empty means in all runs.
    """
    # Texts were cleaned when they were stored, so values to look up must be cleaned in the same
    # way. Postgres would also refuse a NUL character in a query.
    name, run = clean(tool), clean(run_id)
    of_tool = _of_tool(connection, name, run)
    last = latest_failure(connection, name, run)
    return Precedent(
        same_call=_alike(connection, tool, params, run) if params else of_tool,
        same_tool=of_tool,
        last_error=last["error"] if last else None,
    )


def _of_tool(connection: Connection, name: str, run: str) -> ShareOfCalls:
    wanted = [CallCount.tool_name == name, *([CallCount.run_id == run] if run else [])]
    good = sum_of(case((CallCount.failed, 0), else_=CallCount.calls))
    row = connection.execute(select(good, sum_of(CallCount.calls)).where(*wanted)).one()
    return share_of(int(row[0]), int(row[1]))


def _alike(connection: Connection, tool: str, params: Mapping[str, Any], run: str) -> ShareOfCalls:
    of_tool = [ToolCallRecord.tool_name == clean(tool)]
    if run:
        of_tool.append(ToolCallRecord.session_id.in_(attempts_of(run)))
    written = ToolCallRecord.parameters
    # All calls of a common tool take seconds to read once there are millions.
    newest = (
        select(
            written["target"].as_string().label("target"),
            written["arguments"].as_string().label("arguments"),
            ok.label("ok"),
        )
        .where(*of_tool)
        .order_by(ToolCallRecord.created_at.desc())
        .limit(COMPARED)
        .subquery()
    )
    parts = (newest.c.target, newest.c.arguments)
    counted = connection.execute(
        select(*parts, count_if(newest.c.ok), func.count()).group_by(*parts)
    ).all()
    fits = recorded_as(tool, params)
    alike = [row for row in counted if fits(row[0] or "", row[1] or "")]
    return share_of(sum(row[2] for row in alike), sum(row[3] for row in alike))
