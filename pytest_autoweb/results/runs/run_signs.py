"""By what a run folder is recognised, whatever its name is, and the id of the run in it.

pytest asks about every folder of every project, so this imports nothing but the standard library.
"""

import json
import re
from pathlib import Path
from typing import Any

SIGNS = ("cells", "manifest.json", "run.json", "report.json")
"""Only a folder with one of these can be a run folder."""
PROGRESS_FOLDER = "progress"
"""The folder in a run folder that has a file of events for each of its sessions."""
_CELLS, _MANIFEST, _RUN, _REPORT = SIGNS
_MARKED = re.compile(rb'"format"\s*:\s*"pytest-autoweb/')
_HEAD_BYTES = 4096
_RUN_FIELDS = frozenset({"ts", "models", "capture_modes"})


def holds_run(folder: Path) -> bool:
    """Tell by its files whether a folder is a run folder, whatever its name is."""
    if any(map(_is_marked, (folder / _MANIFEST, folder / _REPORT))):
        return True
    if (folder / _CELLS).is_dir() and (
        (folder / _RUN).is_file() or any(folder.glob(f"{_CELLS}/*/*/*/cell.json"))
    ):
        return True
    return _read(folder / _RUN).keys() >= _RUN_FIELDS


def ts_of_run(folder: Path) -> str:
    """Return the id of the run in a folder; empty if there is none."""
    ts = _read(folder / _MANIFEST).get("ts", "")
    return ts if isinstance(ts, str) else ""


def _read(file: Path) -> dict[str, Any]:
    """Return the object in a file of JSON, which is empty if it cannot be read."""
    try:
        told = json.loads(file.read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    return told if isinstance(told, dict) else {}


def _is_marked(file: Path) -> bool:
    try:
        with file.open("rb") as opened:
            return bool(_MARKED.search(opened.read(_HEAD_BYTES)))
    except OSError:
        return False
