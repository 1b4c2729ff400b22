"""The writing of runs into a store from their folders, which can be repeated at any time."""

import datetime as dt
from pathlib import Path
from typing import NamedTuple

from sqlalchemy import Connection, delete, insert, select

from pytest_autoweb.errors import SettingsError
from pytest_autoweb.report.run_folder import RecordedRun, is_run_folder, read_manifest, read_run
from pytest_autoweb.saving import Manifest
from pytest_autoweb.store.opening import Store
from pytest_autoweb.store.rollup import roll_up
from pytest_autoweb.store.rows import Rows, rows_of, run_id
from pytest_autoweb.store.tables import (
    AttemptRow,
    CellRow,
    CorrectionRecord,
    RunRow,
    ToolCallRecord,
)


class SyncResult(NamedTuple):
    """The id of the run that was written, and how many rows it has."""

    run_id: str
    cells: int
    tool_calls: int


def sync_run(store: Store, folder: Path) -> SyncResult:
    """Write a run in one transaction, replacing what the store had of it.

    Raises:
        SettingsError: the folder is not a run folder, or holds only a shard of a run.
        StoreError: the store cannot be written; nothing in it has changed.
    """
    rows = read_rows(folder)
    with store.write() as connection:
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


def read_rows(folder: Path) -> Rows:
    """Return the rows of a run folder.

    Raises:
        SettingsError: the folder is not a run folder, or holds only a shard of a run.
    """
    if not is_run_folder(folder):
        raise SettingsError(f"{folder} is not a run folder: it has neither cells nor a manifest")
    run = read_run(folder)
    if run.info.shard is not None:
        raise SettingsError(
            f"{folder} is shard {run.info.shard[0]} of {run.info.shard[1]}; merge the shards "
            "first (`autoweb merge-reports`), so that the store counts no cell twice"
        )
    return rows_of(run, _identity(read_manifest(folder), run))


def identify(folder: Path) -> str | None:
    """Return the id of the run in a folder, or None if there is no run."""
    if not is_run_folder(folder):
        return None
    manifest = read_manifest(folder)
    return _identity(manifest, None if manifest.ts and manifest.cells else read_run(folder))


def _identity(manifest: Manifest, run: RecordedRun | None) -> str:
    """Return the run's id from its manifest, or from the whole run where that is incomplete."""
    ts, cells = manifest.ts, tuple(cell.folder for cell in manifest.cells)
    if run is not None:
        ts = ts or run.info.ts
        # Controls that were run later lie outside of `cells/` and must not change the id.
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
