"""What the result of a cell rests on: what changes it, and what may change without a new run."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from msgspec.structs import replace

from pytest_autoweb.browser.traffic.traffic_rules import TrafficRules
from pytest_autoweb.cell.cell_inputs import Cell
from pytest_autoweb.cell.cell_recording import CellRecording
from pytest_autoweb.cell.cell_setting import CellSetting, setting_of
from pytest_autoweb.cell.checksums import checksums_of
from pytest_autoweb.models.model_spec import ModelSpec
from pytest_autoweb.results.records import OutsideAgent
from pytest_autoweb.settings.run_settings import Settings

SETTINGS: dict[str, Any] = {
    **{
        "visual_supplement": True,
        "max_turns": 3,
        "max_looks": 4,
        "max_decisions": 9,
        "feedback": True,
    },
    **{"locator": "seed", "retries": 2, "correction": ("off",), "questions": "fail"},
    **{"on_step_failure": "stop", "step_timeout": 20.0, "check_timeout": 5.0},
    **{"sandbox": "auto", "browser_sandbox": "auto", "judge_model": ""},
    **{"attack": ()},
}
TRAFFIC = {"traffic": "case", "rootdir": Path(), "traffic_files": Path("traffic")}
MODEL = {"name": "fake/m", "context_tokens": 8000}


def setting(
    case: str = "c1",
    checks: str = "k1",
    mode: str = "ARIA",
    strategy: str = "codegen",
    model: dict[str, Any] | None = None,
    **settings: Any,
) -> CellSetting:
    cell = SimpleNamespace(
        case=SimpleNamespace(
            **{"id": "one", "path": None, "webserver": None, "traffic": TrafficRules()},
            checksum=case,
            checks_checksum=checks,
        ),
        spec=ModelSpec.model_validate({**MODEL, **(model or {})}),
        mode=mode,
        strategy=strategy,
        called=None,
    )
    every = SimpleNamespace(**{**TRAFFIC, **SETTINGS, **settings})
    return setting_of(cast(Cell, cell), cast(Settings, every))


def sums(**what: Any) -> dict[str, str]:
    return checksums_of(setting(**what))


USUAL_SETTING, USUAL = setting(), sums()


def changed(**what: Any) -> list[str]:
    now = sums(**what)
    return [name for name in USUAL if now[name] != USUAL[name]]


def test_the_same_cell_has_the_same_sums_which_say_what_they_are_of() -> None:
    assert sums() == USUAL
    assert USUAL["capture"] == "ARIA/8000"
    assert USUAL["versions"].startswith("pytest-autoweb ")
    assert ", playwright " in USUAL["versions"]
    # A case stands for itself; its checks are also those of this version of the grader.
    assert USUAL["case"] == "c1"
    hashed = [USUAL[name] for name in ("checks", "prompts", "model", "settings")]
    assert [len(each) for each in hashed] == [64] * 4
    assert len(set(hashed)) == 4


@pytest.mark.parametrize(
    ("what", "names"),
    [
        ({"case": "c2"}, ["case"]),
        ({"checks": "k2"}, ["checks"]),
        ({"mode": "RAW_HTML"}, ["capture"]),
        ({"strategy": "act"}, ["prompts"]),
        ({"model": {"context_tokens": 9000}}, ["capture", "model"]),
        ({"model": {"name": "fake/n"}}, ["model"]),
        ({"model": {"max_tokens": 77}}, ["model"]),
        ({"model": {"vision": True}}, ["prompts", "model"]),
        # How a model is called and paid says nothing about what it answers.
        ({"model": {"api_key_env": "KEY", "max_parallel": 9, "timeout": 7}}, []),
        ({"model": {"input_cost_per_mtok": 1, "output_cost_per_mtok": 2}}, []),
        ({"correction": ("off", "reflexion")}, ["prompts", "settings"]),
        *(({name: "other"}, ["settings"]) for name in SETTINGS if name != "correction"),
        # What a run does with its results is no part of them.
        ({"repeat": 3}, []),
    ],
    ids=str,
)
def test_a_sum_changes_with_what_it_is_of(what: dict[str, Any], names: list[str]) -> None:
    assert changed(**what) == names


def test_an_outside_agent_and_a_replayed_recording_have_sums_of_their_own(tmp_path: Path) -> None:
    agent = SimpleNamespace(checksum="a1")
    recording = CellRecording("replay", tmp_path / "none.har")
    other = replace(USUAL_SETTING, agent=cast(OutsideAgent, agent), recording=recording)

    more = checksums_of(other)

    assert {name: more[name] for name in more.keys() - USUAL} == {"agent": "a1", "traffic": "none"}
    assert {name: more[name] for name in USUAL} == USUAL
