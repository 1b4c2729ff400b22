"""Documents done as they say: files written and changed, commands run, their output compared.

A code block says in the line above it what to do: "Write `path`:", "Append to `path`:", "Change
`path`:" (a difference). A block of the language `console` holds commands after `$`, each with lines
that it must print, where `…` stands for anything. One of the language `text` is only looked at.
"""

import fnmatch
import os
import re
import shlex
import subprocess
import sys
import textwrap
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from session_server import autoweb_command, session_command

_FENCE = re.compile(r"^( *)```(\w+)\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)
_ORDER = re.compile(r"^ *(Write|Append to|Change) `([^`]+)`[^\n]*:$", re.MULTILINE)


class Block(NamedTuple):
    """A code block, and what the line above it says to do with it."""

    order: str
    """`Write`, `Append to` or `Change`; `Run` for commands."""
    path: str
    text: str


def blocks(text: str) -> Iterator[Block]:
    for fence in _FENCE.finditer(text):
        indent, language, content = fence.groups()
        if language == "text":
            continue
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


def follow(block: Block, folder: Path, settings: Mapping[str, str] = {}) -> None:
    target = folder / block.path
    if block.order == "Run":
        for command, expected in commands(block.text):
            run(command, expected, folder, settings)
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


def run(command: str, expected: list[str], folder: Path, settings: Mapping[str, str] = {}) -> int:
    """Run a command, compare what it prints, and return its exit code."""
    program, *arguments = shlex.split(command)
    started = {
        "pytest": session_command(),
        "autoweb": autoweb_command(),
        "python": (sys.executable,),
    }[program]
    done = subprocess.run(
        (*started, *arguments),
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=300,
        env={**environment(folder), **settings},
    )
    lines = iter((done.stdout + done.stderr).splitlines())
    for wanted in expected:
        pattern = f"*{wanted.replace('[', '[[]').replace('…', '*')}*"
        # Taken from one iterator, so that the lines must come in this order.
        assert any(fnmatch.fnmatchcase(line, pattern) for line in lines), (
            f"`{command}` does not print {wanted!r}:\n{done.stdout}\n{done.stderr}"
        )
    return done.returncode


def environment(folder: Path) -> dict[str, str]:
    """Return what a developer has; a copy of the package comes before the installed one."""
    inherited = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("AUTOWEB_", "PYTEST_"))
    }
    return {**inherited, "PYTHONPATH": str(folder), "COLUMNS": "200"}
