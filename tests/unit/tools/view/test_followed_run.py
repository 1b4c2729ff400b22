"""A run that is followed is told as it is on disk, and nothing is read or told twice."""

import json
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_up_run import CellKey, cell, planned, run_info

from pytest_autoweb.results.records import CellResult, FilmFrame, Outcome
from pytest_autoweb.results.runs.progress_file import Progress, ProgressReader
from pytest_autoweb.results.runs.run_folder import KILLED
from pytest_autoweb.results.runs.saving import (
    mark_started,
    save_cell,
    save_manifest,
    save_run_info,
)
from pytest_autoweb.results.runs.watched import SoFar, is_watched, save_so_far, touch_watched
from pytest_autoweb.tools.view.cell_view import cell_view, picture_file
from pytest_autoweb.tools.view.followed_run import FollowedRun, is_cell_place

MODE = "ARIA_SNAPSHOT"


class GoingRun:
    """A run folder that a session writes to."""

    def __init__(
        self, folder: Path, *cells: CellResult, ts: str = "first", name: str = "a"
    ) -> None:
        self.folder = folder
        folder.mkdir(exist_ok=True)
        (folder / "progress").mkdir(exist_ok=True)
        save_manifest(folder, map(planned, cells), ts=ts)
        self.file = folder / f"progress/{name}.jsonl"
        self.progress = Progress(self.file)
        self.progress.emit("", "planned", str(len(cells)))

    def stage(self, of: CellResult, stage: str) -> None:
        mark_started(self.folder, of.folder)
        self.progress.emit(of.test_name, "stage", stage, of.folder)

    def end(self, of: CellResult) -> None:
        save_cell(self.folder, of)
        self.progress.emit(of.test_name, "spent", "0.25", of.folder)
        self.progress.emit(of.test_name, "end", of.outcome, of.folder)


def made(case_id: str, outcome: Outcome = "passed", model: str = "fake/a") -> CellResult:
    return cell(CellKey(case_id, model, MODE, 1), outcome)


def look(run: FollowedRun) -> str:
    run.look()
    return "".join(run.states)


def test_cells_go_and_end_and_only_what_changed_is_told(tmp_path: Path) -> None:
    login, order, price = made("login"), made("order", "failed"), made("price")
    run = GoingRun(tmp_path, login, order, price)
    followed = FollowedRun(tmp_path)
    run.stage(login, "plan")
    followed.look()

    first = followed.snapshot()
    assert first.content["states"] == "g.."
    assert first.content["rows"] == ["login", "order", "price"]
    assert first.content["counts"]["left"] == 2
    assert [stage for _, stage, *_ in first.content["going"]] == ["plan"]

    run.end(login)
    run.stage(order, "step 2")
    run.end(order)
    run.stage(price, "judge")
    followed.look()
    then = followed.changes(first, 0)
    assert then.content["states"] == [[0, "P"], [1, "F"], [2, "g"]]
    assert then.content["losses"] == [[1, "made-up reason for failed"]]
    assert then.content["spent_usd"] == 0.5
    counts = dict.fromkeys(("passed", "failed", "going"), 1) | {"other": 0, "left": 0, "all": 3}
    assert then.content["counts"] == counts

    followed.look()
    assert followed.changes(then, len(followed.losses)).content["states"] == []


def test_a_line_is_read_once_and_only_when_it_is_whole(tmp_path: Path) -> None:
    file = tmp_path / "events.jsonl"
    reader = ProgressReader(file)
    assert reader.read() == []
    file.write_text('["a", "stage", "plan", "x"]\nnot JSON\n["b", "st', encoding="utf-8")
    assert [event.cell for event in reader.read()] == ["a"]
    with file.open("a", encoding="utf-8") as opened:
        opened.write('age", "open", "y"]\n[1, 2, 3]\n{}\n["c"]\n')
    assert [(event.cell, event.folder) for event in reader.read()] == [("b", "y")]
    assert reader.read() == []


def test_a_control_that_has_to_fail_is_no_loss(tmp_path: Path) -> None:
    noop = made("login", "failed", "builtin/noop")
    run = GoingRun(tmp_path, noop)
    run.end(noop)
    followed = FollowedRun(tmp_path)

    assert look(followed) == "F"
    assert followed.losses == []


def test_another_run_in_the_same_folder_is_told_anew(tmp_path: Path) -> None:
    folder = tmp_path / "report"
    old = GoingRun(folder, made("login"))
    old.end(made("login"))
    followed = FollowedRun(folder)
    assert look(followed) == "P"
    epoch = followed.epoch

    folder.rename(tmp_path / "report.old")
    GoingRun(folder, made("tea"), made("login"), ts="second", name="b")
    assert look(followed) == ".."
    assert followed.epoch > epoch
    assert followed.snapshot().content["rows"] == ["tea", "login"]


def test_a_page_that_waits_for_a_session_shows_no_other(tmp_path: Path) -> None:
    GoingRun(tmp_path, made("login"), name="old")
    followed = FollowedRun(tmp_path, "new")
    followed.look()
    assert (followed.phase, followed.states) == ("none", [])

    GoingRun(tmp_path, made("login"), name="new")
    assert look(followed) == "."
    assert followed.phase == "going"


