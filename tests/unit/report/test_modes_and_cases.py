"""Capture modes and models that ran on other cases: every line says what its rate stands on."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from made_up_run import CellKey, cell, run_info, save_run

from pytest_autoweb.report.json_report import Report, build_report
from pytest_autoweb.report.markdown import render_markdown
from pytest_autoweb.report.terminal import terminal_lines
from pytest_autoweb.report.write import write_report
from pytest_autoweb.results.analysis.cell_numbers import run_rows
from pytest_autoweb.results.analysis.comparison import compare_models, compare_modes
from pytest_autoweb.results.records import CellResult, Outcome
from pytest_autoweb.results.runs.run_folder import RecordedRun

SCRIPTS = Path(__file__).parents[3] / "benchmarks" / "recompute"
sys.path.append(str(SCRIPTS))

import recompute  # type: ignore[import-not-found]  # noqa: E402

MODES = ("ARIA", "RAW_HTML")


def in_modes(*outcomes: tuple[str, Outcome, Outcome]) -> list[CellResult]:
    """Cells of the model `m` in both modes."""
    return [
        cell(CellKey(case_id, "m", mode), outcome)
        for case_id, *both in outcomes
        for mode, outcome in zip(MODES, both, strict=True)
    ]


def once(case_id: str, outcome: Outcome) -> CellResult:
    return cell(CellKey(case_id, "r", "ARIA"), outcome, any_capture=True, dialect="refs")


def report_of(cells: list[CellResult]) -> Report:
    return build_report(RecordedRun(Path(), run_info(cells), tuple(cells)))


def terminal(report: Report) -> list[str]:
    return [text for text, _ in terminal_lines(report)]


BOTH = in_modes(("a", "passed", "failed"), ("b", "passed", "needs_input"))


def test_lines_name_the_mode_where_a_model_has_several() -> None:
    lines = terminal(report_of([*BOTH, once("a", "passed"), once("b", "passed")]))

    assert any(line.split()[:5] == ["FAILED", "m", "a", "in", "RAW_HTML"] for line in lines)
    assert any(line.split() == ["PASSED", "r", "a"] for line in lines)
    start = next(i for i, line in enumerate(lines) if line.startswith("model "))
    rows = [line[:13].rstrip() for line in lines[start + 1 : start + 5]]
    assert rows == ["r", "m", "  in ARIA", "  in RAW_HTML"]
    assert "100%" in lines[start + 3]
    assert " 0%" in lines[start + 4]


def test_the_summary_names_the_mode_and_lists_every_cell_that_did_not_pass() -> None:
    text = render_markdown(report_of([*BOTH, once("a", "passed"), once("b", "passed")]))

    assert "| ↳ in ARIA |" in text
    assert "| a | ✅ passed | ARIA: ✅ passed, RAW\\_HTML: ❌ failed |" in text
    assert "- a on m in RAW\\_HTML: failed: made-up reason" in text
    assert "- b on m in RAW\\_HTML: needs_input: made-up reason" in text


def test_one_mode_is_not_named() -> None:
    report = report_of([cell(CellKey("a", "m"), "failed"), cell(CellKey("a", "n"))])

    assert "ARIA" not in "\n".join(terminal(report))
    assert [c.kind for c in report.comparisons] == ["models"]
    assert report.notes == ()


def test_a_model_that_is_shown_no_mode_says_so_and_is_compared_with_all_modes() -> None:
    cells = [*BOTH, once("a", "passed"), once("b", "failed")]
    report = report_of(cells)

    assert report.notes == (
        "r was run once for all 2 capture modes (cells: 2), because the dialect refs shows pages "
        "in a form of its own",
    )
    models, modes = report.comparisons
    assert {models.a.model, models.b.model} == {"m", "r"}
    assert models.left_out == ()
    assert [
        (case.case_id, len(case.outcomes_a), len(case.outcomes_b)) for case in models.cases
    ] == [
        ("b", 1, 1),
        ("a", 2, 1),
    ]
    assert (modes.kind, modes.a.label, modes.b.label) == ("modes", "m in ARIA", "m in RAW_HTML")


def test_two_modes_of_a_model_are_paired() -> None:
    cells = in_modes(*((f"c{i}", "passed", "failed") for i in range(8)))
    rows = run_rows(run_info(cells), cells)

    (found,) = compare_modes(rows)

    assert compare_models(rows) == ()
    assert (found.a.capture_mode, found.b.capture_mode) == MODES
    assert (found.lost, found.gained, found.decisive) == (8, 0, True)
    assert found.verdict.startswith("m in ARIA passes more: 100% against 0% for m in RAW_HTML")
    assert report_of(cells).summary is not None
    assert report_of(cells).summary.verdict == found.verdict  # type: ignore[union-attr]


def test_the_modes_of_some_models_are_compared_without_cases_in_doubt() -> None:
    cells = in_modes(*((f"c{i}", "passed", "failed") for i in range(8)))
    others = [each.model_copy(update={"model": "n"}) for each in cells]
    rows = run_rows(run_info([*cells, *others]), [*cells, *others])
    doubt = (rows.rows[0].case_path, "c0")

    found = compare_modes(rows, models=["n"], left_out=[doubt], metric="after_repair")

    assert [(each.a.model, each.metric, each.lost, each.family) for each in found] == [
        ("n", "after_repair", 7, 1)
    ]
    assert [each.a.model for each in compare_modes(rows)] == ["m", "n"]


def test_an_open_verdict_on_two_modes_names_them() -> None:
    summary = report_of(in_modes(("c", "passed", "failed"))).summary

    assert summary is not None
    assert summary.verdict.startswith("m in ARIA against m in RAW_HTML: Too few cases")


def on_cases(model: str, outcomes: dict[str, Outcome]) -> list[CellResult]:
    return [cell(CellKey(case_id, model), outcome) for case_id, outcome in outcomes.items()]


OTHER_CASES = [
    *on_cases("m", {"a": "passed", "b": "passed", "hard": "failed"}),
    *on_cases("n", {"a": "passed", "b": "healed", "hard": "skipped"}),
    *on_cases("n", {f"x{i}": "failed" for i in range(7)}),
]


def test_models_that_ran_on_other_cases_say_which_and_offer_the_rate_on_common_ones() -> None:
    report = report_of(OTHER_CASES)

    lines = terminal(report)
    start = lines.index("The models were run on different cases (2 cases on all of them):")
    assert lines[start + 1].startswith("m: 3 cases, without x0, x1, x2, x3, x4 and 2 more; on the")
    assert "on the common ones 100% (34–100%), 2 of 2 at first, 100%" in lines[start + 1]
    assert lines[start + 2].startswith("n: 9 cases, without hard; on the common ones 50% (")
    assert lines[start + 2].endswith("100% (34–100%), 2 of 2 after repair")
    text = render_markdown(report)
    assert "The models were run on different cases (2 cases on all of them):" in text
    assert "\n- m: 3 cases, without x0," in text
    rows = {row["model"]: row for row in report.model_dump(mode="json")["summary"]["models"]}
    assert rows["n"]["on_common"]["first_attempt"]["all_trials"]["value"] == 0.5
    assert rows["n"]["not_run"] == ["hard"]
    assert rows["m"]["on_common"]["cases"] == 2


def test_the_same_cases_need_no_such_lines() -> None:
    report = report_of([cell(CellKey(c, m)) for c in "ab" for m in "mn"])

    assert "different cases" not in "\n".join(terminal(report)) + render_markdown(report)
    assert report.summary is not None
    assert all(row.on_common is None for row in report.summary.models)


def test_models_without_a_common_case_have_no_common_rate() -> None:
    report = report_of([cell(CellKey("a", "m")), cell(CellKey("b", "n"))])

    lines = terminal(report)
    assert "The models were run on different cases (no case on all of them):" in lines
    assert "m: 1 case, without b" in lines


@pytest.mark.parametrize("cells", [OTHER_CASES, [*BOTH, once("a", "passed"), once("b", "failed")]])
def test_the_recomputing_script_agrees(tmp_path: Path, cells: list[CellResult]) -> None:
    save_run(tmp_path, cells)
    write_report(tmp_path, max_chars=8_000_000)
    report: dict[str, Any] = json.loads((tmp_path / "report.json").read_text())

    results = list(recompute.compare(report, recompute.recompute(report)))

    assert [place for place, same, *_ in results if not same] == []
    places = {place for place, *_ in results}
    assert any("on_common" in place for place in places) is (cells is OTHER_CASES)
