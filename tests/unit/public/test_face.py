"""The public names: documented, documented right, typed, and cheap to have."""

import ast
import inspect
import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from pydantic import BaseModel

import pytest_autoweb
import pytest_autoweb.checks
import pytest_autoweb.stages
import pytest_autoweb.testing

ROOT = Path(__file__).parents[3]
API = (ROOT / "docs/api.md").read_text(encoding="utf-8")
SIGNATURES = (ROOT / "docs/api.pyi").read_text(encoding="utf-8")
DOORS: tuple[ModuleType, ...] = (
    pytest_autoweb,
    pytest_autoweb.stages,
    pytest_autoweb.checks,
    pytest_autoweb.testing,
)
PUBLIC = {door.__name__: set(door.__all__) for door in DOORS}
MOST_NAMES = 34
"""The package itself exports no more, so that the list can be read in one go."""

# These pages describe the inside of the house to those who work on it.
INSIDE = {"architecture.md", "CONTRIBUTING.md"}
# Written for people who hook in or write Python: in these, every import must be public.
SNIPPETS = [
    *(page for page in sorted((ROOT / "docs").glob("*.md")) if page.name not in INSIDE),
    ROOT / "README.md",
]
CONFTESTS = [
    ROOT / "tests/plugin" / name
    for name in (
        "test_variants_of_users.py",
        "test_registration.py",
        "test_own_gates_and_panels.py",
    )
]
DOCSTRINGS = [
    ROOT / "pytest_autoweb" / name
    for name in (
        "hookspecs.py",
        "judging/checks/__init__.py",
        "stages.py",
        "testing/faulty.py",
        "testing/scripted.py",
    )
]
ALLOWED = {
    # It needs Pillow (the extra `testing`), so it is imported from its own module.
    "pytest_autoweb.testing.pixels.PixelReadingClient",
}
FENCE = re.compile(r"^```(?:python|py|pycon)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def section_of(door: ModuleType) -> str:
    """The part of the page that describes one module."""
    _, _, rest = API.partition(f"\n## `{door.__name__}`\n")
    return rest.partition("\n## ")[0]


def stubs_of(door: ModuleType) -> dict[str, ast.stmt]:
    """What stands in a module's part of the stub file, by name."""
    _, _, rest = SIGNATURES.partition(f"\n# {door.__name__}\n")
    found: dict[str, ast.stmt] = {}
    for node in ast.parse(re.split(r"\n# pytest_autoweb", rest)[0]).body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            found[node.name] = node
        else:
            assert isinstance(node, ast.Assign | ast.AnnAssign)
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            found[ast.unparse(target)] = node
    return found


STUBS = [
    pytest.param(door, name, stub, id=f"{door.__name__}.{name}")
    for door in DOORS
    for name, stub in stubs_of(door).items()
]


@pytest.mark.parametrize("door", DOORS, ids=lambda door: door.__name__)
def test_the_page_lists_exactly_what_a_module_exports(door: ModuleType) -> None:
    rows = re.findall(r"^\| `(\w+)` \| (.+?) \| (.+?) \|$", section_of(door), re.MULTILINE)

    assert sorted(name for name, _, _ in rows) == sorted(door.__all__)
    assert sorted(stubs_of(door)) == sorted(door.__all__)
    assert [name for name, what, _ in rows if not re.search(r"[.)]$", what)] == []


@pytest.mark.parametrize(("door", "name", "stub"), STUBS)
def test_the_stub_file_gives_the_signature_that_there_is(
    door: ModuleType, name: str, stub: ast.stmt
) -> None:
    found = getattr(door, name)

    if isinstance(stub, ast.FunctionDef):
        assert parameters_of(found) == arguments_of(stub)
    elif isinstance(stub, ast.ClassDef):
        assert_members(found, stub)


def assert_members(found: type, stub: ast.ClassDef) -> None:
    """Compare a class with its description, which is complete unless it ends with `...`."""
    if issubclass(found, BaseModel):
        found.model_rebuild()  # A model has its signature from its first use on.
    members = attributes_of(found)
    shown: set[str] = set()
    for node in stub.body:
        if isinstance(node, ast.FunctionDef) and node.name == "__init__":
            assert parameters_of(found) == arguments_of(node)
            shown |= {argument.rstrip("=*") for argument in arguments_of(node)}
        elif isinstance(node, ast.FunctionDef):
            shown.add(node.name)
            if not node.decorator_list:
                assert parameters_of(getattr(found, node.name)) == arguments_of(node)
        elif isinstance(node, ast.AnnAssign):
            shown.add(ast.unparse(node.target))
    constructor = any(isinstance(n, ast.FunctionDef) and n.name == "__init__" for n in stub.body)
    has_more = len(stub.body) > 1 and ast.unparse(stub.body[-1]) == "..."
    if not constructor:
        assert shown - members == set()
    if not constructor and not has_more and not issubclass(found, Exception):
        assert fields_of(found) - shown == set()


def parameters_of(found: Callable[..., Any]) -> list[str]:
    """Names of parameters, `=` behind those with a default, and `*` before keyword-only ones."""
    kinds = inspect.Parameter
    own = [p for p in inspect.signature(found).parameters.values() if p.name != "self"]
    return [
        ("*" if p.kind is kinds.KEYWORD_ONLY else "") + p.name + "=" * (p.default is not p.empty)
        for p in own
    ]


def arguments_of(stub: ast.FunctionDef) -> list[str]:
    """The same for a description."""
    given = stub.args
    plain = [*given.posonlyargs, *given.args]
    first_default = len(plain) - len(given.defaults)
    shown = [each.arg + "=" * (place >= first_default) for place, each in enumerate(plain)]
    shown += [each.arg for each in (given.vararg,) if each]
    shown += [
        f"*{each.arg}" + "=" * (default is not None)
        for each, default in zip(given.kwonlyargs, given.kw_defaults, strict=True)
    ]
    shown += [each.arg for each in (given.kwarg,) if each]
    return shown[1:] if shown[:1] == ["self"] else shown


def fields_of(found: type) -> set[str]:
    """Fields without a leading underscore, also inherited ones."""
    if issubclass(found, BaseModel):
        return set(found.model_fields)
    return {name for name in declared_in(found) if not name.startswith("_")}


def declared_in(found: type) -> set[str]:
    """Everything that a class and its bases annotate."""
    return {name for base in found.__mro__ for name in vars(base).get("__annotations__", {})}


def attributes_of(found: type) -> set[str]:
    """Everything that an object of the class can be asked for."""
    return declared_in(found) | set(dir(found))


@pytest.mark.parametrize("door", DOORS, ids=lambda door: door.__name__)
def test_each_name_resolves_and_has_a_docstring(door: ModuleType) -> None:
    values = {name: getattr(door, name) for name in door.__all__}
    mute = [
        name
        for name, value in values.items()
        if (inspect.isclass(value) or inspect.isfunction(value))
        and not (value.__doc__ or "").strip()
    ]

    assert mute == []
    assert set(door.__all__) <= set(dir(door))


def test_each_name_is_that_of_its_home() -> None:
    homes = pytest_autoweb._HOMES

    assert sorted(homes) == sorted(pytest_autoweb.__all__)
    for name, home in homes.items():
        assert getattr(pytest_autoweb, name) is getattr(import_module(home), name)


def test_type_checkers_see_the_imports_that_happen_at_run_time() -> None:
    tree = ast.parse(Path(pytest_autoweb.__file__).read_text(encoding="utf-8"))
    typed, _ = (node for node in tree.body if isinstance(node, ast.If))
    seen = {
        alias.name: node.module
        for node in typed.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }

    assert seen == pytest_autoweb._HOMES


def test_lists_are_sorted_short_and_share_no_name() -> None:
    everything = [name for door in DOORS for name in door.__all__]

    assert all(door.__all__ == sorted(door.__all__, key=_place) for door in DOORS)
    assert len(everything) == len(set(everything))
    assert len(pytest_autoweb.__all__) <= MOST_NAMES


def _place(name: str) -> tuple[int, str]:
    """Constants, classes, functions: as ruff sorts them."""
    return (0 if name.isupper() else 1 if name[0].isupper() else 2), name


def test_a_name_that_is_not_there_is_told() -> None:
    misspelt = "Gaet"

    with pytest.raises(AttributeError, match="'pytest_autoweb' has no attribute 'Gaet'"):
        getattr(pytest_autoweb, misspelt)
    with pytest.raises(ImportError, match="cannot import name 'Gaet'"):
        exec(f"from pytest_autoweb import {misspelt}")


def test_importing_the_package_imports_nothing_of_it() -> None:
    script = (
        "import sys, json; before = set(sys.modules); import pytest_autoweb; "
        "print(json.dumps(sorted(set(sys.modules) - before)))"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    imported = {
        name
        for name in json.loads(run.stdout)
        if name.partition(".")[0] not in sys.stdlib_module_names
    }

    assert imported == {"pytest_autoweb"}


class TestDocsAndExamples:
    def test_they_import_public_names_only(self) -> None:
        private = [
            f"{path.relative_to(ROOT)}: {name}"
            for path, code in snippets()
            for name in imported_names(code)
            if not is_public(name)
        ]

        assert private == []

    def test_they_name_no_private_module_as_a_door(self) -> None:
        # Dotted names within sentences, such as `pytest_autoweb.testing.FaultyClient`.
        private = [
            f"{page.relative_to(ROOT)}: {name}"
            for page in SNIPPETS
            for name in re.findall(r"`(pytest_autoweb\.[\w.]+)`", page.read_text(encoding="utf-8"))
            if not is_public(name)
        ]

        assert private == []

    def test_the_examples_are_found(self) -> None:
        # A broken pattern would find nothing to complain about in the two tests above.
        files = {path.name for path, code in snippets() if list(imported_names(code))}

        assert {"extending.md", "ci.md", "checks.md", "marks.md", "stages.py"} <= files
        assert {path.name for path in CONFTESTS} <= files

    @pytest.mark.parametrize(
        ("code", "public"),
        [
            ("from pytest_autoweb import Gate, stages", True),
            ("from pytest_autoweb.checks import CheckContext", True),
            ("import pytest_autoweb.testing", True),
            ("from pytest_autoweb.report.gates.gate_context import Gate", False),
            ("from pytest_autoweb import Gate, gates", False),
            ("from pytest_autoweb.checks import CHECKS", False),
            ("import pytest_autoweb.report.gates as gates", False),
        ],
    )
    def test_a_private_import_would_be_noticed(self, code: str, public: bool) -> None:
        assert all(map(is_public, imported_names(code))) is public


def snippets() -> Iterator[tuple[Path, str]]:
    """Every piece of Python that users are shown, and the conftests of tests that play users."""
    for page in SNIPPETS:
        for code in FENCE.findall(page.read_text(encoding="utf-8")):
            yield page, code
    for path in (*CONFTESTS, *DOCSTRINGS):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield path, node.value
    for path in sorted((ROOT / "cases").rglob("*.py")):
        yield path, path.read_text(encoding="utf-8")


def imported_names(code: str) -> Iterator[str]:
    """What a piece of text imports from the package: modules, or modules with a name."""
    for line in re.sub(r"\(\s*\n(.*?)\)", _on_one_line, code, flags=re.DOTALL).splitlines():
        words = line.strip().removeprefix(">>> ")
        if found := re.match(r"from (pytest_autoweb[\w.]*) import (.+)", words):
            for name in found[2].strip("() ").split(","):
                yield f"{found[1]}.{name.split(' as ')[0].strip()}"
        elif found := re.match(r"import (pytest_autoweb[\w.]*)", words):
            yield found[1]


def _on_one_line(found: re.Match[str]) -> str:
    return f"({' '.join(found[1].split())})".replace(",)", ")")


def is_public(name: str) -> bool:
    """Whether a dotted name is a public module, a public name in one, or a stated exception."""
    module, _, attribute = name.rpartition(".")
    if name in PUBLIC or name in ALLOWED:
        return True
    return attribute in PUBLIC.get(module, ())
