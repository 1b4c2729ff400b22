"""The process of an outside agent: how it is started, what it writes, and its end.

It ends with everything that it has started, whether it is ended here or this process dies.
"""

import json
import os
import queue
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, NamedTuple

from pytest_autoweb.base.errors import SettingsError
from pytest_autoweb.base.process_tree import NO_LIMITS, OWN_GROUP, TreeLimits, end_kept, kept
from pytest_autoweb.sandbox.confined_program import ProgramReach, confined
from pytest_autoweb.settings.agent_command import PYTHON

LINE_BYTES = 1_000_000
"""Limit on a line from the agent; a longer one arrives in pieces, none of them a valid message."""
_LINES = 500


def agent_folder(attempt: Path) -> Path:
    """Return the folder of an agent in that of its attempt, and make it."""
    folder = attempt / "agent"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


class AgentLine(NamedTuple):
    """One line that an agent wrote."""

    text: str
    is_output: bool
    """Whether it came from standard output, which carries messages, rather than standard error."""


class AgentProcess:
    """A running agent; `running_agent` starts and ends it."""

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        self._process = process
        # A full queue blocks the agent, so that endless output cannot exhaust memory.
        self._lines: queue.Queue[AgentLine] = queue.Queue(_LINES)
        self._ended = False
        self._readers = [
            self._reader(stream, is_output)
            for stream, is_output in ((process.stdout, True), (process.stderr, False))
            if stream is not None
        ]

    def _reader(self, stream: IO[bytes], is_output: bool) -> threading.Thread:
        def read() -> None:
            with stream:
                while (line := stream.readline(LINE_BYTES)) and not self._ended:
                    text = line.decode("utf-8", errors="replace").rstrip("\r\n")
                    self._put(AgentLine(text, is_output))

        thread = threading.Thread(target=read, name="autoweb-agent", daemon=True)
        thread.start()
        return thread

    def _put(self, line: AgentLine) -> None:
        while not self._ended:
            with suppress(queue.Full):
                self._lines.put(line, timeout=0.2)
                return

    def send(self, message: Mapping[str, Any]) -> None:
        """Send the agent its task; if it has already exited, `lines` and `status` will show it."""
        assert self._process.stdin is not None
        with suppress(OSError):
            self._process.stdin.write(json.dumps(message).encode() + b"\n")
            self._process.stdin.flush()

    def lines(self) -> Iterator[AgentLine]:
        """Yield what the agent has written since the last time."""
        for _ in range(_LINES):
            try:
                yield self._lines.get_nowait()
            except queue.Empty:
                return

    @property
    def status(self) -> int | None:
        """Return the exit status once the process has ended and all its output was read."""
        code = self._process.poll()
        if code is None or not self._lines.empty():
            return None
        # Its child processes may keep the pipes open indefinitely.
        for reader in self._readers:
            reader.join(0.2)
        return code if self._lines.empty() else None

    def end(self) -> None:
        """End the agent and all that came from it, and wait for that."""
        self._ended = True
        end_kept(self._process)
        if self._process.stdin is not None:
            with suppress(OSError):
                self._process.stdin.close()


def check_command(name: str, command: Sequence[str], folder: Path) -> None:
    """Reject an agent whose program does not exist.

    Raises:
        SettingsError: it is neither on the path nor a file in the folder.
    """
    program = command[0]
    if program == PYTHON or shutil.which(program) or shutil.which(str(folder / program)):
        return
    raise SettingsError(
        f"the agent {name!r} cannot be started: {program!r} is no program on the PATH and none in "
        f"{folder}"
    )


@contextmanager
def running_agent(
    command: Sequence[str],
    *,
    folder: Path,
    env: Mapping[str, str],
    reach: ProgramReach | None = None,
    limits: TreeLimits = NO_LIMITS,
) -> Iterator[AgentProcess]:
    """Start an agent, and end it at the end with everything that it has started.

    It also ends when this process does, however that happens.

    Args:
        command: the program with its arguments; `{python}` is this interpreter.
        folder: the working folder.
        env: its environment variables.
        reach: what it may reach; None for a program that is not held.
        limits: what it may use with all that it starts.

    Raises:
        SettingsError: the program cannot be started.
    """
    words = [sys.executable if word == PYTHON else word for word in command]
    check_command("command", words, folder)
    held = words if reach is None else confined(words, reach)
    try:
        process = subprocess.Popen(
            kept(held, os.getpid(), limits),
            cwd=folder,
            env=env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            **OWN_GROUP,
        )
    except OSError as error:
        raise SettingsError(
            f"the agent's command cannot be started: {words[0]}: {error.strerror or error}"
        ) from None
    agent = AgentProcess(process)
    try:
        yield agent
    finally:
        agent.end()
