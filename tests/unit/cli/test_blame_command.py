"""`autoweb run blame` before it runs anything: which runs are meant, and what the arms lack."""

import json
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from made_up_run import BEGAN, CellKey, cell, save_run

from pytest_autoweb.base.errors import SettingsError
from pytest_autoweb.cli.command_line import main
from pytest_autoweb.models.cassettes import Cassette, cassette_path, write_cassette
from pytest_autoweb.report.json_report import load_any
from pytest_autoweb.results.analysis.blaming import Factor
from pytest_autoweb.results.analysis.controls import ORACLE
from pytest_autoweb.results.records import CellResult, Failure, Outcome, Usage
from pytest_autoweb.results.runs.loaded_run import load_run
from pytest_autoweb.tools.verify.blame_arms import ArmsOrder, PlannedArm, planned_arms, run_arm

CASES = """
version: 1
defaults: {entry_url: http://127.0.0.1:9/, user_task: Press the only button.}
cases:
  - {id: both, expect: [{text: x}], oracle: "# Step 1\\npage.reload()"}
  - {id: replies, expect: [{text: x}], oracle: "# Step 1\\npage.reload()"}
  - {id: traffic, expect: [{text: x}]}
"""
IDS = ("both", "replies", "traffic")
SETTINGS = {
    "cassettes": {"value": "cases/cassettes", "source": "default"},
    "traffic_files": {"value": "cases/traffic", "source": "default"},
    "record_mode": {"value": "off", "source": "default"},
    "traffic": {"value": "case", "source": "default"},
    "models": {"value": ["m"], "source": "flag"},
    "sandbox": {"value": "off", "source": "flag"},
    "max_turns": {"value": 9, "source": "flag"},
    "base_url": {"value": "http://127.0.0.1:8000/", "source": "flag"},
}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two runs of three cases: `old` and `new`, which is a day later and worse."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "cases").mkdir()
    (tmp_path / "cases/shop.yaml").write_text(CASES)
    save_run(tmp_path / "old", made_up("passed"), ts="20261120_093000_000", settings=SETTINGS)
    saved_later(tmp_path)
    for case_id in ("both", "replies"):
        recorded(tmp_path, case_id, "2026-11-20")
    for case_id in ("both", "traffic"):
        file = tmp_path / f"cases/traffic/shop/{case_id}.har"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("{}")
    return tmp_path


def made_up(outcome: Outcome, model: str = "m", **changes: Any) -> list[CellResult]:
    return [cell(CellKey(each, model), outcome, **changes) for each in IDS]


def saved_later(folder: Path, **settings: str) -> None:
    given = {name: {"value": value, "source": "flag"} for name, value in settings.items()}
    started = BEGAN + timedelta(days=1)
    save_run(folder / "new", made_up("failed"), settings=SETTINGS | given, started=started)


def recorded(folder: Path, case_id: str, day: str) -> None:
    path = cassette_path(folder / "cases/cassettes", "m", case_id)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_cassette(path, Cassette(model="m", case=case_id, recorded=day))


def order(folder: Path, *same: Factor, more: tuple[str, ...] = ()) -> ArmsOrder:
    return ArmsOrder(
        old=load_any(str(folder / "old"), folder / ".autoweb"),
        new=load_any(str(folder / "new"), folder / ".autoweb"),
        info=load_run(folder / "new").info,
        model="m",
        rootdir=folder,
        run_folder=folder / "new",
        output=folder / "arms",
        more=more,
        same=frozenset(same),
    )


def ids(arm: PlannedArm) -> tuple[list[str], list[str]]:
    return [case.id for case in arm.cases], [case.id for case in arm.oracle]


def lacking(arm: PlannedArm) -> dict[str, tuple[str, ...]]:
    return {missing.what.partition(":")[0]: missing.cases for missing in arm.missing}


def test_each_arm_runs_the_cases_that_were_recorded_and_names_the_others(project: Path) -> None:
    arms = {arm.name: arm for arm in planned_arms(order(project))}

    assert ids(arms["replies_recorded"]) == (["both"], ["both"])
    assert ids(arms["replies_live"]) == (["both", "replies"], ["both", "replies"])
    assert ids(arms["model_recorded"]) == (["both", "traffic"], [])
    assert lacking(arms["replies_recorded"]) == {
        "no recorded replies": ("traffic",),
        "no recorded site": ("replies",),
        "no oracle": ("traffic",),
    }
    assert lacking(arms["model_recorded"]) == {"no recorded site": ("replies",)}


