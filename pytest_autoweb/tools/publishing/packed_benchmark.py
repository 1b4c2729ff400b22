"""Packs a benchmark into one archive or folder, and checks one that was received."""

import configparser
import json
import platform
import tomllib
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from hashlib import sha256
from importlib import metadata
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from pydantic import ValidationError

from pytest_autoweb.base.errors import SettingsError, WebServerError, first_line
from pytest_autoweb.base.installation import asset_dir
from pytest_autoweb.cases.loader import LoadedCase
from pytest_autoweb.judging.verdicts import graded
from pytest_autoweb.report.wording import count_of
from pytest_autoweb.results.analysis.verdict_validity import control_rows
from pytest_autoweb.results.records import CellResult
from pytest_autoweb.results.runs.run_folder import RecordedRun
from pytest_autoweb.results.runs.saving import json_text
from pytest_autoweb.session.servers.webservers import static_folder
from pytest_autoweb.settings.options import OF_OUTCOMES
from pytest_autoweb.tools.publishing.benchmark_files import (
    MANIFEST_NAME,
    MOST_BYTES,
    MOST_FILES,
    SCHEMA_VERSION,
    BenchmarkManifest,
    BenchmarkNeeds,
    CollectedFiles,
    PackedCase,
    PackedControl,
    digest_of,
    folder_digest,
    packed_file,
)

INI_FILE = "pytest.ini"
GUIDE_FILE = "BENCHMARK.md"

_MANIFEST_BYTES = 50_000_000
_LONG_AGO = (1980, 1, 1, 0, 0, 0)
_MADE_BY_RUNS = {"autoweb-report", "__pycache__", "node_modules"}


class Difference(NamedTuple):
    """One deviation from the manifest."""

    what: str
    """`changed`, `missing`, `added`, or another problem."""
    where: str


def benchmark_of(
    cases: Sequence[LoadedCase],
    found: CollectedFiles,
    name: str,
    release: str,
    run: RecordedRun | None = None,
) -> tuple[BenchmarkManifest, dict[str, bytes]]:
    """Return the manifest of a benchmark, and the content of each of its files.

    Args:
        cases: its cases.
        found: the files they depend on.
        name: its name.
        release: its version.
        run: a run that includes controls of these cases.
    """
    settings = project_settings(found.rules.root)
    content = dict(found.content)
    # These two are generated: a project's own would require more than the benchmark contains.
    content[INI_FILE] = _ini(settings).encode(), "settings"
    packed = tuple(_case(case, found.rules.root) for case in cases)
    bare = BenchmarkManifest(
        name=name,
        release=release,
        made_with={
            **{part: metadata.version(part) for part in ("pytest-autoweb", "playwright")},
            "python": platform.python_version(),
        },
        digest="",
        needs=BenchmarkNeeds(
            environment=tuple(sorted(found.environment)),
            packages=tuple(found.packages[key] for key in sorted(found.packages)),
            files=tuple(sorted(found.left_out)),
            sites=tuple(sorted(found.sites)),
            words=found.rules.words,
        ),
        settings=settings,
        controls_from=run.info.ts if run else "",
        controls=_controls(packed, run.cells) if run else (),
        cases=packed,
        hidden=len(found.hidden),
        files=(),
    )
    content[GUIDE_FILE] = _guide(bare).encode(), "guide"
    files = tuple(packed_file(path, *content[path]) for path in sorted(content))
    manifest = bare.model_copy(update={"files": files, "digest": digest_of(files)})
    return manifest, {path: data for path, (data, _) in content.items()}


