"""`--autoweb-watch` in a real session: files change, and what they touch is run again."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from session_server import session_command

pytest.importorskip("watchfiles")
WAITS = "waiting for a change"


@pytest.mark.long
def test_what_a_change_touches_is_run_again_until_ctrl_c(
    project: Path, watches: list[Watch]
) -> None:
    watch = Watch(project, "--autoweb-models=builtin/oracle")
    watches.append(watch)
    assert ran(watch.until(WAITS)) == {"green", "black"}
    launches = project / "launches.txt"
    assert launches.read_text() == "launched\n"

    write_case(project, "green", 2)
    lines = watch.until(WAITS)
    assert "watch: cases/green.yaml changed: its cells again" in lines
    assert ran(lines) == {"green"}
    assert any("1 passed, 1 deselected" in line for line in lines)
    assert not any(line.startswith(("rootdir:", "autoweb sandbox:")) for line in lines)
    if os.name == "posix":
        # Its browser was running before this run read the conftest.
        assert launches.read_text() == "launched\n"

    # What runs and commands have written is no change; a module and settings concern every case.
    drafts = project / "autoweb-explore" / "drafts-1"
    drafts.mkdir(parents=True)
    (drafts / "white.yaml").write_text((project / "cases" / "green.yaml").read_text())
    (project / "conftest.py").write_text("# changed\n", encoding="utf-8")
    (project / "pytest.ini").write_text("[pytest]\naddopts = -n1\n", encoding="utf-8")
    lines = watch.until(WAITS)
    assert next(line for line in lines if line.startswith("watch: ")) == (
        "watch: conftest.py, pytest.ini changed: everything again"
    )
    assert "1 worker [2 items]" in lines
    assert ran(lines) == {"green", "black"}

    assert watch.interrupt() == 0
    assert "autoweb-report/index.html" in watch.until("watch: ended")[-1]
    assert (project / "autoweb-report" / "index.html").is_file()


@pytest.mark.long
@pytest.mark.skipif(os.name != "posix", reason="elsewhere no run is started ahead")
def test_a_run_uses_the_driver_that_was_started_ahead_where_a_file_names_the_models(
    project: Path, watches: list[Watch]
) -> None:
    (project / "pytest.ini").write_text("[pytest]\nautoweb_models = builtin/oracle\n")
    (project / "conftest.py").write_text(COUNTS_DRIVERS, encoding="utf-8")
    watch = Watch(project)
    watches.append(watch)
    assert ran(watch.until(WAITS)) == {"green", "black"}
    drivers = project / "drivers.txt"
    assert drivers.read_text() == "started\n"

    write_case(project, "green", 2)
    assert ran(watch.until(WAITS)) == {"green"}
    assert drivers.read_text() == "started\n"
    assert watch.interrupt() == 0


@pytest.mark.parametrize(
    ("arguments", "settings", "message"),
    [
        (["--autoweb-models=builtin/oracle"], {"CI": "true"}, "refused in CI"),
        ([], {}, "--autoweb-watch needs --autoweb-models"),
        (["--autoweb-models=a", "--autoweb-shard=1/2"], {}, "leave --autoweb-shard out"),
        (["--autoweb-models=a", "--autoweb-watch=often"], {}, "neither yes nor no"),
    ],
)
def test_it_is_refused_where_nobody_could_end_it_or_it_would_run_nothing(
    arguments: list[str],
    settings: dict[str, str],
    message: str,
    project: Path,
) -> None:
    env = {name: value for name, value in os.environ.items() if name != "CI"}
    done = subprocess.run(
        [*session_command(), "--autoweb-watch", *arguments],
        cwd=project,
        env={**env, **settings},
        capture_output=True,
        text=True,
    )

    assert done.returncode == 4
    assert message in done.stderr


CASE = """
version: 1
webserver: {{static: ../site}}
cases:
  - id: {name}
    entry_url: "{{{{ webserver.url }}}}index.html"
    user_task: "Answer {answer}."
    expect: [{{answer: {{equals: {answer}}}}}]
    oracle: |
      # Step 1
      answer({answer})
"""
COUNTS_LAUNCHES = """
from pathlib import Path
from playwright.sync_api import BrowserType

launch = BrowserType.launch

def counted(self, **arguments):
    with Path("launches.txt").open("a") as file:
        file.write("launched\\n")
    return launch(self, **arguments)

BrowserType.launch = counted
"""
COUNTS_DRIVERS = """
from pathlib import Path
from playwright.sync_api import sync_playwright

managers = type(sync_playwright())
start = managers.start

def counted(self):
    with Path("drivers.txt").open("a") as file:
        file.write("started\\n")
    return start(self)

managers.start = counted
"""
SECONDS = 120


class Watch:
    """A session that watches, and the lines that it has printed."""

    def __init__(self, project: Path, *arguments: str) -> None:
        left_out = ("AUTOWEB_", "PYTEST_")
        env = {n: v for n, v in os.environ.items() if not n.startswith(left_out) and n != "CI"}
        flags = "-p no:anyio -p no:hypothesispytest -p no:schemathesis"
        self._process = subprocess.Popen(
            # A process of its own, because those of the tests' server inherit no pipes.
            [sys.executable, "-m", "pytest", "cases", "--autoweb-watch", *arguments],
            cwd=project,
            env={**env, "PYTEST_ADDOPTS": flags},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        self._lines: list[str] = []
        self._seen = 0
        self._news = threading.Condition()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self._process.stdout
        for line in self._process.stdout:
            with self._news:
                self._lines.append(line.rstrip())
                self._news.notify()

    def until(self, text: str) -> list[str]:
        """The lines since the last call, up to one that holds the text."""
        end = time.monotonic() + SECONDS
        with self._news:
            while True:
                for number in range(self._seen, len(self._lines)):
                    if text in self._lines[number]:
                        begin, self._seen = self._seen, number + 1
                        return self._lines[begin : number + 1]
                assert self._news.wait(end - time.monotonic()), "\n".join(self._lines)

    def interrupt(self) -> int:
        """Press Ctrl-C, which reaches every process of the terminal."""
        self._process.send_signal(signal.SIGINT)
        return self._process.wait(SECONDS)

    def kill(self) -> None:
        self._process.kill()


@pytest.fixture
def project(tmp_path: Path) -> Path:
    # Only below the root do such names mean that a run has written there.
    root = tmp_path / "autoweb-report-of-ours"
    (root / "cases").mkdir(parents=True)
    (root / "site").mkdir()
    (root / "site" / "index.html").write_text("<h1>Tea</h1>", encoding="utf-8")
    for name in ("green", "black"):
        write_case(root, name, 1)
    (root / "conftest.py").write_text(COUNTS_LAUNCHES, encoding="utf-8")
    (root / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    return root


def write_case(project: Path, name: str, answer: int) -> None:
    path = project / "cases" / f"{name}.yaml"
    path.write_text(CASE.format(name=name, answer=answer), encoding="utf-8")


@pytest.fixture
def watches() -> Iterator[list[Watch]]:
    begun: list[Watch] = []
    yield begun
    for watch in begun:
        watch.kill()


def ran(lines: list[str]) -> set[str]:
    return {
        found[1] for line in lines if (found := re.match(r"PASSED +builtin/oracle +(\w+)", line))
    }
