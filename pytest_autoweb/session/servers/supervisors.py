"""Starts the supervisors of web servers: forks of one small process, without an interpreter each.

That process is started when a test process needs its first server. It has loaded what a supervisor
needs, so that the next one costs a few milliseconds and not a tenth of a second, and it ends with
the test process. The supervisors do not: each ends as its own folder says.
"""

import atexit
import json
import os
import subprocess
import sys
import threading
from collections.abc import Mapping
from pathlib import Path

from pytest_autoweb.base.errors import WebServerError
from pytest_autoweb.base.process_tree import OWN_GROUP, import_folders
from pytest_autoweb.session.servers import webserver_process


class _GoneError(Exception):
    """Raised when the process that forks has ended."""


class _Forks:
    """The process that forks supervisors for this one."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process = subprocess.Popen(
            _interpreter(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0, **OWN_GROUP
        )

    def start(self, folder: Path, environ: Mapping[str, str]) -> str:
        """Have a supervisor forked; return why it could not be, or an empty text.

        Raises:
            _GoneError: the process was killed.
        """
        orders, answers = self._process.stdin, self._process.stdout
        assert orders is not None
        assert answers is not None
        order = {"folder": str(folder), "environ": dict(environ)}
        with self._lock:
            try:
                orders.write(json.dumps(order).encode() + b"\n")
                return str(json.loads(answers.readline()))
            except (OSError, ValueError) as error:
                raise _GoneError from error

    def close(self) -> None:
        """End the process; it has nothing to finish."""
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None
            pipe.close()
        self._process.kill()
        self._process.wait()


_FORKS: dict[int, _Forks] = {}
"""By the process they work for, since after a fork of this one they still belong to the parent."""
_STARTING = threading.Lock()


def start_supervisor(folder: Path, environ: Mapping[str, str]) -> None:
    """Start the supervisor of a folder, which holds the folder's lock when this returns.

    Raises:
        WebServerError: it could not be started.
    """
    for _ in range(2):
        forks = _forks()
        try:
            why = _started_alone(folder, environ) if forks is None else forks.start(folder, environ)
        except _GoneError:
            _forget(forks)
            continue
        if not why:
            return
        break
    else:
        why = "the process that starts them ends at once"
    raise WebServerError(f"the supervisor of the web server could not be started: {why}")


def _forks() -> _Forks | None:
    if sys.platform == "win32":
        return None
    with _STARTING:
        if os.getpid() not in _FORKS:
            _FORKS[os.getpid()] = _Forks()
        return _FORKS[os.getpid()]


def _forget(gone: _Forks | None) -> None:
    with _STARTING:
        if gone is not None and _FORKS.get(os.getpid()) is gone:
            del _FORKS[os.getpid()]
            gone.close()


def _started_alone(folder: Path, environ: Mapping[str, str]) -> str:
    """Start a supervisor as an interpreter of its own, where nothing can be forked."""
    with (folder / "server.log").open("ab") as log:
        done = subprocess.run(
            [*_interpreter(), str(folder)],
            env=dict(environ),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            **OWN_GROUP,
            check=False,
        )
    return f"exit status {done.returncode}" if done.returncode else ""


def _interpreter() -> list[str]:
    # `-S` skips `site`, which accounts for most of Python's start-up time.
    bare = [sys.executable, "-I", "-S", webserver_process.__file__]
    return [*bare, os.pathsep.join(import_folders())]


def _close() -> None:
    if forks := _FORKS.pop(os.getpid(), None):
        forks.close()


atexit.register(_close)
