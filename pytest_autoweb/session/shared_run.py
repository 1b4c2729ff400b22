"""Facts that all processes of a session share; cheap to import, because idle sessions use it."""

import json
import os
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import pytest

from pytest_autoweb.results.runs.run_signs import PROGRESS_FOLDER, ts_of_run
from pytest_autoweb.settings.options import is_resuming, report_folder

WORKER_KEY = "autoweb-session"
"""The key under which xdist workers are sent the facts."""
CONTROLLER = "autoweb-session"
"""The name under which the plugin of a session's controller is registered."""
STEALS_KEY = "autoweb-steals"
"""The key that tells xdist workers that one may take another's items."""

PROGRESS_FILE = "progress.jsonl"
"""The name of a node's file of progress."""
OPENED_FILE = "run-folder-opened"
"""The name of the file in the session's folder that exists once the run folder is open."""
NODE_FOLDER = "_AUTOWEB_NODE_FOLDER"
"""The variable that tells a test process that it runs on a node, and its folder there."""


class SharedRun(NamedTuple):
    """The facts that all processes of a session share: plain values, sent to xdist workers."""

    ts: str
    run_folder: str
    session_folder: str
    """The temporary folder for server state, the gateway's address and locks."""
    owner_pid: int
    spent_usd: float = 0.0
    """US dollars that earlier sessions of the run spent, if the run is resumed."""
    started: float = 0.0
    """When the session began, in seconds since the epoch."""
    away: bool = False
    """Whether this process runs on a cluster node, where the folders differ."""

    @property
    def resumed_file(self) -> Path:
        """Return the file to which all processes append the cells they kept of a resumed run."""
        return Path(self.session_folder) / "resumed.jsonl"

    @property
    def progress_file(self) -> Path:
        """Return the file to which all processes append their progress.

        It lies in the run folder, for those who watch the run; on a node of a cluster in the
        session's folder there, from which its lines are sent home.
        """
        folder = Path(self.session_folder)
        if self.away:
            return folder / PROGRESS_FILE
        return Path(self.run_folder) / PROGRESS_FOLDER / f"{folder.name}.jsonl"

    @property
    def sandbox_file(self) -> Path:
        """Return the file to which all processes append their browsers' sandboxes."""
        return Path(self.session_folder) / "browser-sandbox"

    @property
    def browser_file(self) -> Path:
        """Return the file to which all processes append the browsers they use."""
        return Path(self.session_folder) / "browsers"

    @property
    def opened_file(self) -> Path:
        """Return the file that exists once a process has opened the run folder."""
        return Path(self.session_folder) / OPENED_FILE

    @property
    def second_runs_file(self) -> Path:
        """Return the file to which all processes append the cells that were to run again."""
        return Path(self.session_folder) / "second-runs"

    def lacking_file(self, worker: str) -> Path:
        """Return the file in which a worker says what its cells may lack, once it knows them."""
        return Path(self.session_folder) / f"lacking-{worker}"

    @property
    def claims_folder(self) -> Path:
        """Return the folder in which processes claim the cells that they run."""
        return Path(self.session_folder) / "claims"

    @property
    def closed_folder(self) -> Path:
        """Return the folder in which processes note that they begin no more cells."""
        return Path(self.session_folder) / "closed"

    def dump(self) -> str:
        """Return the facts as text for `workerinput`."""
        return json.dumps(self._asdict())

    @classmethod
    def parse(cls, text: str) -> "SharedRun":
        """Read the text that `dump` wrote."""
        return cls(**json.loads(text))


SHARED: pytest.StashKey[SharedRun] = pytest.StashKey()
"""The facts, in the process that decided them."""


def shared_run_of(config: pytest.Config) -> SharedRun:
    """Return the facts that a session's controller, or its only process, decides once.

    Only two settings are read, because reading all would load the variants, which an xdist session
    without models must not pay for.

    Raises:
        pytest.UsageError: there is no temporary folder.
    """
    if SHARED not in config.stash:
        folder = report_folder(config, os.environ)
        ts = ts_of_run(folder) if is_resuming(config, os.environ) else ""
        try:
            config.stash[SHARED] = share_run(folder, ts)
        except OSError as error:
            raise pytest.UsageError(f"there is no temporary folder to use: {error}") from None
    return config.stash[SHARED]


def on_node(shared: SharedRun, environ: Mapping[str, str]) -> SharedRun:
    """Return the facts with the folders of this node, if the process runs on one of a cluster."""
    folder = environ.get(NODE_FOLDER, "")
    if not folder:
        return shared
    return shared._replace(
        run_folder=f"{folder}/run",
        session_folder=f"{folder}/session",
        owner_pid=os.getppid(),
        away=True,
    )


def share_run(run_folder: Path, ts: str = "") -> SharedRun:
    """Choose the session's folders; the run folder is not touched yet.

    Args:
        run_folder: the folder of the run.
        ts: the id of the run, if it is resumed.
    """
    return SharedRun(
        ts=ts or run_ts(),
        run_folder=str(run_folder),
        session_folder=tempfile.mkdtemp(prefix="autoweb-"),
        owner_pid=os.getpid(),
        started=time.time(),
    )


def run_ts() -> str:
    """Return the time as `yyyyMMdd_HHmmss_SSS` in local time, which is the id of a run."""
    now = time.time()
    seconds = time.strftime("%Y%m%d_%H%M%S", time.localtime(now))
    return f"{seconds}_{int(now * 1000) % 1000:03d}"
