"""Files that reach the disk while their cell goes on, and no later than its result.

A file that is written is there for every reader at once, but a crash of the machine may still take
it. To wait for the disk takes milliseconds, and nobody judges a cell by what it left before its
result is saved.
"""

import os
import sys
import threading
from pathlib import Path
from queue import SimpleQueue

from pytest_autoweb.base import waiting
from pytest_autoweb.results.runs.saving import write_text_atomic

_KEPT: dict[Path, "SimpleQueue[OSError | None]"] = {}
"""What tells that a file is on the disk, or why it is not."""


def write_text_lasting(path: Path, text: str) -> None:
    """Write a whole file, which `wait_for_disk` waits for.

    Raises:
        OSError: the folder cannot be written or the disk is full; `path` is unchanged.
    """
    if sys.platform == "win32":
        # There nobody else can move or remove a file that is open.
        write_text_atomic(path, text)
        return
    write_text_atomic(path, text, lasting=False)
    told: SimpleQueue[OSError | None] = SimpleQueue()
    _KEPT[path] = told
    threading.Thread(target=_keep, args=(path, told), name="autoweb-disk", daemon=True).start()


def _keep(path: Path, told: "SimpleQueue[OSError | None]") -> None:
    try:
        with path.open("rb") as file:
            os.fsync(file.fileno())
    except FileNotFoundError:
        # It was removed, as what an attempt left is before it is made again.
        told.put(None)
    except OSError as error:
        told.put(error)
    else:
        told.put(None)


def wait_for_disk(folder: Path) -> None:
    """Wait until all that was written below a folder outlives even a crash of the machine.

    Raises:
        OSError: the disk has failed.
    """
    pending = [_KEPT.pop(path) for path in tuple(_KEPT) if path.is_relative_to(folder)]
    if not pending:
        return
    found = waiting.blocking(lambda: [told.get() for told in pending])
    for error in found:
        if error is not None:
            raise error
