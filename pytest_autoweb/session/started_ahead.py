"""A run of `--autoweb-watch` that was started ahead of the change it is for.

It has loaded what every run loads, and its browser is running, when it is told which files were
touched. What may have changed by then is read afterwards: conftests, case files, settings of
models. The watching process throws it away if anything changed that was read before.

On Linux the process that has loaded everything stays as it is, and forks for each run, which
therefore loads nothing again. Elsewhere, and where a plugin has started threads, it is the run.
"""

import gc
import json
import os
import random
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path

from pydantic import BaseModel

# A run needs them, and they lead to all the rest that it does.
import pytest_autoweb.report.write
import pytest_autoweb.session.cell_hooks  # noqa: F401
from pytest_autoweb.base.files import PRIVATE, replace_text
from pytest_autoweb.session.browser_ahead import Launch, note_launches, start_browser
from pytest_autoweb.session.touched_cells import TOUCHED

BROWSER_FILE = "browser.json"
"""How the last run started its browser, in the folder of the watching process."""
_NOT_NEEDED = 86
"""The exit status of a process that was never told to run."""


def wait_until_told(given: str, *, own_browser: bool) -> None:
    """Load what a run needs, and wait for the list of touched files; an empty one means everything.

    The process ends if the watching one has gone, or does not need it any more.

    Args:
        given: the descriptors of two pipes, one to read the list from, and one to write the id of
            the run's process to, and then its exit status; and the watching process's folder.
        own_browser: whether this process will need a browser.
    """
    reads, tells, folder = given.split(":", 2)
    launch_file = Path(folder) / BROWSER_FILE
    note_launches(partial(_note, launch_file))
    for pipe in (reads, tells):
        # Not for what this process starts.
        os.set_inheritable(int(pipe), False)
    try:
        if sys.platform == "linux" and threading.active_count() == 1:
            _fork_for_each_run(int(tells))
        else:
            _tell(int(tells), os.getpid())
        if own_browser:
            _start_as_noted(launch_file)
        told = _told(int(reads))
    except KeyboardInterrupt:
        told = b""
    if not told:
        # Nothing has begun that needs an orderly end; the driver ends its browser when it is left.
        os._exit(_NOT_NEEDED)
    if touched := json.loads(told):
        os.environ[TOUCHED] = os.pathsep.join(touched)


def _fork_for_each_run(tells: int) -> None:
    """Return in a fork of this process, time and again; this one ends when no run is needed."""
    # What is there now is never garbage, and looking at it would copy its memory.
    gc.freeze()
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    while child := os.fork():
        _tell(tells, child)
        _complete_models()
        _, status = os.waitpid(child, 0)
        code = os.waitstatus_to_exitcode(status)
        if code == _NOT_NEEDED:
            os._exit(0)
        _tell(tells, code)
    signal.signal(signal.SIGINT, before)
    # Otherwise all runs would draw the same numbers.
    random.seed()


def _complete_models() -> None:
    """Make what pydantic puts off until a model is used, while the first run is under way.

    Every later run would do it again: a tenth of its time.
    """
    incomplete = [model for model in _below(BaseModel) if not model.__pydantic_complete__]
    for model in incomplete:
        if model.__module__.startswith("pytest_autoweb"):
            # One that lacks a name is left to those who know it.
            model.model_rebuild(raise_errors=False)
    if incomplete:
        gc.freeze()


def _below(model: type[BaseModel]) -> Iterator[type[BaseModel]]:
    for below in model.__subclasses__():
        yield below
        yield from _below(below)


def _tell(tells: int, number: int) -> None:
    try:
        os.write(tells, f"{number}\n".encode())
    except BrokenPipeError:
        os._exit(_NOT_NEEDED)


def _told(reads: int) -> bytes:
    """Return the line that the watching process writes; it is empty if that closes the pipe."""
    # Ctrl-C ends the watching process, and with it this one.
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with open(reads, "rb", buffering=0) as pipe:
            return pipe.readline()
    finally:
        signal.signal(signal.SIGINT, before)


def _note(file: Path, launch: Launch) -> None:
    """Note how this run starts its browser, for the next one."""
    with suppress(OSError, TypeError):
        # What is no JSON cannot be started ahead.
        replace_text(file, json.dumps(launch), mode=PRIVATE)


def _start_as_noted(file: Path) -> None:
    """Start a browser as the last run did, if there was one."""
    try:
        kind, args = json.loads(file.read_text("utf-8"))
    except (OSError, ValueError):
        return
    start_browser(Launch(kind, args))
