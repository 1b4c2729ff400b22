"""What lies beside the cells: read into the report, and told in terminal and markdown."""

import json
from pathlib import Path

import pytest
from made_up_history import GATES, WEAK_CASE, rich_run
from made_up_run import CellKey, cell, save_run

from pytest_autoweb.report.json_report import Report
from pytest_autoweb.report.markdown import render_markdown
from pytest_autoweb.report.terminal import terminal_lines
from pytest_autoweb.report.write import shorten, write_report
from pytest_autoweb.results.runs.saving import plain


@pytest.fixture(scope="module")
def rich(tmp_path_factory: pytest.TempPathFactory) -> Report:
    folder = tmp_path_factory.mktemp("rich")
    rich_run(folder, repeats=2)
    return write_report(folder, max_chars=8_000_000)


def test_everything_beside_the_cells_is_in_the_report(rich: Report) -> None:
    assert rich.gates == GATES
    assert rich.baseline is not None
    assert rich.baseline.name == "main"
    assert rich.history is not None
    assert rich.history.runs == 6
    assert rich.judges[0].n == 24
    kinds = [comparison.kind for comparison in rich.comparisons]
    assert kinds == ["models"] * 3 + ["runs"] * 3


def test_a_case_with_broken_controls_is_kept_out_of_comparisons_and_graded_rates(
    rich: Report,
) -> None:
    assert rich.summary is not None
    for comparison in rich.comparisons:
        assert WEAK_CASE not in {case.case_id for case in comparison.cases}
        assert (WEAK_CASE, "controls") in {(c.case_id, c.reason) for c in comparison.left_out}
    for row in rich.summary.models:
        numbers, out = row.numbers, row.numbers.not_graded
        left_out = out.broken + out.ungraded + out.controls
        assert numbers.first_attempt.graded.trials == numbers.cells - left_out
        assert numbers.first_attempt.all_trials.trials == numbers.cells
        assert out.controls > 0


@pytest.mark.parametrize("content", ["{", '[{"name": 1}]', '{"runs": 1}'])
def test_a_file_that_cannot_be_read_costs_only_itself(tmp_path: Path, content: str) -> None:
    save_run(tmp_path, [cell(CellKey("a", "m"))])
    names = ("baseline.json", "history.json", "gates.json", "judge.json", "verification.json")
    for name in names:
        (tmp_path / name).write_text(content)

    report = write_report(tmp_path, max_chars=8_000_000)

    assert {note.split()[0] for note in report.notes} == set(names)
    assert len(report.cases) == 1


def test_markdown_tells_gates_baseline_and_flaky_cases(rich: Report) -> None:
    text = render_markdown(rich)

    gates = text.split("## Gates\n")[1].split("\n\n| model")[0]
    assert [line[:3] for line in gates.splitlines() if line.startswith("- ")] == [
        "- ❌",
        "- ⚠",
        "- ➖",
        "- ✅",
    ]
    assert "  - login on ollama\\_chat/qwen3:8b: check 1" in gates
    assert text.count(" since main: ") == 3
    assert f"- {WEAK_CASE}: doing nothing passes every check" in text
    assert "more in index.html" in text
    assert len(text.splitlines()) < 100


def test_the_terminal_tells_the_baseline_and_flaky_cases_in_a_few_lines(rich: Report) -> None:
    lines = [line for line, _ in terminal_lines(rich)]

    since = [line for line in lines if " since main: " in line]
    assert len(since) == 3
    assert "gained" in since[0]
    assert "same)" in since[0]
    flaky = [line for line in lines if line.startswith("flaky: ")]
    assert len(flaky) == 11
    assert flaky[-1].endswith("more cases in the report")


def test_a_flaky_case_of_this_run_shows_its_repeats(rich: Report) -> None:
    assert rich.summary is not None
    first = rich.summary.flaky[0]

    line = next(line for line, _ in terminal_lines(rich) if line.startswith("flaky: "))

    letters = " ".join(outcome[0].upper() for outcome in first.outcomes)
    assert line == f"flaky: {first.case_id} on {first.model}: {letters}"


def test_a_report_of_the_first_version_can_be_read_as_far_as_it_goes(tmp_path: Path) -> None:
    save_run(tmp_path, [cell(CellKey("a", "m"))])
    (tmp_path / "report.json").write_text(json.dumps({"schema_version": 1, "comparisons": [{}]}))

    assert write_report(tmp_path, max_chars=8_000_000).schema_version == 2


def test_a_note_says_all_that_was_left_out(rich: Report) -> None:
    short = shorten(plain(rich), 420_000)

    (note,) = short["notes"]
    assert note.startswith("to keep the report under its size limit, texts were shortened; ")
    assert "comparisons list only the cases that differ" in note
