"""The supply of worker processes, one of which is always started in advance."""

import atexit
import functools
import os

from pytest_autoweb.errors import SandboxError
from pytest_autoweb.sandbox.engine import WALLS, Layers, Level, Limits
from pytest_autoweb.sandbox.worker_process import WorkerProcess


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
