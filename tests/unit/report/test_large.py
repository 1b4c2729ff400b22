"""Reports of runs that are too large for one page."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from made_up_run import CellKey, cell, realistic_cells, save_run

from pytest_autoweb.base.errors import AutowebError
from pytest_autoweb.report import large_report
from pytest_autoweb.report.json_report import Report
from pytest_autoweb.report.write import write_report
from pytest_autoweb.results.records import CellResult

HOSTILE = "</script><img src=x onerror=alert(1)>\u2028&"
CELL = re.compile(r'<script type="application/json" class="cell">(.*?)</script>', re.DOTALL)


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(large_report, "IN_ONE_FILE", 100_000)
    monkeypatch.setattr(large_report, "PART_CHARS", 50_000)


def page_of(folder: Path) -> Any:
    page = (folder / "index.html").read_text()
    return json.loads(page.split('id="data">', 1)[1].split("</script>", 1)[0])


def parts_of(folder: Path) -> list[list[Any]]:
    files = sorted((folder / "details").iterdir(), key=lambda path: int(path.stem))
    return [[json.loads(text) for text in CELL.findall(file.read_text())] for file in files]


def test_every_line_of_the_page_leads_to_the_whole_cell(tmp_path: Path) -> None:
    cells = realistic_cells()
    save_run(tmp_path, cells)

    report = write_report(tmp_path, max_chars=8_000_000)

    page, parts = page_of(tmp_path), parts_of(tmp_path)
    lines = [line for case in page["report"]["cases"] for line in case["cells"]]
    assert len(parts) > 1
    assert len(lines) == len(cells)
    for line in lines:
        found = CellResult.model_validate(parts[line["part"]][line["place"]])
        assert found == next(each for each in cells if each.folder == line["folder"])
        assert "attempts" not in line
    held = [one for case in report.cases for one in case.cells]
    assert not any(attempt.exchanges for one in held for attempt in one.attempts)


def test_the_numbers_are_those_of_the_report_in_one_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save_run(tmp_path, realistic_cells())
    parted = write_report(tmp_path, max_chars=8_000_000)
    monkeypatch.setattr(large_report, "IN_ONE_FILE", 8_000_000)

    whole = write_report(tmp_path, max_chars=8_000_000)

    assert not (tmp_path / "details").exists()
    left = {"cases": ()}
    assert parted.model_copy(update=left) == whole.model_copy(update=left)


@pytest.mark.parametrize(
    ("limit", "reached"), [(8_000_000, "same_cases"), (200_000, "attempts"), (60_000, "cells")]
)
def test_report_json_keeps_within_its_limit(tmp_path: Path, limit: int, reached: str) -> None:
    save_run(tmp_path, realistic_cells())

    write_report(tmp_path, max_chars=limit)

    text = (tmp_path / "report.json").read_text()
    short = Report.model_validate_json(text)
    assert len(text) <= limit
    assert short.shortened == reached
    kept = [one.outcome for case in short.cases for one in case.cells if one.attempts]
    if reached == "attempts":
        assert "failed" in kept
        assert "passed" not in kept


def test_text_in_a_part_cannot_end_its_script(tmp_path: Path) -> None:
    result = cell(CellKey("a", "m"), user_task=HOSTILE, reason=HOSTILE * 4000)
    save_run(tmp_path, [result])

    write_report(tmp_path, max_chars=8_000_000)

    part = (tmp_path / "details" / "0.html").read_text()
    assert "<img" not in part
    assert part.count("</script>") == 3
    assert "default-src 'none'" in part.replace("&#39;", "'")
    assert "unsafe" not in part
    assert page_of(tmp_path)["key"] in part
    assert parts_of(tmp_path)[0][0]["user_task"] == HOSTILE


def test_a_page_in_parts_may_load_files_beside_it_and_nothing_else(tmp_path: Path) -> None:
    save_run(tmp_path, realistic_cells())

    write_report(tmp_path, max_chars=8_000_000)

    page = (tmp_path / "index.html").read_text().replace("&#39;", "'")
    policy = page.split('Content-Security-Policy" content="', 1)[1].split('"', 1)[0]
    assert "default-src 'none'" in policy
    assert "img-src data: 'self' file:" in policy
    assert "frame-src 'self' file:" in policy
    assert "unsafe" not in policy
    assert "http" not in policy


def test_parts_that_cannot_be_written_leave_no_rest(tmp_path: Path) -> None:
    save_run(tmp_path, realistic_cells())
    (tmp_path / "details").write_text("in the way")

    with pytest.raises(AutowebError, match="details cannot be written"):
        write_report(tmp_path, max_chars=8_000_000)

    assert not list(tmp_path.glob(".*.tmp"))
