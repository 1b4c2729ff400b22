"""The content of a packed benchmark: `benchmark.json`, and the files its cases depend on.

Those include the cases' Python sources. Some files must not be passed on.
"""

import ast
import hashlib
import json
import os
import shlex
import sys
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from hashlib import sha256
from importlib import metadata
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from msgspec import Struct, field
from pydantic import Field

from pytest_autoweb.base.errors import SettingsError, WebServerError
from pytest_autoweb.base.python_source import read_python
from pytest_autoweb.base.redaction import KeyMask
from pytest_autoweb.cases.loader import LoadedCase
from pytest_autoweb.cases.static_folder import static_folder
from pytest_autoweb.judging.solution_writes import writes_file
from pytest_autoweb.results.analysis.controls import ControlState
from pytest_autoweb.results.records import Record
from pytest_autoweb.results.runs.run_signs import holds_run

MANIFEST_NAME = "benchmark.json"
SCHEMA_VERSION = 1

Role = Literal["cases", "pages", "check", "hooks", "upload", "program", "settings", "guide"]
"""The purpose of a file: `pages` belong to a static web server, `check` decides a case (Python, or
what its solution writes), `hooks` is a conftest, `program` was named by `--include`."""

MOST_FILES = 20_000
MOST_BYTES = 300_000_000

_NEVER = {"__pycache__", "node_modules"}


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
    """Return one checksum over the paths and checksums of files, regardless of their order."""
    listed = sorted((file.path, file.sha256) for file in files)
    return hashlib.sha256(json.dumps(listed).encode()).hexdigest()


def module_file(name: str) -> Path | None:
    """Return the file of a module that was imported; None if it has none."""
    origin = getattr(sys.modules.get(name), "__file__", None)
    return Path(origin).resolve() if origin else None


@cache
def installed_as(module: str) -> tuple[str, str]:
    """Return the name and version of the installed package that a module belongs to.

    If there is none, the name is that of the module, and the version is empty.
    """
    names = metadata.packages_distributions().get(module, [])
    return (names[0], metadata.version(names[0])) if names else (module, "")


def own_sources(file: Path, root: Path) -> tuple[Path, ...]:
    """Return a Python file and everything it imports from the same project, directly or not.

    Imported modules are looked for in the file's own folder and in those above it, up to the root,
    as checks and conftests find them. Imports under a name that is computed at run time are not
    found.
    """
    root = root.resolve()
    found: dict[Path, None] = {}
    waiting = [file.resolve()]
    while waiting:
        here = waiting.pop()
        if here in found or not here.is_file():
            continue
        found[here] = None
        for folder in here.parents:
            if not folder.is_relative_to(root) or not (folder / "__init__.py").is_file():
                break
            waiting.append(folder / "__init__.py")
        waiting += _imported(here, root)
    return tuple(found)


def _imported(file: Path, root: Path) -> Iterator[Path]:
    try:
        tree = read_python(file.read_text("utf-8"))
    except (OSError, ValueError):
        return
    if tree is None:
        return
    folders = [folder for folder in file.parents if folder.is_relative_to(root)]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
            yield from (found for name in names for found in _found(name, folders))
        elif isinstance(node, ast.ImportFrom):
            # `from ..a import b` names a module below a folder above; b may be a module itself.
            places = folders[node.level - 1 : node.level] if node.level else folders
            start = node.module or ""
            for name in ("", *(alias.name for alias in node.names)):
                yield from _found(f"{start}.{name}".strip("."), places)


def _found(name: str, folders: list[Path]) -> Iterator[Path]:
    """Yield the file of a module, and those of the packages around it, in the first folder."""
    parts = name.split(".") if name else []
    for folder in folders:
        inner = folder.joinpath(*parts)
        for candidate in (inner.with_suffix(".py") if parts else inner, inner / "__init__.py"):
            if candidate.is_file() and "site-packages" not in candidate.parts:
                yield candidate
                return


class PackingRules(Struct, frozen=True):
    """The author's rules for the benchmark's files."""

    root: Path
    """The folder to which all paths are relative: the rootdir of its runs."""
    include: tuple[Path, ...] = ()
    """Further files and folders, such as the program behind a web server."""
    leave_out: tuple[Path, ...] = ()
    """Files that users of the benchmark have to supply."""
    not_secret: tuple[Path, ...] = ()
    """Files whose content only looks like a key."""
    words: tuple[str, ...] = ()
    """Descriptions of other requirements."""


