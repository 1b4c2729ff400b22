"""The page that shows a run while it goes on, started beside it with `--autoweb-view`.

It is a process of its own, which reads the run folder and needs nothing of the session; it ends by
itself once the run has ended and nobody looks at the page any more.
"""

import os
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path

from pytest_autoweb.base.process_tree import LEAST_URGENT, OWN_GROUP
from pytest_autoweb.base.redaction import without_secrets
from pytest_autoweb.session.shared_run import SharedRun
from pytest_autoweb.settings.run_settings import in_ci

_START_S = 20.0
OFF_IN_CI = "--autoweb-view is off, because the environment sets CI"
NOT_STARTED = "the page of --autoweb-view did not start; `autoweb run view` says why"


class StartedView:
    """The process that shows the page; it starts at once, and its address is asked for later.

    Args:
        shared: what the processes of the session share.
    """

    def __init__(self, shared: SharedRun) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        if in_ci(os.environ):
            return
        session = Path(shared.session_folder).name
        command = ["run", "view", shared.run_folder, f"--session={session}", "--no-open"]
        self._process = subprocess.Popen(
            # `-P`: modules in the current folder must not shadow installed ones.
            [sys.executable, "-P", "-m", "pytest_autoweb.cli", *command],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=without_secrets(os.environ),
            # Ctrl-C ends the run, whose end the page is still to show.
            **OWN_GROUP,
        )
        if sys.platform != "win32":
            # Whoever watches must not slow down what is watched, not even while modules load.
            with suppress(OSError):
                os.setpriority(os.PRIO_PROCESS, self._process.pid, LEAST_URGENT)

    def told(self) -> str:
        """Return what the session says of the page: its address, or why there is none."""
        process = self._process
        if process is None:
            return f"autoweb: {OFF_IN_CI}"
        assert process.stdout is not None
        # Reading a pipe has no timeout.
        timer = threading.Timer(_START_S, process.kill)
        timer.start()
        try:
            address = process.stdout.readline().decode(errors="replace").strip()
        finally:
            timer.cancel()
            process.stdout.close()
        return f"autoweb view: {address}" if address else f"autoweb: {NOT_STARTED}"
