"""A lock between processes of one user, whose file is gone as soon as nobody holds it."""

import hashlib
import os
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from types import TracebackType

from pytest_autoweb.base.file_lock import FILES_STAY_WHILE_OPEN, lock_at_once

_POLL_S = 0.05
# On Windows, the temporary folder is the user's own, and nobody can put a link into it.
if sys.platform == "win32":
    _USER, _NO_LINK = 0, 0
else:
    _USER, _NO_LINK = os.getuid(), os.O_NOFOLLOW


class PassingLock:
    """A lock named after a path, which may not exist; it ends with its process, however that ends.

    Its file lies in the temporary folder, so that the user's folders hold only what they are for.
    The kernel holds the lock by the open file, so a file left by a killed process locks nobody out,
    and the next holder removes it.

    Args:
        kind: what is locked, for the file's name.
        path: the file or folder that only one process may use.
        wait_s: how long to wait for another holder.
    """

    def __init__(self, kind: str, path: Path, wait_s: float = 0.0) -> None:
        digest = hashlib.sha256(os.fsencode(path.resolve())).hexdigest()[:16]
        folder = Path(tempfile.gettempdir())
        self._file = folder / f"autoweb-{kind}-{_USER}-{digest}.lock"
        self._wait_s = wait_s
        self._open: int | None = None

    def acquire(self) -> None:
        """Take the lock.

        Raises:
            TimeoutError: another process holds it.
            OSError: the temporary folder cannot be written.
        """
        deadline = time.monotonic() + self._wait_s
        while not self._taken():
            if time.monotonic() >= deadline:
                raise TimeoutError(f"another process holds {self._file}")
            time.sleep(_POLL_S)

    def release(self) -> None:
        """Free the lock for the next holder; may be called twice."""
        if self._open is not None:
            opened, self._open = self._open, None
            if FILES_STAY_WHILE_OPEN:
                os.close(opened)
                # It stays if the next holder has it already.
                with suppress(PermissionError):
                    self._file.unlink(missing_ok=True)
            else:
                self._file.unlink(missing_ok=True)
                os.close(opened)

    def __enter__(self) -> None:
        self.acquire()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.release()

    def _taken(self) -> bool:
        try:
            opened = os.open(self._file, os.O_RDWR | os.O_CREAT | _NO_LINK, 0o600)
        except PermissionError:
            # On Windows, so is a file called that is just being removed.
            if FILES_STAY_WHILE_OPEN:
                return False
            raise
        try:
            # The holder before may have removed the file between its opening and its lock; whoever
            # comes next would then lock another one.
            if lock_at_once(opened) and (FILES_STAY_WHILE_OPEN or self._is(opened)):
                self._open, opened = opened, -1
        finally:
            if opened >= 0:
                os.close(opened)
        return self._open is not None

    def _is(self, opened: int) -> bool:
        try:
            return os.path.samestat(os.fstat(opened), self._file.stat())
        except FileNotFoundError:
            return False