class CollectedFiles(Struct):
    """The content of a benchmark, before it is written."""

    rules: PackingRules
    content: dict[str, tuple[bytes, Role]] = field(default_factory=dict)
    """The content and role of each file, by path."""
    packages: dict[tuple[str, str], PackageNeeded] = field(default_factory=dict)
    """The installed packages it needs, by name and folder."""
    environment: set[str] = field(default_factory=set)
    """Environment variables with secrets."""
    left_out: set[str] = field(default_factory=set)
    """Files that were left out on purpose."""
    sites: set[str] = field(default_factory=set)
    """Origins that none of its own web servers serves."""
    hidden: set[Path] = field(default_factory=set)
    """Hidden files of served folders, which are not included."""
    problems: list[str] = field(default_factory=list)
    """Why it cannot be packed."""

    def add(self, path: Path, role: Role, why: str) -> None:
        """Add a file, unless it is left out, lies elsewhere or holds a secret."""
        place = self._place(path, why)
        if place is None or place in self.content:
            return
        if _is_one_of(path, self.rules.leave_out):
            self.left_out.add(place)
            return
        try:
            content = path.read_bytes()
        except OSError as error:
            self.problems.append(f"{why}: {path} cannot be read: {error.strerror or error}")
            return
        self.content[place] = content, role
        if len(self.content) > MOST_FILES or self._size() > MOST_BYTES:
            raise SettingsError(
                f"this is more than {MOST_FILES:,} files or {MOST_BYTES // 1_000_000} MB, up to "
                f"{place}; leave out what the cases do not need with --leave-out"
            )

    def add_folder(self, folder: Path, role: Role, why: str) -> None:
        """Add all files of a folder except hidden ones, which are recorded."""
        for file in _files_below(folder):
            if _NEVER.intersection(file.parts):
                continue
            if _is_hidden(file.relative_to(folder)):
                self.hidden.add(file)
            else:
                self.add(file, role, why)

    def _size(self) -> int:
        return sum(len(content) for content, _ in self.content.values())

    def _place(self, path: Path, why: str) -> str | None:
        """Return the path in the benchmark; a file outside the root is a problem."""
        root = self.rules.root.resolve()
        try:
            # Both: the file must be there under its own name, and no link may lead out.
            path.resolve().relative_to(root)
            return Path(os.path.normpath(root / path)).relative_to(root).as_posix()
        except ValueError:
            self.problems.append(
                f"{why}: {path} lies outside of {root}; name a folder that holds everything with "
                "--root, from which the cases are run as well"
            )
            return None


def collect_files(cases: Sequence[LoadedCase], rules: PackingRules) -> CollectedFiles:
    """Find all files that cases depend on.

    Args:
        cases: the cases of all files.
        rules: the author's rules.

    Raises:
        SettingsError: something cannot be packed; all problems are reported together.
    """
    found = CollectedFiles(rules)
    for path in dict.fromkeys(case.path for case in cases if case.path):
        found.add(path, "cases", "the case file")
        if writes_file(path).is_file():
            found.add(writes_file(path), "check", f"what the solutions of {path} write")
        for conftest in _conftests(path, rules.root):
            for file in own_sources(conftest, rules.root):
                found.add(file, "hooks", f"the hooks of {conftest}")
    for case in cases:
        _collect(case, found)
    for extra in rules.include:
        take = found.add_folder if extra.is_dir() else found.add
        take(extra, "program", "--include")
    _refuse_secrets(found, cases)
    if found.problems:
        listed = "\n".join(f"- {problem}" for problem in dict.fromkeys(found.problems))
        raise SettingsError(f"the benchmark cannot be packed:\n{listed}")
    return found


def _conftests(case_file: Path, root: Path) -> Iterator[Path]:
    for folder in case_file.absolute().parents:
        if (folder / "conftest.py").is_file():
            yield folder / "conftest.py"
        if folder == root.resolve():
            return


def _collect(case: LoadedCase, found: CollectedFiles) -> None:
    assert case.path is not None
    base, why = case.path.parent, f"{case.path}, case {case.id!r}"
    found.environment.update(source.env for source in case.secrets.values() if source.env)
    for name in case.named_files:
        found.add(base / name, "upload", why)
    for reference in case.functions:
        _collect_function(case, reference, found, why)
    if case.storage_state:
        _collect_state(base / case.storage_state, found, why)
    if not case.webservers:
        found.sites.add(_origin(case.entry_url_template))
    for webserver in case.webservers.values():
        if webserver.static is not None:
            _collect_pages(webserver.static, base, found, str(case.path))
        elif webserver.command is not None:
            _ask_for_program("its web server", webserver.command, found, str(case.path))
        else:
            found.sites.add(_origin(webserver.url))
    if case.command is not None:
        _ask_for_program("its agent", shlex.join(case.command.command), found, why)


