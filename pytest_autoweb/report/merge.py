"""The merging of shards or runs into one run folder, with the report that one run would have."""

import os
import re
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

from pytest_autoweb.errors import SettingsError
from pytest_autoweb.report.json_report import Report
from pytest_autoweb.report.merge_inputs import (
    MergeSource,
    difference_notes,
    duplicate_notes,
    find_inputs,
    missing_notes,
    read_sources,
)
from pytest_autoweb.report.write import write_report
from pytest_autoweb.results import CellResult, PlannedCell, RunInfo
from pytest_autoweb.runs.blob import files_below
from pytest_autoweb.runs.run_folder import (
    CONTROLS_FOLDER,
    MERGE_FILE,
    NOT_RUN,
    MergedSource,
    MergeInfo,
)
from pytest_autoweb.runs.saving import (
    cell_folder,
    fresh_run_folder,
    json_text,
    save_manifest,
    save_run_info,
    write_text_atomic,
)

_EXIT_CODES = (3, 4, 2, 1, 0, 5)
"""pytest's exit codes; the first of them that a source has becomes that of the merged run."""


_OF_A_CELL = re.compile(r"cells(/[A-Za-z0-9_-][A-Za-z0-9._-]*){3}")


class Merged(NamedTuple):
    """The result of a merge."""

    report: Report
    notes: tuple[str, ...]
    missing: int
    """The number of cells without a result."""


class _Key(NamedTuple):
    """The fields by which two results belong to the same cell."""

    case_path: str
    case_id: str
    model: str
    capture_mode: str
    repeat: int
    folder: str
    """The cell's folder, which distinguishes cells that were run from Python tests."""


class _Found(NamedTuple):
    source: MergeSource
    cell: CellResult


class _Parts(NamedTuple):
    """The cells of all sources, each with the one result that counts."""

    planned: tuple[PlannedCell, ...]
    kept: dict[_Key, _Found]
    folders: dict[_Key, str]
    """The folder of each cell in the merged run folder."""
    notes: tuple[str, ...]
    missing: int


def merge_reports(paths: Sequence[Path], output: Path, *, max_chars: int) -> Merged:
    """Merge packed reports and run folders into a run folder at `output`.

    An earlier run at `output` is renamed. Nothing there changes before everything has been read,
    copied and reported.

    Raises:
        SettingsError: a path names nothing to merge, or a packed report is broken or refused.
        AutowebError: the result cannot be written.
    """
    inputs = find_inputs(paths)
    if any(path.is_dir() and _holds(output, path) for path in inputs):
        raise SettingsError(f"{output} is one of the runs to merge; choose another --output")
    output.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{output.name}.", dir=output.parent) as scratch:
        sources = read_sources(inputs, Path(scratch))
        parts = _put_together(sources)
        built = Path(scratch, f"merged-{os.getpid()}")
        _write(built, sources, parts)
        report = write_report(built, max_chars=max_chars)
        fresh_run_folder(output).rmdir()
        built.rename(output)
    return Merged(report, parts.notes, parts.missing)


def _holds(folder: Path, path: Path) -> bool:
    return path.resolve().is_relative_to(folder.resolve())


def _put_together(sources: Sequence[MergeSource]) -> _Parts:
    planned = {_key(cell): cell for source in sources for cell in source.whole}
    found: dict[_Key, list[_Found]] = {}
    for source in sources:
        for cell in source.run.cells:
            found.setdefault(_key(cell), []).append(_Found(source, cell))
    kept = {key: max(results, key=_weight) for key, results in found.items()}
    missing = [
        cell for key, cell in planned.items() if key not in kept or not _weight(kept[key])[0]
    ]
    twice = [
        (kept[key].cell, [one.cell for one in results if one is not kept[key]])
        for key, results in found.items()
        if len(results) > 1
    ]
    notes = [
        *missing_notes(sources, missing, len(planned)),
        *duplicate_notes(twice),
        *difference_notes(sources, [one.cell for one in kept.values()]),
        *(f"{source.name}: {note}" for source in sources for note in source.run.notes),
    ]
    folders = _folders((*planned, *(key for key in kept if key not in planned)))
    return _Parts(tuple(planned.values()), kept, folders, tuple(notes), len(missing))


