"""Where workers come from: levels, what the machine refuses, the spare one, and how they end."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, cast

import pytest

from pytest_autoweb.base.errors import SandboxError
from pytest_autoweb.sandbox.engine import Limits, SandboxBorder
from pytest_autoweb.sandbox.host import WorkerEngine
from pytest_autoweb.sandbox.worker_process import WorkerProcess, Workers

if TYPE_CHECKING:
    from playwright.sync_api import Page

ON_LINUX = pytest.mark.skipif(sys.platform != "linux", reason="these walls are Linux's")
WITHOUT_WALLS = Path(__file__).parents[2] / "support" / "refusing_kernel.py"
LIMITS = Limits(step_s=5)
NO_PAGE = cast("Page", object())
"""For what does not touch the page."""


@pytest.fixture
def workers() -> Iterator[Workers]:
    some = Workers()
    yield some
    some.close()


def spare_of(workers: Workers) -> WorkerProcess:
    assert workers._spare is not None
    return workers._spare


def gone(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(") ")[2][0]
    except OSError:
        return True
    return state in "ZX"


def all_gone(pids: list[int], seconds: float) -> bool:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if all(map(gone, pids)):
            return True
        time.sleep(0.02)
    return False


# -- what the machine refuses -------------------------------------------------------------

TELL = """
from pytest_autoweb.base.errors import SandboxError
from pytest_autoweb.sandbox.engine import SandboxBorder, Limits
from pytest_autoweb.sandbox.host import WorkerEngine
from pytest_autoweb.sandbox.worker_process import Workers

HAS = "print('_CData' in [t.__name__ for t in ().__class__.__base__.__subclasses__()])"
for level in ("auto", "strict"):
    workers = Workers(level)
    try:
        print(level, workers.layers(), sep=": ")
        with WorkerEngine(SandboxBorder(page=object(), artifacts=None), workers=workers) as engine:
            outcome = engine.run_step(1, HAS, root=None, limits=Limits())
            print("asked the kernel:", outcome.log)
    except SandboxError as error:
        print(level, error, sep=": ")
    workers.close()
