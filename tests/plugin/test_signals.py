"""SIGTERM and SIGHUP end a session as one Ctrl-C does: report, summary, and nothing left behind."""

import fcntl
import json
import os
import signal
import subprocess
import sys
import termios
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such signals")
SLOW_CELLS = ("login", "slow-2", "slow-3")
BARE: tuple[str, ...] = ()


@pytest.mark.long
@pytest.mark.parametrize(
    ("flags", "number", "whole_group"),
    [
        (BARE, signal.SIGTERM, False),
        (BARE, signal.SIGHUP, True),
        (("-n", "2"), signal.SIGTERM, False),
        (("-n", "2"), signal.SIGHUP, True),
        (("--autoweb-concurrency=4",), signal.SIGTERM, True),
    ],
    ids=["bare", "bare-group", "workers", "workers-group", "in-flight"],
)
def test_a_signal_to_end_is_one_ctrl_c(
    project: pytest.Pytester, flags: tuple[str, ...], number: signal.Signals, whole_group: bool
) -> None:
    session = Session(project, *flags)
    session.wait_for("login")

    if whole_group:
        # As `timeout` does it: the process first, then its whole group.
        session.process.send_signal(number)
        os.killpg(session.process.pid, number)
    else:
        session.process.send_signal(number)
    said = session.end()

    assert session.process.returncode == pytest.ExitCode.INTERRUPTED, said
    assert session.outcomes["title"] == "passed"
    assert set(session.outcomes) == {"title", *SLOW_CELLS}
    assert {session.outcomes[name] for name in SLOW_CELLS} <= {"broken", "skipped"}
    assert session.outcomes["login"] == "broken"
    assert f"{number.name} interrupted the run" in said
    assert "report: " in said
    assert "Traceback" not in said
    assert "INTERNALERROR" not in said
    assert "interrupted" in (session.report / "summary.md").read_text(encoding="utf-8")
    assert until(lambda: session.left == []), session.left


ALONE = """
def test_alone(autoweb):
    autoweb.run("cases/shop.yaml::login", model="builtin/oracle")
"""


@pytest.mark.long
def test_workers_whose_session_names_no_models_are_interrupted_too(
    project: pytest.Pytester,
) -> None:
    project.makepyfile(test_alone=ALONE)
    command = (sys.executable, "-m", "pytest", "test_alone.py", "-n", "2")
    session = Session(project, command=command)
    assert until(lambda: any((session.report / "cells").glob("**/started")))
    time.sleep(0.5)

    session.process.terminate()
    said = session.end()

    assert session.process.returncode == pytest.ExitCode.INTERRUPTED, said
    assert list(session.outcomes.values()) == ["broken"]
    assert until(lambda: session.left == []), session.left


@pytest.mark.long
def test_the_second_signal_ends_at_once(project: pytest.Pytester) -> None:
    project.makeconftest(
        "import time\n"
        "def pytest_keyboard_interrupt():\n"
        "    open('caught', 'w').close()\n"
        "    time.sleep(30)\n"
    )
    session = Session(project)
    session.wait_for("login")

    session.process.terminate()
    assert until((project.path / "caught").exists)
    time.sleep(1.2)
    began = time.monotonic()
    session.process.terminate()
    session.end()

    assert time.monotonic() - began < 15
    assert session.process.returncode == -signal.SIGTERM


@pytest.mark.long
def test_a_closed_terminal_ends_the_session_with_a_report(project: pytest.Pytester) -> None:
    terminal, inside = os.openpty()
    session = Session(project, terminal=inside)
    os.close(inside)
    session.wait_for("login")

    # The kernel sends SIGHUP, and whatever the session prints from now on is an error.
    os.close(terminal)
    session.end()

    assert session.process.returncode == pytest.ExitCode.INTERRUPTED
    assert session.outcomes["title"] == "passed"
    assert until(lambda: session.left == []), session.left


def test_what_is_ignored_from_the_start_stays_ignored() -> None:
    script = (
        "import os, signal\n"
        "from pytest_autoweb.base.interruption import like_ctrl_c\n"
        "signal.signal(signal.SIGHUP, signal.SIG_IGN)\n"
        "with like_ctrl_c():\n"
        "    os.kill(os.getpid(), signal.SIGHUP)\n"
        "    try:\n"
        "        os.kill(os.getpid(), signal.SIGTERM)\n"
        "    except KeyboardInterrupt:\n"
        "        print('interrupted')\n"
        "    os.kill(os.getpid(), signal.SIGTERM)\n"
        "    print('as one')\n"
        "assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL\n"
        "assert signal.getsignal(signal.SIGINT) is signal.default_int_handler\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)

    assert (done.returncode, done.stdout.split("\n")) == (0, ["interrupted", "as one", ""])


@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT"])
@pytest.mark.parametrize(
    "where",
    [
        "class Ends:\n    def __del__(self): os.kill(os.getpid(), number)\nending = Ends()",
        "class Ends: pass\nending = Ends()\nset_ = weakref.WeakSet([ending])\n"
        "class Told(set):\n    def discard(self, item): os.kill(os.getpid(), number)\n"
        "set_.data = Told(set_.data)",
    ],
    ids=["a finalizer", "a weak set"],
)
def test_a_signal_where_python_ignores_errors_interrupts_what_follows(
    name: str, where: str
) -> None:
    script = (
        "import os, signal, time, weakref\n"
        "from pytest_autoweb.base.interruption import like_ctrl_c\n"
        f"number = signal.{name}\n{where}\n"
        "with like_ctrl_c():\n"
        "    try:\n"
        "        del ending\n"
        "        time.sleep(60)\n"
        "    except KeyboardInterrupt:\n"
        "        print('interrupted')\n"
    )
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, timeout=40)

    assert (done.stdout, done.stderr) == ("interrupted\n", "")


