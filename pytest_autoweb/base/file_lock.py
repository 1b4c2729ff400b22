"""The lock of an open file, which the system frees when its process ends, however that ends."""

import os
import sys

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

FILES_STAY_WHILE_OPEN = sys.platform == "win32"
"""Whether a file that is open can neither be removed nor replaced."""


def lock_at_once(descriptor: int, *, shared: bool = False) -> bool:
    """Lock an open file without waiting, and return whether it was free.

    Args:
        descriptor: the file's, opened for writing. Closing it frees the lock.
        shared: whether others may share the lock. Windows has no such lock for Python, so there the
            second one is told that the file is locked.
    """
    try:
        if sys.platform == "win32":
            # The lock is of a range of bytes, which need not exist.
            os.lseek(descriptor, 0, os.SEEK_SET)
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        else:
            fcntl.flock(descriptor, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    return True
