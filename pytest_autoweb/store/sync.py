"""Writes runs into a store from their folders, as often as one likes."""

import datetime as dt
from pathlib import Path
from typing import NamedTuple

from sqlalchemy import Connection, delete, insert, select

from pytest_autoweb.errors import SettingsError
from pytest_autoweb.report.run_folder import is_run_folder, read_manifest, read_run
from pytest_autoweb.results import CellResult
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


class Written(NamedTuple):
    """What a sync wrote."""

    run_id: str
    cells: int
    tool_calls: int


def sync_run(store: Store, folder: Path) -> Written:
    """Write a run; what the store knew of it is replaced, all or nothing.

    Raises:
        SettingsError: the folder is no run, or only a shard of one.
        StoreError: the store cannot be written; it is as it was.
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
    return Written(rows.run["id"], len(rows.of_table[CellRow]), len(calls))


def read_rows(folder: Path) -> Rows:
    """The rows of a run folder.

    Raises:
        SettingsError: the folder is no run, or only a shard of one.
    """
    if not is_run_folder(folder):
        raise SettingsError(f"{folder} is no run folder: it holds neither cells nor manifest")
    run = read_run(folder)
    if run.info.shard is not None:
        raise SettingsError(
            f"{folder} is shard {run.info.shard[0]} of {run.info.shard[1]}; a store takes the "
            "whole run (`autoweb merge-reports`), so that no cell counts twice"
        )
    manifest = read_manifest(folder)
    planned = [cell.folder for cell in manifest.cells] or _own_folders(run.cells)
    return rows_of(run, run_id(manifest.ts or run.info.ts, planned))


def _own_folders(cells: tuple[CellResult, ...]) -> list[str]:
    """Without the controls that were run later."""
    return [cell.folder for cell in cells if cell.folder.startswith("cells/")]


class Reach(NamedTuple):
    """The roll-ups that a run has a part in."""

    days: set[dt.date]
    tools: set[str]


def reach_of(connection: Connection, identity: str) -> Reach:
    """What a run has a part in, as the store knows it."""
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
