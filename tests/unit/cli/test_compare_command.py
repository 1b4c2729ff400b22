import json
from pathlib import Path

import pytest
from made_up_rows import cases, cells, run
from made_up_run import CellKey, cell, realistic_cells
from made_up_run import save_run as save_run_folder

from pytest_autoweb.cli.command_line import main
from pytest_autoweb.report.wording import width
from pytest_autoweb.report.write import write_report
from pytest_autoweb.results.analysis.cell_numbers import RunRows
from pytest_autoweb.results.analysis.comparison import Comparison, compare_runs
from pytest_autoweb.results.runs.saved_runs import load_saved_rows, save_run


@pytest.fixture
def storage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty storage folder in an empty current folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path / ".autoweb"


def compared(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(["run", "compare", *arguments]) == 0
    return capsys.readouterr().out


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(["run", "compare", *arguments]) == 4
    output = capsys.readouterr()
    assert output.out == ""
    return output.err


def two_saved_runs(storage: Path) -> tuple[RunRows, RunRows]:
    old = run(cases("P" * 12 + "FFB"), name="old")
    new = run(cases("PPPP" + "F" * 8 + "PFP"), name="new", day=1)
    save_run(old, storage)
    save_run(new, storage)
    return old, new


def test_two_saved_runs_are_compared_by_name(
    storage: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    two_saved_runs(storage)

    text = compared(capsys, "old", "new")

    assert "A = old\nB = new\n" in text
    assert "A: old" in text
    assert "first attempt, compared  86% (60–96%), 12 of 14  36% (16–61%), 5 of 14" in text
    assert "14 cases compared: 8 lost, 1 gained, 5 the same; exact McNemar: p = 0.039" in text
    assert "old passes more: 86% against 36% for new on the same 14 cases" in text
    assert "  lost    c05  P -> F\n" in text
    assert "  gained  c13  F -> P\n" in text
    assert "left out (1):\n  c15  no verdict on old: infrastructure failed\n" in text


def test_numbers_files_folders_and_reports_name_the_same_run(
    storage: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = save_run_folder(Path("autoweb-report"), realistic_cells())
    write_report(folder, max_chars=8_000_000)
    saved = save_run(load_saved_rows("autoweb-report", storage), storage)

    texts = {
        compared(capsys, spec, "--models", "openai/gpt-5-mini,ollama_chat/qwen3:8b")
        for spec in ("autoweb-report", "autoweb-report/report.json", str(saved), "1", "latest")
    }

    assert len(texts) == 1


def test_the_pairs_of_one_run_are_compared_with_holms_correction(
    storage: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    save_run(run(cases("P" * 9, "a"), cases("F" * 9, "b"), cases("F" * 9, "c")), storage)

    text = compared(capsys, "latest")

    assert text.count("A = ") == 3
    assert "p = 0.004, Holm = 0.012 over 3 comparisons" in " ".join(text.split())


def test_json_holds_the_whole_comparison(storage: Path, capsys: pytest.CaptureFixture[str]) -> None:
    old, new = two_saved_runs(storage)

    document = json.loads(compared(capsys, "old", "new", "--json", "--metric", "after_repair"))

    assert document["format"] == "pytest-autoweb/comparisons"
    found = tuple(map(Comparison.model_validate, document["comparisons"]))
    assert found == compare_runs(old, new, metric="after_repair")


def test_changed_cases_are_left_out_unless_allowed(
    storage: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    save_run(run(cells({"x": "P", "y": "P"}), name="old"), storage)
    save_run(
        run(cells({"x": "F", "y": "F"}, checksums={"case": "new"}), day=1, name="new"), storage
    )

    strict, lax = compared(capsys, "1", "2"), compared(capsys, "1", "2", "--allow-changed")

    assert "A = 1\nB = 2\n" in strict
    assert "A: 1" in strict
    assert "Nothing to compare: no case has a verdict on both sides (2 left out)." in strict
    assert "x  changed between the sides: case and checks" in strict
    assert "lost  x  P -> F (case, checks, prompts, capture changed)" in lax
    assert "it is not the same question" in " ".join(lax.split())


def test_a_model_of_each_run_can_be_named(
    storage: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    save_run(run(cases("PP", "gpt-5"), name="old"), storage)
    save_run(run(cases("PF", "gpt-6"), day=1, name="new"), storage)

    text = compared(capsys, "old", "new", "--models", "gpt-5,gpt-6")

    assert "A = gpt-5 in old\nB = gpt-6 in new" in text
    assert "no model in common (gpt-5; gpt-6)" in refused(capsys, "old", "new")


def test_foreign_names_neither_reach_the_terminal_raw_nor_burst_its_width(
    storage: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = "evil\x1b[2J\u202e/" + "model" * 40
    letters = {f"case-\x1b]0;{'long' * 30}-{at}": "P" for at in range(40)}
    save_run(run(cells(letters, model), name="old"), storage)
    rest = {name: "B" if at % 2 else "F" for at, name in enumerate(letters)}
    save_run(run(cells(rest, model), day=1, name="n" * 150), storage)

    text = compared(capsys, "1", "2")

    assert not set(text) & set("\x1b\u202e\x07")
    assert max(map(width, text.splitlines())) <= 100


def test_a_report_that_lost_its_cells_is_refused(
    storage: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cells_ = [cell(CellKey(f"case-{at}", model)) for at in range(60) for model in "ab"]
    write_report(save_run_folder(Path("r"), cells_), max_chars=20_000)

    assert "lacks cells; name its run folder" in refused(capsys, "r/report.json")
    assert "60 cases compared" in compared(capsys, "r")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["missing"], "holds no run 'missing'"),
        (["old", "new", "--model", "n"], "old has no model 'n'"),
        (["old", "--models", "m,n"], "old has no model 'n'"),
        (["old"], "needs two of its models, got m"),
        (["old", "new", "--models", "m"], "needs two names, got 1"),
        (["old", "--model", "m"], "within one run use --models"),
        (["old", "--allow-changed"], "compares two runs"),
        (["note.txt", "new"], "note.txt is not a saved run"),
        (["odd.json", "new"], "odd.json is not a report of this version: schema_version"),
    ],
)
def test_what_cannot_be_compared_is_one_sentence_and_exit_code_4(
    storage: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    two_saved_runs(storage)
    Path("note.txt").write_text("[" * 100_000)
    Path("odd.json").write_text('{"format": "pytest-autoweb/report", "schema_version": "x"}')

    error = refused(capsys, *arguments)

    assert message in error
    assert len(error.splitlines()) == 1


def test_cases_without_checks_are_compared_by_execution_where_asked(
    storage: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = [f"c{number}" for number in range(6)]
    free = {"without_checks": True}
    good = cells(dict.fromkeys(names, "U"), "good", executed=True, **free)
    bad = cells(dict.fromkeys(names, "F"), "bad", **free)
    save_run(run(good, bad, models=("good", "bad"), name="free"), storage)
    save_run(run(cells({"a": "P"}), name="held", day=1), storage)

    plain = compared(capsys, "free")
    executed = compared(capsys, "free", "--metric", "executed")

    assert "Nothing to compare" in plain
    assert "every step ran (no proof)" in executed
    assert "Execution only, no proof: good runs every step more often: 100%" in executed
    assert "lost  c0  P -> F" in executed
    assert "every case of held has checks" in refused(capsys, "held", "--metric", "executed")


def test_where_nothing_is_saved_the_way_to_save_is_told(
    storage: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "holds no run 'autoweb-report', and no other: --autoweb-save" in refused(
        capsys, "autoweb-report"
    )


def test_a_switch_is_answered_with_the_margin_that_was_named(
    storage: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    two_saved_runs(storage)

    text = compared(capsys, "old", "new", "--not-worse", "5%")
    told = json.loads(compared(capsys, "old", "new", "--not-worse", "5%", "--json"))

    assert "May I switch? old → new: not safe, worse by more than 5 points (−50.0 points" in text
    (switch,) = told["switches"]
    assert (switch["answer"], switch["margin"], switch["cases"]) == ("not safe", 0.05, 14)
    assert "switches" not in json.loads(compared(capsys, "old", "new", "--json"))


@pytest.mark.parametrize("margin", ["5", "0%", "100%", "five"])
def test_a_margin_that_is_no_percentage_is_refused(
    storage: Path, capsys: pytest.CaptureFixture[str], margin: str
) -> None:
    two_saved_runs(storage)

    assert "--not-worse" in refused(capsys, "old", "new", f"--not-worse={margin}")
