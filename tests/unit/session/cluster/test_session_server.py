"""What nodes of a cluster may ask of the session's machine, and what they may not."""

from __future__ import annotations

import io
import json
import os
import stat
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest
from made_up_run import CellKey, planned
from made_up_run import cell as made_up_cell
from openai_server import Answer, OpenAIServer

from pytest_autoweb.base.errors import SettingsError
from pytest_autoweb.models.gateway import (
    GatewayAddress,
    SharedGateway,
    StartGateway,
    start_gateway,
    stop_gateway,
)
from pytest_autoweb.models.messages import Message, Request
from pytest_autoweb.models.model_spec import ModelSpec
from pytest_autoweb.results.records import CellResult, FilmFrame
from pytest_autoweb.results.runs.giving_orders import give_order
from pytest_autoweb.results.runs.live_session import session_of, sign_session
from pytest_autoweb.results.runs.run_folder import saved_cell
from pytest_autoweb.results.runs.saving import Manifest, save_cell
from pytest_autoweb.results.runs.steering import Order
from pytest_autoweb.results.runs.watched import SO_FAR_FILE, SoFar, save_so_far, touch_watched
from pytest_autoweb.session.cluster.cells_so_far import SoFarOfCells
from pytest_autoweb.session.cluster.frame_stream import Frame
from pytest_autoweb.session.cluster.node_messages import AgainKnown, CloseKnown, OrdersKnown
from pytest_autoweb.session.cluster.packed_cell import pack_cell
from pytest_autoweb.session.cluster.session_server import SessionLists, SessionServer
from pytest_autoweb.session.shared_run import OPENED_FILE

CELL, OTHER = "cells/login/m/ARIA-1", "cells/title/m/ARIA-1"


def test_a_cell_arrives_whole_and_is_not_run_again(folders: ClusterFolders) -> None:
    assert folders.begin(CELL) == {"saved": "", "ended": False, "began": False}
    assert folders.files() == {f"{CELL}/started": ""}

    packed = folders.write(CELL, cell_json="{}", started="", attempt__page="<p>")
    assert folders.deliver(CELL, packed) == (200, "{}")
    whole = {f"{CELL}/cell.json": "{}", f"{CELL}/started": "", f"{CELL}/attempt/page": "<p>"}
    assert folders.files() == whole

    # The worker is lost before it could report the end, and another one is given the cell.
    assert folders.home.lose("gw0") == frozenset()
    assert folders.begin(CELL, "gw1") == {"saved": "{}", "ended": True, "began": False}
    assert folders.files() == whole


def test_nothing_is_taken_from_a_worker_that_counts_as_lost(folders: ClusterFolders) -> None:
    folders.begin(CELL)
    assert folders.home.lose("gw0") == {f"id of {CELL}"}

    status, why = folders.deliver(CELL, folders.write(CELL, cell_json="{}"))
    assert (status, "continues without gw0" in why) == (503, True)
    assert folders.begin(CELL, "gw1")["ended"] is False
    assert folders.files() == {f"{CELL}/started": ""}


def test_what_an_earlier_session_left_is_moved_to_replaced_and_not_erased(
    folders: ClusterFolders,
) -> None:
    for cell, files in ((CELL, {"cell.json": "old"}), (OTHER, {"started": "", "page": "<p>"})):
        (folders.run / cell).mkdir(parents=True)
        for name, text in files.items():
            (folders.run / cell / name).write_text(text)

    assert folders.begin(CELL) == {"saved": "old", "ended": False, "began": False}
    assert folders.deliver(CELL, folders.write(CELL, cell_json="new"))[0] == 200
    assert folders.begin(OTHER)["began"] is True
    assert folders.begin(OTHER, "gw1")["began"] is False

    assert folders.files() == {
        f"{CELL}/cell.json": "new",
        f"{OTHER}/started": "",
        f"replaced/now/{CELL}/cell.json": "old",
        f"replaced/now/{OTHER}/started": "",
        f"replaced/now/{OTHER}/page": "<p>",
    }


def test_the_end_says_why_a_cell_has_no_result(folders: ClusterFolders) -> None:
    folders.begin(CELL)
    folders.begin(OTHER)
    folders.ask("/forget", {"folder": OTHER})
    folders.home.close("interrupted while it ran")

    assert folders.files() == {f"{CELL}/started": "interrupted while it ran"}


def test_the_plan_is_saved_once(folders: ClusterFolders) -> None:
    plan = json.loads(Manifest(cells=(), ts="1").model_dump_json())
    for worker in ("gw0", "gw1"):
        assert folders.ask("/plan", plan, worker)[0] == 200

    assert [saved.ts for saved in folders.plans] == ["1"]


