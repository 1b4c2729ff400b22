import json
import os
import shutil
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from made_up_run import CellKey, cell, planned, save_run

from pytest_autoweb.results.records import CELL_VERSION, CellResult, Failure
from pytest_autoweb.results.runs.run_folder import KILLED, NOT_RUN, read_run
from pytest_autoweb.results.runs.saving import mark_started, save_manifest

FIRST, SECOND = CellKey("login", "b-model"), CellKey("checkout", "a-model")


def two_cells(folder: Path) -> Path:
    return save_run(folder, [cell(FIRST), cell(SECOND, "failed")])


def only(folder: Path, case_id: str) -> CellResult:
    (found,) = (c for c in read_run(folder).cells if c.case_id == case_id)
    return found


def test_cells_come_in_the_order_of_the_manifest(tmp_path: Path) -> None:
    run = read_run(two_cells(tmp_path))

    assert [c.case_id for c in run.cells] == ["login", "checkout"]
    assert run.info.ts == "20261121_093000_000"
    assert run.notes == ()


def test_a_cell_that_began_and_left_nothing_is_broken(tmp_path: Path) -> None:
    two_cells(tmp_path)
    (tmp_path / FIRST.folder / "cell.json").unlink()
    mark_started(tmp_path, FIRST.folder)

    result = only(tmp_path, "login")

    assert (result.outcome, result.reason) == ("broken", KILLED)
    assert result.failure is not None
    assert result.failure.kind == "killed"


def test_a_reason_that_comes_later_leaves_the_start_of_a_killed_cell(tmp_path: Path) -> None:
    two_cells(tmp_path)
    (tmp_path / FIRST.folder / "cell.json").unlink()
    mark_started(tmp_path, FIRST.folder)
    os.utime(tmp_path / FIRST.folder / "started", (1_000_000, 1_000_000))

    mark_started(tmp_path, FIRST.folder, "the process ends")

    result = only(tmp_path, "login")
    assert (result.reason, result.started.timestamp()) == ("the process ends", 1_000_000)


def test_a_cell_that_never_began_is_skipped(tmp_path: Path) -> None:
    two_cells(tmp_path)
    shutil.rmtree(tmp_path / FIRST.folder)

    result = only(tmp_path, "login")

    assert (result.outcome, result.reason, result.failure) == ("skipped", NOT_RUN, None)


@pytest.mark.parametrize(
    "content", ["", "{", '{"format": "other"}', "[]", "null", "\x00", "9" * 99]
)
def test_a_result_that_cannot_be_read_is_broken_with_a_reason(tmp_path: Path, content: str) -> None:
    two_cells(tmp_path)
    (tmp_path / FIRST.folder / "cell.json").write_text(content)

    result = only(tmp_path, "login")

    assert result.outcome == "broken"
    assert "cannot be read" in result.reason


@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60, deadline=None
)
@given(st.data())
def test_a_truncated_or_overwritten_result_never_stops_the_reading(
    tmp_path: Path, data: st.DataObject
) -> None:
    two_cells(tmp_path)
    path = tmp_path / FIRST.folder / "cell.json"
    whole = path.read_bytes()
    cut = data.draw(st.integers(0, len(whole) - 1))
    path.write_bytes(whole[:cut] + data.draw(st.binary(max_size=8)))

    assert len(read_run(tmp_path).cells) == 2


def test_a_result_of_a_newer_version_says_so(tmp_path: Path) -> None:
    two_cells(tmp_path)
    path = tmp_path / FIRST.folder / "cell.json"
    newer = json.loads(path.read_text()) | {"version": CELL_VERSION + 1, "mood": "new field"}
    path.write_text(json.dumps(newer))

    result = only(tmp_path, "login")

    assert result.outcome == "broken"
    assert "newer version" in result.reason


def test_without_a_manifest_the_results_are_all_there_is(tmp_path: Path) -> None:
    two_cells(tmp_path)
    (tmp_path / "manifest.json").unlink()

    run = read_run(tmp_path)

    assert [c.case_id for c in run.cells] == ["checkout", "login"]


def test_without_a_manifest_a_killed_cell_goes_by_the_names_of_its_folders(
    tmp_path: Path,
) -> None:
    mark_started(tmp_path, CellKey("login", "m", "A11Y", 3).folder)

    (result,) = read_run(tmp_path).cells

    assert (result.case_id, result.model, result.outcome) == ("login", "m", "broken")
    assert (result.capture_mode, result.repeat) == ("A11Y", 3)


def test_a_broken_manifest_is_noted_and_the_results_still_count(tmp_path: Path) -> None:
    two_cells(tmp_path)
    (tmp_path / "manifest.json").write_text('{"cells": [')

    run = read_run(tmp_path)

    assert len(run.cells) == 2
    assert "manifest.json cannot be read" in run.notes[0]


def test_without_run_facts_they_are_taken_from_the_cells(tmp_path: Path) -> None:
    two_cells(tmp_path)
    (tmp_path / "run.json").write_text("no json")

    run = read_run(tmp_path)

    assert set(run.info.models) == {"a-model", "b-model"}
    assert "run.json cannot be read" in run.notes[0]


def test_an_empty_folder_is_an_empty_run(tmp_path: Path) -> None:
    run = read_run(tmp_path)

    assert run.cells == ()
    assert run.notes == ()


def test_a_manifest_that_points_outside_reads_nothing_there(tmp_path: Path) -> None:
    root = tmp_path / "run"
    two_cells(root)
    outside = tmp_path / "secret"
    shutil.copytree(root / FIRST.folder, outside)
    save_manifest(root, [planned(cell(FIRST, folder="../secret"))])

    outcomes = {(c.case_id, c.outcome) for c in read_run(root).cells if c.folder != FIRST.folder}

    assert ("login", "skipped") in outcomes


def test_a_cell_file_with_the_former_name_of_a_cause_can_still_be_read(tmp_path: Path) -> None:
    failed = Failure(kind="model", message="generate: cut off", cause="truncated")
    folder = save_run(tmp_path, [cell(FIRST, outcome="broken", failure=failed)])
    (file,) = folder.rglob("cell.json")
    file.write_text(file.read_text(encoding="utf-8").replace("truncated", "cut_off"), "utf-8")

    (result,) = read_run(tmp_path).cells

    assert result.failure is not None
    assert result.failure.cause == "truncated"


def test_a_cell_file_of_version_1_can_still_be_read(tmp_path: Path) -> None:
    home = tmp_path / "cells" / "login" / "m" / "ARIA_SNAPSHOT-1"
    home.mkdir(parents=True)
    shutil.copy(Path(__file__).parent / "data" / "cell-version-1.json", home / "cell.json")

    (result,) = read_run(tmp_path).cells

    assert (result.outcome, len(result.attempts)) == ("healed", 2)
    assert result.attempts[0].step_results[1].status == "failed"
