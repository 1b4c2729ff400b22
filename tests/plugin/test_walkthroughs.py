"""The walk-throughs of docs/contributing, done as they say.

Each section of a page that has commands begins in a folder of its own: an empty project, or a copy
of this one. Then its instructions are followed from top to bottom.
"""

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from walkthrough import blocks, follow

ROOT = Path(__file__).parents[2]
PAGES = ROOT / "docs" / "contributing"
COPIED = ("pytest_autoweb", "prompts", "templates", "tests", "docs", "pyproject.toml")
INSIDE = "Inside the project"
INI = "[pytest]\naddopts = -p no:anyio -p no:hypothesispytest -p no:schemathesis\n"

_SECTION = re.compile(r"^## (.+)$", re.MULTILINE)


def sections() -> Iterator[tuple[str, str, str]]:
    """Page, heading and text of every section that has a code block."""
    for page in sorted(PAGES.glob("*.md")):
        _, *parts = _SECTION.split(page.read_text(encoding="utf-8"))
        for heading, text in zip(parts[::2], parts[1::2], strict=True):
            if "```" in text:
                yield page.stem, heading, text


def copy_of_project(folder: Path) -> None:
    ignored = shutil.ignore_patterns("*.png", ".*cache")  # compiled modules save seconds
    for name in COPIED:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, folder / name, ignore=ignored)
        else:
            shutil.copy(ROOT / name, folder)


@pytest.mark.long
@pytest.mark.parametrize(
    ("heading", "text"),
    [pytest.param(heading, text, id=f"{page}: {heading}") for page, heading, text in sections()],
)
def test_doing_what_the_section_says_gives_what_it_promises(
    heading: str, text: str, tmp_path: Path
) -> None:
    if heading == INSIDE:
        copy_of_project(tmp_path)
    else:
        (tmp_path / "pytest.ini").write_text(INI, encoding="utf-8")

    for block in blocks(text):
        follow(block, tmp_path)


def test_what_users_are_told_to_write_imports_public_names_alone() -> None:
    doors = {"", ".checks", ".stages", ".testing"}
    told = "\n".join(text for _, heading, text in sections() if heading != INSIDE)

    assert set(re.findall(r"^from pytest_autoweb([\w.]*) import", told, re.MULTILINE)) <= doors
    assert "import pytest_autoweb" not in told


def test_every_page_says_both_ways_and_promises_something() -> None:
    told: dict[str, list[tuple[str, str]]] = {}
    for page, heading, text in sections():
        told.setdefault(page, []).append((heading, text))

    assert sorted(told) == ["capture-mode", "check-type", "command", "provider", "strategy"]
    for parts in told.values():
        assert any(heading.startswith("In your own project") for heading, _ in parts)
        assert INSIDE in [heading for heading, _ in parts]
        assert sum("```console" in text for _, text in parts) >= 2
