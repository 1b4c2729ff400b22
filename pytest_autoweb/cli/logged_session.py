"""Run a session of pytest for a command, with what it prints in a file.

Nothing of pytest is imported here, so that a command starts its session at once.
"""

import re
import subprocess
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from pytest_autoweb.base.errors import AutowebError
from pytest_autoweb.base.interruption import end_pytest

_LOOK_S = 0.3
_REFUSAL = re.compile(r"^(?:ERROR: |=+ ERRORS =+$)", re.MULTILINE)
"""The beginning of what is wrong with a command line, or with what was collected."""


def run_logged(
    command: Sequence[str],
    folder: Path,
    log: Path,
    look: Callable[[], None],
    environ: Mapping[str, str] | None = None,
) -> int:
    """Run a session of pytest, look at what it does until it ends, and return its exit status.

    Args:
        command: starts the session.
        folder: where it is started.
        log: the file for what it prints.
        look: is called several times a second.
        environ: its environment; that of this process by default.
    """
    with log.open("wb") as stream:
        process = subprocess.Popen(command, cwd=folder, env=environ, stdout=stream, stderr=stream)
        try:
            while process.poll() is None:
                with suppress(subprocess.TimeoutExpired):
                    process.wait(_LOOK_S)
                look()
        finally:
            end_pytest(process)
    return process.returncode


def refused(log: Path) -> AutowebError:
    """Return an error with what a session of pytest refused, without its header."""
    said = log.read_text("utf-8", "replace").strip()
    begin = _REFUSAL.search(said)
    why = said[begin.start() if begin else 0 :].strip()
    return AutowebError(f"pytest could not run the cases; it said:\n{why[-2000:]}")
