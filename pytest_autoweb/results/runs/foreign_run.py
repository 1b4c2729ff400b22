"""What is taken over from a saved run, which may come from anyone.

A run is data. Its paths lead only to files of the project; which of its settings hold again is in
`settings/rerun_settings.py`.
"""

import shlex
from collections.abc import Iterator
from pathlib import Path

from pytest_autoweb.base.errors import SettingsError
from pytest_autoweb.results.runs.run_signs import holds_run

_INLINE = ("", "inline")
_CONFTEST = "conftest.py"


class NoCaseFile(SettingsError):
    """Raised when the case file that a run names does not exist."""


class ForeignCaseFile(SettingsError):
    """Raised when a run names a file that must not be read on its word."""


def case_file(case_path: str, rootdir: Path, run: Path) -> Path:
    """Return the case file of a cell, below the rootdir and outside of all run folders.

    Args:
        case_path: the path that the run recorded.
        rootdir: the folder that it is relative to.
        run: the run folder.

    Raises:
        NoCaseFile: there is no such file.
        ForeignCaseFile: it lies outside of the rootdir, or in a run folder.
    """
    shown = quoted(case_path)
    if case_path in _INLINE:
        raise NoCaseFile("the case was given inline, so there is no case file to read")
    path = rootdir / case_path
    try:
        file, root = path.resolve(), rootdir.resolve()
        there = path.is_file()
    except (OSError, ValueError):
        there = False
    if there and not file.is_relative_to(root):
        raise ForeignCaseFile(
            f"the run names the case file {shown}, which lies outside of {root}; only files of "
            "the project are read"
        )
    if not there:
        raise NoCaseFile(f"there is no case file {shown} here; start it at the rootdir")
    for place in dict.fromkeys((path.absolute(), file, *_conftests(path, root))):
        if home := run_folder_around(place, run):
            what = f", whose {_CONFTEST}" if place.name == _CONFTEST else ", which"
            raise ForeignCaseFile(
                f"the run names the case file {shown}{what} lies in the run folder "
                f"{quoted(str(home))}; a run is data, and nothing in it is started"
            )
    return path


def _conftests(path: Path, root: Path) -> Iterator[Path]:
    """Yield where the conftest files really lie that pytest would load for a file."""
    for start in (path.absolute(), path.resolve()):
        for folder in start.parents:
            if not folder.is_relative_to(root):
                break
            if (folder / _CONFTEST).exists():
                yield (folder / _CONFTEST).resolve()


def run_folder_around(path: Path, run: Path | None = None) -> Path | None:
    """Return the run folder that a path lies in, or None.

    Args:
        path: an absolute path.
        run: a folder that is a run folder, whatever it holds.
    """
    known = {run.absolute(), run.resolve()} if run else set()
    for folder in dict.fromkeys((*path.parents, *path.resolve().parents)):
        if folder in known or holds_run(folder):
            return folder
    return None


def quoted(text: str) -> str:
    """Return text of the run for a message: on one line, quoted where a shell would need it."""
    return shlex.quote("".join(c for c in text[:200] if c.isprintable()))
