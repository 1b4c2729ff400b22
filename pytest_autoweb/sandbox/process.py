"""Starts, feeds and kills the worker process."""

import functools
import json
import marshal
import os
import re
import signal
import subprocess
import sys
import time
import zlib
from importlib import resources
from typing import Any

from pytest_autoweb.errors import SandboxError
from pytest_autoweb.sandbox.confine import EXIT_DENIED
from pytest_autoweb.sandbox.levels import Layers, Walls
from pytest_autoweb.sandbox.lines import lines_of
from pytest_autoweb.sandbox.protocol import read_frame
from pytest_autoweb.sandbox.wire import MAX_FROM_WORKER, WireError, to_line

START_S = 30.0
"""Starting takes a tenth of a second; a loaded machine may need much longer."""

_MODULES = (
    "rules",
    "members",
    "policy",
    "wire",
    "syscalls",
    "kernel",
    "confine",
    "shims",
    "proxies",
    "worker",
)
_SIGXCPU, _SIGSYS = -24, -31
_RUNNING_LINES = b"Stack (most recent call first):"
_RUNNING_LINE = re.compile(rb'  File "<step \d+>", line (\d{1,7}) in ')
_TELLS_S = 0.25
"""How long a worker gets to tell where it is."""
_PACKAGES = ("pytest_autoweb", "pytest_autoweb.sandbox")

_BOOT = """
import json, marshal, sys, zlib
boot = json.loads(sys.stdin.buffer.readline())
for name in boot["packages"]:
    sys.modules[name] = type(sys)(name)
    sys.modules[name].__path__ = []
for name, code in marshal.loads(zlib.decompress(sys.stdin.buffer.read(boot["bytes"]))):
    module = sys.modules[name] = type(sys)(name)
    parent, _, child = name.rpartition(".")
    setattr(sys.modules[parent], child, module)
    exec(code, module.__dict__)
module.main(boot["limits"])
"""

_ALL_WALLS = Walls()


class WorkerGoneError(Exception):
    """Raised when the worker died, was killed or broke the protocol.

    Attributes:
        rule: the border rule that names the reason.
        reason: a plain sentence.
        line: of the block, where it is known.
    """

    def __init__(self, rule: str, reason: str, line: int | None = None) -> None:
        self.rule, self.reason, self.line = rule, reason, line
        super().__init__(reason)


class DeadlineError(Exception):
    """Raised when the worker said nothing until the deadline."""


