"""The sign of the session that is writing to a run folder: by it others find its process."""

import os
import signal
import socket
import sys
from contextlib import suppress
from datetime import datetime
from pathlib import Path

import psutil
from pydantic import ValidationError

from pytest_autoweb.base.errors import SettingsError
from pytest_autoweb.base.process_tree import is_process_alive, start_mark
from pytest_autoweb.results.records import Record
from pytest_autoweb.results.runs.run_folder import (
    read_exit_status,
    read_manifest,
    refuse_other_folders,
)
from pytest_autoweb.results.runs.saving import CELL_FILE, json_text, write_text_atomic

SESSION_FILE = "session.json"
LOG_FILE = "session.log"
LOG = "_AUTOWEB_SESSION_LOG"
"""The variable with the file to which a detached session writes until it has its run folder."""


class LiveSession(Record):
    """The content of the file, which is there while the session goes on, and if it was killed."""

    pid: int
    """Its controller, or its only process."""
    mark: str
    """What tells this process from a later one with the same id."""
    host: str
    """The machine, because others may see the folder as well."""
    started: float
    """When the session began, in seconds since the epoch."""
    cluster: bool = False
    """Whether its cells run on the nodes of a cluster."""
    closing: bool = False
    """Whether it begins no more cells, whatever is ordered."""

    @property
    def is_here(self) -> bool:
        return self.host == socket.gethostname()

    @property
    def is_alive(self) -> bool:
        """Tell whether its process still runs, and is not another one with the same id."""
        return self.is_here and is_process_alive(self.pid, self.mark)


def sign_session(folder: Path, pid: int, started: float, *, cluster: bool = False) -> None:
    """Leave the sign of a session in its run folder; a full disk must not stop it."""
    sign = LiveSession(
        pid=pid,
        mark=start_mark(pid),
        host=socket.gethostname(),
        started=started,
        cluster=cluster,
    )
    _write_sign(folder, sign)


def _write_sign(folder: Path, sign: LiveSession) -> None:
    with suppress(OSError):
        write_text_atomic(folder / SESSION_FILE, json_text(sign), lasting=False)


def sign_closing(folder: Path) -> None:
    """Say in the sign of a session that it begins no more cells."""
    found = session_of(folder)
    if found is not None and not found.closing:
        _write_sign(folder, found.model_copy(update={"closing": True}))


def take_sign_away(folder: Path, pid: int) -> None:
    """Remove the sign of a session that has ended, unless it is that of another one."""
    found = session_of(folder)
    if found is not None and found.pid == pid:
        with suppress(OSError):
            (folder / SESSION_FILE).unlink()


def session_of(folder: Path) -> LiveSession | None:
    """Return the sign in a run folder; None if there is none that can be read."""
    try:
        return LiveSession.model_validate_json((folder / SESSION_FILE).read_bytes())
    except (OSError, ValidationError):
        return None


def has_died(folder: Path) -> bool:
    """Tell whether the session that was writing to a run folder is gone without having ended."""
    found = session_of(folder)
    if found is None or not found.is_here or found.is_alive:
        return False
    # One that has just ended has taken its sign away before its process was gone.
    return session_of(folder) == found and read_exit_status(folder) is None


def death_told(folder: Path) -> str:
    """Return what there is to say of a run whose session died: how far it came, what to do."""
    cells = read_manifest(folder).cells
    ended = sum((folder / cell.folder / CELL_FILE).exists() for cell in cells)
    return (
        f"its session was killed, or the machine went down, when {ended} of {len(cells)} cells had "
        "ended; the same pytest command with --autoweb-resume at its end runs the others"
    )


def living_session(folder: Path) -> LiveSession:
    """Return the session that is writing to a run folder.

    Raises:
        SettingsError: there is no run, it has ended, or its session is out of reach.
    """
    refuse_other_folders(folder)
    found = session_of(folder)
    if found is not None and not found.is_here:
        raise SettingsError(
            f"the session of {folder} runs on the machine {found.host!r}; give the command there"
        )
    if found is None or not found.is_alive:
        status = read_exit_status(folder)
        how = death_told(folder) if status is None else f"it ended with exit status {status}"
        raise SettingsError(
            f"the run in {folder} does not go on any more: {how}; `autoweb run show {folder}` "
            "shows it"
        )
    return found


def move_log(log: str, folder: Path) -> None:
    """Move the file to which a detached session writes into its run folder.

    Args:
        log: its path; empty if the session has a terminal.
        folder: the run folder; the log of an earlier session of a resumed run stays in it.
    """
    target = folder / LOG_FILE
    if not log or not Path(log).is_file():
        return
    with suppress(OSError):
        if target.exists():
            written = datetime.fromtimestamp(target.stat().st_mtime)
            target.rename(folder / f"session.{written:%Y%m%d_%H%M%S}.log")
        Path(log).rename(target)


def interrupt(session: LiveSession) -> None:
    """Ask a session to end, as Ctrl-C does; it writes its report.

    Raises:
        SettingsError: the system cannot ask a process to end.
    """
    if sys.platform == "win32":
        raise SettingsError(
            "Windows cannot interrupt a process of another terminal; --now kills it, and the cells "
            "that have ended stay"
        )
    os.kill(session.pid, signal.SIGTERM)


def kill(session: LiveSession) -> None:
    """Kill a session with its workers; its gateway and servers end when they see that."""
    with suppress(psutil.Error):
        process = psutil.Process(session.pid)
        for each in (process, *process.children(recursive=True)):
            with suppress(psutil.Error):
                each.kill()
