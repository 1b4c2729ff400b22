"""Merges several shards or runs into one run folder, with the report of a single run."""

import os
import re
import tempfile
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

from msgspec import Struct

from pytest_autoweb.base.errors import SettingsError
from pytest_autoweb.report.json_report import Report
from pytest_autoweb.report.wording import count_of
from pytest_autoweb.report.write import write_report
from pytest_autoweb.results.analysis.controls import is_control
from pytest_autoweb.results.records import CellResult, PlannedCell, RunInfo
from pytest_autoweb.results.runs.inert_copies import copy_inert
from pytest_autoweb.results.runs.run_folder import (
    CONTROLS_FOLDER,
    NOT_RUN,
    RecordedRun,
    is_run_folder,
    read_manifest,
    read_run,
)
from pytest_autoweb.results.runs.saving import (
    RUN_FILE,
    cell_folder,
    fresh_run_folder,
    json_text,
    save_manifest,
    save_run_info,
    unpack,
    write_text_atomic,
)
from pytest_autoweb.results.runs.side_files import MERGE_FILE, MergedSource, MergeInfo
from pytest_autoweb.settings.agent_command import COMMAND


class MergeSource(Struct, frozen=True):
    """One run, or one shard of it."""

    name: str
    """The name in messages: the number of the shard, or else the name of the file or folder."""
    run: RecordedRun
    whole: tuple[PlannedCell, ...]
    """All cells of the whole run, including those of other shards."""
    known: bool
    """Whether it has a `run.json`; otherwise settings and exit status are unknown."""


def find_inputs(paths: Sequence[Path]) -> tuple[Path, ...]:
    """Return the zip files and run folders at the paths, or up to two levels below them.

    Raises:
        SettingsError: a path does not exist, or contains nothing to merge.
    """
    found: dict[Path, Path] = {}
    for path in paths:
        if not path.exists():
            raise SettingsError(f"there is no {path}")
        inside = tuple(_inputs_at(path, depth=2))
        if not inside:
            raise SettingsError(f"{path} holds neither packed reports (*.zip) nor run folders")
        found |= {one.resolve(): one for one in inside}
    return tuple(found.values())


def read_sources(inputs: Iterable[Path], scratch: Path) -> list[MergeSource]:
    """Read all inputs, oldest first, unpacking the packed ones below `scratch`.

    Raises:
        SettingsError: a packed report is broken or cannot be trusted.
    """
    sources = []
    for number, path in enumerate(inputs):
        folder = path
        if path.is_file():
            folder = scratch / str(number)
            unpack(path, folder)
        sources.append(_read(path.name, folder))
    return sorted(sources, key=lambda s: (s.run.info.started, s.run.info.shard or (0, 0), s.name))


def _inputs_at(path: Path, depth: int) -> Iterator[Path]:
    if path.is_file() or is_run_folder(path):
        yield path
    elif depth:
        for inner in sorted(path.iterdir()):
            if inner.is_dir() or inner.suffix == ".zip":
                yield from _inputs_at(inner, depth - 1)


def _read(name: str, folder: Path) -> MergeSource:
    run, manifest = read_run(folder), read_manifest(folder)
    shard = run.info.shard
    return MergeSource(
        name=f"shard {shard[0]} of {shard[1]}" if shard else name,
        run=run,
        whole=manifest.whole or manifest.cells,
        known=(folder / RUN_FILE).is_file(),
    )


NAMED = 5
"""The number of cells that a note names; the others are only counted."""

_OF_ONE_SHARD = {"shard", "blobs", "report", "resume", "stdout"}
"""Settings whose differences do not affect the results."""


def missing_notes(
    sources: Sequence[MergeSource], missing: Sequence[PlannedCell], planned: int
) -> list[str]:
    """Return notes about missing shards and about cells without a result."""
    notes = []
    shards = [source.run.info.shard for source in sources if source.run.info.shard]
    counts = sorted({of for _, of in shards})
    if len(counts) > 1:
        notes.append(f"the shards come from different splits: into {_and(map(str, counts))}")
    elif counts:
        absent = sorted(set(range(1, counts[0] + 1)) - {number for number, _ in shards})
        notes += [f"shard {number} of {counts[0]} is missing" for number in absent]
    if missing:
        names = _some([cell_label(cell) for cell in missing])
        notes.append(f"{len(missing)} of {count_of(planned, 'cell')} without a result: {names}")
    return notes


def duplicate_notes(found: Iterable[tuple[CellResult, Sequence[CellResult]]]) -> list[str]:
    """Return notes about cells with several results.

    Args:
        found: the result that is kept and the others, for each of these cells.
    """
    same, other = [], []
    for kept, rest in found:
        outcomes = {cell.outcome for cell in rest} - {kept.outcome}
        if outcomes:
            other.append(f"{cell_label(kept)} ({_and(sorted(outcomes))}, now {kept.outcome})")
        else:
            same.append(cell_label(kept))
    notes = []
    if same:
        notes.append(
            f"{count_of(len(same), 'cell')} found more than once with the same outcome; the latest "
            f"counts: {_some(same)}"
        )
    if other:
        notes.append(
            f"{count_of(len(other), 'cell')} found more than once with different outcomes; the "
            f"latest counts: {_some(other)}"
        )
    return notes


