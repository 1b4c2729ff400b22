"""Traces of cases with secrets, kept on this machine alone and never in a run's folder.

Run folders are uploaded, published and sent to others; a trace shows everything that was typed. So
such a trace lies in a folder that only its owner can read, under a name that follows from where the
run is. A later run in the same place replaces it.
"""

import hashlib
import os
import shutil
from pathlib import Path

from pytest_autoweb.base.cache_folder import cache_folder
from pytest_autoweb.base.files import PRIVATE, whole_file

_FOLDER_MODE = 0o700


def keep_private_trace(file: Path, run_folder: Path, ts: str, cell: str) -> None:
    """Copy a trace to where only its owner can read it.

    Args:
        file: the trace.
        run_folder: the run's folder.
        ts: the run's time stamp; traces of the same cell with another one are deleted.
        cell: the cell's folder below that of the run.

    Raises:
        OSError: the trace cannot be read, or its copy cannot be written.
    """
    folder = _folder(run_folder, ts, cell)
    folder.parent.parent.mkdir(parents=True, exist_ok=True, mode=_FOLDER_MODE)
    for older in folder.parent.glob("*") if folder.parent.exists() else ():
        if older != folder:
            shutil.rmtree(older, ignore_errors=True)
    with file.open("rb") as source, whole_file(folder / file.name, mode=PRIVATE) as target:
        shutil.copyfileobj(source, target)


def private_traces(run_folder: Path, ts: str, cell: str) -> list[Path]:
    """Return the traces of a cell that are kept on this machine, in the order of its attempts."""
    found = _folder(run_folder, ts, cell).glob("trace*.zip")
    return sorted(found, key=lambda file: (len(file.name), file.name))


def _folder(run_folder: Path, ts: str, cell: str) -> Path:
    place = hashlib.sha256(os.fsencode(run_folder.resolve() / cell)).hexdigest()[:24]
    # A run may come from anyone, and name itself as it likes.
    stamp = hashlib.sha256(ts.encode()).hexdigest()[:16]
    return cache_folder("private-traces") / place / stamp
