"""An outside agent and whatever it starts: none of it outlives its session."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from pytest_autoweb.agents.outside.agent_process import running_agent
from pytest_autoweb.base.errors import SettingsError

# Starts a child of its own, and one that leaves its session and loses its parent.
AGENT = """
import os, subprocess, sys, time
sleeper = [sys.executable, "-c", "import time; time.sleep(600)"]
child = subprocess.Popen(sleeper)
if os.fork() == 0:
    os.setsid()
    daemon = subprocess.Popen(sleeper, start_new_session=True)
    open("daemon.pid", "w").write(str(daemon.pid))
    os._exit(0)
os.wait()
open("child.pid", "w").write(str(child.pid))
open("agent.pid", "w").write(str(os.getpid()))
print("ready", flush=True)
{then}
"""
HANGS = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(600)"
OWNER = """
import sys, time
from pathlib import Path
from pytest_autoweb.agents.outside.agent_process import running_agent
with running_agent(["{python}", "agent.py"], folder=Path.cwd(), env={}) as agent:
    time.sleep(600)
"""
NAMES = ("agent.pid", "child.pid", "daemon.pid")


def alive(folder: Path) -> list[str]:
    """Which of the agent's processes run."""
    found = []
    for name in NAMES:
        try:
            process = psutil.Process(int((folder / name).read_text()))
            if process.status() != psutil.STATUS_ZOMBIE:
                found.append(name)
        except psutil.NoSuchProcess:
            continue
    return found


def wait_for(folder: Path) -> None:
    deadline = time.monotonic() + 30
    while not all((folder / name).exists() and (folder / name).read_text() for name in NAMES):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def gone(folder: Path, seconds: float) -> list[str]:
    deadline = time.monotonic() + seconds
    while (left := alive(folder)) and time.monotonic() < deadline:
        time.sleep(0.1)
    return left


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "agent.py").write_text(AGENT.format(then=HANGS))
    return tmp_path


def test_an_agent_ends_with_all_that_it_started(folder: Path) -> None:
    with running_agent(["{python}", "agent.py"], folder=folder, env={}):
        wait_for(folder)
        assert alive(folder) == list(NAMES)
    assert gone(folder, 5) == []


def test_what_an_agent_left_running_ends_when_it_ends_by_itself(folder: Path) -> None:
    (folder / "agent.py").write_text(AGENT.format(then="sys.exit(7)"))
    with running_agent(["{python}", "agent.py"], folder=folder, env={}) as agent:
        deadline = time.monotonic() + 30
        said: list[str] = []
        while (code := agent.status) is None:
            assert time.monotonic() < deadline
            said += [line.text for line in agent.lines()]
            time.sleep(0.05)
        assert (code, said) == (7, ["ready"])
        assert gone(folder, 5) == []


def test_an_agent_ends_with_its_session_however_that_ends(folder: Path) -> None:
    owner = subprocess.Popen([sys.executable, "-c", OWNER], cwd=folder)
    try:
        wait_for(folder)
        os.kill(owner.pid, signal.SIGKILL)
        owner.wait()
        assert gone(folder, 20) == []
    finally:
        owner.kill()


def test_a_program_that_is_not_there_is_one_sentence(folder: Path) -> None:
    with (
        pytest.raises(SettingsError, match="cannot be started: 'no-such-program'"),
        running_agent(["no-such-program"], folder=folder, env={}),
    ):
        pass
