"""The promises the source makes about itself: layers, imports, sizes, names."""

import ast
import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "pytest_autoweb"

# A module imports only from rows above its own, or from its own area.
ROWS = (
    {"errors", "near_miss", "values"},
    {"specs", "variants"},
    {"assets", "redaction", "results"},
    {"option_values", "progress", "saving"},
    {"browser", "sandbox"},
    {"checks"},
    {"cases"},
    {"options", "llm"},
    {"calibrate", "judge", "locate", "report"},
    {"act", "store"},
    {"collect", "dashboard"},
    {"stages"},
    {"arms"},
    {"bench", "strategies"},
    {"pipeline", "analysis", "controls_run", "verify"},
    {"shared_run"},
    {"session"},
    {"conclusion", "registration"},
    {"items", "testing"},
    {"commands", "controller", "fixtures", "hookspecs"},
    {"preview", "shards"},
    {"plugin", "cli"},
)
ROW_OF = {area: number for number, row in enumerate(ROWS) for area in row}

# Packages that take long to import: any module may leave them to the function that needs them.
HEAVY = {
    "babel",
    "jinja2",
    "jsonschema",
    "litellm",
    "playwright",
    "pydantic",
    "redis",
    "referencing",
    "xllamacpp",
    "yaml",
}

# Modules of the standard library that only some systems, or only some builds of Python, have.
SYSTEM_ONLY = {"_ctypes", "fcntl", "msvcrt", "resource", "winreg"}

# Every other import inside a function hides a dependency. Only these modules may: pytest (or every
# xdist worker, or every `autoweb` command) imports them, and they lead to all the rest.
MAY_IMPORT_LATE = {
    "cli.py",
    "controller.py",
    "fixtures.py",
    "items.py",
    "llm/litellm_client.py",
    "plugin.py",
}

# Packages that come with another one as a part of its public face, or under another name.
COMES_WITH = {
    "PIL": "pillow",
    "greenlet": "playwright",
    "markupsafe": "jinja2",
    "pydantic_core": "pydantic",
    "referencing": "jsonschema",
    "starlette": "fastapi",
    "yaml": "pyyaml",
}

FILE_LINES = 600
FUNCTION_LINES = 60

MODULES = sorted(PACKAGE.rglob("*.py"))
PYTHON_FILES = [
    *MODULES,
    *sorted((ROOT / "tests").rglob("*.py")),
    *sorted((ROOT / "benchmarks").rglob("*.py")),
    *sorted((ROOT / "cases").rglob("*.py")),
    *sorted((ROOT / "scripts").rglob("*.py")),
]


class Import(NamedTuple):
    """One imported module, and whether the import hides inside a function."""

    module: str
    late: bool
    line: int


def shown(path: Path) -> str:
    return path.relative_to(PACKAGE if path.is_relative_to(PACKAGE) else ROOT).as_posix()


def area_of(module: str) -> str:
    """`pytest_autoweb.llm.client` belongs to the area `llm`."""
    return module.split(".")[1] if "." in module else ""


def imports_of(path: Path) -> Iterator[Import]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    late = {
        id(node)
        for function in ast.walk(tree)
        if isinstance(function, functions)
        for node in ast.walk(function)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            names = [node.module or ""]
            if node.module == PACKAGE.name:
                names = [f"{PACKAGE.name}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            continue
        for name in names:
            yield Import(name, id(node) in late, node.lineno)


@pytest.mark.parametrize("path", MODULES, ids=shown)
def test_a_module_imports_only_from_the_rows_above_its_own(path: Path) -> None:
    area = path.relative_to(PACKAGE).with_suffix("").parts[0]
    upward = [
        f"line {found.line}: {found.module}"
        for found in imports_of(path)
        if found.module.startswith(f"{PACKAGE.name}.")
        and (target := area_of(found.module)) not in (area, "__version__")
        and ROW_OF[target] >= ROW_OF.get(area, -1)
    ]

    assert upward == []


def test_every_area_of_the_package_has_a_row() -> None:
    areas = {path.relative_to(PACKAGE).with_suffix("").parts[0] for path in MODULES}

    assert areas - {"__init__", "__main__"} <= set(ROW_OF)


@pytest.mark.parametrize("path", MODULES, ids=shown)
def test_imports_stand_at_the_top_of_the_module(path: Path) -> None:
    late = [
        f"line {found.line}: {found.module}"
        for found in imports_of(path)
        if found.late and found.module.split(".")[0] not in HEAVY | SYSTEM_ONLY
    ]

    assert late == [] or shown(path) in MAY_IMPORT_LATE or shown(path).startswith("commands/")


@pytest.mark.parametrize("path", MODULES, ids=shown)
def test_only_one_module_imports_litellm(path: Path) -> None:
    users = [found for found in imports_of(path) if found.module.split(".")[0] == "litellm"]

    assert users == [] or shown(path) == "llm/litellm_client.py"


def test_the_plugin_module_imports_nothing_heavy() -> None:
    script = "import pytest_autoweb.plugin, sys, json; print(json.dumps(sorted(sys.modules)))"
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)

    assert {name.split(".")[0] for name in json.loads(run.stdout)} & HEAVY == set()


def test_every_imported_package_is_a_declared_dependency() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    used = ("local", "testing", "store", "postgres", "redis", "dashboard")
    requirements = project["dependencies"] + [line for name in used for line in extras[name]]
    declared = {re.split(r"[^A-Za-z0-9-]", line)[0].lower() for line in requirements}
    imported = {found.module.split(".")[0] for path in MODULES for found in imports_of(path)}
    foreign = imported - sys.stdlib_module_names - {PACKAGE.name}

    assert {COMES_WITH.get(name, name) for name in foreign} - declared == set()


@pytest.mark.parametrize("path", PYTHON_FILES, ids=shown)
def test_a_file_is_short_enough_to_read(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= FILE_LINES


@pytest.mark.parametrize("path", PYTHON_FILES, ids=shown)
def test_a_function_fits_on_a_screen(path: Path) -> None:
    too_long = [
        f"{node.name}: {node.end_lineno - node.lineno + 1} lines"
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.end_lineno is not None
        and node.end_lineno - node.lineno + 1 > FUNCTION_LINES
    ]

    assert too_long == []


@pytest.mark.parametrize("path", MODULES, ids=shown)
def test_no_module_is_named_after_nothing(path: Path) -> None:
    assert not re.search(r"utils?$|helpers?$|common$|misc$", path.stem)


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="only a git checkout has tracked files")
def test_no_tracked_file_names_a_machine() -> None:
    # Spelled in two halves, so that this file does not find itself.
    homes = "|".join(["ro" + "ot", "ho" + "me", "wo" + "rk", "Us" + "ers"])
    machine_path = re.compile(rf"(?<![\w.:/*}}])/(?:{homes})/\w")
    # In a container the checkout may belong to another user, which git refuses unless told.
    git = ["git", "-c", "safe.directory=*", "ls-files", "-z"]
    listing = subprocess.run(git, cwd=ROOT, capture_output=True, text=True, check=True)
    found = []
    for name in filter(None, listing.stdout.split("\0")):
        path = ROOT / name
        try:
            lines = path.read_text(encoding="utf-8").splitlines()
        except (UnicodeDecodeError, FileNotFoundError):
            continue  # an image; a file deleted since
        found += [
            f"{name}:{number}" for number, line in enumerate(lines, 1) if machine_path.search(line)
        ]

    assert found == []
