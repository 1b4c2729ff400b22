"""Runs that are kept, and compared with later: the first run, the next one, and parts of a run."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from made_up_run import CellKey, cell, save_run

from pytest_autoweb.cli.command_line import main
from pytest_autoweb.results.records import CellResult
from pytest_autoweb.results.runs.saved_runs import list_runs, load_saved_rows

LOGS_IN = (
    '```python\n# Step 1\npage.get_by_label("Name").fill("ana")\n'
    'page.get_by_role("button").click()\n```'
)
GATED = (
    "cases",
    "--autoweb-models=fake/m",
    "--autoweb-compare-fail=pass_rate:5%,cost:20%",
    "--autoweb-allow-unpriced",
    "--autoweb-max-repairs=0",
)


@pytest.mark.long
def test_the_first_run_has_nothing_to_compare_with_and_the_next_one_has_the_first(
    project: pytest.Pytester, scripted: Callable[[str], None]
) -> None:
    scripted(f'{{"fake/m": {{"plan": scripted_plan("log in"), "generate": {LOGS_IN!r}}}}}')
    storage = project.path / ".autoweb"

    first = project.runpytest_subprocess(*GATED, "--autoweb-autosave")

    first.assert_outcomes(passed=1, xfailed=1)
    assert first.ret == pytest.ExitCode.OK
    first.stdout.fnmatch_lines(
        ["note: baseline: nothing is compared: *.autoweb holds no whole run *yet"]
    )
    assert [run.name for run in list_runs(storage)] == [""]

    second = project.runpytest_subprocess(*GATED, "--autoweb-save=main")

    assert second.ret == pytest.ExitCode.OK
    second.stdout.fnmatch_lines(
        [
            f"autoweb: saved as {storage}*0002_*_main.json",
            "gate passed: drop of the pass rate (fake/m): +0.0 points over 2 cases *",
            "gate passed: cost (fake/m): no cell costs anything, as before",
        ]
    )
    folder = project.path / "autoweb-report"
    baseline = json.loads((folder / "baseline.json").read_text(encoding="utf-8"))
    report = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    assert baseline["ts"] == load_saved_rows("1", storage).ts
    assert report["history"]["runs"] == 1
    assert load_saved_rows("main", storage).gates is True


@pytest.fixture
def part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run that was stopped before its second cell."""
    monkeypatch.chdir(tmp_path)
    return save_run(tmp_path / "part", [made("a"), made("b").model_copy(update=STOPPED)])


STOPPED = {"outcome": "skipped", "reason": "not run"}


def made(case_id: str, model: str = "x/y") -> CellResult:
    return cell(CellKey(case_id, model), "passed")


def test_a_part_of_a_run_is_kept_only_under_a_name(
    part: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", "gate", str(part), "--autosave"]) == 0
    assert list_runs(Path(".autoweb")) == ()
    assert "not saved, because it is not run to its end" in capsys.readouterr().out

    assert main(["run", "gate", str(part), "--save", "half"]) == 0
    assert load_saved_rows("half", Path(".autoweb")).interrupted


def test_a_run_is_judged_by_a_run_folder_a_file_or_a_name_and_never_by_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    names = [f"c{n}" for n in range(8)]
    good = save_run(tmp_path / "good", [made(name) for name in names])
    lost = [made(name).model_copy(update={"outcome": "failed"}) for name in names]
    bad = save_run(tmp_path / "bad", lost, ts="20261122_093000_000")
    gate = ["gate", str(bad), "--compare-fail", "pass_rate:5%", "--compare"]

    assert main([*gate, str(good)]) == 1
    assert "−100.0 points over 8 cases (margin 5, p = 0.008): a sig" in capsys.readouterr().out

    assert main(["run", "gate", str(bad), "--save", "bad"]) == 0
    assert main([*gate, "latest"]) == 0
    assert main([*gate, "bad"]) == 0
    assert main(["run", "gate", str(good), "--autosave"]) == 0
    assert main([*gate, "latest"]) == 1
    assert main([*gate, str(good / "report.json")]) == 1
    assert main([*gate, str(tmp_path / "pyproject.toml")]) == 0
    assert "holds no run" in capsys.readouterr().out
