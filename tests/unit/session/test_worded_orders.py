"""Orders to a run, as a command or a page words them: which cell may be run again."""

import os
import time
from pathlib import Path

import pytest
from made_up_run import CellKey, cell, save_run

from pytest_autoweb.base.errors import SettingsError
from pytest_autoweb.results.runs.live_session import sign_closing, sign_session
from pytest_autoweb.session.worded_orders import order_run

LOGIN, BUY = CellKey("login", "fake/a"), CellKey("buy", "fake/a")


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A run that goes on, in which two cells have ended and one was left out."""
    cells = [
        cell(LOGIN, "failed"),
        cell(BUY, "passed"),
        cell(CellKey("pay", "fake/a"), "skipped", reason="not run: the time was over"),
    ]
    folder = save_run(tmp_path / "report", cells)
    sign_session(folder, os.getpid(), time.time())
    return folder


def test_a_cell_is_meant_by_its_name_its_node_id_or_its_folder(run: Path) -> None:
    given = [order_run(run, "again", [word], "a test") for word in ("login[fake/a]", BUY.folder)]

    assert [order.value for order in given] == ["login[fake/a]", "buy[fake/a]"]


def test_what_cannot_run_again_is_refused_in_one_sentence(run: Path) -> None:
    def why(word: str) -> str:
        with pytest.raises(SettingsError) as refused:
            order_run(run, "again", [word], "a test")
        return str(refused.value)

    assert "the run has no CELL 'loggin[fake/a]'; did you mean" in why("loggin[fake/a]")
    assert "pay[fake/a] has no result yet (not run: the time was over)" in why("pay[fake/a]")
    (run / BUY.folder / "cell.json").unlink()
    assert "buy[fake/a] has not ended yet" in why("buy[fake/a]")
    order_run(run, "again", ["login[fake/a]"], "a test")
    assert "login[fake/a] was ordered at " in why("login[fake/a]")
    sign_closing(run)
    assert why("login[fake/a]") == "again: the run is about to end, and begins no more cells"
