import json
from pathlib import Path

from made_up_run import CellKey, cell, realistic_cells, run_info

from pytest_autoweb.report.json_report import (
    SCHEMA_VERSION,
    Analysis,
    Report,
    build_report,
    report_json_schema,
)
from pytest_autoweb.results.records import CellResult
from pytest_autoweb.results.runs.run_folder import RecordedRun
from pytest_autoweb.results.runs.saving import json_text

SEED_CELL_NAMES = {"model", "attempts", "outcome", "failure", "usage"}
SEED_ATTEMPT_NAMES = {
    "attempt_index",
    "repair_attempt",
    "prompt",
    "plan_text",
    "plan_confirmed",
    "plan_has_question",
    "plan_steps",
    "code",
    "lint_errors",
    "entry_url_used",
    "step_results",
    "formatted_errors",
    "run_log_head",
    "run_log_tail",
    "checks",
    "tool_calls",
}


def report_of(*cells: CellResult, analysis: Analysis | None = None) -> Report:
    return build_report(RecordedRun(Path(), run_info(list(cells)), cells), analysis)


def test_the_report_survives_being_written_and_read() -> None:
    report = report_of(*realistic_cells())

    assert Report.model_validate_json(json_text(report)) == report


def test_the_names_of_the_contract_are_in_the_document() -> None:
    document = json.loads(json_text(report_of(*realistic_cells())))

    case = document["cases"][0]
    attempt = next(c for k in document["cases"] for c in k["cells"] if c["attempts"])["attempts"][0]
    assert document["schema_version"] == SCHEMA_VERSION
    assert document.keys() >= {"ts", "models", "capture_mode", "capture_modes", "cases"}
    assert document.keys() >= {"analysis_prompt", "local_analysis_model", "local_analysis"}
    assert document.keys() >= {"environment", "settings", "comparisons", "gates"}
    assert case.keys() >= {"id", "entry_url", "user_task", "cells"}
    assert case["cells"][0].keys() >= SEED_CELL_NAMES
    assert attempt.keys() >= SEED_ATTEMPT_NAMES


def test_the_published_schema_describes_every_field_of_the_top() -> None:
    schema = report_json_schema()

    assert schema["$schema"].startswith("https://json-schema.org/")
    assert schema["properties"].keys() == Report.model_fields.keys()
    assert "CellResult" in schema["$defs"]


def test_a_single_capture_mode_has_a_field_of_its_own() -> None:
    one = report_of(cell(CellKey("a", "m", "ARIA")))
    two = report_of(cell(CellKey("a", "m", "ARIA")), cell(CellKey("a", "m", "A11Y")))

    assert one.capture_mode == "ARIA"
    assert (two.capture_mode, two.capture_modes) == (None, ("ARIA", "A11Y"))


def test_cells_are_grouped_by_case_in_the_order_of_the_run() -> None:
    report = report_of(
        cell(CellKey("b", "m")), cell(CellKey("a", "m")), cell(CellKey("b", "n"), "failed")
    )

    assert [(case.id, len(case.cells)) for case in report.cases] == [("b", 2), ("a", 1)]


def test_a_local_analysis_is_kept_with_its_prompt() -> None:
    report = report_of(analysis=Analysis(prompt="look", model="qwen3:8b", text="try harder"))

    assert (report.analysis_prompt, report.local_analysis_model) == ("look", "qwen3:8b")
    assert report.local_analysis == "try harder"


def test_without_an_analysis_the_report_says_what_to_ask() -> None:
    report = report_of()

    assert "report.json" in report.analysis_prompt
    assert report.local_analysis is None