def _key(cell: PlannedCell) -> _Key:
    folder = cell.folder.removeprefix(f"{CONTROLS_FOLDER}/")
    return _Key(cell.case_path, cell.case_id, cell.model, cell.capture_mode, cell.repeat, folder)


def _weight(found: _Found) -> tuple[int, float]:
    """Return the sort key by which a result counts: finished before killed, then the latest."""
    cell = found.cell
    if cell.outcome == "skipped" and cell.reason == NOT_RUN:
        return 0, 0.0
    killed = cell.failure is not None and cell.failure.kind == "killed"
    return 1 if killed else 2, cell.started.timestamp()


def _folders(keys: Sequence[_Key]) -> dict[_Key, str]:
    """Return a folder for each cell: its own, unless that is taken or not a valid cell folder."""
    taken: dict[str, _Key] = {}
    for key in keys:
        free = (folder for folder in _candidates(key) if folder not in taken)
        taken[next(free)] = key
    return {key: folder for folder, key in taken.items()}


def _candidates(key: _Key) -> Iterator[str]:
    if _OF_A_CELL.fullmatch(key.folder):
        yield key.folder
    for number in count(1):
        name = f"{key.case_id}@{key.case_path}@{number}"
        yield cell_folder(name, key.model, key.capture_mode, key.repeat)


def _write(folder: Path, sources: Sequence[MergeSource], parts: _Parts) -> None:
    for key, (source, cell) in parts.kept.items():
        _copy(source.run.folder / cell.folder, folder / parts.folders[key])
    save_manifest(
        folder,
        (cell.model_copy(update={"folder": parts.folders[_key(cell)]}) for cell in parts.planned),
        ts=sources[0].run.info.ts,
    )
    save_run_info(folder, _run_info(sources))
    merged = MergeInfo(sources=tuple(map(_record, sources)), notes=parts.notes)
    write_text_atomic(folder / MERGE_FILE, json_text(merged))


def _copy(source: Path, target: Path) -> None:
    for path in files_below(source):
        copy = target / path.relative_to(source)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(path, copy)


def _run_info(sources: Sequence[MergeSource]) -> RunInfo:
    infos = [source.run.info for source in sources]
    first = infos[0]
    return RunInfo(
        ts=first.ts,
        started=first.started,
        # Shards run at the same time, so the longest one is how long people wait.
        duration_s=max(info.duration_s for info in infos),
        exit_status=_exit_status([info.exit_status for info in infos]),
        models=tuple(dict.fromkeys(model for info in infos for model in info.models)),
        capture_modes=tuple(dict.fromkeys(mode for info in infos for mode in info.capture_modes)),
        settings=_settings(infos),
        environment=_environment(infos),
        workers=max(info.workers for info in infos),
        interrupted=any(info.interrupted for info in infos),
    )


def _exit_status(codes: Sequence[int | None]) -> int | None:
    if any(code not in _EXIT_CODES for code in codes):
        return None
    return next(code for code in _EXIT_CODES if code in codes)


def _settings(infos: Sequence[RunInfo]) -> dict[str, Any]:
    settings = next((info.settings for info in infos if info.settings), {})
    if "shard" in settings:
        settings = {**settings, "shard": {"value": None, "source": "default"}}
    return settings


def _environment(infos: Sequence[RunInfo]) -> dict[str, str]:
    names = dict.fromkeys(name for info in infos for name in info.environment)
    return {
        name: " / ".join(dict.fromkeys(i.environment[name] for i in infos if name in i.environment))
        for name in names
    }


def _record(source: MergeSource) -> MergedSource:
    info = source.run.info
    return MergedSource(
        name=source.name,
        ts=info.ts,
        shard=info.shard,
        started=info.started,
        duration_s=info.duration_s,
        workers=info.workers,
        cells=len(source.run.cells),
    )
