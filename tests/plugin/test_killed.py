"""Whatever is killed, and whenever: the report says what became of each cell, and nothing else."""

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from session_server import session_command

from pytest_autoweb.cli.command_line import main

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes are found in /proc")
CONFTEST = Path(__file__).parents[1] / "support" / "killing.py"


class Ran:
    """A session that has ended somehow."""

    def __init__(self, project: pytest.Pytester, *models: str, then: str = "") -> None:
        project.makeconftest(CONFTEST.read_text(encoding="utf-8"))
        names = ",".join(f"fake/{model}" for model in models)
        flags = ["cases", "-k", "login", f"--autoweb-models={names}", "--autoweb-max-repairs=0"]
        flags += ["--autoweb-step-timeout=4", *then.split()]
        # Pipes: what a session prints must not go to the disk that is full.
        done = subprocess.run(
            [*session_command(), *flags],
            cwd=project.path, capture_output=True, text=True, timeout=240, check=False,
        )  # fmt: skip
        self.code, self.said = done.returncode, done.stdout + done.stderr
        self.folder = project.path / "autoweb-report"

    @property
    def cells(self) -> dict[str, dict[str, Any]]:
        """The report's cells, by what their model killed."""
        report = json.loads((self.folder / "report.json").read_text(encoding="utf-8"))
        return {
            cell["model"].removeprefix("fake/"): cell
            for case in report["cases"]
            for cell in case["cells"]
        }

    @property
    def outcomes(self) -> dict[str, tuple[str, str]]:
        """Outcome and kind of failure of each cell."""
        return {
            name: (cell["outcome"], (cell["failure"] or {}).get("kind", ""))
            for name, cell in self.cells.items()
        }


@pytest.mark.long
def test_each_child_and_a_full_disk_cost_their_own_cell(project: pytest.Pytester) -> None:
    """Workers before and during a step, the case's web server, a full disk, browser and driver."""
    kinds = ("worker", "worker:300", "server:300", "disk", "room", "browser:300", "driver:300")

    ran = Ran(project, *kinds, "none")

    assert ran.code == 1
    killed = (project.path / "killed").read_text(encoding="utf-8").split()
    # The spare one too; the same supervisor keeps no second server.
    assert killed.count("worker") >= 3
    assert {"worker", "server", "browser", "driver"} == set(killed)
    assert ran.outcomes == {
        "worker": ("passed", ""),
        "worker:300": ("failed", "sandbox"),
        "server:300": ("passed", ""),
        "disk": ("broken", "killed"),
        "room": ("passed", ""),
        "browser:300": ("broken", "browser"),
        "driver:300": ("broken", "browser"),
        "none": ("passed", ""),
    }
    assert ran.cells["worker:300"]["failure"]["rule"] == "AW506"
    assert "disk was full" in ran.cells["disk"]["reason"]
    for twice in ("browser:300", "driver:300"):
        assert ran.cells[twice]["reason"] == (
            "the browser ended while the cell ran, for the second time"
        )
    assert (ran.folder / "index.html").is_file()


@pytest.mark.long
def test_a_browser_that_dies_once_costs_nobody_a_verdict(project: pytest.Pytester) -> None:
    """The hit cell is run again, and the record says why; no teardown fails."""
    hit = ("browser:300:once", "driver:300:once", "renderer:300:once", "frozen:300:once")
    # Chromium replaces this process itself.
    kinds = (*hit, "gpu:300:once")

    # A test of the user that shares the browser gets the new one, too.
    project.makepyfile(test_login="def test_login(page):\n    page.goto('about:blank')\n")

    ran = Ran(project, *kinds, then="test_login.py")

    assert ran.code == 0, ran.said
    assert "6 passed" in ran.said
    assert "never retrieved" not in ran.said
    assert ran.outcomes == dict.fromkeys(kinds, ("passed", ""))
    assert {name: cell["attempts"][0]["rerun_because"] for name, cell in ran.cells.items()} == {
        "browser:300:once": "the browser ended while the cell ran",
        "driver:300:once": "the browser ended while the cell ran",
        "renderer:300:once": "the process that shows the page crashed while the cell ran",
        "frozen:300:once": (
            "the browser ended (a call to the browser did not come back within 8 s) "
            "while the cell ran"
        ),
        "gpu:300:once": "",
    }
    lost = list(ran.folder.rglob("attempt-1-lost"))
    assert len(lost) == len(hit)
    # What the lost attempt asked a model was paid for, too.
    asked = [e["stage"] for e in ran.cells[kinds[0]]["attempts"][0]["exchanges"]]
    assert asked == ["plan", "generate"] * 2


@pytest.mark.long
def test_a_run_that_is_killed_can_be_reported_later(
    project: pytest.Pytester, capsys: pytest.CaptureFixture[str]
) -> None:
    ran = Ran(project, "none", "main:300", "room")
    # The status of a killed process is a number of its own where another process passes it on.
    assert ran.code % 256 == 256 - signal.SIGKILL
    assert not (ran.folder / "report.json").exists()

    assert main(["run", "gate", str(ran.folder), "--min-pass-rate", "90"]) == 1
    expected = {"none": ("passed", ""), "main:300": ("broken", "killed"), "room": ("skipped", "")}
    assert ran.outcomes == expected
    merged = project.path / "merged"
    assert main(["run", "merge", str(ran.folder), "--output", str(merged)]) in {0, 1}
    ran.folder = merged
    assert ran.outcomes == expected
    capsys.readouterr()


@pytest.mark.long
def test_an_interrupted_run_is_reported_at_once(project: pytest.Pytester) -> None:
    ran = Ran(project, "none", "interrupt:300", "room")

    assert ran.code == pytest.ExitCode.INTERRUPTED
    outcomes = ran.outcomes
    assert outcomes["none"] == ("passed", "")
    assert outcomes["interrupt:300"][0] == "broken"
    assert outcomes["room"] == ("skipped", "")
    assert "interrupted" in (ran.folder / "summary.md").read_text(encoding="utf-8")