def test_what_an_earlier_session_left_unfinished_is_to_come_again(tmp_path: Path) -> None:
    login, order = made("login"), made("order")
    first = GoingRun(tmp_path, login, order)
    first.end(login)
    first.stage(order, "plan")
    followed = FollowedRun(tmp_path)
    assert look(followed) == "Pg"

    time.sleep(0.02)
    resumed = GoingRun(tmp_path, login, order, name="b")
    assert look(followed) == "P."
    resumed.stage(order, "open")
    assert look(followed) == "Pg"


def test_a_run_that_ended_is_settled_by_its_files(tmp_path: Path) -> None:
    cells = [made("a"), made("b", "failed"), made("c"), made("d")]
    save_manifest(tmp_path, map(planned, cells), ts="first")
    for each in cells[:2]:
        save_cell(tmp_path, each)
    mark_started(tmp_path, cells[2].folder)
    save_run_info(tmp_path, run_info(cells, ts="first", exit_status=1))
    followed = FollowedRun(tmp_path)

    assert look(followed) == "PFBS"
    assert (followed.phase, followed.exit_status) == ("ended", 1)
    assert [reason for _, reason in followed.losses] == ["made-up reason for failed", KILLED]


@pytest.mark.long
def test_the_page_may_be_told_of_ten_thousand_cells(tmp_path: Path) -> None:
    cells = [made(f"case-{at}", model=f"fake/{of}") for at in range(2500) for of in "abcd"]
    run = GoingRun(tmp_path, *cells)
    with run.file.open("a", encoding="utf-8") as file:
        for each in cells:
            for kind, text in (("stage", "plan"), ("stage", "judge"), ("end", "passed")):
                file.write(json.dumps([each.test_name, kind, text, each.folder]) + "\n")
    followed = FollowedRun(tmp_path)
    followed.look()
    everything = followed.snapshot()
    assert everything.content["counts"]["passed"] == 10_000
    assert len(json.dumps(everything.content)) < 200_000

    again = made("case-7", "failed", "fake/a")
    run.end(again)
    followed.look()
    told = followed.changes(everything, 0)
    assert len(json.dumps(told.content)) < 1000


def test_what_a_cell_has_done_so_far_is_shown_with_its_earlier_attempt(tmp_path: Path) -> None:
    login = made("login")
    run = GoingRun(tmp_path, login)
    run.stage(login, "step 1")
    place = tmp_path / login.folder
    (place / "attempt-1").mkdir()
    (place / "attempt-1/script.py").write_text("page.reload()")
    picture = FilmFrame(at_ms=5, picture="attempt-2/step-1.jpg", moment="step", step_index=1)
    save_so_far(place, SoFar(attempt="attempt-2", code="answer(1)", log="hm", film=(picture,)))
    followed = FollowedRun(tmp_path)
    followed.look()

    assert followed.going[0].picture == "attempt-2/step-1.jpg"
    shown = cell_view(tmp_path, login.folder)
    assert [each["code"] for each in shown["attempts"]] == ["page.reload()", "answer(1)"]
    assert shown["outcome"] is None


def test_cells_are_asked_to_tell_more_only_for_a_while(tmp_path: Path) -> None:
    assert not is_watched(tmp_path)
    touch_watched(tmp_path)
    assert is_watched(tmp_path)


WILD = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
PARTS = st.lists(
    st.sampled_from(["cells", "..", ".", "", "login", "a\\b", "attempt-1", "x.jpg", "/etc", "\0"]),
    max_size=6,
)
LINES = st.lists(
    WILD.map(json.dumps)
    | st.text(max_size=30)
    | st.tuples(
        st.text(max_size=5),
        st.sampled_from(["stage", "end", "spent", "planned", "log"]),
        st.sampled_from(["passed", "1e999", "nan", "plan"]) | st.text(max_size=5),
        PARTS.map("/".join),
    ).map(json.dumps),
    max_size=8,
)


@settings(max_examples=40)
@given(lines=LINES)
def test_no_line_breaks_the_reader_or_leads_it_elsewhere(
    lines: list[str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("wild")
    run = GoingRun(folder, made("login"))
    with run.file.open("a", encoding="utf-8") as file:
        file.write("\n".join(line.encode("utf-8", "replace").decode() for line in lines) + "\n")
    followed = FollowedRun(folder)
    followed.look()

    content = followed.snapshot().content
    json.dumps(content, allow_nan=False)
    assert sum(content["counts"].values()) == 2 * content["counts"]["all"]
    for at in range(content["counts"]["all"]):
        assert is_cell_place(followed.place_of(at))


@given(name=PARTS.map("/".join))
def test_no_name_of_a_picture_leads_out_of_its_cell(
    name: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    run = tmp_path_factory.getbasetemp() / "pictures"
    cell_at = run / "cells/login/fake/A-1"
    if not run.exists():
        (cell_at / "attempt-1").mkdir(parents=True)
        (cell_at / "attempt-1/x.jpg").write_bytes(b"\xff\xd8\xff")
        (run / "x.jpg").write_bytes(b"\xff\xd8\xff")
        (cell_at / "x.jpg").symlink_to(run / "x.jpg")
    found = picture_file(run, "cells/login/fake/A-1", name)

    assert found is None or found[0] == (cell_at / "attempt-1/x.jpg").resolve()
