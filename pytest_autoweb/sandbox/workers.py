"""Where worker processes come from: one is always started ahead of need."""

import atexit
import functools
import os

from pytest_autoweb.errors import SandboxError
from pytest_autoweb.sandbox.base import Limits
from pytest_autoweb.sandbox.levels import WALLS, Layers, Level
from pytest_autoweb.sandbox.process import WorkerProcess


class Workers:
    """Hands out workers that have never run any code, and keeps a spare one warm.

    The spare starts while its predecessor is put to use: while the model is asked, or while a
    killed step is reported. Taking it costs nothing then. Use it in one thread.

    Args:
        level: how strict to be.
    """

    def __init__(self, level: Level = "auto") -> None:
        self._level, self._walls = level, WALLS[level]
        self._spare: WorkerProcess | None = None
        self._owner = os.getpid()

    def take(self, limits: Limits) -> WorkerProcess:
        """A worker that is yours to close; it may still be starting."""
        if self._owner != os.getpid():
            # After a fork the spare is the parent's.
            self._spare, self._owner = None, os.getpid()
        spare, self._spare = self._spare, None
        if spare is not None and not _fits(spare, limits):
            spare.close()
            spare = None
        worker = spare or self._start(limits)
        self._spare = self._start(limits)
        return worker

    def ready(self, worker: WorkerProcess) -> WorkerProcess:
        """Wait until a taken worker can be used; what may be used in its place, if not that one.

        Raises:
            SandboxError: it does not start, or lacks walls that the level asks for.
        """
        asked = worker.walls.kernel
        try:
            layers = worker.wait_ready()
        except SandboxError:
            # A container may end a process that asks, instead of saying no.
            if not asked or self._level == "strict":
                raise
            layers = Layers(landlock=0, seccomp=False, audit=False)
        if self._level == "strict" and not layers.confined:
            worker.close()
            self.close()
            raise SandboxError(_too_open(layers))
        if asked and not (layers.landlock or layers.seccomp):
            return self._without_kernel(worker)
        return worker

    def _without_kernel(self, worker: WorkerProcess) -> WorkerProcess:
        """A worker that does not ask the kernel, in place of one that asked in vain.

        Asking has brought `_ctypes` into it, which the audit hook alone does not hold.
        """
        self._walls = self._walls._replace(kernel=False)
        worker.close()
        self.close()
        return self.ready(self.take(Limits(memory_mb=worker.memory_mb, cpu_s=worker.cpu_s)))

    def layers(self) -> Layers:
        """Which walls stand, seen on the spare worker.

        Raises:
            SandboxError: none starts, or it lacks walls that the level asks for.
        """
        worker, self._spare = self._spare or self._start(Limits()), None
        worker = self.ready(worker)
        self.close()
        self._spare = worker
        return worker.wait_ready()

    def close(self) -> None:
        """End the spare worker; safe to call twice."""
        spare, self._spare = self._spare, None
        if spare is not None and self._owner == os.getpid():
            spare.close()

    def _start(self, limits: Limits) -> WorkerProcess:
        return WorkerProcess(memory_mb=limits.memory_mb, cpu_s=limits.cpu_s, walls=self._walls)


def _fits(worker: WorkerProcess, limits: Limits) -> bool:
    return worker.alive and (worker.memory_mb, worker.cpu_s) == (limits.memory_mb, limits.cpu_s)


def _too_open(layers: Layers) -> str:
    absent = ["Landlock"] * (not layers.landlock) + ["seccomp"] * (not layers.seccomp)
    return (
        f"--autoweb-sandbox=strict: {' and '.join(absent)} cannot be used on this machine "
        "(they need Linux on x86-64 or ARM64, kernel 5.13, and a container that allows them); "
        "--autoweb-sandbox=auto does without"
    )


@functools.cache
def workers_of(level: Level) -> Workers:
    """The workers of this process; its spare one ends with it."""
    workers = Workers(level)
    atexit.register(workers.close)
    return workers
