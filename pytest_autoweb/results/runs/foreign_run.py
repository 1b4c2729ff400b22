"""What is taken over from a saved run, which may come from anyone.

A run is data. Its paths lead only to files of the project, and of its settings only those hold
again that decide how a cell ends and cannot weaken a wall.
"""

import re
import shlex
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from pytest_autoweb.base.errors import SettingsError
from pytest_autoweb.results.runs.run_signs import holds_run
from pytest_autoweb.settings.run_settings import OF_OUTCOMES, OPTIONS

_INLINE = ("", "inline")
_CONFTEST = "conftest.py"

_REPLAYED = {"record_mode": "none", "traffic": "replay"}
"""Settings with the one value that cannot reach more than the default: only what was recorded."""
_PLAIN = re.compile(r"[\w.,:/@+-]{1,200}", re.ASCII)


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
    shown = _shown(case_path)
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
                f"{_shown(str(home))}; a run is data, and nothing in it is started"
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


class TakenSettings(NamedTuple):
    """The settings of a saved run that were given to it by flags or the environment."""

    flags: tuple[str, ...]
    """The flags that hold again."""
    left: tuple[str, ...]
    """Those that do not, as they would be written on a command line."""


def taken_settings(settings: Mapping[str, Any], without: Collection[str]) -> TakenSettings:
    """Tell which settings of a saved run hold again; what ini files say does so by itself.

    Args:
        settings: each setting with its value and source, as the run recorded them.
        without: names of settings that are of no matter.
    """
    known = {option.name: option.flag for option in OPTIONS}
    flags, left = [], []
    for name, setting in settings.items():
        text = _text_of(setting)
        if not text or name in without:
            continue
        flag = f"{known.get(name, f'--autoweb-{name}').replace('_', '-')}={text}"
        if name in known and _PLAIN.fullmatch(text) and _may_hold_again(name, text):
            flags.append(flag)
        else:
            left.append(_shown(flag))
    return TakenSettings(tuple(flags), tuple(left))


def _may_hold_again(name: str, text: str) -> bool:
    if name == "base_url":
        # Cases type their secrets into the site, so a stranger may not choose its host.
        return urlsplit(text).hostname in ("127.0.0.1", "localhost")
    return name in OF_OUTCOMES or _REPLAYED.get(name) == text


def _text_of(setting: Any) -> str:
    """Return the value of a setting that was given for the run, as text; empty if it was not."""
    if not isinstance(setting, dict) or setting.get("source") in ("default", "ini"):
        return ""
    value = setting.get("value")
    if value in (None, "", []):
        return ""
    text = ",".join(map(str, value)) if isinstance(value, list) else str(value)
    return text.lower() if isinstance(value, bool) else text


def _shown(text: str) -> str:
    """Return text of the run for a message: on one line, quoted where a shell would need it."""
    return shlex.quote("".join(c for c in text[:200] if c.isprintable()))