def test_a_node_is_told_what_was_ordered(folders: ClusterFolders) -> None:
    folders.run.mkdir()
    order = Order("stop-model", "fake/a", by="a test")
    give_order(folders.run, order)

    status, answer = folders.ask("/orders", {})

    assert status == 200
    assert OrdersKnown.model_validate_json(answer).given == (order,)


def test_an_order_to_run_a_cell_again_goes_to_one_worker_and_the_run_comes_beside_the_first(
    folders: ClusterFolders,
) -> None:
    first = folders.ended_cell()
    again = f"{first}/again-1"
    assert folders.ask("/again", {})[1] == '{"order":null,"folder":""}'
    assert (folders.further("gw0"), folders.closes("gw0")) == ("", True)
    # Whoever ends first must not keep others from carrying out what comes.
    assert folders.closing is False
    assert folders.further("gw1") == ""

    folders.order("login[m]")
    folders.order("title[m]")
    assert OrdersKnown.model_validate_json(folders.ask("/orders", {})[1]).again_waits
    assert folders.deliver(again, folders.write(again, cell_json=ENDED), "gw1")[0] == 503
    assert folders.closes("gw1") is False
    # One that has closed, or has collected other cells, carries out nothing.
    folders.ask("/plan", json.loads(Manifest(cells=()).model_dump_json()), "gw9")
    assert (folders.further("gw0"), folders.further("gw9")) == ("", "")
    assert folders.further("gw1") == again
    assert folders.further("gw1") == ""
    assert not OrdersKnown.model_validate_json(folders.ask("/orders", {})[1]).again_waits
    for _ in range(2):
        assert folders.deliver(again, folders.write(again, cell_json=ENDED), "gw1")[0] == 200

    noted = folders.result(first)
    assert noted.outcome == "passed"
    assert [(run.folder, run.outcome) for run in noted.again] == [("again-1", "failed")]
    assert (folders.closes("gw1"), folders.closing) == (True, True)


def test_an_order_whose_workers_are_lost_is_given_to_others_and_given_up_at_last(
    folders: ClusterFolders,
) -> None:
    first = folders.ended_cell("gw0", "gw1", "gw2", "gw3")
    folders.order("login[m]")
    for worker in ("gw0", "gw1", "gw2"):
        assert folders.further(worker) == f"{first}/again-1"
        assert folders.further("gw3") == ""
        assert folders.home.lose(worker) == {"login[m] (again)"}
        assert folders.ask("/again", {}, worker)[0] == 503

    assert (folders.further("gw3"), folders.closes("gw3")) == ("", True)
    [lost] = folders.result(first).again
    assert (lost.outcome, lost.reason) == ("broken", "each worker that ran it was lost")


def test_what_a_cell_has_done_so_far_comes_while_somebody_watches(folders: ClusterFolders) -> None:
    cells, cell = SoFarOfCells(folders.away, folders.run.parent), folders.away / CELL
    cells.ask_for_more()
    assert not folders.away.exists()
    (folders.run.parent / OPENED_FILE).touch()
    frames = [FilmFrame(at_ms=1, picture=f"attempt-1/{n}.jpg", moment="step") for n in (1, 2)]
    folders.write(CELL, attempt_1__1_jpg="first", attempt_1__2_jpg="second")
    save_so_far(cell, SoFar(attempt="attempt-1", code="1", film=tuple(frames[:1])))
    assert list(cells.news()) == []
    cells.ask_for_more()
    [(where, packed)] = cells.news()
    assert (where, list(cells.news())) == (CELL, [])

    # Nothing is taken of a cell that the worker is not running, nor files that tell nothing.
    folders.begin(CELL)
    for worker, sent in (
        *(("gw1", packed), ("gw0", b"PK"), ("gw0", zipped("../so-far.json"))),
        *(("gw0", zipped("cell.json")), ("gw0", zipped("attempt-1/../1.jpg"))),
    ):
        folders.home.take(Frame("so-far", worker, 0, CELL, sent))
    assert folders.files() == {f"{CELL}/started": ""}
    folders.home.take(Frame("so-far", "gw0", 0, CELL, packed))
    save_so_far(cell, SoFar(attempt="attempt-1", code="2", film=tuple(frames)))
    [(_, packed)] = cells.news()
    assert set(zipfile.ZipFile(io.BytesIO(packed)).namelist()) == {"attempt-1/2.jpg", SO_FAR_FILE}
    folders.home.take(Frame("so-far", "gw0", 0, CELL, packed))
    files = folders.files()
    assert (files[f"{CELL}/attempt-1/1.jpg"], files[f"{CELL}/attempt-1/2.jpg"]) == (
        "first",
        "second",
    )
    assert '"code":"2"' in files[f"{CELL}/{SO_FAR_FILE}"]
    (cell / SO_FAR_FILE).unlink()
    folders.deliver(CELL, folders.write(CELL, cell_json="{}"))
    folders.home.take(Frame("so-far", "gw0", 0, CELL, packed))
    assert f"{CELL}/{SO_FAR_FILE}" not in folders.files()


