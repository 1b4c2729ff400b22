"""What `autoweb merge-reports` was given, and what is to be said of runs put together."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_autoweb.analysis.control_verdicts import is_control
from pytest_autoweb.errors import SettingsError
from pytest_autoweb.results import CellResult, PlannedCell
from pytest_autoweb.runs.blob import unpack
from pytest_autoweb.runs.run_folder import RecordedRun, is_run_folder, read_manifest, read_run
from pytest_autoweb.runs.saving import RUN_FILE


@dataclass(frozen=True, slots=True)
class MergeSource:
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

_OF_ONE_SHARD = {"shard", "blobs", "report", "stdout"}
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
        notes.append(f"{len(missing)} of {planned} cells have no result: {names}")
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
            f"{len(same)} cells were found more than once with the same outcome; the latest "
            f"counts: {_some(same)}"
        )
    if other:
        notes.append(
            f"{len(other)} cells were found more than once with different outcomes; the latest "
            f"counts: {_some(other)}"
        )
    return notes


def difference_notes(sources: Sequence[MergeSource], cells: Sequence[CellResult]) -> list[str]:
    """Return notes about differences that suggest the sources are not parts of one run."""
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
    """Return a short name for a cell."""
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
    """Return notes about cells whose case, checks, prompts or captures are different versions."""
    versions: dict[tuple[str, ...], set[str]] = {}
    for cell in cells:
        for name in ("case", "checks"):
            _note(versions, cell, (name, cell.case_id, cell.case_path))
        if not is_control(cell.model):
            for name in ("prompts", "capture"):
                _note(versions, cell, (name, cell.model, cell.capture_mode))
    several = [key for key, sums in versions.items() if len(sums) > 1]
    cases = dict.fromkeys(key[1] for key in several if key[0] in ("case", "checks"))
    models = dict.fromkeys(key[1] for key in several if key[0] in ("prompts", "capture"))
    notes = []
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
