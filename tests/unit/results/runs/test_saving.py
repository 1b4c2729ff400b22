import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_up_run import CellKey, cell, run_info, save_run

from pytest_autoweb.base.errors import SettingsError
from pytest_autoweb.results.records import Attempt
from pytest_autoweb.results.runs.run_folder import read_run
from pytest_autoweb.results.runs.saving import (
    cell_folder,
    fresh_run_folder,
    json_text,
    safe_name,
    save_cell,
    save_run_info,
    write_text_atomic,
)

DEVICES = {"con", "prn", "aux", "nul", "com1", "lpt9"}
wild_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(st.characters(exclude_categories=()))
    | st.just(object),
    lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.integers(), inner),
    max_leaves=20,
)


@settings(deadline=None)
@given(st.text(st.characters(exclude_categories=())))
def test_a_safe_name_is_one_plain_short_file_name(text: str) -> None:
    name = safe_name(text)

    assert 1 <= len(name) <= 69
    assert all(c.isascii() and (c.isalnum() or c in "._-") for c in name)
    assert not name.startswith(".")
    assert not name.endswith(".")
    assert name.split(".")[0].lower() not in DEVICES


@settings(deadline=None)
@given(st.text(), st.text())
def test_different_texts_get_different_names(one: str, other: str) -> None:
    assert (safe_name(one) == safe_name(other)) == (one == other)


@pytest.mark.parametrize("name", ["login", "qwen2.5-coder-1.5b", "ARIA_SNAPSHOT", "a" * 60])
def test_a_name_that_is_safe_already_is_kept(name: str) -> None:
    assert safe_name(name) == name


@pytest.mark.parametrize(
    "text", ["..", ".", "", "../../etc/passwd", "con", "NUL.txt", "a/b", "a:b"]
)
def test_a_text_that_would_lead_elsewhere_is_changed_and_hashed(text: str) -> None:
    name = safe_name(text)

    assert name != text
    assert len(name.rpartition("-")[2]) == 8


def test_a_cell_folder_has_three_levels_below_cells() -> None:
    folder = cell_folder("login", "openai/gpt-5", "ARIA", 2)

    assert folder.startswith("cells/login/openai-gpt-5-")
    assert folder.endswith("/ARIA-2")
    assert folder.count("/") == 3


@settings(deadline=None)
@pytest.mark.long
@given(wild_values)
def test_anything_becomes_strict_json_in_utf8(value: Any) -> None:
    text = json_text(value)

    text.encode("utf-8")
    json.loads(text, parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))


def test_a_cell_with_half_a_surrogate_pair_and_nan_can_be_saved_and_read(tmp_path: Path) -> None:
    key = CellKey("odd", "m")
    attempt = Attempt(plan_text="a\ud800b", answer={"value": float("nan"), "text": "\udfff"})
    save_cell(tmp_path, cell(key, attempts=(attempt,)))

    (result,) = read_run(tmp_path).cells

    assert result.outcome == "passed"
    assert result.attempts[0].plan_text == "a\ufffdb"
    assert result.attempts[0].answer == {"value": "nan", "text": "\ufffd"}


def test_a_failing_write_leaves_the_old_file_and_no_litter(tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    write_text_atomic(path, "old")

    with pytest.raises(AttributeError):
        write_text_atomic(path, None)  # type: ignore[arg-type]

    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["report.json"]


def test_a_new_run_rotates_the_old_one_by_its_own_timestamp(tmp_path: Path) -> None:
    folder = save_run(tmp_path / "autoweb-report", [cell(CellKey("login", "m"))])

    fresh_run_folder(folder)

    assert list(folder.iterdir()) == []
    old = tmp_path / "autoweb-report.20261121_093000_000"
    assert [c.case_id for c in read_run(old).cells] == ["login"]


def test_two_runs_with_the_same_timestamp_are_both_kept(tmp_path: Path) -> None:
    folder = tmp_path / "r"
    for number in range(3):
        fresh_run_folder(folder)
        save_run_info(folder, run_info([], duration_s=number))
    fresh_run_folder(folder)

    kept = sorted(read_run(p).info.duration_s for p in tmp_path.iterdir() if p != folder)

    assert kept == [0, 1, 2]


def test_without_run_facts_the_folder_rotates_by_its_time_of_change(tmp_path: Path) -> None:
    folder = tmp_path / "r"
    (folder / "cells").mkdir(parents=True)
    (folder / "run.json").write_text('{"ts": "../../elsewhere"}')
    os.utime(folder, (1_000_000_000, 1_000_000_000))

    fresh_run_folder(folder)

    (old,) = (p for p in tmp_path.iterdir() if p != folder)
    assert old.name.startswith("r.200109")


def test_a_folder_with_other_files_is_never_moved(tmp_path: Path) -> None:
    (tmp_path / "thesis.doc").write_text("precious")

    with pytest.raises(SettingsError, match="not a report"):
        fresh_run_folder(tmp_path)

    assert (tmp_path / "thesis.doc").read_text() == "precious"


def test_a_file_in_the_place_of_the_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "r").write_text("")

    with pytest.raises(SettingsError, match="is a file"):
        fresh_run_folder(tmp_path / "r")
