"""Starts, feeds, reads and kills worker processes, one of which is always started in advance."""

import atexit
import functools
import json
import marshal
import os
import queue
import re
import signal
import subprocess
import sys
import threading
import time
import zlib
from collections import deque
from functools import partial
from importlib import resources
from typing import IO, Any, Protocol

from pytest_autoweb.base import waiting
from pytest_autoweb.base.errors import SandboxError
from pytest_autoweb.base.process_tree import OWN_GROUP
from pytest_autoweb.sandbox.call_frames import read_frame
from pytest_autoweb.sandbox.confine import EXIT_DENIED
from pytest_autoweb.sandbox.engine import Limits
from pytest_autoweb.sandbox.frame_codec import MAX_FROM_WORKER, WireError, to_line
from pytest_autoweb.sandbox.levels import WALLS, Layers, Level, Walls
from pytest_autoweb.sandbox.worker_template import ForkedProcess, begin_template, fork_worker

_CHUNK = 1 << 16
TOO_LONG = b"oversized"
"""Stands for a line beyond the limit; it is not a valid frame, so it ends the worker."""


class LineReader(Protocol):
    """A reader of a pipe's lines."""

    def next(self, deadline: float, *, patient: bool = True) -> bytes | None:
        """Return the next line, or None at the end.

        Args:
            deadline: a `time.monotonic()` value.
            patient: whether other cells in flight may run during the wait.

        Raises:
            TimeoutError: no line came in time.
        """
        ...

    def close(self) -> None:
        """Stop reading; the process at the other end is gone."""
        ...


class _Splitter:
    """A splitter of the bytes read into lines of at most `limit` bytes."""

    def __init__(self, limit: int) -> None:
        self._limit, self._rest = limit, bytearray()
        self.broken = False

    def feed(self, chunk: bytes) -> list[bytes]:
        self._rest += chunk
        lines: list[bytes] = []
        if b"\n" in chunk:
            *whole, tail = self._rest.split(b"\n")
            lines = [bytes(line) for line in whole]
            self._rest = bytearray(tail)
        # A line without end would otherwise fill the memory of the test process.
        if len(self._rest) > self._limit:
            self.broken = True
            lines.append(TOO_LONG)
        return lines


class PolledLines:
    """A reader that polls the pipe itself."""

    def __init__(self, pipe: IO[bytes], limit: int) -> None:
        self._fd = pipe.fileno()
        self._splitter = _Splitter(limit)
        self._lines: deque[bytes] = deque()
        self._over = False

    def next(self, deadline: float, *, patient: bool = True) -> bytes | None:
        while not self._lines:
            if self._over:
                return None
            if not waiting.readable(self._fd, deadline - time.monotonic(), patient=patient):
                raise TimeoutError
            chunk = os.read(self._fd, _CHUNK)
            self._lines += self._splitter.feed(chunk)
            self._over = not chunk or self._splitter.broken
        return self._lines.popleft()

    def close(self) -> None:
        """Do nothing, as no thread has to be stopped."""


class ThreadedLines:
    """A reader that waits for a queue, which a thread fills."""

    def __init__(self, pipe: IO[bytes], limit: int) -> None:
        self._fd = pipe.fileno()
        self._splitter = _Splitter(limit)
        # A short queue slows down a worker that floods the pipe.
        self._lines: queue.Queue[bytes | None] = queue.Queue(maxsize=8)
        self._reader = threading.Thread(target=self._read, name="autoweb-sandbox", daemon=True)
        self._reader.start()

    def next(self, deadline: float, *, patient: bool = True) -> bytes | None:
        wait = partial(self._lines.get, timeout=max(0.0, deadline - time.monotonic()))
        try:
            return waiting.blocking(wait) if patient else wait()
        except queue.Empty:
            raise TimeoutError from None

    def close(self) -> None:
        """Let the thread end, discarding whatever it still holds."""
        while self._reader.is_alive():
            try:
                self._lines.get(timeout=0.01)
            except queue.Empty:
                self._reader.join(0.01)

    def _read(self) -> None:
        while not self._splitter.broken and (chunk := os.read(self._fd, _CHUNK)):
            for line in self._splitter.feed(chunk):
                self._lines.put(line)
        self._lines.put(None)


