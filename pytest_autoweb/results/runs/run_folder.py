"""Reads a run back from its folder: every planned cell appears, whatever its outcome."""

import gc
import json
import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import Any, TypeVar

from msgspec import Struct
from pydantic import BaseModel, ValidationError

from pytest_autoweb.base.errors import SettingsError
from pytest_autoweb.results.analysis.controls import is_control, with_later_controls
from pytest_autoweb.results.analysis.stopped_early import left_out_notes
from pytest_autoweb.results.records import (
    CELL_VERSION,
    CellResult,
    Failure,
    FailureKind,
    Outcome,
    PlannedCell,
    Resumption,
    RunInfo,
)
from pytest_autoweb.results.records.record import VARIANT_NAME
from pytest_autoweb.results.runs.runs_again import again_notes
from pytest_autoweb.results.runs.saving import (
    CELL_FILE,
    MANIFEST_FILE,
    RUN_FILE,
    STARTED_FILE,
    Manifest,
)
from pytest_autoweb.results.runs.side_files import MERGE_FILE, MergeInfo
from pytest_autoweb.results.runs.steering import orders, steering_notes

_DOOM_CHARS = 200
KILLED = "no result was saved: the test process died while running this cell, or the disk was full"
NOT_RUN = "not run (interrupted or deselected later)"
SANDBOX_OFF = "--autoweb-sandbox=off: generated code ran without kernel walls and audit hook"
CONTROLS_FOLDER = "controls"
"""The folder of an `autoweb prove --quick` run, inside the run folder that it checks."""

Model = TypeVar("Model", bound=BaseModel)
Take = Callable[[CellResult], CellResult]
"""Receives each cell as it is read, and returns the part to keep."""


class RecordedRun(Struct, frozen=True):
    """A run as it was read from its folder."""

    folder: Path
    info: RunInfo
    cells: tuple[CellResult, ...]
    """The cells in the manifest's order, then those missing from it, sorted; controls run later
    replace the run's own."""
    notes: tuple[str, ...] = ()
    """Notes on unreadable and unsafe content."""


class _Unreadable(Exception):
    """Raised when a saved file cannot be read; the message gives the reason."""


@contextmanager
def collector_paused() -> Iterator[None]:
    """Pause the garbage collector, which would scan a whole run many times and free nothing.

    It takes half of the time of reading and counting ten thousand cells.
    """
    running = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if running:
            gc.enable()


def is_run_folder(folder: Path) -> bool:
    return (folder / MANIFEST_FILE).is_file() or (folder / "cells").is_dir()


def refuse_other_folders(folder: Path) -> None:
    """Refuse a folder that holds no run.

    Raises:
        SettingsError: it has neither cells nor a manifest.
    """
    if not folder.exists():
        raise SettingsError(
            f"there is no run in {folder}, because there is no such folder; `pytest "
            "--autoweb-models=NAME` leaves its run in autoweb-report"
        )
    if not is_run_folder(folder):
        raise SettingsError(f"{folder} is not a run folder: it has neither cells nor a manifest")


def read_exit_status(folder: Path) -> int | None:
    """Return how the run's last session ended; None if it goes on, was killed, or is unknown."""
    info = _read_info(folder, [])
    return info.exit_status if info else None


def read_run(folder: Path, take: Take = lambda cell: cell) -> RecordedRun:
    """Read a run folder.

    A planned cell without a result is `broken` if it had started, because then its process died,
    and `skipped` if not. A result that cannot be read is `broken`. Without a manifest, only cells
    with a folder are known.

    Args:
        folder: the run folder.
        take: receives each cell once, in reading order. For large runs, pass one that drops the
            evidence, because that of ten thousand cells does not fit into memory.
    """
    notes: list[str] = []
    info = _read_info(folder, notes)
    began = info.started if info else datetime.now(UTC)
    own = tuple(map(take, _read_cells(folder, began, notes)))
    notes += _merge_notes(folder)
    notes += map(_resumption_note, info.resumed if info else ())
    given = orders(folder)
    notes += steering_notes(given)
    notes += again_notes(own, given)
    notes += left_out_notes(own)
    if info and info.settings.get("sandbox", {}).get("value") == "off":
        notes.append(SANDBOX_OFF)
    later = map(take, _later_controls(folder / CONTROLS_FOLDER, began, notes))
    cells = with_later_controls(own, tuple(later))
    return RecordedRun(folder, info or _info_from(cells, began), cells, tuple(notes))


