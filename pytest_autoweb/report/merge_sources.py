"""The inputs of `autoweb merge-reports`: packed reports and run folders."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from pytest_autoweb.errors import SettingsError
from pytest_autoweb.report.blob import unpack
from pytest_autoweb.report.run_folder import RecordedRun, is_run_folder, read_manifest, read_run
from pytest_autoweb.results import PlannedCell
from pytest_autoweb.saving import RUN_FILE


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