def project_settings(root: Path) -> dict[str, str]:
    """Return the settings in a project's ini file that may change a cell's outcome.

    The sandbox is not among them, which a benchmark must not weaken on another machine.
    """
    values: Mapping[str, object] = {}
    parser = configparser.RawConfigParser()
    try:
        if (root / INI_FILE).is_file():
            parser.read(root / INI_FILE, "utf-8")
            values = dict(parser["pytest"]) if "pytest" in parser else {}
        elif (root / "pyproject.toml").is_file():
            tool = tomllib.loads((root / "pyproject.toml").read_text("utf-8")).get("tool", {})
            values = tool.get("pytest", {}).get("ini_options", {})
    except (OSError, ValueError, configparser.Error) as error:
        raise SettingsError(f"the settings in {root} cannot be read: {error}") from None
    found = {}
    for key in (f"autoweb_{name}" for name in (*OF_OUTCOMES, "files")):
        if key in values:
            value = values[key]
            words = " ".join(map(str, value)) if isinstance(value, list) else str(value)
            found[key] = " ".join(words.split())
    return found


def _ini(settings: Mapping[str, str]) -> str:
    return "".join(["[pytest]\n", *(f"{name} = {value}\n" for name, value in settings.items())])


def _case(case: LoadedCase, root: Path) -> PackedCase:
    assert case.path is not None
    return PackedCase(
        id=case.id,
        path=case.path.resolve().relative_to(root.resolve()).as_posix(),
        case=case.checksum,
        checks=graded(case.checks_checksum),
        tags=case.tags,
        has_oracle=case.has_oracle,
        functions=case.functions,
        judge_models=case.judge_models,
    )


def _controls(
    cases: Sequence[PackedCase], cells: Sequence[CellResult]
) -> tuple[PackedControl, ...]:
    """Return the controls' results for exactly these cases."""
    sums = {(case.path, case.id): (case.case, case.checks) for case in cases}
    own = [
        cell
        for cell in cells
        if (cell.checksums.get("case"), cell.checksums.get("checks"))
        == sums.get((cell.case_path, cell.case_id))
    ]
    return tuple(
        PackedControl(
            case_id=row.case_id,
            case_path=row.case_path,
            oracle=row.oracle,
            oracle_runs=row.oracle_runs,
            noop=row.noop,
            noop_runs=row.noop_runs,
        )
        for row in sorted(control_rows(own), key=lambda row: (row.case_path, row.case_id))
    )


def _guide(manifest: BenchmarkManifest) -> str:
    """Return the benchmark's README."""
    needs = manifest.needs
    listed = [
        *(f"the environment variable `{name}`, a secret" for name in needs.environment),
        *(f"`pip install {one.name}=={one.version}`: {one.why}" for one in needs.packages),
        *(f"the file `{name}`, which is yours to make" for name in needs.files),
        *(f"the site {site}, which is not in it" for site in needs.sites),
        *needs.words,
    ]
    template = (asset_dir("templates") / "benchmark" / "guide.md").read_text("utf-8")
    return template.format(
        title=f"{manifest.name} {manifest.release}",
        version=manifest.made_with["pytest-autoweb"],
        cases=count_of(len(manifest.cases), "case"),
        needs="\n".join(f"- {line}" for line in listed) or "Nothing else.",
        files=" ".join(dict.fromkeys(case.path for case in manifest.cases)),
        functions="\n".join(f"- `{name}`" for name in _functions(manifest)) or "None.",
    )


def _functions(manifest: BenchmarkManifest) -> list[str]:
    return sorted({name for case in manifest.cases for name in case.functions})


def write_benchmark(
    target: Path, manifest: BenchmarkManifest, content: Mapping[str, bytes]
) -> None:
    """Write a benchmark: as an archive if the target ends in `.zip`, else into a new folder.

    The same files always give the same bytes.

    Raises:
        SettingsError: the target cannot be written.
    """
    files = {MANIFEST_NAME: (json_text(manifest) + "\n").encode(), **content}
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        if target.suffix != ".zip":
            for path, data in files.items():
                (target / path).parent.mkdir(parents=True, exist_ok=True)
                (target / path).write_bytes(data)
            return
        with zipfile.ZipFile(target, "w") as archive:
            for path in sorted(files):
                entry = zipfile.ZipInfo(path, _LONG_AGO)
                entry.compress_type = zipfile.ZIP_DEFLATED
                entry.external_attr = 0o644 << 16
                archive.writestr(entry, files[path])
    except OSError as error:
        raise SettingsError(f"{target} cannot be written: {error.strerror or error}") from None


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