def _origin(url: str) -> str:
    site = urlsplit(url)
    return f"{site.scheme}://{site.netloc}"


def _collect_pages(static: str, base: Path, found: CollectedFiles, why: str) -> None:
    try:
        folder = static_folder(static, base)
    except WebServerError as error:
        found.problems.append(f"{why}: {error}")
        return
    if (base / static).is_dir():
        found.add_folder(folder, "pages", why)
        return
    key = static.partition("/")[0], static
    if key not in found.packages:
        name, version = installed_as(key[0])
        found.packages[key] = PackageNeeded(
            name=name,
            version=version,
            why="a web server serves pages of it",
            folder=static,
            sha256=folder_digest(folder),
        )


def _collect_function(case: LoadedCase, reference: str, found: CollectedFiles, why: str) -> None:
    module = reference.partition(":")[0]
    file = module_file(module)
    root = found.rules.root.resolve()
    if file is not None and file.is_relative_to(root) and "site-packages" not in file.parts:
        for source in own_sources(file, found.rules.root):
            found.add(source, "check", f"{why}: {reference}")
        return
    name, version = installed_as(module.partition(".")[0])
    if not version:
        found.problems.append(
            f"{why}: the function {reference} is in {file}, which lies outside of {root} and "
            "belongs to no installed package; move it there, or install it as a package"
        )
        return
    found.packages.setdefault(
        (name, ""), PackageNeeded(name=name, version=version, why=f"the check {reference}")
    )


def _collect_state(file: Path, found: CollectedFiles, why: str) -> None:
    if _is_one_of(file, found.rules.leave_out):
        found.left_out.add(found._place(file, why) or file.name)
        return
    found.problems.append(
        f"{why}: {file} is a storage state, which holds a login, and nothing secret is packed; "
        f"say with --leave-out {file} that users provide their own, and how with --needs"
    )


def _ask_for_program(what: str, command: str, found: CollectedFiles, why: str) -> None:
    if found.rules.include or found.rules.words:
        return
    found.problems.append(
        f"{why}: {what} is a program ({command}), and what it needs cannot be known; name its "
        "files with --include PATH, or say with --needs 'pip install shop==1.2' what is to be "
        "installed"
    )


def _refuse_secrets(found: CollectedFiles, cases: Iterable[LoadedCase]) -> None:
    """Refuse files that contain values of the cases' secrets, or text that looks like a key."""
    values = {
        value
        for case in cases
        for source in case.secrets.values()
        if source.env and (value := os.environ.get(source.env, "")) and value != source.default
    }
    mask = KeyMask(os.environ, values)
    for place, (content, _) in found.content.items():
        if _is_one_of(found.rules.root / place, found.rules.not_secret):
            continue
        text = content.decode("utf-8", "replace")
        if mask(text) == text:
            continue
        lines = text.splitlines()
        line = next((n for n, line in enumerate(lines, start=1) if mask(line) != line), 1)
        found.problems.append(
            f"{place}, line {line} holds a secret, or what looks like a key; take it out, leave "
            f"the file out with --leave-out {place}, or say with --not-secret {place} that it is "
            "none"
        )


def folder_digest(folder: Path) -> str:
    """Return one checksum over the paths and contents of a folder's files, except hidden ones."""
    listed = [
        f"{sha256(file.read_bytes()).hexdigest()} {file.relative_to(folder).as_posix()}"
        for file in _files_below(folder)
        if not _is_hidden(file.relative_to(folder))
    ]
    return sha256("\n".join(listed).encode("utf-8", "backslashreplace")).hexdigest()


def _files_below(folder: Path) -> Iterator[Path]:
    """Yield a folder's files, sorted, but not those of run folders or behind links to folders."""
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not holds_run(Path(place, name)))
        for name in sorted(names):
            yield Path(place) / name


def _is_hidden(relative: Path) -> bool:
    return any(part.startswith(".") or part in _NEVER for part in relative.parts)


def _is_one_of(path: Path, named: Iterable[Path]) -> bool:
    there = _real(path)
    return any(there == _real(one) or _real(one) in there.parents for one in named)


@cache
def _real(path: Path) -> Path:
    return path.resolve()