def line_reader(pipe: IO[bytes], limit: int) -> LineReader:
    """Return a reader of a worker's pipe that accepts no line longer than `limit` bytes."""
    # Windows cannot wait for a pipe with a time limit. Elsewhere a thread only costs time: without
    # it a call that needs no browser takes 0.13 ms instead of 0.20.
    if sys.platform == "win32":
        return ThreadedLines(pipe, limit)
    return PolledLines(pipe, limit)


START_S = 30.0
"""Limit for starting, which takes a tenth of a second but much longer on a loaded machine."""

# In the order of their imports: the worker executes them one after the other and has no finder
# that could fetch a later one.
_MODULES = (
    "allowed_members",
    "allowed_python",
    "frame_codec",
    "refusal_hints",
    "confine",
    "proxies",
    "own_dataclasses",
    "stand_ins",
    "fork_server",
    "worker",
)
# `Popen` reports the number of a deadly signal as a negative exit status.
_SIGXCPU, _SIGSYS = -24, -31
_RUNNING_LINES = b"Stack (most recent call first):"
_RUNNING_LINE = re.compile(rb'  File "<step \d+>", line (\d{1,7}) in ')
# Time for a worker to report which line it is running.
_REPORT_S = 0.25
_PACKAGES = ("pytest_autoweb", "pytest_autoweb.sandbox")

# The worker reads no file of this package: its modules arrive compiled, through the pipe.
_BOOT = """
import json, marshal, sys, zlib
def start(stream, module=None):
    boot = json.loads(stream.readline())
    for name in boot["packages"]:
        sys.modules[name] = type(sys)(name)
        sys.modules[name].__path__ = []
    for name, code in marshal.loads(zlib.decompress(stream.read(boot["bytes"]))):
        module = sys.modules[name] = type(sys)(name)
        parent, _, child = name.rpartition(".")
        setattr(sys.modules[parent], child, module)
        exec(code, module.__dict__)
    if boot["limits"] is None:
        forks = sys.modules["pytest_autoweb.sandbox.fork_server"]
        forks.fork_workers(stream, lambda fresh: start(fresh, module))
    else:
        module.main(boot["limits"])
start(sys.stdin.buffer)
"""
# Environment variables and site-packages must not change what the worker imports.
_COMMAND = (sys.executable, "-I", "-S", "-B", "-W", "ignore", "-c", _BOOT)

_ALL_WALLS = Walls()


class WorkerGoneError(Exception):
    """Raised when the worker died, was killed or broke the protocol.

    Attributes:
        rule: the id of the border rule that applies.
        reason: a sentence for the report.
        line: the line of the block, if it is known.
    """

    def __init__(self, rule: str, reason: str, line: int | None = None) -> None:
        self.rule, self.reason, self.line = rule, reason, line
        super().__init__(reason)


class DeadlineError(Exception):
    """Raised when the worker sent nothing before the deadline."""