def test_a_worker_that_was_told_by_its_terminal_is_not_told_again(tmp_path: Path) -> None:
    script = (
        "import os, signal, time\n"
        "from types import SimpleNamespace\n"
        "from pytest_autoweb.base.interruption import AGAIN_S, Interruption\n"
        "from pytest_autoweb.session.worker_marks import interrupt_workers, mark_worker\n"
        f"shared = SimpleNamespace(session_folder={str(tmp_path)!r})\n"
        "interruption = Interruption()\n"
        "interruption.install()\n"
        "mark_worker(shared, interruption)\n"
        "try:\n"
        "    os.kill(os.getpid(), signal.SIGTERM)\n"
        "except KeyboardInterrupt:\n"
        "    print('interrupted')\n"
        "time.sleep(AGAIN_S + 0.2)\n"
        "interrupt_workers(shared)\n"
        "print('goes on')\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)

    assert (done.returncode, done.stdout.split()) == (0, ["interrupted", "goes", "on"]), done.stderr


@pytest.mark.long
def test_a_command_that_runs_a_session_waits_for_its_report(project: pytest.Pytester) -> None:
    done = project.runpytest_subprocess("cases", "-k", "login", "--autoweb-models=builtin/oracle")
    assert done.ret == 0
    script = (
        "import sys; from pytest_autoweb.cli.command_line import main; sys.exit(main(sys.argv[1:]))"
    )
    # The case is slow by now.
    session = Session(project, command=(sys.executable, "-c", script, "rerun", "login"))
    session.report = project.path / "autoweb-rerun"
    assert until(lambda: any((session.report / "cells").glob("login/**/started")))
    time.sleep(0.5)

    session.process.terminate()
    said = session.end()

    assert session.process.returncode == 130, said
    assert session.outcomes["login"] == "broken"
    assert until(lambda: session.left == []), session.left


CASES = """
version: 1
webserver: {static: ../site}
cases:
  - id: title
    entry_url: "{{ webserver.url }}index.html"
    user_task: "What is the heading?"
    expect: [answer: {equals: Shop}]
    oracle: answer(page.get_by_role("heading").inner_text())
"""
SLOW = """
  - id: {name}
    entry_url: "{{{{ webserver.url }}}}index.html"
    user_task: "Wait."
    timeout: 90
    expect: [answer: {{equals: Shop}}]
    oracle: page.wait_for_timeout(19000)
"""


def until(holds: Callable[[], bool], seconds: float = 60) -> bool:
    deadline = time.monotonic() + seconds
    while not holds() and time.monotonic() < deadline:
        time.sleep(0.05)
    return holds()


def begin(terminal: bool) -> None:
    """Handle signals as at a prompt, whatever these tests were started to ignore.

    Args:
        terminal: whether standard input is to control the session of processes.
    """
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    if terminal:
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)


class Session:
    """A session in the background, which waits in its slow cells until it is sent a signal."""

    def __init__(
        self,
        project: pytest.Pytester,
        *flags: str,
        command: tuple[str, ...] = (),
        terminal: int | None = None,
    ) -> None:
        self.path = project.path
        text = CASES + "".join(SLOW.format(name=name) for name in SLOW_CELLS)
        (self.path / "cases/shop.yaml").write_text(text, encoding="utf-8")
        self.temporary = self.path / "temporary"
        self.temporary.mkdir()
        self.report = self.path / "autoweb-report"
        pytest_command = (sys.executable, "-m", "pytest", "cases", *flags)
        self.process = subprocess.Popen(
            command or (*pytest_command, "--autoweb-models=builtin/oracle"),
            cwd=self.path,
            env={**os.environ, "TMPDIR": str(self.temporary)},
            stdin=terminal,
            stdout=subprocess.PIPE if terminal is None else terminal,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
            preexec_fn=lambda: begin(terminal is not None),
        )

    def wait_for(self, cell: str) -> None:
        """Wait until the quick cell has ended and another one has begun."""
        cells = self.report / "cells"
        assert until(lambda: any(cells.glob("title/**/cell.json")))
        assert until(lambda: any(cells.glob(f"{cell}/**/started")))
        time.sleep(0.5)

    def end(self) -> str:
        """Wait for the end, and return what the session said."""
        return self.process.communicate(timeout=60)[0]

    @property
    def outcomes(self) -> dict[str, str]:
        report = json.loads((self.report / "report.json").read_text(encoding="utf-8"))
        return {case["id"]: case["cells"][0]["outcome"] for case in report["cases"]}

    @property
    def left(self) -> list[Any]:
        """What the session left: files in the temporary folder, and processes that know it."""
        return [*(path.name for path in self.temporary.iterdir()), *self._processes()]

    def _processes(self) -> list[str]:
        found, folder = [], str(self.temporary)
        for process in psutil.process_iter():
            try:
                line = " ".join(process.cmdline())
                if folder in line or process.environ().get("TMPDIR") == folder:
                    found.append(line or process.name())
            except psutil.Error:
                continue
        return found
