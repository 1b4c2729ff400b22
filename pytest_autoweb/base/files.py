"""Replaces files as a whole: a reader sees the old content or the new, and never half of it."""

import os
import secrets
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import BinaryIO

PRIVATE = 0o600
"""The mode of a file that only its owner can read."""
_READ_S = 2.0
_POLL_S = 0.02


@contextmanager
def whole_file(
    path: Path, *, mode: int = 0o666, sync: Callable[[int], object] | None = None
) -> Iterator[BinaryIO]:
    """Yield a file to write that gets its name only once it is complete.

    Args:
        path: the file's; its folder is made if there is none.
        mode: its permissions, less those that the process's umask takes away.
        sync: called with the file's descriptor once all is written; `os.fsync` waits until the
            content is on the disk, so that it outlives even a crash of the machine.

    Raises:
        OSError: the folder cannot be written or the disk is full; `path` is unchanged.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    # In the same folder, because only a rename within one file system is atomic; under a name that
    # no other process or thread has.
    draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")
    try:
        # Created with its final permissions, so that nobody else can ever read a private file.
        with open(draft, "xb", opener=partial(os.open, mode=mode)) as file:
            yield file
            if sync is not None:
                file.flush()
                sync(file.fileno())
        _rename(draft, path)
    except BaseException:
        with suppress(OSError):
            draft.unlink(missing_ok=True)
        raise


def _rename(draft: Path, path: Path) -> None:
    deadline = time.monotonic() + _READ_S
    while sys.platform == "win32" and time.monotonic() < deadline:
        # There a file cannot be replaced while somebody has it open, be it a search for viruses.
        with suppress(PermissionError):
            draft.replace(path)
            return
        time.sleep(_POLL_S)
    draft.replace(path)


def replace_text(path: Path, text: str, *, mode: int = 0o666) -> None:
    """Write a text as UTF-8 in place of what the file held, for readers that may come at any time.

    Args:
        path: the file's; its folder is made if there is none.
        text: what it is to hold.
        mode: its permissions, less those that the process's umask takes away.

    Raises:
        OSError: the folder cannot be written or the disk is full; `path` is unchanged.
    """
    with whole_file(path, mode=mode) as file:
        file.write(text.encode())
