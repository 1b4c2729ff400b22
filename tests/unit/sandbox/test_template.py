"""Workers as forks of one template: what they share, and what becomes of them without it."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_autoweb.sandbox import worker_template
from pytest_autoweb.sandbox.worker_process import WorkerGoneError, WorkerProcess
from pytest_autoweb.sandbox.worker_template import ForkedProcess

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or not hasattr(signal, "pidfd_send_signal"),
    reason="workers are forked on Linux",
)
DRAWN = "import random\nimport uuid\nlog([random.random(), uuid.uuid4().hex])"


@pytest.fixture
def pair() -> Iterator[tuple[WorkerProcess, WorkerProcess]]:
    first, second = (WorkerProcess(memory_mb=512, cpu_s=5) for _ in range(2))
    yield first, second
    first.close()
    second.close()


def run(worker: WorkerProcess, code: str) -> str:
    """What a block logs."""
    worker.wait_ready()
    worker.send({"op": "run", "index": 1, "code": code, "root": ["p", "Page"], "rerun": False})
    said = []
    while (frame := worker.receive(time.monotonic() + 20))["op"] != "done":
        said += [str(frame["text"])] if frame["op"] == "log" else []
    return "\n".join(said)


def status_of(pid: int) -> dict[str, str]:
    lines = Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines()
    return {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}


def opened(worker: WorkerProcess) -> list[Path]:
    """What it has open, by number."""
    return sorted(Path(f"/proc/{worker.pid}/fd").iterdir())


def gone_within(pids: list[int], seconds: float) -> bool:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        left = [pid for pid in pids if Path(f"/proc/{pid}").exists()]
        if all(status_of(pid)["State"][0] in "ZX" for pid in left):
            return True
        time.sleep(0.02)
    return False


def test_forks_share_a_template_and_nothing_that_code_could_reach(
    pair: tuple[WorkerProcess, WorkerProcess],
) -> None:
    drawn = [run(worker, DRAWN) for worker in pair]
    parents = {status_of(worker.pid)["PPid"] for worker in pair}
    pipes = [{place.readlink() for place in opened(worker) if place.name > "2"} for worker in pair]
    walls = [status_of(worker.pid)["Seccomp"] for worker in pair]

    assert drawn[0] != drawn[1]
    assert len(parents) == 1
    assert parents != {str(os.getpid())}
    # The template itself raises no walls, as these could not be lowered again for another level.
    assert (status_of(int(*parents))["Seccomp"], walls) in (("0", ["2", "2"]), ("2", ["2", "2"]))
    assert not pipes[0] & pipes[1]
    assert [len(opened(worker)) for worker in pair] == [5, 5]
    assert len({os.getsid(worker.pid) for worker in pair}) == 2
    pair[0].kill()
    assert gone_within([pair[0].pid], 5)
    assert pair[1].alive
    assert run(pair[1], "log(1 + 1)") == "2"


def test_without_their_template_workers_end_and_new_ones_get_another(
    pair: tuple[WorkerProcess, WorkerProcess],
) -> None:
    for worker in pair:
        worker.wait_ready()
    before = int(status_of(pair[0].pid)["PPid"])
    os.kill(before, signal.SIGKILL)
    ended = gone_within([worker.pid for worker in pair], 10)
    with pytest.raises(WorkerGoneError):
        run(pair[0], "log(1)")
    third = WorkerProcess(memory_mb=512, cpu_s=5)
    said, after = run(third, "log(2)"), int(status_of(third.pid)["PPid"])
    third.close()

    assert ended
    assert said == "2"
    assert after != before


def test_a_worker_that_is_no_fork_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    forked = WorkerProcess(memory_mb=512, cpu_s=5)
    monkeypatch.setattr(worker_template, "_supported", lambda: False)
    started = WorkerProcess(memory_mb=512, cpu_s=5)
    code = "log(sorted(globals()), __name__, [n for n in dir() if n[0] != '_'])"
    same = [(worker.wait_ready(), run(worker, code)) for worker in (forked, started)]
    kinds = [type(worker._process) for worker in (forked, started)]
    places = [[place.name for place in opened(worker)] for worker in (forked, started)]
    for worker in (forked, started):
        worker.close()

    assert kinds == [ForkedProcess, subprocess.Popen]
    assert same[0] == same[1]
    assert places[0] == places[1]


OWNER = """
import time
from pytest_autoweb.sandbox.worker_process import WorkerProcess
worker = WorkerProcess(memory_mb=512, cpu_s=60)
worker.wait_ready()
worker.send({"op": "run", "index": 1, "code": "while 1: pass", "root": ["p", "Page"],
             "rerun": False})
print(worker.pid, flush=True)
time.sleep(60)
"""


def test_a_busy_worker_and_its_template_end_with_the_process_that_needs_them() -> None:
    owner = subprocess.Popen([sys.executable, "-c", OWNER], stdout=subprocess.PIPE, text=True)
    assert owner.stdout is not None
    worker = int(owner.stdout.readline())
    template = int(status_of(worker)["PPid"])
    owner.kill()
    owner.wait()
    owner.stdout.close()

    assert gone_within([worker, template], 10)
