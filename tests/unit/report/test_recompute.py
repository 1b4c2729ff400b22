"""`recompute.py` stands beside the package: it must agree, and must notice a wrong number."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from made_up_history import rich_run
from made_up_run import CellKey, cell, save_run

from pytest_autoweb.report.write import write_report

SCRIPT = Path(__file__).parents[3] / "benchmarks" / "recompute" / "recompute.py"
sys.path.append(str(SCRIPT.parent))

import recompute  # type: ignore[import-not-found]  # noqa: E402

FROM_ELSEWHERE = ("history.", "judges[")
"""Facts of earlier runs and counts of labels: nothing in the cells tells them."""


def report_in(folder: Path) -> dict[str, Any]:
    report: dict[str, Any] = json.loads((folder / "report.json").read_text())
    return report


@pytest.fixture(scope="module", params=[1, 3], ids=["single", "repeats"])
def rich(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("rich")
    rich_run(folder, repeats=request.param)
    write_report(folder, max_chars=8_000_000)
    return folder


@pytest.mark.long
def test_it_runs_alone_and_finds_every_number_right(rich: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-E", "-s", SCRIPT, rich / "report.json"],
        cwd=rich,
        capture_output=True,
        text=True,
        check=False,
    )

    lines = done.stdout.splitlines()
    assert (done.returncode, done.stderr) == (0, "")
    assert not [line for line in lines if line.startswith("MISMATCH")]
    rest = [line.split()[2] for line in lines if line.startswith("not recomputed")]
    assert [path for path in rest if not path.startswith(FROM_ELSEWHERE)] == []
    assert sum(line.startswith("ok") for line in lines) > 1500


def test_a_number_that_was_changed_is_found(rich: Path) -> None:
    report = report_in(rich)
    again = recompute.recompute(report)
    places = [
        path
        for path, _, said, _ in recompute.compare(report, again)
        if isinstance(said, float | int)
    ]

    for path in places[::9]:
        before = plant(report, path)
        wrong = [place for place, same, _, _ in recompute.compare(report, again) if not same]
        plant(report, path, before)

        assert wrong == [path]


def plant(report: dict[str, Any], path: str, value: Any = None) -> Any:
    """Put another value at `a.b[2].c`, a little larger by default; gives back the old one."""
    steps = path.replace("[", ".").replace("]", "").split(".")
    node: Any = report
    for step in steps[:-1]:
        node = node[int(step)] if isinstance(node, list) else node[step]
    before = node[steps[-1]]
    larger = not before if isinstance(before, bool) else before + 0.001
    node[steps[-1]] = larger if value is None else value
    return before


def test_a_report_without_its_cells_cannot_be_recomputed(tmp_path: Path) -> None:
    save_run(tmp_path, [cell(CellKey(f"c{i}", "m")) for i in range(9)])
    write_report(tmp_path, max_chars=2_000)

    assert recompute.main(["-q", str(tmp_path / "report.json")]) == 2
    assert recompute.main(["-q", str(tmp_path / "absent.json")]) == 2


@pytest.mark.long
def test_what_was_shortened_is_still_recomputed_from_what_is_left(tmp_path: Path) -> None:
    rich_run(tmp_path)
    seen = set()
    for limit in (500_000, 440_000, 380_000, 300_000):
        write_report(tmp_path, max_chars=limit)
        seen.add(report_in(tmp_path)["shortened"])

        assert recompute.main(["-q", str(tmp_path / "report.json")]) == 0

    assert "attempts" in seen
    assert not seen & {"", "cells", "everything"}


def test_an_empty_run_has_nothing_wrong(tmp_path: Path) -> None:
    write_report(tmp_path, max_chars=8_000_000)

    assert recompute.main([str(tmp_path / "report.json")]) == 0
