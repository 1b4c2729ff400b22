"""Writes runs into a store from their folders, recomputes roll-ups, and removes old runs."""

import datetime as dt
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from sqlalchemy import Connection, and_, case, delete, func, insert, select

from pytest_autoweb.base.errors import SettingsError
from pytest_autoweb.results.runs.run_folder import (
    RecordedRun,
    is_run_folder,
    read_manifest,
    read_run,
    refuse_other_folders,
)
from pytest_autoweb.results.runs.saving import Manifest
from pytest_autoweb.store.database import Store
from pytest_autoweb.store.same_run import refuse_other_run
from pytest_autoweb.store.table_rows import row_id, rows_of, run_id
from pytest_autoweb.store.tables import (
    AttemptRow,
    CachedCall,
    CellRow,
    CorrectionRecord,
    DailyMetrics,
    RunRow,
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
    # Not the present moment, so that the same records always give the same row.
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


def prune(store: Store, *, before: dt.datetime, now: dt.datetime) -> int:
    """Remove the runs that started before a moment, with everything that belongs to them.

    The roll-ups are computed again from the remaining rows, so they never count removed ones.
    Expired entries of the cache of tool calls are removed as well.

    Args:
        store: the store.
        before: runs that started before this moment are removed; it has a time zone.
        now: the present moment, which decides which entries of the cache are expired.

    Returns:
        The number of removed runs.

    Raises:
        StoreError: the store cannot be written; nothing in it has changed.
    """
    with store.write() as connection:
        old = connection.execute(select(RunRow.id).where(RunRow.started_at < before)).scalars()
        gone = list(old)
        for run in gone:
            # Queried first, because the rows determine which roll-ups counted them.
            reach = reach_of(connection, run)
            connection.execute(delete(RunRow).where(RunRow.id == run))
            roll_up(connection, reach.days, reach.tools)
        connection.execute(delete(CachedCall).where(CachedCall.expires_at <= now))
    return len(gone)


class SyncResult(NamedTuple):
    """The id of the run that was written, and how many rows it has."""

    run_id: str
    cells: int
    tool_calls: int


def sync_run(store: Store, folder: Path, *, replace: bool = False) -> SyncResult:
    """Write a run in one transaction, replacing the store's earlier rows of it.

    Args:
        store: the store.
        folder: the run folder.
        replace: also replace another run of the same time and cells.

    Raises:
        SettingsError: the folder is not a run folder, or holds only a shard of a run, or the store
            has another run under its name.
        StoreError: the store cannot be written; nothing in it has changed.
    """
    run = _whole_run(folder)
    rows = rows_of(run, _identity(read_manifest(folder), run))
    with store.write() as connection:
        if not replace:
            refuse_other_run(connection, rows, run)
        # Queried before the old rows are removed: roll-ups that counted them must be recomputed
        # even if the new rows no longer touch their day or tool.
        before = reach_of(connection, rows.run["id"])
        connection.execute(delete(RunRow).where(RunRow.id == rows.run["id"]))
        connection.execute(insert(RunRow).values(**rows.run))
        for table, of_table in rows.of_table.items():
            if of_table:
                connection.execute(insert(table), of_table)
        after = reach_of(connection, rows.run["id"])
        roll_up(connection, before.days | after.days, before.tools | after.tools)
    calls = rows.of_table[ToolCallRecord]
    return SyncResult(rows.run["id"], len(rows.of_table[CellRow]), len(calls))


def _whole_run(folder: Path) -> RecordedRun:
    """Read a run folder.

    Raises:
        SettingsError: the folder is not a run folder, or holds only a shard of a run.
    """
    refuse_other_folders(folder)
    run = read_run(folder)
    if run.info.shard is not None:
        raise SettingsError(
            f"{folder} is shard {run.info.shard[0]} of {run.info.shard[1]}; merge the shards "
            "first (`autoweb run merge`), so that the store counts no cell twice"
        )
    return run


def identify(folder: Path) -> str | None:
    """Return the id of the run in a folder, or None if there is no run."""
    if not is_run_folder(folder):
        return None
    manifest = read_manifest(folder)
    return _identity(manifest, None if manifest.ts and manifest.cells else read_run(folder))


def _identity(manifest: Manifest, run: RecordedRun | None) -> str:
    """Return the run's id from its manifest, or from the whole run if that is incomplete."""
    ts, cells = manifest.ts, tuple(cell.folder for cell in manifest.cells)
    if run is not None:
        ts = ts or run.info.ts
        # Controls that were run later lie outside `cells/` and must not change the id.
        cells = cells or tuple(c.folder for c in run.cells if c.folder.startswith("cells/"))
    return run_id(ts, cells)


class Reach(NamedTuple):
    """The days and tools whose roll-ups count records of a run."""

    days: set[dt.date]
    tools: set[str]


def reach_of(connection: Connection, identity: str) -> Reach:
    """Return the roll-ups that a run affects, judged by the rows in the store."""
    attempts = (
        select(AttemptRow.id)
        .join(CellRow, CellRow.id == AttemptRow.cell_id)
        .where(CellRow.run_id == identity)
    )
    called = connection.execute(
        select(ToolCallRecord.tool_name, ToolCallRecord.created_at)
        .where(ToolCallRecord.session_id.in_(attempts))
        .distinct()
    ).all()
    corrected = connection.execute(
        select(CorrectionRecord.created_at).where(CorrectionRecord.id.in_(attempts))
    ).scalars()
    days = {moment.date() for _, moment in called} | {moment.date() for moment in corrected}
    return Reach(days, {tool for tool, _ in called})