class WorkerProcess:
    """A worker process, which starts at once and reports when it is ready.

    Start it in a thread that lives as long as the worker is needed, because on Linux the kernel
    ends the worker together with the thread that started it.

    Attributes:
        memory_mb: its limit of address space.
        cpu_s: its limit of processor time.
        walls: the walls it was asked to raise around itself.
        exchanged: bytes of frames that it has sent and was sent so far.
    """

    def __init__(self, *, memory_mb: int, cpu_s: float, walls: Walls = _ALL_WALLS) -> None:
        self.memory_mb, self.cpu_s, self.walls = memory_mb, cpu_s, walls
        self.exchanged = 0
        self._layers: Layers | None = None
        self._gone: WorkerGoneError | None = None
        self._process: subprocess.Popen[bytes] | ForkedProcess
        try:
            forked = fork_worker(_COMMAND, _environment(), _template_boot)
            self._process = _started() if forked is None else forked
        except OSError as error:
            raise SandboxError(f"the sandbox worker cannot be started: {error}") from error
        assert self._process.stdout is not None
        self._lines = line_reader(self._process.stdout, MAX_FROM_WORKER)
        try:
            limits = {"memory_mb": memory_mb, "cpu_s": cpu_s, **walls._asdict()}
            self._write(_boot(limits, loaded=forked is not None))
        except WorkerGoneError as error:
            self.close()
            raise SandboxError(f"the sandbox worker did not start: {error.reason}") from None

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    def wait_ready(self) -> Layers:
        """Wait until the worker is confined and listens; return the walls around it.

        Raises:
            SandboxError: the worker did not start.
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
            raise SandboxError(
                "the sandbox worker did not start: its first message was not `ready`"
            )
        self._layers = Layers(frame["landlock"], frame["seccomp"], frame["audit"])
        return self._layers

    def send(self, frame: dict[str, Any]) -> None:
        """Send one frame.

        Raises:
            WorkerGoneError: the worker does not read any more.
            WireError: the frame cannot be sent.
        """
        line = to_line(frame)
        self.exchanged += len(line)
        self._write(line)

    def receive(self, deadline: float, *, patient: bool = True) -> dict[str, Any]:
        """Return the worker's next frame.

        Args:
            deadline: a `time.monotonic()` value.
            patient: whether other cells in flight may run during the wait.

        Raises:
            DeadlineError: no frame came in time.
            WorkerGoneError: no frame will come any more, or the frame was invalid.
        """
        if self._gone:
            raise self._gone
        try:
            line = self._lines.next(deadline, patient=patient)
        except TimeoutError:
            raise DeadlineError from None
        if line is None:
            raise self._end(self._reason_of_death())
        self.exchanged += len(line)
        if line == _RUNNING_LINES:
            # The host did not ask for the lines, so the signal means that processor time is over.
            raise self._end(self._too_long(self._reported_line()))
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
        """End the process, and return the line of the block it was running, if that is known."""
        line = None
        if sys.platform != "win32" and self.alive:
            # The handler that `confine` installed answers with the running lines.
            self._process.send_signal(signal.SIGUSR1)
            line = self._reported_line()
        self.kill()
        return line

    def _reported_line(self) -> int | None:
        """Return the line of a block that the worker reports to be running, or None."""
        until = time.monotonic() + _REPORT_S
        try:
            while (said := self._lines.next(until)) is not None and time.monotonic() < until:
                if found := _RUNNING_LINE.match(said):
                    return int(found[1])
        except TimeoutError:
            pass
        return None

    def kill(self) -> None:
        """Kill the process; safe to call twice and from another thread."""
        if self._process.poll() is None:
            self._process.kill()

    def close(self) -> None:
        """Kill the process and close its pipes."""
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
            # The pipe closes a moment before the exit status can be read.
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
    """Return the variables the interpreter needs for loading, and the browser's time zone.

    The worker clears all but the time zone before it runs any code.
    """
    needed = ("SYSTEMROOT", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "TZ")
    return {name: os.environ[name] for name in needed if name in os.environ}


@functools.cache
def _modules() -> bytes:
    """Return the worker's modules, compiled once here, which halves the cost of a start.

    Compressed, they fit into the pipe's buffer, so the host need not wait for a starting worker.
    """
    folder = resources.files("pytest_autoweb.sandbox")
    compiled = []
    for name in _MODULES:
        source = (folder / f"{name}.py").read_text(encoding="utf-8")
        full = f"pytest_autoweb.sandbox.{name}"
        compiled.append((full, compile(source, full, "exec", dont_inherit=True)))
    return zlib.compress(marshal.dumps(compiled))


def _started() -> "subprocess.Popen[bytes]":
    """Start a worker as an interpreter of its own."""
    return subprocess.Popen(
        _COMMAND,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        # A pipe that nobody reads would block the worker once it is full.
        stderr=subprocess.DEVNULL,
        bufsize=0,
        env=_environment(),
        cwd=os.sep,
        close_fds=True,
        **OWN_GROUP,
    )


def _template_boot() -> bytes:
    return _boot(None, loaded=False)


def _boot(limits: dict[str, Any] | None, *, loaded: bool) -> bytes:
    """Return what a process is sent first: its limits, and the modules unless it has them.

    Without limits it becomes a template.
    """
    code = zlib.compress(marshal.dumps([])) if loaded else _modules()
    boot = {"packages": () if loaded else _PACKAGES, "bytes": len(code), "limits": limits}
    return json.dumps(boot).encode("ascii") + b"\n" + code


def begin_workers() -> None:
    """Start what workers are forked from, which loads its modules while the caller goes on."""
    begin_template(_COMMAND, _environment(), _template_boot)


class Workers:
    """A source of workers that have never run any code, with one spare worker ready.

    The spare starts while its predecessor is in use: while a model is asked, or while a killed step
    is reported. Taking it then costs nothing. Use this object in one thread only.

    Args:
        level: the level of the sandbox.
    """

    def __init__(self, level: Level = "auto") -> None:
        self._level, self._walls = level, WALLS[level]
        self._spare: WorkerProcess | None = None
        self._owner = os.getpid()

    def prepare(self, limits: Limits) -> None:
        """Start a spare worker with these limits, unless there is one."""
        if self._owner != os.getpid():
            # After a fork the spare still belongs to the parent.
            self._spare, self._owner = None, os.getpid()
        if self._spare is not None and not _fits(self._spare, limits):
            self._spare.close()
            self._spare = None
        self._spare = self._spare or self._start(limits)

    def take(self, limits: Limits) -> WorkerProcess:
        """Return a worker that the caller has to close; it may still be starting."""
        self.prepare(limits)
        worker, self._spare = self._spare, None
        assert worker is not None
        self.prepare(limits)
        return worker

    def ready(self, worker: WorkerProcess) -> WorkerProcess:
        """Wait until a taken worker is ready, and return it or a replacement.

        Raises:
            SandboxError: the worker does not start, or lacks walls that the level requires.
        """
        asked = worker.walls.kernel
        try:
            worker, layers = self._started(worker)
        except SandboxError:
            # A container may kill a process that asks for a wall instead of refusing.
            if not asked or self._level == "strict":
                raise
            layers = Layers(landlock=0, seccomp=False, audit=False)
        if self._level == "strict" and not layers.confined:
            worker.close()
            self.close()
            raise SandboxError(_missing_walls(layers))
        if asked and not (layers.landlock or layers.seccomp):
            return self._without_kernel(worker)
        return worker

    def _started(self, worker: WorkerProcess) -> tuple[WorkerProcess, Layers]:
        """Return the worker, or a second one if something else ended the first.

        One death says nothing of the machine, and must not cost all later workers their walls.
        """
        try:
            return worker, worker.wait_ready()
        except SandboxError:
            worker.close()
            self.close()
            second = self.take(Limits(memory_mb=worker.memory_mb, cpu_s=worker.cpu_s))
            try:
                return second, second.wait_ready()
            except SandboxError:
                second.close()
                raise

    def _without_kernel(self, worker: WorkerProcess) -> WorkerProcess:
        """Return a worker that does not ask the kernel for walls, instead of one that was refused.

        The request has loaded `_ctypes` into the old worker, and the audit hook alone does not stop
        code that reaches it.
        """
        self._walls = self._walls._replace(kernel=False)
        worker.close()
        self.close()
        return self.ready(self.take(Limits(memory_mb=worker.memory_mb, cpu_s=worker.cpu_s)))

    def layers(self) -> Layers:
        """Return the walls that stand, determined with the spare worker.

        Raises:
            SandboxError: no worker starts, or it lacks walls that the level requires.
        """
        worker, self._spare = self._spare or self._start(Limits()), None
        worker = self.ready(worker)
        self.close()
        self._spare = worker
        return worker.wait_ready()

    def close(self) -> None:
        """Stop the spare worker; safe to call twice."""
        spare, self._spare = self._spare, None
        if spare is not None and self._owner == os.getpid():
            spare.close()

    def _start(self, limits: Limits) -> WorkerProcess:
        return WorkerProcess(memory_mb=limits.memory_mb, cpu_s=limits.cpu_s, walls=self._walls)


def _fits(worker: WorkerProcess, limits: Limits) -> bool:
    return worker.alive and (worker.memory_mb, worker.cpu_s) == (limits.memory_mb, limits.cpu_s)


def _missing_walls(layers: Layers) -> str:
    absent = ["Landlock"] * (not layers.landlock) + ["seccomp"] * (not layers.seccomp)
    return (
        f"--autoweb-sandbox=strict: {' and '.join(absent)} cannot be used on this machine "
        "(they need Linux on x86-64 or ARM64, kernel 5.13, and a container that allows them); "
        "--autoweb-sandbox=auto does without"
    )


@functools.cache
def workers_of(level: Level) -> Workers:
    """Return this process's source of workers, whose spare ends with the process."""
    workers = Workers(level)
    atexit.register(workers.close)
    return workers
