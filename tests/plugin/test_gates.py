"""Gates in a test session: what decides the exit code, and what `run gate` does afterwards."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from made_up_run import CellKey, cell, planned, save_run

from pytest_autoweb.cell.cell_outcome import NO_CHECKS
from pytest_autoweb.cli.command_line import main
from pytest_autoweb.results.runs.saving import save_manifest

FILL = 'page.get_by_label("Name").fill("ana")'
PRESS = 'page.get_by_role("button").click()'
LOGS_IN = f"```python\n# Step 1\n{FILL}\n{PRESS}\nanswer('Market')\n```"
"""Passes `login` and fails `title`."""
SCRIPT = f'{{"fake/m": {{"plan": scripted_plan("log in"), "generate": {LOGS_IN!r}}}}}'
MODEL = ("cases", "--autoweb-models=fake/m", "--autoweb-max-repairs=0")


def gates(folder: Path) -> dict[str, Any]:
    return {g["name"]: g for g in json.loads((folder / "gates.json").read_text(encoding="utf-8"))}


def pin(project: pytest.Pytester, case_id: str) -> None:
    path = project.path / "cases/shop.yaml"
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace(f"id: {case_id}\n", f"id: {case_id}\n    must_pass: true\n"))


@pytest.mark.long
def test_with_a_gate_failed_cells_are_expected_and_the_rate_decides(
    project: pytest.Pytester, scripted: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    scripted(SCRIPT)

    result = project.runpytest_subprocess(*MODEL, "--autoweb-min-pass-rate=80", "-x", "-n", "2")

    result.assert_outcomes(passed=1, xfailed=1)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(
        ["gate FAILED: pass rate (fake/m): first attempt 50% (*), 1 of 2 is below 80%"]
    )
    report = json.loads((project.path / "autoweb-report/report.json").read_text())
    assert [gate["passed"] for gate in report["gates"]] == [False]
    assert report["exit_status"] == 1

    monkeypatch.chdir(project.path)
    assert main(["run", "gate", "autoweb-report", "--min-pass-rate", "50"]) == 0
    assert gates(project.path / "autoweb-report")["pass rate"]["passed"] is True


@pytest.mark.long
def test_a_pinned_cell_fails_by_itself_although_a_gate_holds(
    project: pytest.Pytester, scripted: Callable[[str], None]
) -> None:
    scripted(SCRIPT)
    pin(project, "title")

    result = project.runpytest_subprocess(*MODEL, "--autoweb-min-pass-rate=50")

    result.assert_outcomes(passed=1, failed=1)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert {
        name: gate["passed"] for name, gate in gates(project.path / "autoweb-report").items()
    } == {
        "must pass": False,
        "pass rate": True,
    }


def test_a_session_says_at_its_start_how_often_a_plain_rate_would_be_wrong(
    project: pytest.Pytester,
) -> None:
    plain = project.runpytest("--collect-only", *MODEL, "--autoweb-min-pass-rate=60")
    bound = project.runpytest("--collect-only", *MODEL, "--autoweb-min-pass-rate=60%@95")

    plain.stdout.fnmatch_lines(
        ["autoweb: --autoweb-min-pass-rate: a model that passes 60% of such cases in the long run "
         "misses this in 64% of runs; 60%@95 decides on the bound"]
    )  # fmt: skip
    bound.stdout.no_fnmatch_line("*in the long run*")


@pytest.mark.long
def test_a_soft_group_warns_and_a_crash_of_the_gates_keeps_the_report(
    project: pytest.Pytester, scripted: Callable[[str], None]
) -> None:
    scripted(SCRIPT)
    project.makepyprojecttoml(
        '[tool.autoweb.groups.new]\ncases = ["title"]\nmin_pass_rate = 100\nsoft = true\n'
    )

    soft = project.runpytest_subprocess(*MODEL)

    soft.assert_outcomes(passed=1, xfailed=1)
    assert soft.ret == pytest.ExitCode.OK
    soft.stdout.fnmatch_lines(["soft gate failed: group new: pass rate (fake/m): *below 100%"])

    hook = (
        "\n\nimport pathlib\n"
        "def pytest_autoweb_cell_finished(result):\n"
        "    pathlib.Path('autoweb-report/gates.json').mkdir(exist_ok=True)\n"
    )
    conftest = project.path / "conftest.py"
    conftest.write_text(conftest.read_text(encoding="utf-8") + hook, encoding="utf-8")
    crashed = project.runpytest_subprocess(*MODEL, "-k", "login")

    assert crashed.ret == pytest.ExitCode.INTERNAL_ERROR
    crashed.stdout.fnmatch_lines(["autoweb: the gates could not be judged: *"])
    assert (project.path / "autoweb-report/index.html").stat().st_size > 10_000


@pytest.mark.parametrize(
    ("flags", "table", "sentence"),
    [
        ("--autoweb-compare-fail=pas_rate:5%", "", "'pas_rate' cannot be compared; did you mean*"),
        ("--autoweb-compare=other.json", "", "other.json is not a saved run*"),
        ("", "[tool.autoweb.groups.a]\ntags = ['x']\nsof = true", "*unknown key 'sof'*'soft'*"),
    ],
)
def test_a_bad_gate_stops_the_session_before_anything_is_paid_for(
    project: pytest.Pytester, flags: str, table: str, sentence: str
) -> None:
    project.makepyprojecttoml(table)
    (project.path / "other.json").write_text("[]")

    result = project.runpytest("cases", "--autoweb-models=builtin/oracle", *flags.split())

    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"*{sentence}"])
    assert not (project.path / "autoweb-report").exists()


def test_last_failed_finds_the_cells_that_failed(project: pytest.Pytester) -> None:
    cache = project.path / ".pytest_cache/v/cache"
    cache.mkdir(parents=True)
    (cache / "lastfailed").write_text('{"cases/shop.yaml::title[openai/gpt-5-mini]": true}')

    result = project.runpytest(
        "cases", "--autoweb-models=openai/gpt-5-mini,builtin/noop", "--lf", "--co", "-q"
    )

    assert result.outlines[0] == "cases/shop.yaml::title[openai/gpt-5-mini]"
    assert result.outlines[1] == ""


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run of four cases: two passed, one failed, one broke."""
    monkeypatch.chdir(tmp_path)
    outcomes = {"a": "passed", "b": "passed", "c": "failed", "d": "broken"}
    made = [cell(CellKey(name, "x/y"), outcome) for name, outcome in outcomes.items()]  # type: ignore[arg-type]
    return save_run(tmp_path / "run", made)


