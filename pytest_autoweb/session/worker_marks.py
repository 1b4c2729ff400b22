"""The workers of xdist on this machine, which a signal to their session has to reach as well."""

import os
import signal
import sys
from contextlib import suppress
from functools import partial
from pathlib import Path

from pytest_autoweb.base.interruption import Interruption
from pytest_autoweb.base.process_tree import is_process_alive, start_mark
from pytest_autoweb.session.shared_run import SharedRun


def mark_worker(shared: SharedRun, interruption: Interruption) -> None:
    """Leave this worker's process id where its session finds it, until it is interrupted.

    A terminal tells the workers as well, and on a busy machine the session may come so much later
    that they would take its signal for a second one.
    """
    folder = _folder(shared)
    file = folder / str(os.getpid())
    with suppress(OSError):
        folder.mkdir(exist_ok=True)
        file.write_text(start_mark(os.getpid()), encoding="utf-8")
        interruption.on_first = partial(_unmark, file)


def _unmark(file: Path) -> None:
    with suppress(OSError):
        file.unlink()


def interrupt_workers(shared: SharedRun) -> None:
    """Send the session's workers the signal that ends them like Ctrl-C."""
    if sys.platform == "win32":
        # It would end them at once. The console has told them what it told this session.
        return
    for file in _marks(shared):
        # It may have ended, or been told, in this moment.
        with suppress(OSError):
            if is_process_alive(int(file.name), file.read_text(encoding="utf-8")):
                os.kill(int(file.name), signal.SIGTERM)


def _marks(shared: SharedRun) -> list[Path]:
    try:
        return list(_folder(shared).iterdir())
    except OSError:
        return []


class WorkersAlone:
    """The plugin of a session that named no models, whose workers may run cells all the same.

    Only once a worker has opened a run is a signal to end taken as Ctrl-C.
    """

    def __init__(self, shared: SharedRun) -> None:
        self._shared = shared
        self._interruption = Interruption(shared.opened_file.exists)
        self._interruption.install()

    def pytest_keyboard_interrupt(self) -> None:
        """Interrupt the workers, too, before the report is written."""
        interrupt_workers(self._shared)

    def pytest_unconfigure(self) -> None:
        """Give the signals back."""
        self._interruption.restore()


def _folder(shared: SharedRun) -> Path:
    return Path(shared.session_folder) / "workers"