def test_a_node_is_told_whether_somebody_watches(folders: ClusterFolders) -> None:
    folders.run.mkdir()
    assert folders.ask("/watched", {}) == (200, '{"watched":false}')
    touch_watched(folders.run)
    assert folders.ask("/watched", {}) == (200, '{"watched":true}')


def test_variables_travel_when_a_case_names_them_and_keys_never_do(folders: ClusterFolders) -> None:
    asked: dict[str, object] = {"values": {"SHOP_PASSWORD": "", "NOT_SET": ""}}
    assert folders.ask("/variables", asked) == (200, '{"values":{"SHOP_PASSWORD":"demo"}}')

    status, why = folders.ask("/variables", {"values": {"OPENAI_API_KEY": ""}})
    assert (status, "sk-secret" in why) == (503, False)
    assert "OPENAI_API_KEY is a key of a model" in why


def test_a_variable_that_no_case_names_stays_at_home(folders: ClusterFolders) -> None:
    for asked in ({"HOME_TOKEN": ""}, {"SHOP_PASSWORD": "", "HOME_TOKEN": ""}):
        status, why = folders.ask("/variables", {"values": asked})
        assert (status, "t0p" in why, "demo" in why) == (503, False, False)
        assert "no case of this session names HOME_TOKEN" in why


def test_a_node_names_models_and_does_not_say_what_they_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-the-real-key")
    with OpenAIServer([Answer("right")]) as ours, OpenAIServer() as theirs:
        (tmp_path / "one").mkdir()
        folders = ClusterFolders(tmp_path / "one")
        name = "openai/m"
        folders.specs[name] = ModelSpec(name=name, api_base=ours.api_base)
        started: list[GatewayAddress] = []

        def start(specs: Mapping[str, ModelSpec]) -> GatewayAddress:
            run_dir = tmp_path / "gateway"
            found = start_gateway(specs, record_mode="off", cassettes=run_dir, run_dir=run_dir)
            started.append(found)
            return found

        folders.starts = start
        evil = {"model": "openai/m", "api_base": theirs.api_base, "api_key_env": "OPENAI_API_KEY"}
        asked = Request(
            model=name, messages=(Message(role="user", content="hi"),), stage="plan", case_id="a"
        ).model_dump(mode="json")
        try:
            other = {"specs": {"openai/other": {"name": "openai/other", **evil}}}
            status, why = folders.ask("/models", other)
            assert (status, "is not a model of this session" in why) == (422, True)
            own = {"specs": {name: {"name": name, **evil}}}
            assert folders.ask("/models", own) == (200, "{}")

            status, reply = folders.ask("/complete", asked)
            assert (status, json.loads(reply)["text"]) == (200, "right")
            assert folders.ask("/complete", {**asked, "model": "openai/other"})[0] == 422
        finally:
            for address in started:
                stop_gateway(address)
        assert theirs.requests == []


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/stop", {}),
        ("/cell", {"folder": CELL}),
        ("/begin", {"folder": "cells/../../etc"}),
        ("/begin", {"folder": "/etc"}),
        ("/begin", {"folder": "cells/a/b/.."}),
        ("/begin", {"folder": CELL, "more": 1}),
    ],
)
def test_other_questions_are_refused(
    folders: ClusterFolders, path: str, body: dict[str, object]
) -> None:
    assert folders.ask(path, body)[0] == 503
    assert folders.files() == {}


@pytest.mark.parametrize("name", ["../x", f"{OTHER}/cell.json", f"{CELL}/../x", f"{CELL}/a\\b", ""])
def test_files_that_no_cell_has_do_not_arrive(folders: ClusterFolders, name: str) -> None:
    folders.begin(CELL)
    packed = folders.write(CELL, cell_json="{}")
    with zipfile.ZipFile(packed, "a") as more:
        link = zipfile.ZipInfo(f"{CELL}/link")
        link.external_attr = stat.S_IFLNK << 16
        more.writestr(name or link, "/etc/passwd")

    status, why = folders.deliver(CELL, packed)
    assert (status, "refused" in why) == (503, True)
    assert folders.deliver(CELL, folders.away / CELL / "cell.json")[0] == 503
    assert folders.files() == {f"{CELL}/started": ""}


