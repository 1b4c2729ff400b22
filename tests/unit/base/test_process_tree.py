"""A kept command ends with everything that came from it, and with its owner."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest
from other_systems import SYSTEMS, run_elsewhere

from pytest_autoweb.base.process_tree import kept

# Leaves its parent, group and session, says who it is, and ignores being asked.
DETACH = """
import os, signal, sys, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        open(sys.argv[1] + ".new", "w").write(str(os.getpid()))
        os.rename(sys.argv[1] + ".new", sys.argv[1])
        time.sleep(600)
    os._exit(0)
while not os.path.exists(sys.argv[1]):
    time.sleep(0.01)
"""


def until(holds: Callable[[], bool], seconds: float = 15) -> bool:
    deadline = time.monotonic() + seconds
    while not holds() and time.monotonic() < deadline:
        time.sleep(0.05)
    return holds()


def lives(pid: int) -> bool:
    return psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE


@pytest.fixture
def child(tmp_path: Path) -> Path:
    return tmp_path / "child"


def pid_in(file: Path) -> int:
    assert until(file.exists)
    return int(file.read_text())


def python(script: str, *arguments: str) -> list[str]:
    return [sys.executable, "-c", script, *arguments]


def test_streams_and_exit_status_are_those_of_the_command() -> None:
    script = "import sys; print(sys.stdin.read().upper()); sys.exit(7)"
    done = subprocess.run(
        kept(python(script), os.getpid()), input="tea", capture_output=True, text=True, check=False
    )

    assert (done.returncode, done.stdout.strip(), done.stderr) == (7, "TEA", "")


def test_a_signal_shows_as_a_shell_shows_it() -> None:
    script = "import os; os.kill(os.getpid(), 9)"

    assert subprocess.run(kept(python(script), os.getpid()), check=False).returncode == 128 + 9


def test_a_program_that_is_not_there_is_named() -> None:
    done = subprocess.run(
        kept(["no-such-program"], os.getpid()), capture_output=True, text=True, check=False
    )

    assert done.returncode == 1
    assert done.stderr == "[Errno 2] No such file or directory: 'no-such-program'\n"


def test_what_a_command_detached_ends_with_it(child: Path) -> None:
    assert (
        subprocess.run(kept(python(DETACH, str(child)), os.getpid()), check=False).returncode == 0
    )

    assert not lives(pid_in(child))


# Is another process at each look, as a daemon is while it starts.
HOP = """
import os, signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
until = time.monotonic() + 0.5
while time.monotonic() < until:
    if os.fork():
        os._exit(0)
open(sys.argv[1] + ".new", "w").write(str(os.getpid()))
os.rename(sys.argv[1] + ".new", sys.argv[1])
time.sleep(600)
"""


def test_what_leaves_its_parent_during_each_look_ends_too(child: Path) -> None:
    done = subprocess.run(kept(python(HOP, str(child)), os.getpid()), check=False)

    assert done.returncode == 0
    # Ended while it hopped, it never says which process it is.
    assert not until(child.exists, seconds=2) or not lives(pid_in(child))


def test_everything_ends_when_the_keeper_is_asked(child: Path) -> None:
    script = DETACH + "time.sleep(600)"
    with subprocess.Popen(kept(python(script, str(child)), os.getpid())) as keeper:
        detached = pid_in(child)
        keeper.terminate()

    assert keeper.returncode == 128 + signal.SIGTERM
    assert not lives(detached)


def test_everything_ends_when_the_owner_is_killed(child: Path) -> None:
    owner = subprocess.Popen(["sleep", "600"])
    keeper = subprocess.Popen(kept(python(DETACH + "time.sleep(600)", str(child)), owner.pid))
    detached = pid_in(child)

    owner.kill()

    assert until(lambda: keeper.poll() is not None)
    assert not lives(detached)
    owner.wait()


OWNER = """
import os, sys, time
from pathlib import Path
from pytest_autoweb.base import process_tree
from pytest_autoweb.base.process_tree import end_kept, is_process_alive, kept, start_mark
file = Path(sys.argv[1])
print(is_process_alive(os.getpid(), start_mark(os.getpid())), is_process_alive(os.getpid(), "-"))
command = [sys.executable, "-c", sys.argv[2], str(file)]
keeper = process_tree.subprocess.Popen(kept(command, os.getpid()))
while not file.exists() and keeper.poll() is None:
    time.sleep(0.05)
end_kept(keeper)
print(keeper.returncode is None)
"""
STAY = """
import os, subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
with open(sys.argv[1] + ".new", "w") as file:
    file.write(str(child.pid))
os.rename(sys.argv[1] + ".new", sys.argv[1])
time.sleep(600)
"""


@pytest.mark.parametrize("system", SYSTEMS)
def test_other_systems_end_a_command_with_its_child(system: str, child: Path) -> None:
    done = run_elsewhere(system, child.parent, "-c", OWNER, str(child), STAY)

    assert (done.outlines, done.errlines) == (["True False", "False"], [])
    assert until(lambda: not lives(pid_in(child)))
