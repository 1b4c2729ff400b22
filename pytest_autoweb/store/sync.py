"""Writes runs into a store from their folders, and removes old runs."""

import datetime as dt
from pathlib import Path
from typing import NamedTuple

from sqlalchemy import delete, insert, select

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
from pytest_autoweb.store.roll_ups import Reach, count_run, reach_of, roll_up
from pytest_autoweb.store.same_run import refuse_other_run
from pytest_autoweb.store.table_rows import rows_of, run_id
from pytest_autoweb.store.tables import CachedCall, CellRow, RunRow, ToolCallRecord


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
            roll_up(connection, reach)
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
        count_run(connection, rows.run["id"])
        after = reach_of(connection, rows.run["id"])
        roll_up(connection, Reach(before.days | after.days, before.tools | after.tools))
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
