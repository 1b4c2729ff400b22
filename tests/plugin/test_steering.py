"""`autoweb run ctl`: orders to a run that is going on."""

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from session_server import python_command, session_command
from shop_project import SharedProject

CASES = """
version: 1
webserver: {static: ../site}
cases:
  - id: ask
    entry_url: "{{ webserver.url }}index.html"
    user_task: "Question {{ matrix.n }}: what is the heading?"
    matrix: {n: [1, 2, 3, 4]}
    expect:
      - answer: {equals: Shop}
"""
# Each call waits for a file, so that a test decides when a cell ends.
CONFTEST = """
import time
from pathlib import Path
from pytest_autoweb.testing import ScriptedClient, scripted_plan
ANSWERS = {
    "plan": scripted_plan("look"),
    "generate": '```python\\n# Step 1: look\\nanswer("Shop")\\n```',
}
class Gated(ScriptedClient):
    def complete(self, request):
        Path("begun").touch()
        while not Path("gate").exists():
            time.sleep(0.05)
        return super().complete(request)
def pytest_autoweb_client(spec):
    if spec.name.startswith("fake/"):
        return Gated(ANSWERS)
"""
FLAGS = ("cases", "--autoweb-models=fake/a,fake/b", "--autoweb-max-repairs=0")


def asking(project: pytest.Pytester) -> SharedProject:
    shop = SharedProject.at(project.path)
    (shop.path / "conftest.py").write_text(CONFTEST, encoding="utf-8")
    (shop.path / "cases/shop.yaml").write_text(CASES, encoding="utf-8")
    return shop


class Going:
    """A session that goes on while a test steers it."""

    def __init__(self, shop: SharedProject, process: "subprocess.Popen[str]", log: Path) -> None:
        self.path, self.process, self._log = shop.path, process, log

    def ctl(self, *words: str) -> "subprocess.CompletedProcess[str]":
        return autoweb(self.path, "run", "ctl", *words)

    def open_gate(self) -> None:
        (self.path / "gate").touch()

    def wait_for(self, what: Callable[[], bool], seconds: float = 60) -> None:
        until = time.monotonic() + seconds
        while not what():
            assert time.monotonic() < until, self.said
            assert self.process.poll() is None, self.said
            time.sleep(0.05)

    @property
    def said(self) -> str:
        return self._log.read_text(encoding="utf-8")

    @property
    def ended(self) -> int:
        return len(list(self.path.glob("autoweb-report/cells/*/*/*/cell.json")))

    def report(self) -> dict[str, Any]:
        """Wait for the end, and return the report."""
        self.process.wait(120)
        text = (self.path / "autoweb-report/report.json").read_text(encoding="utf-8")
        report: dict[str, Any] = json.loads(text)
        return report


def autoweb(folder: Path, *words: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [*python_command(), "-m", "pytest_autoweb.cli", *words],
        cwd=folder,
        capture_output=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )


@contextmanager
def going(shop: SharedProject, *flags: str) -> Iterator[Going]:
    """Start a session, and wait until a cell of it has begun."""
    log = shop.path / "session.txt"
    home = {"HOME": str(shop.path), "USERPROFILE": str(shop.path), "PY_COLORS": "0"}
    with log.open("w") as out:
        process = subprocess.Popen(
            [*session_command(), *FLAGS, *flags],
            cwd=shop.path,
            env={**os.environ, **home},
            stdout=out,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
        )
    session = Going(shop, process, log)
    try:
        session.wait_for((shop.path / "begun").exists)
        yield session
    finally:
        if process.poll() is None:
            process.terminate()
            process.wait(60)


def cells_of(report: dict[str, Any]) -> list[dict[str, Any]]:
    return [cell for case in report["cases"] for cell in case["cells"]]


@pytest.mark.long
def test_a_paused_run_begins_no_cell_and_what_was_stopped_is_not_run(
    project: pytest.Pytester, workers: tuple[str, ...]
) -> None:
    with going(asking(project), *workers) as session:
        assert session.ctl("autoweb-report", "pause").returncode == 0
        session.open_gate()
        session.wait_for(lambda: "paused" in session.said)
        time.sleep(1)
        at_pause = session.ended
        stopped = session.ctl("stop-model", "fake/b")
        case = session.ctl("stop-case", "ask-4")
        wrong = session.ctl("stop-model", "fake/c")
        went_on = session.ctl("go-on")
        report = session.report()

    # One cell was under way in each process, and workers may have begun a second one before.
    assert at_pause <= 2 * (2 if workers else 1)
    assert (stopped.returncode, case.returncode, went_on.returncode) == (0, 0, 0)
    assert wrong.returncode == 4
    assert "the run has no MODEL 'fake/c'" in wrong.stderr
    assert "it has: fake/a, fake/b" in wrong.stderr
    cells = cells_of(report)
    ran = {(cell["case_id"], cell["model"]) for cell in cells if cell["outcome"] == "passed"}
    assert {("ask-2", "fake/a"), ("ask-3", "fake/a")} <= ran
    assert len(ran) + sum(cell["not_needed"] == "steered" for cell in cells) == 8
    assert {cell["outcome"] for cell in cells} == {"passed", "skipped"}
    left = next(cell for cell in cells if cell["not_needed"] and cell["model"] == "fake/b")
    assert left["reason"].startswith("not run: stopped by `stop-")
    notes = "\n".join(report["notes"])
    assert "steered: " in notes
    assert "stop-model fake/b" in notes
    assert "cells were not run, by order (autoweb run ctl): " in notes
    assert "paused for " in notes
    assert "steered: " in session.said
    assert [order["kind"] for order in report["steered"]] == [
        "pause", "stop-model", "stop-case", "go-on",
    ]  # fmt: skip
    assert report["summary"]["decisive"] is not True
    over = session.ctl("pause")
    assert over.returncode == 4
    assert "does not go on any more: it ended with exit status 0" in over.stderr


@pytest.mark.long
def test_ctrl_c_ends_a_paused_run_with_cells_in_flight(project: pytest.Pytester) -> None:
    with going(asking(project), "--autoweb-concurrency=2", "-v") as session:
        session.ctl("pause")
        session.open_gate()
        session.wait_for(lambda: session.ended == 2 and "paused" in session.said)
        time.sleep(1)
        at_pause = session.ended
        session.process.send_signal(signal.SIGINT)
        report = session.report()

    assert at_pause == 2
    assert session.process.returncode == pytest.ExitCode.INTERRUPTED
    outcomes = [cell["outcome"] for cell in cells_of(report)]
    assert outcomes.count("passed") == 2
    assert outcomes.count("skipped") == 6
