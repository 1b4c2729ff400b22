"""Writes the case files of WebArena-Infinity: one for each application, more for a large one."""

import json
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

from pytest_autoweb.tools.importing.infinity.board import App, Task
from pytest_autoweb.tools.importing.infinity.proofs import Proof
from pytest_autoweb.tools.importing.written_cases import (
    named_parts,
    parts_within,
    quoted,
    scalar,
)

DEFECT = "board-defect"
UNPROVEN = "unproven"
KNOWN_WRONG = "known-wrong"
NO_WAY: Mapping[str, str] = {
    "linear-account-settings-real-h41": "asks for values that no page of the application shows",
}
"""Tasks that cannot be solved by the page though their checks hold, with the reason."""

_PACKAGE = __name__.rpartition(".")[0]
_CHECK = f"{_PACKAGE}.judging:verified"
_SERVER = f"{_PACKAGE}.app_server"
_TIMEOUT = 30


def case_files(apps: Sequence[App], proofs: Mapping[str, Proof]) -> dict[str, str]:
    """Return the case files by name."""
    files: dict[str, str] = {}
    for app in apps:
        parts = parts_within(_case(app, task, proofs[task.id]) for task in app.tasks)
        files |= named_parts(app.name, [_head(app) + part for part in parts])
    return files


def _head(app: App) -> str:
    served = shlex.quote(str(app.folder))
    command = f"{{python}} -m {_SERVER} {served} --port {{port}} --data {{data}}"
    lines = [
        "# WebArena-Infinity, imported by `autoweb benchmark import webarena-infinity`",
        "#",
        f"# {DEFECT}: the check holds when nothing is done. {UNPROVEN}: it refuses the board's own",
        f"# solution. {KNOWN_WRONG}: the page offers no way to do it.",
        "version: 1",
        "webserver:",
        f"  command: {scalar(command)}",
        "  reset: restart",
        "defaults:",
        '  entry_url: "{{ webserver.url }}"',
        f"  timeout: {_TIMEOUT}",
        "cases:",
    ]
    return "\n".join(lines) + "\n"


def _case(app: App, task: Task, proof: Proof) -> str:
    given = {
        "app": str(app.folder),
        "verifier": _below(app.folder, task.verifier),
        "sha256": task.checksum,
        "name": task.name,
    }
    if task.solutions is not None and proof.solved:
        given["solutions"] = _below(app.folder, task.solutions)
    lines = [
        f"  - id: {task.id}",
        f'    user_task: "{quoted(task.words)}"',
        f"    tags: {json.dumps(tags_of(task, proof))}",
        "    expect:",
        f"      - python: {_CHECK}",
        "        with:",
        '          data: "{{ webserver.data }}"',
        *(f"          {key}: {scalar(value)}" for key, value in given.items()),
    ]
    return "\n".join(lines) + "\n"


def tags_of(task: Task, proof: Proof) -> list[str]:
    """Return the tags of a task: where it is from, how hard it is, and what is wrong with it."""
    wrong = {
        DEFECT: proof.undone,
        UNPROVEN: proof.solved is not True,
        KNOWN_WRONG: task.id in NO_WAY,
    }
    difficulty = [task.difficulty] if task.difficulty.isalpha() else []
    return [
        *("webarena-infinity", task.app, task.suite),
        *difficulty,
        *(tag for tag, holds in wrong.items() if holds),
    ]


def _below(folder: Path, file: Path) -> str:
    return file.relative_to(folder).as_posix()
