"""Work that nothing can interrupt within this process, done in one that can be ended.

Python's `re` holds its thread until it has an answer. The process is started when it is first
needed, serves this one as long as it lives, and is replaced whenever it had to be ended.
"""

import atexit
import json
import os
import subprocess
import sys
import threading
from typing import Any

from pytest_autoweb.base.process_tree import OWN_GROUP

_MOST_S = 20.0
"""Wall-clock limit of one request. The worker's own limit counts processor time, of which a busy
machine may give it little."""


class TookTooLong(Exception):
    """Raised when work was given up because it took too long."""


class WorkFailed(Exception):
    """Raised when the work itself raised an exception; the message names it."""


def carry_out(name: str, *arguments: Any) -> Any:
    """Let the worker do something, and return its result.

    Args:
        name: one of the worker's tasks.
        arguments: values as JSON has them.

    Raises:
        TookTooLong: the worker was ended.
        WorkFailed: the work raised an exception.
    """
    line = json.dumps([name, arguments]).encode("ascii") + b"\n"
    with _LOCK:
        said = _WORKERS.setdefault(os.getpid(), _Worker()).answer(line)
    if "error" in said:
        raise WorkFailed(said["error"])
    return said["result"]


class _Worker:
    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        atexit.register(self._end)

    def answer(self, line: bytes) -> dict[str, Any]:
        """Send a request and return its answer.

        Raises:
            TookTooLong: there was none in time.
        """
        if self._process is None or self._process.poll() is not None:
            self._end()
            self._process = _started()
        process = self._process
        assert process.stdin is not None
        assert process.stdout is not None
        # Reading a pipe has no timeout, so a timer ends the process.
        timer = threading.Timer(_MOST_S, process.kill)
        timer.daemon = True
        timer.start()
        try:
            process.stdin.write(line)
            process.stdin.flush()
            said: dict[str, Any] | None = json.loads(process.stdout.readline() or b"null")
        except OSError:
            said = None
        except BaseException:
            # Whatever came in between, Ctrl-C say: the next request must not get this answer.
            self._end()
            raise
        finally:
            timer.cancel()
        if said is None:
            self._end()
            raise TookTooLong
        return said

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.communicate()


_WORKERS: dict[int, _Worker] = {}
"""The worker by the process that uses it: one that was forked must not read the other's answers."""
_LOCK = threading.Lock()


def _started() -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        # `-P`: modules in the current folder must not shadow installed ones.
        [sys.executable, "-P", "-m", "pytest_autoweb.base.values.interruptible_worker"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        **OWN_GROUP,
    )
