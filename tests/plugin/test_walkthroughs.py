"""The walk-throughs of docs/contributing, done as they say.

Each section of a page that has commands begins in a folder of its own: an empty project, or a copy
of this one. Then its instructions are followed from top to bottom.
"""

import fnmatch
import os
import re
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[2]
PAGES = ROOT / "docs" / "contributing"
COPIED = ("pytest_autoweb", "prompts", "templates", "tests", "docs", "pyproject.toml")
INSIDE = "Inside the project"
INI = "[pytest]\naddopts = -p no:anyio -p no:hypothesispytest -p no:schemathesis\n"

_SECTION = re.compile(r"^## (.+)$", re.MULTILINE)
_FENCE = re.compile(r"^( *)```(\w+)\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)
_ORDER = re.compile(r"^ *(Write|Append to|Change) `([^`]+)`[^\n]*:$", re.MULTILINE)


class Block(NamedTuple):
    """A code block, and what the line above it says to do with it."""

    order: str
    """`Write`, `Append to` or `Change`; `Run` for commands."""
    path: str
    text: str


def sections() -> Iterator[tuple[str, str, str]]:
    """Page, heading and text of every section that has a code block."""
    for page in sorted(PAGES.glob("*.md")):
        _, *parts = _SECTION.split(page.read_text(encoding="utf-8"))
        for heading, text in zip(parts[::2], parts[1::2], strict=True):
            if "```" in text:
                yield page.stem, heading, text


def blocks(text: str) -> Iterator[Block]:
    for fence in _FENCE.finditer(text):
        indent, language, content = fence.groups()
        content = textwrap.dedent(content) if not indent else _unindented(content, len(indent))
        if language == "console":
            yield Block("Run", "", content)
            continue
        above = text[: fence.start()].rstrip().rpartition("\n")[2]
        order = _ORDER.search(above)
        assert order, f"nothing says where this goes:\n{content}"
        yield Block(order[1], order[2], content)


def _unindented(text: str, width: int) -> str:
    return "".join(line[width:] if line.strip() else line for line in text.splitlines(True))


def follow(block: Block, folder: Path) -> None:
    target = folder / block.path
    if block.order == "Run":
        for command, expected in commands(block.text):
            run(command, expected, folder)
    elif block.order == "Write":
        assert not target.exists(), f"{block.path} exists already"
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(block.text, encoding="utf-8")
    elif block.order == "Append to":
        before = target.read_text(encoding="utf-8")
        target.write_text(f"{before}\n\n{block.text}", encoding="utf-8")
    else:
        change(target, block.text)


def change(target: Path, diff: str) -> None:
    """Put the new lines in the place of the old ones, which must be there exactly once.

    The first and the last line may be a part of a line in the file.
    """
    lines = diff.splitlines()
    old = "\n".join(line[1:] for line in lines if line[:1] in " -")
    new = "\n".join(line[1:] for line in lines if line[:1] in " +")
    before = target.read_text(encoding="utf-8")
    assert before.count(old) == 1, f"{target.name} has this {before.count(old)} times:\n{old}"
    target.write_text(before.replace(old, new), encoding="utf-8")


def commands(text: str) -> Iterator[tuple[str, list[str]]]:
    """Each command with the lines that it must print, where `…` stands for anything."""
    for part in text.split("$ ")[1:]:
        command, *expected = part.strip().splitlines()
        yield command, [line for line in expected if line.strip("…")]


def run(command: str, expected: list[str], folder: Path) -> None:
    program, *arguments = command.split()
    started = {
        "pytest": (sys.executable, "-m", "pytest"),
        "autoweb": (sys.executable, "-m", "pytest_autoweb.cli"),
        "python": (sys.executable,),
    }[program]
    done = subprocess.run(
        (*started, *arguments),
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=300,
        env=environment(folder),
    )
    lines = iter((done.stdout + done.stderr).splitlines())
    for wanted in expected:
        pattern = f"*{wanted.replace('[', '[[]').replace('…', '*')}*"
        # Taken from one iterator, so that the lines must come in this order.
        assert any(fnmatch.fnmatchcase(line, pattern) for line in lines), (
            f"`{command}` does not print {wanted!r}:\n{done.stdout}\n{done.stderr}"
        )


def environment(folder: Path) -> dict[str, str]:
    """Return what a developer has; a copy of the package comes before the installed one."""
    inherited = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("AUTOWEB_", "PYTEST_"))
    }
    return {**inherited, "PYTHONPATH": str(folder), "COLUMNS": "200"}


def copy_of_project(folder: Path) -> None:
    ignored = shutil.ignore_patterns("*.png", ".*cache")  # compiled modules save seconds
    for name in COPIED:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, folder / name, ignore=ignored)
        else:
            shutil.copy(ROOT / name, folder)


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
