"""Starts, feeds and kills the worker process."""

import binascii
import functools
import json
import marshal
import os
import queue
import subprocess
import sys
import threading
import time
from importlib import resources
from typing import Any

from pytest_autoweb.errors import SandboxError
from pytest_autoweb.sandbox.confine import EXIT_DENIED
from pytest_autoweb.sandbox.levels import Layers, Walls
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
_PACKAGES = ("pytest_autoweb", "pytest_autoweb.sandbox")

_BOOT = """
import binascii, json, marshal, sys
boot = json.loads(sys.stdin.buffer.readline())
for name in boot["packages"]:
    sys.modules[name] = type(sys)(name)
    sys.modules[name].__path__ = []
for name, code in boot["modules"]:
    module = sys.modules[name] = type(sys)(name)
    parent, _, child = name.rpartition(".")
    setattr(sys.modules[parent], child, module)
    exec(marshal.loads(binascii.a2b_base64(code)), module.__dict__)
module.main(boot["limits"])
"""


_ALL_WALLS = Walls()


class WorkerGoneError(Exception):
    """Raised when the worker died, was killed or broke the protocol.

    Attributes:
        rule: the border rule that names the reason.
        reason: a plain sentence.
    """

    def __init__(self, rule: str, reason: str) -> None:
        self.rule, self.reason = rule, reason
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
        self._frames: queue.Queue[bytes | None] = queue.Queue(maxsize=8)
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
        self._reader = threading.Thread(target=self._read, name="autoweb-sandbox", daemon=True)
        self._reader.start()
        try:
            self._send_line(_boot_line(memory_mb, cpu_s, walls))
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
        self._send_line(to_line(frame))

    def receive(self, deadline: float) -> dict[str, Any]:
        """The worker's next frame.

        Raises:
            DeadlineError: none came before `deadline`, a `time.monotonic()` value.
            WorkerGoneError: there will be none, or it was not a valid one.
        """
        if self._gone:
            raise self._gone
        try:
            line = self._frames.get(timeout=max(0.0, deadline - time.monotonic()))
        except queue.Empty:
            raise DeadlineError from None
        if line is None:
            raise self._end(self._reason_of_death())
        try:
            frame = read_frame(line)
        except WireError as error:
            raise self._end(
                WorkerGoneError("AW507", f"the worker broke the protocol: {error}")
            ) from None
        if frame["op"] == "denied":
            raise self._end(
                WorkerGoneError(
                    "AW508", f"the code tried {frame['event'][:80]!r}, which is refused"
                )
            )
        return frame

    def kill(self) -> None:
        """End the process; safe to call twice and from another thread."""
        if self._process.poll() is None:
            self._process.kill()

    def close(self) -> None:
        """End the process and give back its pipes and thread."""
        self.kill()
        self._process.wait()
        while self._reader.is_alive():
            # The reader may wait for room; what it still holds is of no interest.
            try:
                self._frames.get(timeout=0.01)
            except queue.Empty:
                self._reader.join(0.01)
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()

    def _send_line(self, line: bytes) -> None:
        assert self._process.stdin is not None
        view = memoryview(line)
        try:
            while view:
                view = view[os.write(self._process.stdin.fileno(), view) :]
        except OSError:
            raise self._end(self._reason_of_death()) from None

    def _read(self) -> None:
        assert self._process.stdout is not None
        fd, rest = self._process.stdout.fileno(), bytearray()
        while chunk := os.read(fd, 1 << 16):
            rest += chunk
            if b"\n" in chunk:
                *lines, tail = rest.split(b"\n")
                for line in lines:
                    self._frames.put(bytes(line))
                rest = bytearray(tail)
            if len(rest) > MAX_FROM_WORKER:
                self._frames.put(b"oversized")
                break
        self._frames.put(None)

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
            return WorkerGoneError(
                "AW506", f"the code used more than {self.cpu_s:.0f} s of processor time"
            )
        return WorkerGoneError("AW506", f"the worker died (exit status {code})")


def _environment() -> dict[str, str]:
    """Nothing, but what the interpreter itself may need to load; the worker clears even that."""
    needed = ("SYSTEMROOT", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")
    return {name: os.environ[name] for name in needed if name in os.environ}


@functools.cache
def _modules() -> tuple[tuple[str, str], ...]:
    """The worker's modules, compiled here once: that is half of what a start would cost."""
    folder = resources.files("pytest_autoweb.sandbox")
    compiled = []
    for name in _MODULES:
        source = (folder / f"{name}.py").read_text(encoding="utf-8")
        full = f"pytest_autoweb.sandbox.{name}"
        code = marshal.dumps(compile(source, full, "exec", dont_inherit=True))
        compiled.append((full, binascii.b2a_base64(code, newline=False).decode("ascii")))
    return tuple(compiled)


def _boot_line(memory_mb: int, cpu_s: float, walls: Walls) -> bytes:
    limits = {"memory_mb": memory_mb, "cpu_s": cpu_s, **walls._asdict()}
    boot = {"packages": _PACKAGES, "modules": _modules(), "limits": limits}
    return json.dumps(boot).encode("ascii") + b"\n"