def test_the_arms_hold_still_what_their_names_say(project: Path) -> None:
    found = order(project)

    live, recorded_site, model = (
        found.settings(name, ["m"])
        for name in ("replies_live", "replies_recorded", "model_recorded")
    )

    told = [(each["record_mode"], each["traffic"]) for each in (live, recorded_site, model)]
    assert told == [("place", "off"), ("place", "replay"), ("off", "replay")]
    assert (live["max_turns"], live["max_repairs"], live["models"]) == ("9", "0", "m")
    # Flags of other plugins are no settings, and a run may come from anyone.
    assert found.flags == ("--base-url=http://127.0.0.1:8000/",)
    assert found.taken.left == ("--autoweb-sandbox=off",)


def test_recordings_of_the_later_time_are_not_those_of_the_earlier_run(project: Path) -> None:
    recorded(project, "both", "2031-01-01")
    late = lacking(planned_arms(order(project))[0])
    saved_later(project, record_mode="all", traffic="record")
    over = lacking(planned_arms(order(project))[0])

    assert late["the replies were recorded on 2031-01-01, after the later run"] == ("both",)
    assert over["the later run recorded its own replies over the earlier ones"] == IDS
    assert over["the later run recorded the site as it is now over the earlier recording"] == IDS


def test_what_cannot_have_changed_needs_no_arm(project: Path) -> None:
    assert [arm.name for arm in planned_arms(order(project, "app"))] == ["replies_recorded"]


def test_an_outside_agent_is_started_only_if_it_is_named(project: Path) -> None:
    save_run(project / "new", made_up("failed", strategy="browser-use"), settings=SETTINGS)

    with pytest.raises(SettingsError, match="names the outside agent 'browser-use'"):
        planned_arms(order(project))
    assert len(planned_arms(order(project, more=("--autoweb-agent=browser-use",)))) == 3


def test_a_run_that_lost_nothing_is_not_run_again(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", "blame", "new", "old"]) == 0

    output = capsys.readouterr()
    assert "Nothing to blame: 0 lost and 3 gained of 3 cases" in output.out
    assert output.err == ""
    assert not (project / "autoweb-blame").exists()


def test_the_document_has_the_verdict_and_what_the_records_say(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", "blame", "new", "old", "--json"]) == 0

    found = json.loads(capsys.readouterr().out)

    assert found["format"] == "pytest-autoweb/blame"
    assert found["blame"]["answer"] == "nothing to blame"
    assert found["records"]["harness"] == ["the same"]
    assert found["arms"][0]["name"] == "old"


def test_a_model_has_to_be_named_where_both_runs_have_several(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("two", "more"):
        save_run(project / name, made_up("passed") + made_up("passed", "n"), settings=SETTINGS)

    assert main(["run", "blame", "two", "more"]) == 4
    assert "name one model with --model; both runs have m" in capsys.readouterr().err
    assert main(["run", "blame", "two", "more", "--model", "mm"]) == 4
    assert "not both runs have 'mm'" in capsys.readouterr().err


def played(folder: Path, *changed: CellResult) -> Any:
    """Return what stands for a session of pytest: it leaves these cells in the arm's folder."""
    commands: list[Sequence[str]] = []

    def start(command: Sequence[str], rootdir: Path) -> int:
        commands.append(command)
        (report,) = (each for each in command if each.startswith("--autoweb-report="))
        save_run(Path(report.partition("=")[2]), list(changed), ts="20261122_093000_000")
        return 1

    start.commands = commands  # type: ignore[attr-defined]
    return start


def lost(case_id: str, replayed: int) -> CellResult:
    failure = Failure(kind="model", message="no recording for model m")
    usage = {"generate": Usage(calls=2, replayed_calls=replayed)}
    key = CellKey(case_id, "m")
    return cell(key, "broken", failure=failure, usage=usage, traffic="replayed")


def test_replies_that_end_too_early_have_failed_and_a_live_cell_is_none_of_a_replay(
    project: Path,
) -> None:
    for case_id in IDS:
        recorded(project, case_id, "2026-11-20")
        (project / f"cases/traffic/shop/{case_id}.har").write_text("{}")
    found = order(project)
    arm = planned_arms(found)[0]
    start = played(
        project,
        lost("both", replayed=1),
        lost("replies", replayed=0),
        cell(CellKey("traffic", "m"), "passed"),
        cell(CellKey("both", ORACLE), "passed", traffic="replayed"),
    )

    rows = run_arm(found, arm, start)
    again = run_arm(found, arm, start)

    assert rows is not None
    told = [(row.case_id, row.model, row.outcome) for row in rows.rows]
    assert told == [("both", "m", "failed"), ("both", ORACLE, "passed")]
    # What was run for the same two runs is read again.
    assert again == rows
    (command,) = start.commands
    assert {"--autoweb-record-mode=place", "--autoweb-traffic=replay"} <= {*command}
    assert command[-2] == "--base-url=http://127.0.0.1:8000/"


def test_an_arm_without_cases_is_not_run(project: Path) -> None:
    found = order(project)

    assert run_arm(found, PlannedArm("model_recorded", (), (), ()), played(project)) is None
