"""The run of a proof ends together with all that came from it, whatever that did to get away."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from pytest_autoweb.tools.export.walled_run import run_group

# Leaves its parent, group and session, and says who it is.
DETACH = """
import os, sys, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        open(sys.argv[1] + ".new", "w").write(str(os.getpid()))
        os.rename(sys.argv[1] + ".new", sys.argv[1])
        time.sleep(600)
    os._exit(0)
while not os.path.exists(sys.argv[1]):
    time.sleep(0.05)
"""
PROVER = """
import os, sys
from pathlib import Path
from pytest_autoweb.tools.export.walled_run import run_group
run_group([sys.executable, "-c", sys.argv[1], sys.argv[2]], os.environ, 600, Path(sys.argv[3]))
"""


@pytest.fixture
def child(tmp_path: Path) -> Path:
    return tmp_path / "child"


def lives(file: Path) -> bool:
    try:
        return psutil.Process(int(file.read_text())).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


@pytest.mark.parametrize(
    ("then", "seconds", "status"), [("exit(1)", 60, 1), ("time.sleep(600)", 2, None)]
)
def test_what_a_proof_detached_ends_with_it(
    child: Path, then: str, seconds: float, status: int | None
) -> None:
    command = [sys.executable, "-c", DETACH + then, str(child)]

    done = run_group(command, os.environ, seconds, child.with_name("output.txt"))

    assert done.status == status
    assert not lives(child)


def test_a_proof_ends_when_its_prover_is_killed(child: Path) -> None:
    command = [sys.executable, "-c", PROVER, DETACH + "time.sleep(600)"]
    prover = subprocess.Popen([*command, str(child), str(child.with_name("output.txt"))])
    deadline = time.monotonic() + 30
    while not child.exists() and time.monotonic() < deadline:
        time.sleep(0.05)

    prover.send_signal(signal.SIGKILL)
    prover.wait()

    while lives(child) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not lives(child)
