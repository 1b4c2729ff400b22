"""Reads a benchmark that was received, and compares it and its runs with its own manifest.

None of it is run for that.
"""

import json
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from hashlib import sha256
from importlib import metadata
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from pydantic import ValidationError

from pytest_autoweb.base.errors import SettingsError, WebServerError, first_line
from pytest_autoweb.cases.static_folder import static_folder
from pytest_autoweb.results.records import CellResult
from pytest_autoweb.tools.publishing.benchmark_files import (
    MANIFEST_NAME,
    MOST_BYTES,
    MOST_FILES,
    SCHEMA_VERSION,
    BenchmarkManifest,
    digest_of,
    folder_digest,
)

_MANIFEST_BYTES = 50_000_000
_MADE_BY_RUNS = {"autoweb-report", "__pycache__", "node_modules"}


class Difference(NamedTuple):
    """One deviation from the manifest."""

    what: str
    """`changed`, `missing`, `added`, or another problem."""
    where: str


@contextmanager
def _opened(place: Path) -> Iterator[tuple[dict[str, int], Callable[[str], bytes]]]:
    """Yield the sizes of all files of a benchmark, and a function that reads one."""
    if place.is_dir():
        sizes = {
            file.relative_to(place).as_posix(): file.stat().st_size
            for file in place.rglob("*")
            if file.is_file() and not _comes_later(file.relative_to(place))
        }
        yield sizes, lambda path: (place / path).read_bytes()
        return
    try:
        with zipfile.ZipFile(place) as archive:
            entries = [entry for entry in archive.infolist() if not entry.is_dir()]
            _refuse_bombs(place, entries)
            yield {entry.filename: entry.file_size for entry in entries}, archive.read
    except (OSError, zipfile.BadZipFile, NotImplementedError, RuntimeError) as error:
        raise SettingsError(f"{place} cannot be read as a benchmark: {error}") from None


def _comes_later(relative: Path) -> bool:
    return any(part.startswith(".") or part in _MADE_BY_RUNS for part in relative.parts)


def _refuse_bombs(place: Path, entries: Sequence[zipfile.ZipInfo]) -> None:
    names = [entry.filename for entry in entries]
    if len(names) > MOST_FILES or sum(entry.file_size for entry in entries) > MOST_BYTES * 1.2:
        raise SettingsError(f"{place} is larger than a benchmark may be; it was not read")
    strange = [name for name in names if not _is_plain(name)]
    if strange or len(set(names)) != len(names):
        raise SettingsError(
            f"{place} has files that lead elsewhere or are there twice ({strange[:1]}); do not "
            "unpack it"
        )


def _is_plain(name: str) -> bool:
    path = PurePosixPath(name)
    return (
        not path.is_absolute() and ".." not in path.parts and "\\" not in name and ":" not in name
    )


def read_manifest(place: Path) -> BenchmarkManifest:
    """Read a benchmark's manifest.

    Raises:
        SettingsError: it is not a benchmark, or is of a newer version.
    """
    with _opened(place) as (sizes, read):
        return _manifest(place, sizes, read)


def _manifest(
    place: Path, sizes: Mapping[str, int], read: Callable[[str], bytes]
) -> BenchmarkManifest:
    if sizes.get(MANIFEST_NAME, _MANIFEST_BYTES + 1) > _MANIFEST_BYTES:
        raise SettingsError(f"{place} is not a benchmark: it has no {MANIFEST_NAME}")
    text = read(MANIFEST_NAME)
    try:
        saved = json.loads(text)
        version = saved.get("schema_version") if isinstance(saved, dict) else None
        if isinstance(version, int) and version > SCHEMA_VERSION:
            raise SettingsError(
                f"{place} was packed by a newer pytest-autoweb (schema version {version}, here "
                f"{SCHEMA_VERSION}); install that of its {MANIFEST_NAME}"
            )
        return BenchmarkManifest.model_validate_json(text)
    except (ValueError, RecursionError, ValidationError) as error:
        raise SettingsError(
            f"{place}: {MANIFEST_NAME} cannot be read: {first_line(error)}"
        ) from None


def differences(place: Path) -> tuple[BenchmarkManifest, list[Difference], list[str]]:
    """Compare a benchmark with its own manifest, without running any of it.

    Args:
        place: an archive, or the folder into which one was unpacked.

    Returns:
        The manifest, all differences, and notes on other deviations.

    Raises:
        SettingsError: it cannot be read.
    """
    with _opened(place) as (sizes, read):
        manifest = _manifest(place, sizes, read)
        found: list[Difference] = []
        for file in manifest.files:
            if file.path not in sizes:
                found.append(Difference("missing", file.path))
            elif sizes[file.path] != file.size or _sum(read(file.path)) != file.sha256:
                found.append(Difference("changed", file.path))
        known = {MANIFEST_NAME, *manifest.needs.files, *(file.path for file in manifest.files)}
        found += [Difference("added", path) for path in sorted(set(sizes) - known)]
    if digest_of(manifest.files) != manifest.digest:
        found.append(Difference("changed", f"{MANIFEST_NAME}: its digest is not that of its files"))
    found += _package_differences(manifest)
    return manifest, found, list(_other_versions(manifest))


def _sum(content: bytes) -> str:
    return sha256(content).hexdigest()


def _package_differences(manifest: BenchmarkManifest) -> Iterator[Difference]:
    for one in manifest.needs.packages:
        if not one.folder:
            continue
        try:
            if not _is_plain(one.folder):
                raise WebServerError("only a folder inside a package may be meant")
            # A folder that cannot exist, so that only an installed package is found.
            now = folder_digest(static_folder(one.folder, Path(MANIFEST_NAME) / "nowhere"))
        except WebServerError:
            yield Difference("missing", f"the package {one.name}=={one.version}, not installed")
            continue
        if now != one.sha256:
            yield Difference("changed", f"{one.folder}, of the package {one.name}")


def _other_versions(manifest: BenchmarkManifest) -> Iterator[str]:
    for name in ("pytest-autoweb", "playwright"):
        if (here := metadata.version(name)) != (then := manifest.made_with.get(name)):
            yield f"it was packed with {name} {then}; here it is {here}"
    for one in manifest.needs.packages:
        try:
            here = metadata.version(one.name)
        except metadata.PackageNotFoundError:
            here = "not installed"
        if here != one.version:
            yield f"it was packed with {one.name} {one.version}; here it is {here}"


def run_differences(manifest: BenchmarkManifest, cells: Sequence[CellResult]) -> list[Difference]:
    """Return where a run deviates from a run of exactly this benchmark.

    Args:
        manifest: the benchmark.
        cells: all cells of the run.
    """
    sums = {
        (case.path, case.id): {"case": case.case, "checks": case.checks} for case in manifest.cases
    }
    found: dict[Difference, None] = {}
    for cell in cells:
        where = f"{cell.case_path}, {cell.case_id}"
        wanted = sums.get((cell.case_path, cell.case_id))
        if wanted is None:
            found[Difference("added", where)] = None
            continue
        for name, value in wanted.items():
            if cell.outcome != "skipped" and cell.checksums.get(name) != value:
                found[Difference("changed", f"{where}: {name}")] = None
    ran = {(cell.case_path, cell.case_id) for cell in cells}
    missing = [
        Difference("missing", f"{path}, {id_}") for path, id_ in sums if (path, id_) not in ran
    ]
    return [*found, *missing]
