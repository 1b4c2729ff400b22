"""Saved runs: found again by number, name or path, whatever else lies in the folder."""

import os
import subprocess
import sys
from pathlib import Path

import made_up_rows
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_up_rows import cells, run
from made_up_run import CellKey, cell, save_run

from pytest_autoweb.base.errors import RunNotFound, SettingsError
from pytest_autoweb.results.analysis.cell_numbers import RunRows
from pytest_autoweb.results.runs import saved_runs


def saved(folder: Path, day: int = 0, name: str = "", **changes: object) -> Path:
    rows = run(cells({"login": "P"}), day=day).model_copy(update={"name": name, **changes})
    return saved_runs.save_run(rows, folder)


SAVE_MANY = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from made_up_rows import cells, run
from pytest_autoweb.results.runs.saved_runs import save_run
for _ in range(8):
    save_run(run(cells({"login": "P"})), Path(sys.argv[1]))
"""
SUPPORT = str(Path(made_up_rows.__file__).parent)


def test_a_saved_run_is_read_back_as_it_was(tmp_path: Path) -> None:
    rows = run(cells({"login": "PPF", "pay": "B"}, cost_usd=None), commit="abc1234")

    path = saved_runs.save_run(rows, tmp_path)

    assert path.name == "0001_abc1234_20261121_093000_000.json"
    assert saved_runs.load_saved_rows("latest", tmp_path) == rows


def test_runs_are_found_by_number_name_file_run_folder_and_storage_folder(tmp_path: Path) -> None:
    store, folder = tmp_path / "store", save_run(tmp_path / "run", [cell(CellKey("login", "a/b"))])
    first, second = saved(store, 1, "main"), saved(store, 2, "feature/x y")
    third = saved(store, 3, "main")

    def day(spec: str) -> int:
        return saved_runs.load_saved_rows(spec, store).started.day - 21

    assert [each.path for each in saved_runs.list_runs(store)] == [first, second, third]
    assert [day(spec) for spec in ("1", "0002", "3", "main", "feature/x y")] == [1, 2, 3, 3, 2]
    assert [day(spec) for spec in ("latest", str(first), str(store))] == [3, 1, 3]
    assert saved_runs.load_saved_rows(str(folder), store).models == ("a/b",)


def test_latest_is_the_newest_whole_run_that_held_its_gates_or_was_accepted_by_name(
    tmp_path: Path,
) -> None:
    saved(tmp_path, 1)
    saved(tmp_path, 2, gates=False)
    saved(tmp_path, 3, "part", shard=(1, 2))
    saved(tmp_path, 4, "half", interrupted=True)

    assert saved_runs.load_saved_rows("latest", tmp_path).started.day == 22

    saved(tmp_path, 5, "new-level", gates=False)

    assert saved_runs.load_saved_rows("latest", tmp_path).started.day == 26


def test_a_run_is_not_compared_with_its_own_saved_copy(tmp_path: Path) -> None:
    saved(tmp_path, 1, "main")
    saved(tmp_path, 2, "main")
    newest = saved_runs.load_saved_rows("main", tmp_path)

    before = saved_runs.load_saved_rows("main", tmp_path, except_ts=newest.ts)

    assert before.started.day == 22
    assert saved_runs.load_saved_rows("latest", tmp_path, except_ts=newest.ts) == before
    assert saved_runs.saved_rows(tmp_path, except_ts=newest.ts) == (before,)


def test_files_that_cannot_be_read_are_skipped_with_a_notice(tmp_path: Path) -> None:
    good = saved(tmp_path, 1)
    torn = tmp_path / "0002_abc_20261121_093000_000.json"
    torn.write_text(good.read_text()[:50])
    newer = tmp_path / "0003_abc_20261121_093000_000.json"
    newer.write_text(good.read_text().replace('"version":1', '"version":1,"colour":"red"'))
    (tmp_path / "notes.txt").write_text("mine")
    notices: list[str] = []

    rows = saved_runs.load_saved_rows("latest", tmp_path, notices=notices)

    assert rows.started.day == 22
    assert [name in notice for name, notice in zip(("0003", "0002"), notices, strict=True)] == [
        True,
        True,
    ]
    assert saved(tmp_path, 4).name.startswith("0004_")


def test_nothing_to_compare_with_is_told_apart_from_a_file_that_is_no_run(tmp_path: Path) -> None:
    with pytest.raises(RunNotFound, match="holds no whole run to compare with yet"):
        saved_runs.load_saved_rows("latest", tmp_path / "never")
    saved(tmp_path, 1, "main")
    with pytest.raises(RunNotFound, match=r"'mian'; did you mean 'main'\?"):
        saved_runs.load_saved_rows("mian", tmp_path)
    other = tmp_path / "other.json"
    other.write_text("{}")
    with pytest.raises(SettingsError, match=r"other\.json is not a saved run"):
        saved_runs.load_saved_rows(str(other), tmp_path)
    empty = tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(SettingsError, match="neither a run folder nor a folder of saved runs"):
        saved_runs.load_saved_rows(str(empty), tmp_path)


@pytest.mark.long
def test_sessions_that_end_together_get_numbers_of_their_own(tmp_path: Path) -> None:
    command = [sys.executable, "-c", SAVE_MANY, str(tmp_path), SUPPORT]
    sessions = [subprocess.Popen(command) for _ in range(2)]
    assert [session.wait(timeout=60) for session in sessions] == [0, 0]

    assert [each.number for each in saved_runs.list_runs(tmp_path)] == list(range(1, 17))


@settings(max_examples=40, deadline=None)
@given(name=st.text(min_size=1, max_size=90), commit=st.text(max_size=60))
def test_any_name_and_commit_make_a_file_in_the_folder_that_is_found_again(
    tmp_path_factory: pytest.TempPathFactory, name: str, commit: str
) -> None:
    folder = tmp_path_factory.mktemp("store")
    rows = run(cells({"login": "P"}), commit=commit).model_copy(update={"name": name})

    path = saved_runs.save_run(rows, folder)

    assert path.parent == folder
    assert len(os.fsencode(path.name)) < 200
    number, _, when, _, found = saved_runs.list_runs(folder)[0]
    assert (number, when, found) == (1, rows.ts, path)
    assert isinstance(saved_runs.load_saved_rows("latest", folder), RunRows)
