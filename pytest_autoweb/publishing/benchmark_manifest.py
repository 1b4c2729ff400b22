"""`benchmark.json`: what a packed benchmark consists of, and what it needs besides."""

import hashlib
import json
from collections.abc import Iterable
from typing import Literal

from pydantic import Field

from pytest_autoweb.analysis.verdict_validity import ControlState
from pytest_autoweb.results import Record

MANIFEST_NAME = "benchmark.json"
SCHEMA_VERSION = 1

Role = Literal["cases", "pages", "check", "hooks", "upload", "program", "settings", "guide"]
"""What a file is there for: `pages` are those of a static web server, `check` is Python that
decides a case, `hooks` is a conftest, `program` what `--include` named."""


class PackedFile(Record):
    """One file of the benchmark."""

    path: str
    """Its path in the benchmark, with `/`."""
    sha256: str
    """The checksum of its content."""
    size: int
    """Its length in bytes."""
    role: Role
    """What it is there for."""


class PackedCase(Record):
    """One case, with the checksums that each of its cells carries as well."""

    id: str
    """The id of the case."""
    path: str
    """Its case file."""
    case: str
    """The checksum `case` of its cells: all of it but its checks."""
    checks: str
    """The checksum `checks` of its cells; those of `python` checks cover their functions."""
    tags: tuple[str, ...] = ()
    """Its tags."""
    has_oracle: bool = False
    """Whether it brings a script that solves it."""
    functions: tuple[str, ...] = ()
    """The functions of its `python` checks."""
    judge_models: tuple[str, ...] = ()
    """The models that its `judge` checks name."""


class PackedControl(Record):
    """What the controls of a case said when the benchmark was packed."""

    case_id: str
    """The id of the case."""
    case_path: str
    """Its case file."""
    oracle: ControlState | None
    """Whether its own solution passes; None if that was not run."""
    oracle_runs: int
    """How often the solution was run."""
    noop: ControlState | None
    """Whether doing nothing fails; None if that was not run."""
    noop_runs: int
    """How often nothing was done."""


class PackageNeeded(Record):
    """An installed package on which cases rest."""

    name: str
    """The name under which it is installed."""
    version: str
    """Its version when the benchmark was packed."""
    why: str
    """What rests on it."""
    folder: str = ""
    """The folder of it that a web server serves, as the case file names it."""
    sha256: str = ""
    """The checksum of all files of this folder."""


class BenchmarkNeeds(Record):
    """What is not in the benchmark, and has to be there."""

    environment: tuple[str, ...] = ()
    """Environment variables with secrets."""
    packages: tuple[PackageNeeded, ...] = ()
    """Installed packages."""
    files: tuple[str, ...] = ()
    """Files that were left out on purpose."""
    sites: tuple[str, ...] = ()
    """Origins at which cases begin and that no web server of theirs serves."""
    words: tuple[str, ...] = ()
    """What its author says is needed."""


class BenchmarkManifest(Record):
    """The content of `benchmark.json`."""

    format: Literal["pytest-autoweb/benchmark"] = "pytest-autoweb/benchmark"
    """Tells this document from other JSON files."""
    schema_version: int = SCHEMA_VERSION
    """Rises when a field changes its meaning or goes away."""
    name: str
    """The name of the benchmark."""
    release: str
    """Its version, as its author counts."""
    made_with: dict[str, str]
    """The versions of pytest-autoweb, Playwright and Python with which it was packed."""
    digest: str
    """One checksum over paths and checksums of all files."""
    needs: BenchmarkNeeds
    """What it needs besides its files."""
    settings: dict[str, str] = Field(default_factory=dict)
    """The project's own settings that may change how a cell ends; they are in its `pytest.ini`."""
    controls_from: str = ""
    """The run whose controls are told below, by its time; empty if none was named."""
    controls: tuple[PackedControl, ...] = ()
    """The controls of each case, as far as that run has them for these very cases."""
    cases: tuple[PackedCase, ...]
    """Every case, matrices written out."""
    hidden: int = 0
    """How many hidden files of served folders are not in it."""
    files: tuple[PackedFile, ...]
    """Every file but this one, sorted by path."""


def packed_file(path: str, content: bytes, role: Role) -> PackedFile:
    """Describe a file of the benchmark."""
    return PackedFile(
        path=path, sha256=hashlib.sha256(content).hexdigest(), size=len(content), role=role
    )


def digest_of(files: Iterable[PackedFile]) -> str:
    """Return one checksum over the paths and checksums of files, in whatever order they come."""
    listed = sorted((file.path, file.sha256) for file in files)
    return hashlib.sha256(json.dumps(listed).encode()).hexdigest()