def _later_controls(folder: Path, began: datetime, notes: list[str]) -> Iterator[CellResult]:
    for cell in _read_cells(folder, began, notes):
        if is_control(cell.model):
            yield cell.model_copy(update={"folder": f"{CONTROLS_FOLDER}/{cell.folder}"})


def _read_cells(folder: Path, began: datetime, notes: list[str]) -> Iterator[CellResult]:
    planned = _placed(_read_manifest(folder, notes).cells)
    known = {cell.folder for cell in planned}
    for cell in planned:
        yield _cell_of_plan(folder, cell.folder, cell, began)
    strangers = [
        _cell_without_plan(folder, where, began) for where in _strange_folders(folder, known)
    ]
    strangers.sort(key=lambda c: (c.case_path, c.case_id, c.model, c.capture_mode, c.repeat))
    yield from strangers


def size_of_cells(folder: Path) -> int:
    """Return the total size of all saved results of a run folder, without reading any."""
    files = (folder / where / CELL_FILE for where in _folders_of_cells(folder))
    return sum(file.stat().st_size for file in files if file.is_file())


def _resumption_note(session: Resumption) -> str:
    ran = []
    for why, count in session.ran.items():
        names = session.some.get(why, ())
        more = ", …" if count > len(names) else ""
        ran.append(f"{count} ({why}{': ' + ', '.join(names) + more if names else ''})")
    when = f"{session.started.astimezone():%Y-%m-%d %H:%M}"
    return f"resumed on {when}: kept the results of {session.kept}, ran {', '.join(ran) or 'none'}"


def _merge_notes(folder: Path) -> tuple[str, ...]:
    """Return the notes that `autoweb run merge` made about the runs behind this one."""
    path = folder / MERGE_FILE
    try:
        return _load(path, MergeInfo).notes if path.is_file() else ()
    except _Unreadable as error:
        return (f"{MERGE_FILE} cannot be read ({error}); what was merged is unknown",)


def read_manifest(folder: Path) -> Manifest:
    """Read the manifest, which is empty if the file is missing or cannot be read."""
    manifest = _read_manifest(folder, [])
    cells, whole = _placed(manifest.cells), _placed(manifest.whole)
    return Manifest(cells=cells, whole=whole, ts=manifest.ts)


def _placed(cells: tuple[PlannedCell, ...]) -> tuple[PlannedCell, ...]:
    return tuple(cell.model_copy(update={"folder": _inside(cell.folder)}) for cell in cells)


def _read_manifest(folder: Path, notes: list[str]) -> Manifest:
    path = folder / MANIFEST_FILE
    if not path.is_file():
        return Manifest(cells=())
    try:
        return _load(path, Manifest)
    except _Unreadable as error:
        notes.append(f"{MANIFEST_FILE} cannot be read ({error}); cells that never ran are missing")
        return Manifest(cells=())


def _read_info(folder: Path, notes: list[str]) -> RunInfo | None:
    path = folder / RUN_FILE
    try:
        return _load(path, RunInfo)
    except _Unreadable as error:
        if path.exists() or (folder / "cells").is_dir():
            notes.append(f"{RUN_FILE} cannot be read ({error}); settings and environment unknown")
        return None


def _load(path: Path, model: type[Model]) -> Model:
    try:
        return model.model_validate_json(path.read_bytes())
    except OSError as error:
        raise _Unreadable(error.strerror or str(error)) from error
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        raise _Unreadable(f"{where}: {first['msg']}" if where else first["msg"]) from error


def _inside(folder: str) -> str:
    """Return the folder as a plain relative path, or a substitute if it leads out of the run."""
    path = PurePosixPath(folder.replace("\\", "/"))
    if path.is_absolute() or ".." in path.parts:
        return f"cells/(refused)/{'-'.join(p for p in path.parts if p.isalnum())}"
    return str(path)


def _strange_folders(folder: Path, known: set[str]) -> list[str]:
    """Return unplanned folders that hold a result or a start marker."""
    return sorted(
        where
        for where in _folders_of_cells(folder)
        if where not in known
        and any((folder / where / name).exists() for name in (CELL_FILE, STARTED_FILE))
    )


