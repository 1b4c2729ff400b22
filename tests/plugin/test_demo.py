"""`autoweb demo` as a newcomer starts it: in an empty folder, among settings of other runs.

`make wheel-test` runs these tests, with the demo of the built wheel.
"""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from pytest_autoweb.cli.command_line import main

pytestmark = pytest.mark.long


class Shown(NamedTuple):
    """What the command printed, and the report that it left."""

    folder: Path
    lines: list[str]
    progress: str
    report: dict[str, Any]


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Shown:
    folder = tmp_path_factory.mktemp("empty")
    # None of this may reach the demo; without a home there is no model on this machine.
    strange = {
        "AUTOWEB_REPEAT": "3",
        "AUTOWEB_MODELS": "builtin/noop",
        "PYTEST_ADDOPTS": "--lf --maxfail=1",
        "HOME": str(tmp_path_factory.mktemp("home")),
    }
    command = [sys.executable, "-m", "pytest_autoweb.cli", "demo"]
    done = subprocess.run(
        command, cwd=folder, env={**os.environ, **strange}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    report = folder / "autoweb-demo" / "autoweb-report" / "report.json"
    return Shown(folder, done.stdout.splitlines(), done.stderr, json.loads(report.read_bytes()))


def test_it_ends_with_four_lines(shown: Shown) -> None:
    page = shown.folder / "autoweb-demo" / "autoweb-report" / "index.html"
    won, wrong, cost, report = shown.lines[-4:]

    assert won.startswith("Who won: ")
    assert wrong.startswith("What went wrong: ")
    assert cost.startswith("What it cost: nothing, since both models run locally: ")
    assert report == f"Report: {page}"
    assert page.is_file()


def test_the_lines_say_what_the_report_says(shown: Shown) -> None:
    counts = shown.report["summary"]["counts"]
    won, wrong = shown.lines[-4:-2]
    first = re.findall(r"passed (\d+) of (\d+)", won)
    repaired = re.findall(r"and (\d+) more after a repair", won)
    case, model = re.findall(r"wrong: (\S+) on (\S+), ", wrong)[0]
    (cell,) = (
        cell
        for each in shown.report["cases"]
        for cell in each["cells"]
        if (cell["case_id"], cell["model"]) == (case, model)
    )

    assert sum(int(passed) for passed, _ in first) == counts["passed"]
    assert sum(int(cells) for _, cells in first) == 16
    assert sum(map(int, repaired)) == counts["healed"]
    assert cell["reason"] in wrong
    assert ("not decided" in won) is not shown.report["summary"]["decisive"]


def test_a_cell_was_healed_and_none_left_its_recording(shown: Shown) -> None:
    counts = {name: n for name, n in shown.report["summary"]["counts"].items() if n}

    assert counts["healed"] >= 1
    assert counts.keys() <= {"passed", "healed", "failed"}


def test_progress_is_told_without_a_terminal(shown: Shown) -> None:
    assert "16 of 16 done, solved: " in shown.progress
    assert "\x1b" not in shown.progress


def test_what_pytest_refuses_is_said_without_its_header(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("AUTOWEB_CHROMIUM", "/no/such/browser")

    assert main(["demo", str(tmp_path / "demo")]) == 4

    said = capfd.readouterr().err
    assert "pytest could not run the cases; it said:\nERROR: AUTOWEB_CHROMIUM names" in said
