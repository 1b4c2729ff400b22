"""What all processes of a session agree on. Imports nothing heavy: idle sessions use it too."""

import json
import os
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class SharedRun:
    """What all processes of a session agree on; plain values, sent to xdist workers."""

    ts: str
    run_folder: str
    session_folder: str
    """Temporary: server state, the gateway's address, progress, locks."""
    owner_pid: int

    @property
    def progress_file(self) -> Path:
        """Where all processes append what they are doing."""
        return Path(self.session_folder) / "progress.jsonl"

    @property
    def opened_file(self) -> Path:
        """Exists once a process has opened the run folder."""
        return Path(self.session_folder) / "run-folder-opened"

    def dump(self) -> str:
        """As text for `workerinput`."""
        return json.dumps(asdict(self))

    @classmethod
    def parse(cls, text: str) -> "SharedRun":
        """The inverse of `dump`."""
        return cls(**json.loads(text))


def share_run(run_folder: Path) -> SharedRun:
    """Decide the session's folders; nothing of the run folder is touched yet."""
    return SharedRun(
        ts=run_ts(),
        run_folder=str(run_folder),
        session_folder=tempfile.mkdtemp(prefix="autoweb-"),
        owner_pid=os.getpid(),
    )


def run_ts() -> str:
    """Return the id of a run: local time as `yyyyMMdd_HHmmss_SSS`."""
    now = time.time()
    seconds = time.strftime("%Y%m%d_%H%M%S", time.localtime(now))
    return f"{seconds}_{int(now * 1000) % 1000:03d}"