FIRST = made_up_cell(CellKey("login", "m"))
ENDED = made_up_cell(CellKey("login", "m"), "failed").model_dump_json()


def zipped(name: str) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as files:
        files.writestr(name, "{}")
    return packed.getvalue()


class _Specs(dict[str, ModelSpec]):
    """The session's own models; any other one is refused."""

    def __missing__(self, name: str) -> ModelSpec:
        raise SettingsError(f"{name!r} is not a model of this session")


class ClusterFolders:
    """A home, and two nodes with a run folder of their own."""

    def __init__(self, folder: Path) -> None:
        self.run, self.away, session = folder / "run", folder / "away", folder / "session"
        session.mkdir()
        self.plans: list[Manifest] = []
        self.specs = _Specs()
        self.starts: StartGateway | None = None
        self.keys = ["OPENAI_API_KEY"]
        self._session, self._number = session, 0
        self.home = SessionServer(
            self.run,
            session,
            progress_file=session / "progress.jsonl",
            stamp="now",
            started=0.0,
            gateway=SharedGateway(session, self.start),
            environ={"SHOP_PASSWORD": "demo", "OPENAI_API_KEY": "sk-secret", "HOME_TOKEN": "t0p"},
            lists=SessionLists(
                lambda name: self.specs[name], lambda: {"SHOP_PASSWORD", "NOT_SET", *self.keys}
            ),
            keys=["OPENAI_API_KEY"],
            open_folder=lambda: self.run.mkdir(exist_ok=True),
            save_plan=self.plans.append,
        )

    def start(self, specs: Mapping[str, ModelSpec]) -> GatewayAddress:
        assert self.starts, "nothing here needs a model"
        return self.starts(specs)

    def ask(self, path: str, body: Mapping[str, object], worker: str = "gw0") -> tuple[int, str]:
        self._number += 1
        asked = Frame("ask", worker, self._number, path, json.dumps(body).encode())
        status, answer = self.home.answer(asked)
        return status, answer.decode()

    def begin(self, cell: str, worker: str = "gw0") -> dict[str, object]:
        status, answer = self.ask("/begin", {"folder": cell, "nodeid": f"id of {cell}"}, worker)
        assert status == 200, answer
        found: dict[str, object] = json.loads(answer)
        return found

    def write(self, cell: str, **files: str) -> Path:
        for name, text in files.items():
            name = name.replace("__", "/").replace("_json", ".json").replace("_jpg", ".jpg")
            path = self.away / cell / name.replace("attempt_", "attempt-")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        packed = self.away / "packed.zip"
        pack_cell(self.away, cell, packed)
        return packed

    def deliver(self, cell: str, packed: Path, worker: str = "gw0") -> tuple[int, str]:
        for at in range(0, len(data := packed.read_bytes()), 100):
            part = Frame("part", worker, self._number + 1, "", data[at : at + 100])
            self.home.take(part)
        return self.ask("/cell", {"folder": cell}, worker)

    def ended_cell(self, *workers: str) -> str:
        """Let workers collect a cell, which has ended; return its folder."""
        plan = json.loads(Manifest(cells=(planned(FIRST),)).model_dump_json())
        for worker in workers or ("gw0", "gw1"):
            assert self.ask("/plan", plan, worker)[0] == 200
        save_cell(self.run, FIRST)
        sign_session(self.run, os.getpid(), 0.0, cluster=True)
        return FIRST.folder

    def order(self, name: str) -> None:
        give_order(self.run, Order("again", name, by="a test"))

    def further(self, worker: str) -> str:
        """The folder of the run that a worker is to carry out; empty if there is none."""
        status, answer = self.ask("/again", {}, worker)
        assert status == 200, answer
        return AgainKnown.model_validate_json(answer).folder

    def closes(self, worker: str) -> bool:
        return CloseKnown.model_validate_json(self.ask("/close", {}, worker)[1]).closed

    @property
    def closing(self) -> bool:
        """Whether the session's sign says that no more cells begin."""
        found = session_of(self.run)
        assert found
        return found.closing

    def result(self, folder: str) -> CellResult:
        found = saved_cell(self.run, folder)
        assert isinstance(found, CellResult)
        return found

    def files(self) -> dict[str, str]:
        found = (path for path in self.run.rglob("*") if path.is_file())
        return {path.relative_to(self.run).as_posix(): path.read_text() for path in found}


@pytest.fixture
def folders(tmp_path: Path) -> ClusterFolders:
    return ClusterFolders(tmp_path)
