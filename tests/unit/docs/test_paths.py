"""What the documentation names exists: paths, modules, imports, links and their anchors."""

import importlib
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PAGES = [
    page.relative_to(ROOT).as_posix()
    for pattern in ("*.md", "docs/*.md", "benchmarks/**/*.md")
    for page in sorted(ROOT.glob(pattern))
    if page.name != "CHANGELOG.md"
]
"""The changelog may name what a later version has removed."""
FOLDERS = r"(?:\.ci|benchmarks|cases|docs|prompts|pytest_autoweb|scripts|templates|tests)"
PATH = re.compile(rf"(?<![\w./*-]){FOLDERS}/[\w./*-]*\w[\w.*-]*/?")
EXAMPLES = re.compile(
    r"prompts/NAME\.yaml|cases/((shop|first|tea|sencha|explored|live)\.yaml|(\*\*/)?\*\.ya?ml|cassettes/.+|webarena-infinity|traffic.*|<.*|order/.*)"
    r"|(cases|tests)/e2e(/.*)?"
)
"""Paths in a project or a run folder of the reader's, not in this repository."""
MODULE = re.compile(r"(?<![\w/-])pytest_autoweb(?:\.\w+)+")
IMPORT = re.compile(r"^from (pytest_autoweb[\w.]*) import (?:\(([^)]*)\)|(.*))$", re.MULTILINE)
LINK = re.compile(r"\]\((?!https?:)([^)#\s]*)(?:#([^)\s]*))?\)")

pytestmark = pytest.mark.skipif(
    not (ROOT / "scripts").is_dir(), reason="the tests of the wheel run without the whole checkout"
)


def text_of(page: str) -> str:
    return (ROOT / page).read_text(encoding="utf-8")


def exists(path: str) -> bool:
    """Whether a path exists in the repository; `cases/loader.py` may mean the package's own."""
    if "*" in path:
        return any(ROOT.glob(path))
    return (ROOT / path).exists() or (ROOT / "pytest_autoweb" / path).exists()


def found(name: str) -> bool:
    """Whether a dotted name leads to a module, or to something inside one."""
    module, *attributes = name.split(".")
    thing = importlib.import_module(module)
    for attribute in attributes:
        module = f"{module}.{attribute}"
        if hasattr(thing, attribute):
            thing = getattr(thing, attribute)
            continue
        try:
            thing = importlib.import_module(module)
        except ImportError:
            return False
    return True


def imported(text: str) -> Iterator[str]:
    for module, in_brackets, plain in IMPORT.findall(text):
        for name in re.sub(r"#.*", "", in_brackets or plain).split(","):
            if name.strip():
                yield f"{module}.{name.split()[0]}"


def anchors(page: str) -> set[str]:
    """The anchors that GitHub gives to the headings of a page."""
    headings = re.findall(r"^#+ (.+)$", re.sub(r"```.*?```", "", text_of(page), flags=re.S), re.M)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_the_pages_are_found() -> None:
    assert {"README.md", "benchmarks/runs/README.md", "docs/flow.md"} <= set(PAGES)


@pytest.mark.parametrize("doc", PAGES)
def test_every_path_that_a_page_names_exists(doc: str) -> None:
    named = {path for path in PATH.findall(text_of(doc)) if not EXAMPLES.fullmatch(path)}

    assert sorted(path for path in named if not exists(path.rstrip("."))) == []


@pytest.mark.parametrize("doc", PAGES)
def test_every_module_and_import_that_a_page_names_exists(doc: str) -> None:
    text = text_of(doc)
    named = {*MODULE.findall(text), *imported(text)}

    assert sorted(name for name in named if not found(name)) == []


@pytest.mark.parametrize("doc", PAGES)
def test_every_link_leads_to_a_file_and_to_one_of_its_headings(doc: str) -> None:
    folder = (ROOT / doc).parent
    broken = []
    for file, anchor in LINK.findall(re.sub(r"```.*?```", "", text_of(doc), flags=re.S)):
        target = (folder / file).resolve() if file else ROOT / doc
        if not target.exists() or (
            anchor and anchor not in anchors(target.relative_to(ROOT).as_posix())
        ):
            broken.append(f"{file}#{anchor}")

    assert broken == []