"""


@pytest.mark.parametrize(
    ("walls", "layers", "asked", "lacking"),
    [
        ("landlock,seccomp", "audit hook", "False", "Landlock and seccomp"),
        ("landlock", "audit hook, seccomp", "True", "Landlock"),
        ("seccomp", "audit hook, landlock abi", "True", "seccomp"),
    ],
)
@ON_LINUX
def test_auto_does_without_what_the_machine_refuses_and_strict_does_not(
    walls: str, layers: str, asked: str, lacking: str
) -> None:
    command = [sys.executable, str(WITHOUT_WALLS), walls, sys.executable, "-c", TELL]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    lines = done.stdout.splitlines()

    assert done.returncode == 0, done.stderr
    assert lines[0].startswith(f"auto: lint, worker, facade, {layers}")
    assert lines[1] == f"asked the kernel: {asked}"
    assert lines[2].startswith(f"strict: --autoweb-sandbox=strict: {lacking} cannot be used")
    assert len(lines) == 3


def test_off_leaves_the_walls_out_and_the_limits_in(tmp_path: Path) -> None:
    workers = Workers("off")
    with WorkerEngine(SandboxBorder(page=NO_PAGE, artifacts=tmp_path), workers=workers) as engine:
        outcome = engine.run_step(1, "x = 'a' * 10 ** 9", root=NO_PAGE, limits=LIMITS)
    layers = workers.layers()
    workers.close()

    assert (layers.confined, layers.audit) == (False, False)
    if sys.platform == "linux":
        assert outcome.failure is not None
        assert outcome.failure.rule == "AW506"


# -- the spare one ------------------------------------------------------------------------


@ON_LINUX
def test_a_worker_that_dies_when_it_was_just_taken_is_replaced_and_no_wall_is_given_up(
    workers: Workers,
) -> None:
    whole = workers.layers()
    workers.take(LIMITS).close()
    # A worker starts so soon that it may have said that it is ready before it is killed.
    for _ in range(20):
        taken = workers.take(LIMITS)
        os.kill(taken.pid, 9)
        replaced = workers.ready(taken)
        if replaced is not taken:
            break
        taken.close()

    assert replaced is not taken
    assert replaced.alive
    assert replaced.wait_ready() == whole
    replaced.close()


def test_a_spare_worker_is_ready_before_it_is_asked_for(workers: Workers) -> None:
    first = workers.take(LIMITS)
    spare = spare_of(workers)
    spare.wait_ready()
    second = workers.take(LIMITS)

    assert second is spare
    assert spare_of(workers) not in (first, second)
    for worker in (first, second):
        worker.close()


def test_an_attempt_takes_a_worker_only_when_it_has_code_to_run(
    workers: Workers, tmp_path: Path
) -> None:
    border = SandboxBorder(page=NO_PAGE, artifacts=tmp_path)
    with WorkerEngine(border, workers=workers), WorkerEngine(border, workers=workers) as second:
        spare = spare_of(workers)
        second.run_step(1, "kept = 1", root=NO_PAGE, limits=LIMITS)

        assert second._worker is spare
        assert spare_of(workers) is not spare


def test_no_worker_serves_two_attempts(workers: Workers, tmp_path: Path) -> None:
    pids = []
    for _ in range(3):
        with WorkerEngine(
            SandboxBorder(page=NO_PAGE, artifacts=tmp_path), workers=workers
        ) as engine:
            pids.append(engine._worker.pid)

    assert len(set(pids)) == 3


@ON_LINUX
def test_a_spare_worker_with_other_limits_or_a_dead_one_is_not_used(workers: Workers) -> None:
    workers.layers()
    spare_of(workers).kill()
    assert all_gone([spare_of(workers).pid], 3)
    first = workers.take(LIMITS)
    second = workers.take(Limits(memory_mb=256))

    assert (first.alive, second.alive, second.memory_mb) == (True, True, 256)
    for worker in (first, second):
        worker.close()


def test_a_killed_worker_is_replaced_by_the_spare_one(workers: Workers, tmp_path: Path) -> None:
    with WorkerEngine(SandboxBorder(page=NO_PAGE, artifacts=tmp_path), workers=workers) as engine:
        engine.run_step(1, "kept = 1", root=NO_PAGE, limits=LIMITS)
        spare = spare_of(workers)
        killed = engine.run_step(2, "while kept: pass", root=NO_PAGE, limits=Limits(step_s=0.2))
        after = engine.run_step(3, "print(kept)", root=NO_PAGE, limits=LIMITS)

        assert killed.killed
        assert engine._worker is spare
        assert after.log == "1"


class FirstWorkerKilled(Workers):
    """Workers of which the first is killed by something else once it is ready."""

    killed = 0

    def ready(self, worker: WorkerProcess) -> WorkerProcess:
        worker = super().ready(worker)
        if not self.killed:
            self.killed = worker.pid
            os.kill(worker.pid, signal.SIGKILL)
        return worker


def test_a_worker_killed_before_it_ran_anything_is_not_the_fault_of_the_code(
    tmp_path: Path,
) -> None:
    workers = FirstWorkerKilled()
    border = SandboxBorder(page=NO_PAGE, artifacts=tmp_path)
    with WorkerEngine(border, workers=workers) as engine:
        outcome = engine.run_step(1, "print('ran')", root=NO_PAGE, limits=LIMITS)
    workers.close()

    assert gone(workers.killed)
    assert (outcome.ok, outcome.log, outcome.killed) == (True, "ran", False)


def test_an_attempt_under_a_strict_level_that_cannot_be_kept_is_no_attempt(tmp_path: Path) -> None:
    workers = Workers("strict")
    workers._walls = workers._walls._replace(kernel=False)
    with (
        WorkerEngine(SandboxBorder(page=NO_PAGE, artifacts=tmp_path), workers=workers) as engine,
        pytest.raises(SandboxError, match="Landlock and seccomp cannot be used"),
    ):
        engine.run_step(1, "x = 1", root=NO_PAGE, limits=LIMITS)


# -- how they end -------------------------------------------------------------------------

BUSY = """
import os, sys, threading
from pytest_autoweb.sandbox.engine import SandboxBorder, Limits
from pytest_autoweb.sandbox.host import WorkerEngine
from pytest_autoweb.sandbox.worker_process import Workers

workers = Workers()
engine = WorkerEngine(SandboxBorder(page=object(), artifacts=None, on_log=lambda line: print(
    engine._worker.pid, workers._spare.pid, flush=True)), workers=workers)
engine.run_step(1, "log('computing')\\nwhile log: pass", root=None, limits=Limits(step_s=60))
"""


@ON_LINUX
@pytest.mark.parametrize("refused", ["none", "landlock,seccomp"])
def test_no_worker_outlives_a_killed_test_process(refused: str) -> None:
    command = [sys.executable, str(WITHOUT_WALLS), refused, sys.executable, "-c", BUSY]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        pids = [int(pid) for pid in process.stdout.readline().split()]
        assert len(pids) == 2
        process.kill()
    waiting = pids if refused == "none" else pids[1:]
    over = all_gone(waiting, 3)
    for pid in pids:
        if not gone(pid):
            os.kill(pid, 9)

    # Without the kernel's help a computing worker ends by its limit of processor time.
    assert over


@ON_LINUX
def test_a_process_that_ends_takes_its_spare_worker_along() -> None:
    code = (
        "from pytest_autoweb.sandbox.worker_process import workers_of\n"
        "workers = workers_of('auto')\nworkers.layers()\nprint(workers._spare.pid)"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=True
    )

    assert gone(int(done.stdout))
    assert done.stderr == ""
