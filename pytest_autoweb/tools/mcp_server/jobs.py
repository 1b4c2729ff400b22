"""Commands that a coding agent starts, waits for as long as it likes, and stops.

Many clients give up on a call after a minute, while a run may take an hour: so a call that starts
a job returns when it is done or when the caller has waited long enough, and the job goes on.
"""

import asyncio
import json
import os
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, Field

from pytest_autoweb.base.errors import AutowebError
from pytest_autoweb.tools.mcp_server.bounds import bounded

_LOOK_S = 0.5
_END_S = 60.0
"""How long an interrupted session may take to write its report."""
_SAID_CHARS = 3_000

Tell = Callable[[int, int], Awaitable[None]]
"""Is told how many cells have ended, and of how many."""


class JobState(BaseModel):
    """How far a job is, or what came of it."""

    what: str = Field(description="what was started, as a command that a person could type")
    state: Literal["running", "finished", "stopped", "none"]
    seconds: float = Field(0.0, description="how long it has run")
    cells_done: int = 0
    cells_planned: int = 0
    exit_status: int | None = None
    meaning: str = Field("", description="what the exit status means")
    folder: str = Field("", description="where its run is, for the tools that read runs")
    document: dict[str, Any] = Field(
        default_factory=dict, description="its result; long texts and lists are cut"
    )
    said: str = Field("", description="the end of what it printed")


class CommandJob:
    """One command and what follows it, from its start to its result.

    Args:
        commands: command lines, run one after another until one ends badly; what the last one
            prints is the document, if it is JSON.
        rootdir: where they run.
        folder: the folder of the run that the first one writes; empty if it writes none.
        meanings: what exit statuses of the first one mean.
    """

    def __init__(
        self,
        commands: Sequence[Sequence[str]],
        rootdir: Path,
        folder: str,
        meanings: Mapping[int, str],
    ) -> None:
        self._commands, self._rootdir = commands, rootdir
        self._folder, self._meanings = folder, meanings
        self._began = time.monotonic()
        self._wall = time.time()
        self._ended: float | None = None
        self._stopped = False
        self._status: int | None = None
        self._printed, self._said = "", ""
        self._task = asyncio.create_task(self._run())

    @property
    def running(self) -> bool:
        return not self._task.done()

    async def wait(self, seconds: float, tell: Tell) -> JobState:
        """Return the state when the job has ended, or after some time."""
        until = time.monotonic() + seconds
        while self.running and (left := until - time.monotonic()) > 0:
            await asyncio.wait([self._task], timeout=min(_LOOK_S, left))
            await tell(*self._cells())
        return self.state()

    async def stop(self) -> JobState:
        """Interrupt the job as Ctrl-C does; its run keeps the cells that have ended."""
        self._stopped = self._stopped or self.running
        self._task.cancel()
        with suppress(asyncio.CancelledError):
            await self._task
        return self.state()

    def state(self) -> JobState:
        """Return how far it is, or what came of it.

        Raises:
            AutowebError: it could not be started.
        """
        if not self.running and not self._task.cancelled() and (why := self._task.exception()):
            raise AutowebError(f"it could not be run: {why}")
        done, planned = self._cells()
        over = not self.running
        return JobState(
            what=" ".join(_as_typed(self._commands[0])),
            state="running" if not over else "stopped" if self._stopped else "finished",
            seconds=round((self._ended or time.monotonic()) - self._began, 1),
            cells_done=done,
            cells_planned=planned,
            exit_status=self._status,
            meaning="" if self._status is None else self._meanings.get(self._status, ""),
            folder=self._folder,
            document=_document(self._printed) if over else {},
            said=bounded(self._said[-_SAID_CHARS:]) if over else "",
        )

    def _cells(self) -> tuple[int, int]:
        """Return how many cells of its run have ended, and of how many."""
        if not self._folder:
            return 0, 0
        folder = self._rootdir / self._folder
        with suppress(OSError, ValueError, KeyError):
            manifest = folder / "manifest.json"
            # An older run stands there until the session moves it aside.
            if manifest.stat().st_mtime >= self._wall - 1:
                planned = len(json.loads(manifest.read_bytes())["cells"])
                return sum(1 for _ in folder.glob("cells/*/*/*/cell.json")), planned
        return 0, 0

    async def _run(self) -> None:
        try:
            for command in self._commands:
                status = await self._one(command)
                if self._status is None:
                    self._status = status
                if status not in (0, 1):
                    break
        finally:
            self._ended = time.monotonic()

    async def _one(self, command: Sequence[str]) -> int:
        # The answers of the server itself go over its stdout, so nothing else may inherit it.
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            process = await asyncio.create_subprocess_exec(
                *command,
                cwd=self._rootdir,
                env={**os.environ, "NO_COLOR": "1", "PYTHONUTF8": "1"},
                stdin=asyncio.subprocess.DEVNULL,
                stdout=out,
                stderr=err,
            )
            try:
                await process.wait()
            finally:
                await _ended(process)
                self._printed, said = _text(out), _text(err)
                is_json = self._printed.lstrip().startswith("{")
                said = said if is_json else f"{self._printed}\n{said}"
                self._said = f"{self._said}\n{said}".strip()
        return process.returncode or 0


async def _ended(process: asyncio.subprocess.Process) -> None:
    """Interrupt a session that nobody waits for any more; kill it if that takes too long."""
    if process.returncode is not None:
        return
    process.terminate()
    try:
        await asyncio.wait_for(process.wait(), _END_S)
    except TimeoutError:
        process.kill()
        await process.wait()


def _text(stream: Any) -> str:
    stream.seek(0)
    return str(stream.read().decode("utf-8", "replace"))


def _document(printed: str) -> dict[str, Any]:
    with suppress(ValueError):
        document = json.loads(printed)
        if isinstance(document, dict):
            return {str(name): bounded(value) for name, value in document.items()}
    return {}


def autoweb(*words: str) -> tuple[str, ...]:
    """Return the command line of an `autoweb` command."""
    return (sys.executable, "-m", "pytest_autoweb.cli", *words)


def pytest_session(*words: str) -> tuple[str, ...]:
    """Return the command line of a session."""
    return (sys.executable, "-m", "pytest", *words)


def _as_typed(command: Sequence[str]) -> tuple[str, ...]:
    _, _, module, *words = command
    return ("pytest" if module == "pytest" else "autoweb", *words)