def _folders_of_cells(folder: Path, where: str = "cells", depth: int = 3) -> Iterator[str]:
    """Yield the folders `cells/*/*/*`, without inspecting them."""
    if depth == 0:
        yield where
        return
    try:
        with os.scandir(folder / where) as found:
            inner = [entry.name for entry in found if entry.is_dir()]
    except OSError:
        return
    for name in inner:
        yield from _folders_of_cells(folder, f"{where}/{name}", depth - 1)


def _cell_of_plan(root: Path, where: str, plan: PlannedCell, began: datetime) -> CellResult:
    result = saved_cell(root, where)
    if isinstance(result, CellResult):
        return result
    return CellResult(
        **plan.model_dump(exclude={"folder"}),
        folder=where,
        started=_begun_at(root / where) or began,
        **_what_is_known(root / where, result),
    )


def _cell_without_plan(root: Path, where: str, began: datetime) -> CellResult:
    result = saved_cell(root, where)
    if isinstance(result, CellResult):
        return result
    _, case_id, model, run = PurePosixPath(where).parts
    mode, _, repeat = run.rpartition("-")
    return CellResult(
        case_id=case_id,
        case_path="",
        entry_url="",
        user_task="",
        model=model,
        capture_mode=mode if re.fullmatch(VARIANT_NAME, mode) else "ARIA_SNAPSHOT",
        repeat=int(repeat) if repeat.isdecimal() else 1,
        folder=where,
        started=_begun_at(root / where) or began,
        **_what_is_known(root / where, result),
    )


def saved_cell(root: Path, where: str) -> CellResult | str:
    """Return the saved result, or the reason why there is none; empty if there is no file.

    Args:
        root: the run folder.
        where: the cell's folder in it.
    """
    path = root / where / CELL_FILE
    if not path.is_file():
        return ""
    try:
        cell = _load(path, CellResult)
    except _Unreadable as error:
        # Records refuse fields that they do not know, so a result of a newer version looks damaged
        # until its version is read.
        newer = _saved_version(path)
        if newer is not None and newer > CELL_VERSION:
            return f"written by a newer version of pytest-autoweb (cell version {newer})"
        return f"its saved result cannot be read: {error}"
    return cell.model_copy(update={"folder": where})


def _saved_version(path: Path) -> int | None:
    try:
        content = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return None
    version = content.get("version") if isinstance(content, dict) else None
    return version if isinstance(version, int) else None


def _what_is_known(folder: Path, unreadable: str) -> dict[str, Any]:
    """Return outcome, reason and failure of a cell without a readable result."""
    if unreadable:
        return _ended("broken", unreadable, "internal")
    if (folder / STARTED_FILE).exists():
        return _ended("broken", _doom(folder / STARTED_FILE) or KILLED, "killed")
    return _ended("skipped", NOT_RUN)


def _doom(path: Path) -> str:
    """Return the announced cause of the end of the cell's process, or ""."""
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            return " ".join(file.read(_DOOM_CHARS).split())
    except OSError:
        return ""


def _ended(outcome: Outcome, reason: str, kind: FailureKind | None = None) -> dict[str, Any]:
    failure = Failure(kind=kind, message=reason) if kind else None
    return {"outcome": outcome, "reason": reason, "failure": failure}


def _begun_at(folder: Path) -> datetime | None:
    try:
        return datetime.fromtimestamp((folder / STARTED_FILE).stat().st_mtime, UTC)
    except OSError:
        return None


def _info_from(cells: tuple[CellResult, ...], began: datetime) -> RunInfo:
    """Return the run's facts as far as its cells reveal them, in case `run.json` is missing."""
    # Times with and without a time zone cannot be compared directly.
    started = min((cell.started for cell in cells), key=datetime.timestamp, default=began)
    return RunInfo(
        ts=f"{started:%Y%m%d_%H%M%S}_{started.microsecond // 1000:03d}",
        started=started,
        models=tuple(dict.fromkeys(cell.model for cell in cells)),
        capture_modes=tuple(dict.fromkeys(cell.capture_mode for cell in cells)),
    )
