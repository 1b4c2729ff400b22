"""Reads a checkout of WebArena-Infinity: its applications and their tasks."""

import hashlib
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, get_args

from msgspec import Struct

from pytest_autoweb.base.errors import SettingsError, nearest
from pytest_autoweb.tools.importing.infinity.app_server import PAGE
from pytest_autoweb.tools.importing.written_cases import read_json

Suite = Literal["real", "function"]
SUITES: tuple[Suite, ...] = get_args(Suite)
"""The tasks a person would have, and those that try one function of the application each."""

_FILE_BYTES = 5_000_000
# How the board calls the files with the solutions of a suite, the first that exists.
_SOLUTIONS: dict[Suite, tuple[str, ...]] = {
    "real": ("sanity_check_real.py", "sanity_check.py"),
    "function": ("sanity_check_function.py",),
}
_NAME = re.compile(r"[A-Za-z0-9._-]+")


class Task(Struct, frozen=True):
    """One task of the board, as it stands in the list of its application."""

    app: str
    suite: Suite
    name: str
    """Its name, unique within application and suite: `task_e1`."""
    words: str
    verifier: Path
    solutions: Path | None
    """The file that holds the board's solution of the task, if there is one."""
    difficulty: str = ""

    @property
    def id(self) -> str:
        """Return the id of its case, such as `gmail-real-e1`."""
        return f"{self.app}-{self.suite}-{self.name.removeprefix('task_')}"

    @property
    def checksum(self) -> str:
        """Return the SHA-256 of its verifier."""
        return checksum(self.verifier)


class App(Struct, frozen=True):
    """One application: a page with its scripts, and its tasks."""

    name: str
    folder: Path
    tasks: tuple[Task, ...]


def checksum(file: Path) -> str:
    """Return the SHA-256 of a file, in hexadecimal digits."""
    return hashlib.sha256(file.read_bytes()).hexdigest()


def read_board(
    folder: Path, wanted: Sequence[str] = (), suites: Sequence[Suite] = SUITES
) -> list[App]:
    """Return the applications of a checkout with the tasks of these suites.

    Args:
        folder: the checkout, which has a folder `apps`.
        wanted: names of applications; empty for all.
        suites: the suites to read.

    Raises:
        SettingsError: the folder is not such a checkout, an application is unknown, or a list of
            tasks cannot be read.
    """
    found = {
        place.parent.name: place.parent
        for place in sorted((folder / "apps").glob(f"*/{PAGE}"))
        if (place.parent / "js").is_dir() and _lists(place.parent, suites)
    }
    if not found:
        raise SettingsError(
            f"{folder} is not a checkout of WebArena-Infinity: it needs apps/NAME/{PAGE}, js/ and "
            "real-tasks.json"
        )
    for name in wanted:
        if name not in found:
            near = nearest(name, list(found))
            hint = f"; did you mean {near!r}?" if near else f"; there are {', '.join(found)}"
            raise SettingsError(f"WebArena-Infinity has no application {name!r} in {folder}{hint}")
    names = list(dict.fromkeys(wanted)) or list(found)
    return [
        App(name, found[name].resolve(), tuple(_tasks(found[name].resolve(), suites)))
        for name in names
    ]


def _lists(app: Path, suites: Sequence[Suite]) -> list[Path]:
    return [file for suite in suites if (file := app / f"{suite}-tasks.json").is_file()]


def _tasks(app: Path, suites: Sequence[Suite]) -> Iterator[Task]:
    for suite in suites:
        listed = app / f"{suite}-tasks.json"
        if not listed.is_file():
            continue
        entries = read_json(listed, _FILE_BYTES)
        if not isinstance(entries, list):
            raise SettingsError(f"{listed} is not a list of tasks")
        solutions = next((app / n for n in _SOLUTIONS[suite] if (app / n).is_file()), None)
        for number, entry in enumerate(entries, start=1):
            if not _is_task(entry) or not _verifier(app, entry).is_file():
                raise SettingsError(
                    f"{listed}, entry {number}: a task has an id, an instruction and the path of "
                    "its verifier below the application"
                )
            yield Task(
                app=app.name,
                suite=suite,
                name=entry["id"],
                words=entry["instruction"],
                verifier=_verifier(app, entry),
                solutions=solutions,
                difficulty=str(entry.get("difficulty") or ""),
            )


def _is_task(entry: Any) -> bool:
    return (
        isinstance(entry, dict)
        and all(isinstance(entry.get(key), str) for key in ("id", "instruction", "verify"))
        and _NAME.fullmatch(entry["id"]) is not None
        and ".." not in Path(entry["verify"]).parts
        and not Path(entry["verify"]).is_absolute()
    )


def _verifier(app: Path, entry: dict[str, Any]) -> Path:
    return app / str(entry["verify"])
