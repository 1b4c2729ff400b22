"""Tells whether a run folder holds the run that a store has under its id, or only claims its name.

The id is made of the run's time and its planned cells, because everything else changes while a run
goes on, is resumed or judged again. Anyone can name a run like that. So before its rows are
replaced, what happened in its cells must be what the store knows.
"""

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Connection, select

from pytest_autoweb.base.errors import SettingsError
from pytest_autoweb.results.runs.run_folder import RecordedRun
from pytest_autoweb.results.runs.side_files import read_side_files
from pytest_autoweb.store.table_rows import Rows
from pytest_autoweb.store.tables import AttemptRow, CellRow, RunRow, ToolCallRecord

_NO_VERDICT = ("broken", "skipped")
"""Outcomes of cells that a later session runs again."""


def refuse_other_run(connection: Connection, rows: Rows, run: RecordedRun) -> None:
    """Refuse rows that would replace those of another run.

    Args:
        connection: to the store.
        rows: the rows of the run.
        run: the run itself.

    Raises:
        SettingsError: the store's run of this id is another one.
    """
    identity = rows.run["id"]
    folder = connection.execute(select(RunRow.folder).where(RunRow.id == identity)).scalar()
    if folder is None:
        return
    known = {
        row.folder: row
        for row in connection.execute(select(CellRow).where(CellRow.run_id == identity))
    }
    fresh = {row["folder"]: row for row in rows.of_table[CellRow]}
    other = next(_differing(known, fresh, run), "") or _other_calls(connection, rows)
    if other:
        raise SettingsError(
            f"{run.folder} says that it is the run {run.info.ts}, which the store has from "
            f"{folder}, but something else happened in {other}; nothing was written. If the store "
            "is to have this one instead, say so with --replace"
        )


def _differing(known: dict[str, Any], fresh: dict[str, Any], run: RecordedRun) -> Iterator[str]:
    """Yield the folders of cells that ended before, and are now other ones."""
    rejudged = read_side_files(run.folder).rejudging
    judged_again = rejudged is not None and rejudged.ts == run.info.ts
    sessions = [_moment(session.started) for session in run.info.resumed]
    for folder, before in known.items():
        # Controls may be run again at any time.
        if before.control or before.outcome in _NO_VERDICT:
            continue
        now = fresh.get(folder)
        if now is None or not (
            _is_same(before, now, judged_again) or _ran_again(before, now, sessions)
        ):
            yield folder


def _is_same(before: Any, now: dict[str, Any], judged_again: bool) -> bool:
    """Tell whether a cell is the very one; judged again, it may have another outcome."""
    happened = ("case_id", "case_path", "model", "duration_ms")
    verdict = () if judged_again else ("outcome", "calls")
    return _moment(before.started_at) == _moment(now["started_at"]) and all(
        getattr(before, name) == now[name] for name in (*happened, *verdict)
    )


def _ran_again(before: Any, now: dict[str, Any], sessions: Sequence[float]) -> bool:
    """Tell whether a cell was run once more by a session that went on with the run."""
    began = _moment(now["started_at"])
    return began > _moment(before.started_at) and any(began >= start for start in sessions)


def _other_calls(connection: Connection, rows: Rows) -> str:
    """Return the folder of a cell in whose attempts other calls were made than the store knows."""
    cells = {row["id"]: row for row in rows.of_table[CellRow]}
    attempts = {row["id"]: cells[row["cell_id"]] for row in rows.of_table[AttemptRow]}
    began = {
        row.id: _moment(row.started_at)
        for row in connection.execute(
            select(CellRow.id, CellRow.started_at).where(CellRow.run_id == rows.run["id"])
        )
    }
    stored = connection.execute(
        select(
            ToolCallRecord.session_id, ToolCallRecord.tool_name, ToolCallRecord.execution_time_ms
        )
        .join(AttemptRow, AttemptRow.id == ToolCallRecord.session_id)
        .join(CellRow, CellRow.id == AttemptRow.cell_id)
        .where(CellRow.run_id == rows.run["id"])
    )
    known = _by_attempt(tuple(row) for row in stored)
    fresh = _by_attempt(
        (row["session_id"], row["tool_name"], row["execution_time_ms"])
        for row in rows.of_table[ToolCallRecord]
    )
    for attempt, cell in attempts.items():
        same_start = began.get(cell["id"]) == _moment(cell["started_at"])
        if attempt in known and same_start and known[attempt] != fresh.get(attempt):
            return str(cell["folder"])
    return ""


def _by_attempt(calls: Iterable[tuple[Any, ...]]) -> dict[str, list[tuple[Any, ...]]]:
    found: dict[str, list[tuple[Any, ...]]] = {}
    for attempt, *call in calls:
        found.setdefault(attempt, []).append(tuple(call))
    return {attempt: sorted(made) for attempt, made in found.items()}


def _moment(time: datetime) -> float:
    """Return a time as a number; those of SQLite have no time zone."""
    return (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()