class WorkerProcess:
    """One worker; started at once, ready when it says so.

    Start it in a thread that lives as long as the worker is needed: on Linux the kernel ends the
    worker with the thread that started it.

    Attributes:
        memory_mb: what it may use of address space.
        cpu_s: what it may use of processor time.
        walls: what it was asked to raise around itself.
    """

    def __init__(self, *, memory_mb: int, cpu_s: float, walls: Walls = _ALL_WALLS) -> None:
        self.memory_mb, self.cpu_s, self.walls = memory_mb, cpu_s, walls
        self._layers: Layers | None = None
        self._gone: WorkerGoneError | None = None
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-S", "-B", "-W", "ignore", "-c", _BOOT],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                bufsize=0,
                env=_environment(),
                cwd=os.sep,
                close_fds=True,
                start_new_session=True,
            )
        except OSError as error:
            raise SandboxError(f"the sandbox worker cannot be started: {error}") from error
        assert self._process.stdout is not None
        self._lines = lines_of(self._process.stdout, MAX_FROM_WORKER)
        try:
            self._write(_boot(memory_mb, cpu_s, walls))
        except WorkerGoneError as error:
            self.close()
            raise SandboxError(f"the sandbox worker did not start: {error.reason}") from None

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    @property
    def alive(self) -> bool:
        """Whether the process still runs."""
        return self._process.poll() is None

    def wait_ready(self) -> Layers:
        """Wait until the worker has given everything up and listens; the walls around it.

        Raises:
            SandboxError: it did not get there.
        """
        if self._layers is not None:
            return self._layers
        try:
            frame = self.receive(time.monotonic() + START_S)
        except DeadlineError:
            self.kill()
            raise SandboxError(f"the sandbox worker did not start in {START_S:.0f} s") from None
        except WorkerGoneError as error:
            raise SandboxError(f"the sandbox worker did not start: {error.reason}") from None
        if frame["op"] != "ready":
            self.kill()
            raise SandboxError("the sandbox worker did not start: it said something else first")
        self._layers = Layers(frame["landlock"], frame["seccomp"], frame["audit"])
        return self._layers

    def send(self, frame: dict[str, Any]) -> None:
        """Write one frame.

        Raises:
            WorkerGoneError: nobody reads it any more.
            WireError: it does not fit.
        """
        self._write(to_line(frame))

    def receive(self, deadline: float) -> dict[str, Any]:
        """The worker's next frame.

        Raises:
            DeadlineError: none came before `deadline`, a `time.monotonic()` value.
            WorkerGoneError: there will be none, or it was not a valid one.
        """
        if self._gone:
            raise self._gone
        try:
            line = self._lines.next(deadline)
        except TimeoutError:
            raise DeadlineError from None
        if line is None:
            raise self._end(self._reason_of_death())
        if line == _RUNNING_LINES:
            # Nobody asked: the signal was that of the processor time.
            raise self._end(self._too_long(self._told_line()))
        try:
            frame = read_frame(line)
        except WireError as error:
            reason = f"the worker broke the protocol: {error}"
            raise self._end(WorkerGoneError("AW507", reason, self.stop())) from None
        if frame["op"] == "denied":
            tried = f"the code tried {frame['event'][:80]!r}, which is refused"
            raise self._end(WorkerGoneError("AW508", tried, frame["line"] or None))
        return frame

    def stop(self) -> int | None:
        """End the process; the line of the block that it was at, if it can be told."""
        line = None
        if self.alive and hasattr(signal, "SIGUSR1"):
            self._process.send_signal(signal.SIGUSR1)
            line = self._told_line()
        self.kill()
        return line

    def _told_line(self) -> int | None:
        """The first line of a block among the lines that the worker says it is running."""
        until = time.monotonic() + _TELLS_S
        try:
            while (said := self._lines.next(until)) is not None and time.monotonic() < until:
                if found := _RUNNING_LINE.match(said):
                    return int(found[1])
        except TimeoutError:
            pass
        return None

    def kill(self) -> None:
        """End the process; safe to call twice and from another thread."""
        if self._process.poll() is None:
            self._process.kill()

    def close(self) -> None:
        """End the process and give back its pipes."""
        self.kill()
        self._process.wait()
        self._lines.close()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()

    def _write(self, data: bytes) -> None:
        assert self._process.stdin is not None
        view = memoryview(data)
        try:
            while view:
                view = view[os.write(self._process.stdin.fileno(), view) :]
        except OSError:
            raise self._end(self._reason_of_death()) from None

    def _end(self, reason: WorkerGoneError) -> WorkerGoneError:
        self.kill()
        self._gone = self._gone or reason
        return self._gone

    def _reason_of_death(self) -> WorkerGoneError:
        try:
            code = self._process.wait(timeout=2)
        except subprocess.TimeoutExpired:
            return WorkerGoneError("AW507", "the worker closed its pipe")
        if code == EXIT_DENIED:
            return WorkerGoneError("AW508", "the code tried something that is refused")
        if code == _SIGSYS:
            return WorkerGoneError("AW508", "the code made a system call that is refused")
        if code == _SIGXCPU:
            return self._too_long(None)
        return WorkerGoneError("AW506", f"the worker died (exit status {code})")

    def _too_long(self, line: int | None) -> WorkerGoneError:
        used = f"the code used more than {self.cpu_s:.0f} s of processor time"
        return WorkerGoneError("AW506", used, line)


def _environment() -> dict[str, str]:
    """The time zone of the browser; and what the interpreter may need to load, cleared later."""
    needed = ("SYSTEMROOT", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "TZ")
    return {name: os.environ[name] for name in needed if name in os.environ}


@functools.cache
def _modules() -> bytes:
    """The worker's modules: compiled here once, which is half of what a start would cost.

    Packed, they fit into the pipe, so that nobody has to wait for a worker that is still starting.
    """
    folder = resources.files("pytest_autoweb.sandbox")
    compiled = []
    for name in _MODULES:
        source = (folder / f"{name}.py").read_text(encoding="utf-8")
        full = f"pytest_autoweb.sandbox.{name}"
        compiled.append((full, compile(source, full, "exec", dont_inherit=True)))
    return zlib.compress(marshal.dumps(compiled))


def _boot(memory_mb: int, cpu_s: float, walls: Walls) -> bytes:
    limits = {"memory_mb": memory_mb, "cpu_s": cpu_s, **walls._asdict()}
    code = _modules()
    boot = {"packages": _PACKAGES, "bytes": len(code), "limits": limits}
    return json.dumps(boot).encode("ascii") + b"\n" + code
