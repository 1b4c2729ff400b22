"""Copies of a run's files, none of which is a page, a script or a test where it arrives.

A run may come from anyone and hold anything. Copied are only the kinds of files that runs consist
of, each recognised by its content. Three of them could be opened as a page or run as code: the
page's stored copy, the model's script, and what was downloaded. Their copies are text by their
names.
"""

import json
import shutil
from collections.abc import Callable, Collection
from pathlib import Path

from pytest_autoweb.results.runs.saving import STARTED_FILE, files_below

DOM_FILE = "final.html"
SCRIPT_FILE = "script.py"
DOWNLOADS_FOLDER = "downloads"
RECORDINGS_FOLDER = "recordings"

_AS_TEXT = ".txt"
_MOST_JSON = 500_000_000
_TEXTS = frozenset({".txt", ".log", ".csv"})
_RECORDED = (".zip", ".webm")
"""Kinds of traces and videos, which stand nowhere else."""
_MAGIC = {
    ".png": b"\x89PNG\r\n\x1a\n",
    ".jpg": b"\xff\xd8\xff",
    ".jpeg": b"\xff\xd8\xff",
    ".zip": b"PK\x03\x04",
    ".webm": b"\x1a\x45\xdf\xa3",
}


def copy_inert(
    source: Path, target: Path, leave: Callable[[Path], bool] = lambda place: False
) -> None:
    """Copy what is inert of a folder.

    Args:
        source: the folder; links in it are not followed.
        target: the new folder.
        leave: receives each file's path in the folder, and tells whether to pass over it.
    """
    for file in files_below(source):
        place = file.relative_to(source)
        name = None if leave(place) else inert_name(file, place.parts[:-1])
        if name is None:
            continue
        copy = target / place.with_name(name)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(file, copy)


def inert_name(file: Path, folders: Collection[str]) -> str | None:
    """Return the name of a file's copy, or None if it is not to be copied.

    Args:
        file: the file.
        folders: the folders that it lies in, below the one that is copied.
    """
    recorded = RECORDINGS_FOLDER in folders or file.suffix.lower() not in _RECORDED
    if recorded and _is_inert(file):
        return file.name
    if file.name in (DOM_FILE, SCRIPT_FILE) or DOWNLOADS_FOLDER in folders:
        return file.name + _AS_TEXT
    return None


def stored_file(path: Path) -> Path:
    """Return the place of a file of a run, which in a copied run may be a text by its name."""
    copy = path.with_name(path.name + _AS_TEXT) if path.name else path
    return copy if copy.is_file() and not path.exists() else path


def _is_inert(file: Path) -> bool:
    """Tell by name and content whether a file is of a kind that nothing runs."""
    kind = file.suffix.lower()
    try:
        if kind in _MAGIC:
            with file.open("rb") as opened:
                return opened.read(8).startswith(_MAGIC[kind])
        if kind in (".json", ".har"):
            content = file.read_bytes() if file.stat().st_size <= _MOST_JSON else b""
            return isinstance(json.loads(content), dict | list)
        if kind in _TEXTS:
            file.read_bytes().decode("utf-8")
            return True
        # Either empty, or the few words with which a process announced its end.
        return file.name == STARTED_FILE and b"<" not in file.read_bytes()
    except (OSError, ValueError, RecursionError):
        return False
