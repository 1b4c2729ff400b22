"""The template's side of a fork: each of the host's orders becomes a new worker process."""

import gc
import os
import sys
from collections.abc import Callable
from typing import Any, BinaryIO

from pytest_autoweb.sandbox import stand_ins


def fork_workers(orders: BinaryIO, start: Callable[[BinaryIO], None]) -> None:
    """Fork a worker for each of the host's orders until the host is gone; run no other code here.

    Args:
        orders: `fork HOST READ WRITE` opens two pipes of the host for a new worker, and `reap PID`
            asks for a worker's exit status.
        start: turns the new process into a worker.
    """
    stand_ins.preload()
    gc.collect()
    # Frozen objects are not scanned again, so a fork never copies their pages.
    gc.freeze()
    while line := orders.readline():
        order, *numbers = line.split()
        if order == b"fork":
            host, read, write = map(int, numbers)
            answer = _forked(host, read, write, start)
        else:
            answer = os.waitstatus_to_exitcode(os.waitpid(int(numbers[0]), 0)[1])
        os.write(1, b"%d\n" % answer)
    os._exit(0)


def _forked(host: int, read: int, write: int, start: Callable[[BinaryIO], None]) -> int:
    """Return the process id of a new worker; 0 if the host's pipes cannot be opened."""
    if sys.platform == "win32":
        raise NotImplementedError
    folder = f"/proc/{host}/fd"
    try:
        pipes = (
            os.open(f"{folder}/{read}", os.O_RDONLY),
            os.open(f"{folder}/{write}", os.O_WRONLY),
        )
    except OSError:
        return 0
    if pid := os.fork():
        for pipe in pipes:
            os.close(pipe)
        return pid
    status: Any = 1
    try:
        os.setsid()
        for place, pipe in enumerate(pipes):
            os.dup2(pipe, place)
            os.close(pipe)
        start(os.fdopen(0, "rb", closefd=False))
        status = 0
    except SystemExit as end:
        status = end.code
    finally:
        # A fork must never take an order, even after an error.
        os._exit(status if isinstance(status, int) else 1)