def difference_notes(sources: Sequence[MergeSource], cells: Sequence[CellResult]) -> list[str]:
    """Return notes about differences suggesting that the sources are not parts of one run."""
    notes = [
        f"{source.name} left no run.json: its settings and exit status are unknown"
        for source in sources
        if not source.known
    ]
    known = [source.run.info for source in sources if source.known]
    settings = [{k: _value(v) for k, v in info.settings.items()} for info in known]
    notes += _differing("settings", settings, _OF_ONE_SHARD)
    notes += _differing("environments", [info.environment for info in known], ())
    if len({frozenset(_keys(source.whole)) for source in sources if _is_part(source)}) > 1:
        notes.append("the shards were collected from different sets of cells")
    return notes + _checksum_notes(cells)


def cell_label(cell: PlannedCell) -> str:
    repeat = f" repeat {cell.repeat}" if cell.repeat > 1 else ""
    return f"{cell.case_id} on {cell.model} {cell.capture_mode}{repeat}"


def _is_part(source: MergeSource) -> bool:
    return source.run.info.shard is not None


def _keys(cells: Iterable[PlannedCell]) -> Iterable[tuple[Any, ...]]:
    return ((c.case_path, c.case_id, c.model, c.capture_mode, c.repeat) for c in cells)


def _value(setting: Any) -> Any:
    return setting.get("value") if isinstance(setting, dict) else setting


def _differing(what: str, tables: Sequence[dict[str, Any]], ignored: Collection[str]) -> list[str]:
    names = dict.fromkeys(name for table in tables for name in table if name not in ignored)
    found = []
    for name in names:
        values = dict.fromkeys(_shown(table.get(name)) for table in tables)
        if len(values) > 1:
            found.append(f"{name} ({_and(values)})")
    return [f"the {what} differ: {'; '.join(found)}"] if found else []


def _shown(value: Any) -> str:
    if isinstance(value, list | tuple):
        return ",".join(map(str, value))
    return "none" if value in (None, "") else str(value)


def _checksum_notes(cells: Sequence[CellResult]) -> list[str]:
    """Return notes about cells whose case, checks, prompts or agents are different versions."""
    versions: dict[tuple[str, ...], set[str]] = {}
    for cell in cells:
        for name in ("case", "checks"):
            _note(versions, cell, (name, cell.case_id, cell.case_path))
        if not is_control(cell.model):
            for name in ("prompts", "capture"):
                _note(versions, cell, (name, cell.model, cell.capture_mode))
        # Programs that cases name themselves may differ from case to case.
        if cell.agent and cell.agent.name != COMMAND:
            _note(versions, cell, ("agent", cell.model))
    several = [key for key, sums in versions.items() if len(sums) > 1]
    cases = dict.fromkeys(key[1] for key in several if key[0] in ("case", "checks"))
    models = dict.fromkeys(key[1] for key in several if key[0] in ("prompts", "capture"))
    driven = dict.fromkeys(key[1] for key in several if key[0] == "agent")
    notes = []
    if driven:
        notes.append(f"cells of one model had different versions of its agent: {_some([*driven])}")
    if cases:
        notes.append(f"cells of one case ran on different versions of it: {_some(list(cases))}")
    if models:
        notes.append(f"cells of one model got different prompts: {_some(list(models))}")
    return notes


def _note(
    versions: dict[tuple[str, ...], set[str]], cell: CellResult, key: tuple[str, ...]
) -> None:
    if checksum := cell.checksums.get(key[0]):
        versions.setdefault(key, set()).add(checksum)


def _some(names: Sequence[str]) -> str:
    more = len(names) - NAMED
    return ", ".join(names[:NAMED]) + (f" and {more} more" if more > 0 else "")


def _and(names: Iterable[str]) -> str:
    return " / ".join(names)


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
        copy_inert(source.run.folder / cell.folder, folder / parts.folders[key])
    save_manifest(
        folder,
        (cell.model_copy(update={"folder": parts.folders[_key(cell)]}) for cell in parts.planned),
        ts=sources[0].run.info.ts,
    )
    save_run_info(folder, _run_info(sources))
    merged = MergeInfo(sources=tuple(map(_record, sources)), notes=parts.notes)
    write_text_atomic(folder / MERGE_FILE, json_text(merged))


def _run_info(sources: Sequence[MergeSource]) -> RunInfo:
    infos = [source.run.info for source in sources]
    first = infos[0]
    return RunInfo(
        ts=first.ts,
        started=first.started,
        # Shards run in parallel, so the wait is that of the longest one.
        duration_s=max(info.duration_s for info in infos),
        exit_status=_exit_status([info.exit_status for info in infos]),
        models=tuple(dict.fromkeys(model for info in infos for model in info.models)),
        capture_modes=tuple(dict.fromkeys(mode for info in infos for mode in info.capture_modes)),
        settings=_settings(infos),
        model_settings=tuple(
            {about.model: about for info in infos for about in info.model_settings}.values()
        ),
        environment=_environment(infos),
        workers=max(info.workers for info in infos),
        interrupted=any(info.interrupted for info in infos),
        selection=next((info.selection for info in infos if info.selection), ""),
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
