"""Packs a benchmark into one archive or folder, with a manifest of what it holds."""

import configparser
import platform
import tomllib
import zipfile
from collections.abc import Mapping, Sequence
from importlib import metadata
from pathlib import Path

from pytest_autoweb.base.errors import SettingsError
from pytest_autoweb.base.installation import asset_dir
from pytest_autoweb.cases.loader import LoadedCase
from pytest_autoweb.judging.verdicts import graded
from pytest_autoweb.report.wording import count_of
from pytest_autoweb.results.analysis.controls import control_rows
from pytest_autoweb.results.records import CellResult
from pytest_autoweb.results.runs.run_folder import RecordedRun
from pytest_autoweb.results.runs.saving import json_text
from pytest_autoweb.settings.run_settings import OF_OUTCOMES
from pytest_autoweb.tools.publishing.benchmark_files import (
    MANIFEST_NAME,
    BenchmarkManifest,
    BenchmarkNeeds,
    CollectedFiles,
    PackedCase,
    PackedControl,
    digest_of,
    packed_file,
)

INI_FILE = "pytest.ini"
GUIDE_FILE = "BENCHMARK.md"
_LONG_AGO = (1980, 1, 1, 0, 0, 0)


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
    """Write a benchmark with its manifest, as `write_files` does.

    Raises:
        SettingsError: the target cannot be written.
    """
    write_files(target, {MANIFEST_NAME: (json_text(manifest) + "\n").encode(), **content})


def write_files(target: Path, files: Mapping[str, bytes]) -> None:
    """Write files: as an archive if the target ends in `.zip`, else into a new folder.

    The same files always give the same bytes.

    Raises:
        SettingsError: the target cannot be written.
    """
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
