"""Which cell `autoweb run rerun` means, and with which flags it runs it."""

import argparse
from pathlib import Path
from typing import Any

import pytest
from made_up_run import CellKey, cell, run_info

from pytest_autoweb.base.errors import SettingsError
from pytest_autoweb.cli.commands.rerun import pytest_flags
from pytest_autoweb.report.named_cells import find_cell
from pytest_autoweb.results.records import CellResult
from pytest_autoweb.results.runs.loaded_run import Run

CELLS = tuple(
    cell(key, nodeid=f"cases/shop.yaml::{key.case_id}[{key.model}]")
    for key in (CellKey("login", "a/x"), CellKey("login", "b/y"), CellKey("cart", "a/x"))
)
ASKED = argparse.Namespace(
    model=None, agent=None, headed=False, pause=False, slow=400, flags=[],
)  # fmt: skip


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run each test in a folder of its own."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / CELLS[2].folder).mkdir(parents=True)
    return tmp_path


@pytest.mark.parametrize("said", ["cart[a/x]", "cart", CELLS[2].folder])
def test_a_cell_is_found_by_its_name_a_part_of_it_or_its_folder(folder: Path, said: str) -> None:
    assert find_cell(CELLS, said, folder) is CELLS[2]


def test_a_cell_is_found_by_the_path_of_its_folder(folder: Path) -> None:
    assert find_cell(CELLS, str(folder / CELLS[2].folder), folder) is CELLS[2]


@pytest.mark.parametrize(
    ("said", "why"),
    [("login", r"2 cells fit 'login'; name one of login\[a/x\]"), ("pay", "no cell of the run")],
)
def test_a_name_that_fits_none_or_several_is_refused(folder: Path, said: str, why: str) -> None:
    with pytest.raises(SettingsError, match=why):
        find_cell(CELLS, said, folder)


def saved(cells: list[CellResult], **about: Any) -> Run:
    """A run of these cells."""
    return Run(Path("autoweb-report"), run_info(cells, **about), tuple(cells), ())


def flags(settings: dict[str, dict[str, Any]], path: str = "shop.yaml", **asked: Any) -> list[str]:
    Path(path).touch()
    here = CELLS[0].model_copy(update={"case_path": path})
    wanted = argparse.Namespace(**{**vars(ASKED), **asked})
    return pytest_flags(here, saved(list(CELLS), settings=settings), wanted)


def test_names_of_a_foreign_run_do_not_steer_the_terminal() -> None:
    hostile = cell(CellKey("login", "a/x"), nodeid="cases/shop.yaml::\x1b[2Jlogin\u202e[a/x]")
    with pytest.raises(
        SettingsError, match=r"no cell of the run fits 'pay'; there are \[2Jlogin\[a/x\]$"
    ):
        find_cell((hostile,), "pay", Path("autoweb-report"))


def test_flags_of_the_run_hold_again_but_not_what_was_about_the_run() -> None:
    given = flags(
        {
            "step_timeout": {"value": 7.0, "source": "flag"},
            "correction": {"value": ["plain", "reflexion"], "source": "env"},
            "visual_supplement": {"value": True, "source": "flag"},
            "check_timeout": {"value": 5.0, "source": "default"},
            "max_repairs": {"value": 2, "source": "ini"},
            "repeat": {"value": 9, "source": "flag"},
            "save": {"value": "nightly", "source": "flag"},
        },
    )
    kept = [flag for flag in given if flag.startswith("--autoweb-")]
    assert kept == [
        "--autoweb-models=a/x",
        "--autoweb-capture=ARIA_SNAPSHOT",
        "--autoweb-agent=codegen",
        "--autoweb-step-timeout=7.0",
        "--autoweb-correction=plain,reflexion",
        "--autoweb-visual-supplement=true",
        "--autoweb-report=autoweb-rerun",
        "--autoweb-stdout",
    ]
    assert given[0] == "shop.yaml::login[a/x]"


@pytest.mark.parametrize("path", ["-pevil.yaml", "@words.yaml"])
def test_a_file_whose_name_pytest_would_take_for_something_else_is_a_file(path: str) -> None:
    assert flags({}, path)[0] == f"./{path}::login[a/x]"


def test_a_run_cannot_make_one_cell_several() -> None:
    Path("shop.yaml").touch()
    both = CELLS[0].model_copy(update={"case_path": "shop.yaml", "model": "a/x,b/y"})
    with pytest.raises(SettingsError, match=r"'a/x,b/y' is several models; name one with --model"):
        pytest_flags(both, saved(list(CELLS)), ASKED)


def test_another_model_a_window_and_flags_of_pytest_may_be_asked_for() -> None:
    asked: dict[str, Any] = {
        "model": "c/z",
        "headed": True,
        "pause": True,
        "slow": 50,
        "flags": ["--tracing=on"],
    }
    given = flags({}, **asked)
    assert given[0].endswith("::login[c/z]")
    shown = {"--headed", "--slowmo=50", "--autoweb-pause"}
    assert {"--autoweb-models=c/z"} | shown < set(given)
    assert given[-1] == "--tracing=on"


def test_a_case_file_that_is_not_here_is_one_sentence() -> None:
    with pytest.raises(SettingsError, match=r"no case file .* here"):
        pytest_flags(CELLS[0], saved(list(CELLS)), ASKED)


@pytest.mark.parametrize(
    "named", [{"strategy": "browser-use"}, {"strategy": "command"}, {"model": "a/x@stagehand"}]
)
def test_a_run_starts_no_outside_agent(named: dict[str, str]) -> None:
    Path("shop.yaml").touch()
    here = CELLS[0].model_copy(update={"case_path": "shop.yaml", **named})
    agent = named.get("strategy", "stagehand")
    with pytest.raises(SettingsError, match=f"names the outside agent '{agent}'.*--agent"):
        pytest_flags(here, saved([here]), ASKED)

    asked = argparse.Namespace(**{**vars(ASKED), "agent": agent, "model": "a/x"})
    assert f"--autoweb-agent={agent}" in pytest_flags(here, saved([here]), asked)


def test_a_cell_is_run_in_the_way_of_writing_that_its_run_had() -> None:
    given = flags({"codegen": {"value": ["once"], "source": "flag"}})
    assert "--autoweb-agent=codegen:once" in given
    stranger = flags({"codegen": {"value": ["once --x"], "source": "flag"}})
    assert "--autoweb-agent=codegen" in stranger


def test_another_agent_takes_the_place_of_the_variant_in_a_models_name() -> None:
    given = flags({}, model="c/z@codegen:once", agent="codegen:refs")
    assert "--autoweb-models=c/z" in given
    assert "--autoweb-agent=codegen:refs" in given