def test_gate_judges_a_saved_run_and_ends_with_0_1_or_4(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", "gate", str(run)]) == 0
    assert "no gate was asked for" in capsys.readouterr().out

    assert main(["run", "gate", str(run), "--min-pass-rate", "50", "--max-cost", "1"]) == 0
    assert main(["run", "gate", str(run), "--min-pass-rate", "51"]) == 1
    assert gates(run)["pass rate"]["details"] == [
        "1 cell without a verdict, counted as not passed",
        "51% lies inside the 95% interval: a model that deserves it fails in 67% of runs; "
        "51%@95 decides on the bound",
    ]
    assert '"gates":[{"name":"pass rate"' in (run / "report.json").read_text(encoding="utf-8")
    assert main(["run", "gate", str(run), "--min-score", "50"]) == 0
    assert gates(run)["score"]["message"] == "no check of its cases carries `points`"

    capsys.readouterr()
    assert main(["run", "gate", str(run), "--min-pass-rate", "many"]) == 4
    assert main(["run", "gate", str(run), "--min-pass-rate", "0.9"]) == 4
    assert main(["run", "gate", str(run), "--groups-from", "none.toml"]) == 4
    assert main(["run", "gate", str(run.parent)]) == 4
    assert capsys.readouterr().err.splitlines() == [
        "autoweb: --min-pass-rate: 'many' is not a percentage from 0 to 100",
        "autoweb: --min-pass-rate: 0.9 can be read as a share or as percent; write 90% or 0.9%",
        "autoweb: there is no file none.toml to read groups from",
        f"autoweb: {run.parent} is not a run folder: it has neither cells nor a manifest",
    ]


def test_gate_reads_groups_from_pyproject_or_another_file(run: Path) -> None:
    table = '[tool.autoweb.groups.ab]\ncases = ["[ab]"]\nmust_pass = true\n'
    Path("pyproject.toml").write_text(table)
    other = Path("strict.toml")
    other.write_text(table.replace("[ab]", "[abc]"))

    assert main(["run", "gate", str(run)]) == 0
    assert main(["run", "gate", str(run), "--groups-from", str(other)]) == 1


def test_gate_on_a_saved_run_keeps_the_rule_that_a_model_without_verdict_is_not_green(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    passed = cell(CellKey("a", "x/y"), "passed")
    down = [
        cell(CellKey("a", "x/down"), "ungraded", reason="the judge is down"),
        cell(CellKey("b", "x/down"), "broken"),
    ]
    free = cell(CellKey("free", "x/free"), "ungraded", reason=NO_CHECKS)

    assert main(["run", "gate", str(save_run(tmp_path / "free", [passed, free]))]) == 0
    capsys.readouterr()
    assert (
        main(["run", "gate", str(save_run(tmp_path / "down", [passed, *down])), "--max-cost", "9"])
        == 1
    )
    assert (
        "autoweb: no verdict on x/down: none of its cells could be graded (the judge is down)"
        in capsys.readouterr().out.splitlines()
    )


@pytest.mark.parametrize(
    ("ended", "cells", "why"),
    [
        ({"exit_status": None}, 2, "it was killed, or still goes on"),
        ({"exit_status": 2, "interrupted": True}, 2, "the run was interrupted before its end"),
        ({"exit_status": 3}, 2, "pytest ended with exit code 3"),
        ({"exit_status": 1}, 1, "1 cell never ran"),
        ({"exit_status": 5}, 0, "the run has no cells"),
    ],
)
def test_a_run_that_did_not_come_to_its_end_is_not_green(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    ended: dict[str, Any],
    cells: int,
    why: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    two = [cell(CellKey(name, "x/y"), "passed") for name in "ab"]
    folder = save_run(tmp_path / "run", two[:cells], models=("x/y",), **ended)
    if cells == 1:
        save_manifest(folder, map(planned, two))

    assert main(["run", "gate", str(folder), "--min-pass-rate", "10"]) == 1
    assert why in capsys.readouterr().out
    assert main(["run", "merge", str(folder), "--output", "merged", "--require-complete"]) == 1
    assert main(["run", "gate", "merged"]) == 1
    capsys.readouterr()
    if cells:
        assert main(["run", "gate", "--comment", str(folder)]) == 0
        assert re.match(rf"<!-- .*\n## autoweb: ❌ .*{why}", capsys.readouterr().out)


def test_what_a_green_session_left_out_keeps_its_run_green(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    two = [cell(CellKey(name, "x/y"), "passed") for name in "ab"]
    folder = save_run(tmp_path / "run", two[:1], exit_status=0)
    save_manifest(folder, map(planned, two))

    assert main(["run", "gate", str(folder)]) == 0


def test_a_gate_with_nothing_to_judge_is_refused(
    project: pytest.Pytester, workers: tuple[str, ...]
) -> None:
    project.makepyfile("def test_other(): pass")
    gate = "--autoweb-compare-fail=cost:20%" if workers else "--autoweb-min-pass-rate=80"
    run = project.runpytest_subprocess if workers else project.runpytest

    result = run(gate, *workers)

    assert result.ret == pytest.ExitCode.USAGE_ERROR
    told = result.stdout if workers else result.stderr
    told.fnmatch_lines(
        [
            f"ERROR: {gate.partition('=')[0]} has nothing to judge: --autoweb-models names no "
            "models, and no selected test uses the fixture `autoweb`"
        ]
    )


@pytest.mark.long
def test_a_gate_in_addopts_or_for_tests_of_the_fixture_is_fine(project: pytest.Pytester) -> None:
    project.makepyfile("def test_one(autoweb): pass\ndef test_other(): pass")
    gate = "--autoweb-min-pass-rate=80"

    assert project.runpytest_subprocess(gate).ret == pytest.ExitCode.OK
    assert project.runpytest(gate, "-k", "other").ret == pytest.ExitCode.USAGE_ERROR
    plain = project.runpytest_subprocess("-k", "other", "-o", f"addopts={gate}")
    assert plain.ret == pytest.ExitCode.OK
