"""A session that goes on while a test steers it: its models answer when the test says so."""

import json
import os
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
# Each call waits for a file, so that a test decides when a cell ends. Another one names a case and
# a model whose answers are wrong from then on.
CONFTEST = """
import time
from pathlib import Path
from pytest_autoweb.testing import ScriptedClient, scripted_plan
def script(request):
    wrong = Path("wrong")
    is_wrong = wrong.exists() and wrong.read_text() == f"{request.case_id} {request.model}"
    said = "Desk" if is_wrong else "Shop"
    return f'```python\\n# Step 1: look\\nanswer("{said}")\\n```'
ANSWERS = {"plan": scripted_plan("look"), "generate": script}
class Gated(ScriptedClient):
    def complete(self, request):
        Path("begun").touch()
        own = Path(f"gate {request.case_id} {request.model.replace('/', ' ')}")
        while not Path("gate").exists() and not own.exists():
            time.sleep(0.05)
        return super().complete(request)
def pytest_autoweb_client(spec):
    if spec.name.startswith("fake/"):
        return Gated(ANSWERS)
"""
FLAGS = ("cases", "--autoweb-models=fake/a,fake/b", "--autoweb-max-repairs=0")
PATIENCE_S = 120.0


def asking(project: pytest.Pytester | SharedProject) -> SharedProject:
    """A project with four cases, for models `fake/…` that wait for `open_gate`."""
    shop = SharedProject.at(project.path)
    (shop.path / "conftest.py").write_text(CONFTEST, encoding="utf-8")
    (shop.path / "cases/shop.yaml").write_text(CASES, encoding="utf-8")
    return shop


class Going:
    """A session that goes on, and the commands that a test gives beside it."""

    def __init__(self, folder: Path, process: "subprocess.Popen[str]", log: Path) -> None:
        self.path, self.process, self._log = folder, process, log

    def ctl(self, *words: str) -> "subprocess.CompletedProcess[str]":
        """Give an order by `autoweb run ctl`."""
        return autoweb(self.path, "run", "ctl", *words)

    def open_gate(self, *cell: str) -> None:
        """Let the models answer from now on, or only one model about one case."""
        (self.path / " ".join(("gate", *cell)).replace("/", " ")).touch()

    def wait_for(self, what: Callable[[], bool]) -> None:
        """Wait until something is so, while the session goes on."""
        until = time.monotonic() + PATIENCE_S
        while not what():
            assert time.monotonic() < until, self.said
            assert self.process.poll() is None, self.said
            time.sleep(0.05)

    def answer_wrong(self, case_id: str, model: str) -> None:
        """Let a model give a wrong answer to a case from now on."""
        (self.path / "wrong").write_text(f"{case_id} {model}", encoding="utf-8")

    @property
    def said(self) -> str:
        return self._log.read_text(encoding="utf-8")

    @property
    def ended(self) -> int:
        """How many cells have ended."""
        return ended_in(self.path)

    def report(self) -> dict[str, Any]:
        """Wait for the end, and return the report."""
        self.process.wait(PATIENCE_S)
        return report_of(self.path)


def ended_in(folder: Path) -> int:
    return len(list(folder.glob("autoweb-report/cells/*/*/*/cell.json")))


def results_in(folder: Path) -> list[dict[str, Any]]:
    """The results of the cells that have ended."""
    saved = sorted(folder.glob("autoweb-report/cells/*/*/*/cell.json"))
    return [json.loads(file.read_text(encoding="utf-8")) for file in saved]


def begun_in(folder: Path) -> list[Path]:
    """The marks of the cells that have begun."""
    return list(folder.glob("autoweb-report/cells/*/*/*/started"))


def report_of(folder: Path) -> dict[str, Any]:
    text = (folder / "autoweb-report/report.json").read_text(encoding="utf-8")
    report: dict[str, Any] = json.loads(text)
    return report


def cells_of(report: dict[str, Any]) -> list[dict[str, Any]]:
    return [cell for case in report["cases"] for cell in case["cells"]]


def autoweb(folder: Path, *words: str) -> "subprocess.CompletedProcess[str]":
    """Run the command `autoweb` in a folder."""
    return subprocess.run(
        [*python_command(), "-m", "pytest_autoweb.cli", *words],
        cwd=folder,
        capture_output=True,
        encoding="utf-8",
        timeout=PATIENCE_S,
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
    session = Going(shop.path, process, log)
    try:
        session.wait_for((shop.path / "begun").exists)
        yield session
    finally:
        if process.poll() is None:
            process.terminate()
            process.wait(PATIENCE_S)
