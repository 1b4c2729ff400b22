import hashlib
import json
import re
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from made_up_run import CellKey, cell, realistic_cells, run_info

from pytest_autoweb.report.json_report import Report, build_report
from pytest_autoweb.report.write import shorten
from pytest_autoweb.results.records import Attempt
from pytest_autoweb.results.runs.run_folder import RecordedRun
from pytest_autoweb.results.runs.saving import compact_json, plain

HEAD = 2_000
"""More than the smallest report of the made-up runs here needs."""


def report_of(*cells: Any) -> dict[str, Any]:
    report: dict[str, Any] = plain(
        build_report(RecordedRun(Path(), run_info(list(cells)), tuple(cells)))
    )
    return report


def logging_cell(name: str, log: str) -> Any:
    return cell(CellKey(name, "m"), attempts=(Attempt(run_log_tail=log),))


REALISTIC = report_of(*realistic_cells())


@settings(max_examples=20, deadline=None)
@given(st.integers(HEAD, 700_000))
def test_whatever_the_limit_it_fits_and_is_a_valid_report(limit: int) -> None:
    short = shorten(REALISTIC, limit)

    text = compact_json(short)
    assert len(text) <= limit
    Report.model_validate_json(text)


@settings(max_examples=20, deadline=None)
@given(
    st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=3000), max_size=6),
    st.integers(HEAD, 30_000),
)
def test_texts_in_any_script_are_cut_to_fit(logs: list[str], limit: int) -> None:
    report = report_of(*(logging_cell(f"c{i}", log) for i, log in enumerate(logs)))

    text = compact_json(shorten(report, limit))

    assert len(text) <= limit
    Report.model_validate_json(text)


def test_a_report_within_the_limit_is_left_alone() -> None:
    assert shorten(REALISTIC, 10**9) == REALISTIC


def test_the_longest_text_gives_way_first_and_says_what_is_missing() -> None:
    long, short = "x" * 50_000, "y" * 1_000
    report = report_of(logging_cell("a", long), logging_cell("b", short))

    cut = shorten(report, len(compact_json(report)) - 20_000)

    logs = [case["cells"][0]["attempts"][0]["run_log_tail"] for case in cut["cases"]]
    assert logs[1] == short
    marker = re.fullmatch(r"(x+)…\[truncated (\d+) chars, sha256 ([0-9a-f]{12})\]", logs[0])
    assert marker is not None
    assert len(marker[1]) + int(marker[2]) == 50_000
    assert hashlib.sha256(long.encode()).hexdigest().startswith(marker[3])


def test_names_that_files_and_rows_refer_to_are_never_cut() -> None:
    name = "n" * 200
    report = report_of(logging_cell(name, "x" * 50_000))

    cut = shorten(report, 12_000)

    assert cut["cases"][0]["id"] == name
    assert cut["cases"][0]["cells"][0]["folder"] == report["cases"][0]["cells"][0]["folder"]


def test_the_attempts_of_failed_cells_outlive_those_of_passed_ones() -> None:
    log = ("0123456789" * 10) + "\n"
    cells = [
        cell(
            CellKey(f"c{i}", "m"),
            "failed" if i == 7 else "passed",
            attempts=(Attempt(formatted_errors=(log,) * 40),),
        )
        for i in range(10)
    ]

    cut = shorten(report_of(*cells), 24_000)

    kept = [c["cells"][0]["outcome"] for c in cut["cases"] if c["cells"][0]["attempts"]]
    assert "failed" in kept
    assert len(kept) < 10


def test_what_was_left_out_is_said() -> None:
    cut = shorten(REALISTIC, 90_000)

    assert any("shortened" in note for note in cut["notes"])
    assert json.loads(compact_json(cut))["summary"] == REALISTIC["summary"]
