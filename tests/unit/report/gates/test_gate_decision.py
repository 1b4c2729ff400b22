"""A run is judged beside its baseline and earlier runs, and what was decided is kept in files."""

import json
from pathlib import Path

import pytest
from made_up_rows import cells, run
from made_up_run import CellKey, cell, run_info
from msgspec.structs import replace

from pytest_autoweb.base.errors import RunNotFound
from pytest_autoweb.report.gates.built_in_gates import GATES
from pytest_autoweb.report.gates.gate_context import Gate, GateContext, Spending
from pytest_autoweb.report.gates.gate_decision import (
    GateDecision,
    GateInputs,
    decide,
    gate_lines,
    keep,
    read_gate_inputs,
    rows_of,
    why_unfinished,
)
from pytest_autoweb.report.gates.gate_policy import GatePolicy
from pytest_autoweb.report.json_report import load_any
from pytest_autoweb.results.records import CellResult, Outcome
from pytest_autoweb.results.runs.run_folder import NOT_RUN, RecordedRun
from pytest_autoweb.results.runs.saved_runs import save_run
from pytest_autoweb.results.runs.side_files import GateResult

STRICT = GatePolicy(min_pass_rate=100)


def recorded(folder: Path, *outcomes: Outcome, control: Outcome = "failed") -> RecordedRun:
    made: list[CellResult] = [
        cell(CellKey(f"c{number}", "m"), outcome) for number, outcome in enumerate(outcomes)
    ]
    made.append(cell(CellKey("c0", "builtin/noop"), control))
    return RecordedRun(folder, run_info(made), tuple(made))


def files(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_decision_leaves_what_the_report_needs_and_takes_away_what_is_old(
    tmp_path: Path,
) -> None:
    folder, storage = tmp_path / "run", tmp_path / "runs"
    folder.mkdir()
    ours = recorded(folder, "passed", "failed")
    before = run(cells({"c0": "P", "c1": "P"}), day=-1)
    save_run(before, storage)

    alone = decide(ours, GateInputs(STRICT, tmp_path / "none"))
    assert files(folder) == ["gates.json"]
    beside = decide(ours, GateInputs(STRICT, storage, baseline=before))
    assert files(folder) == ["baseline.json", "gates.json", "history.json"]
    assert json.loads((folder / "baseline.json").read_text())["ts"] == before.ts
    free = decide(ours, GateInputs(GatePolicy(), tmp_path / "none"))

    assert files(folder) == []
    assert [(each.failed, each.rows.gates) for each in (alone, beside, free)] == [
        *((True, False), (True, False), (False, None)),
    ]
    assert decide(recorded(folder, "passed"), GateInputs(STRICT, storage)).rows.gates is True


def test_every_gate_may_look_at_the_baseline_earlier_runs_and_the_spending(
    tmp_path: Path,
) -> None:
    before, spending = run(cells({"c0": "P"}), day=-1), Spending(1.5, 2)
    save_run(before, tmp_path / "runs")
    seen: list[GateContext] = []

    def look(context: GateContext) -> tuple[GateResult, ...]:
        seen.append(context)
        return ()

    GATES.register(Gate("looking", "looks", look))
    try:
        ours = recorded(tmp_path, "passed")
        decide(ours, GateInputs(STRICT, tmp_path / "runs", before, ""), spending)
        decide(ours, GateInputs(STRICT, tmp_path / "none", None, "no such run"))
    finally:
        GATES.remove("looking")

    beside, alone = seen
    assert (beside.run, beside.policy) == (rows_of(ours), STRICT)
    assert (beside.baseline, beside.spending) == (before, spending)
    assert beside.history is not None
    assert (alone.baseline, alone.missing, alone.history) == (None, "no such run", None)
    assert alone.spending is None


def test_only_a_gate_that_counts_fails_a_run() -> None:
    soft, hard, unknown = (
        GateResult(name="g", passed=passed, message="", soft=is_soft)
        for passed, is_soft in ((False, True), (False, False), (None, False))
    )
    rows = run(cells({"a": "P"}))

    assert [GateDecision(rows, gates).failed for gates in ((soft, unknown), (soft, hard), ())] == [
        *(False, True, False),
    ]


def test_a_gate_is_told_with_what_it_rests_on_unless_it_passed() -> None:
    def told(passed: bool | None, *, soft: bool = False) -> list[tuple[str, dict[str, bool]]]:
        details = ("because\nof this", "::error::that")
        result = GateResult(name="g", passed=passed, message="why", details=details, soft=soft)
        return gate_lines([result])

    assert told(True) == [("gate passed: g: why", {"green": True})]
    below = [text for text, _ in told(False)[1:]]
    assert below[0] == "  because of this"
    # A CI runner would obey it.
    assert "::error::" not in below[1]
    assert [told(passed)[0] for passed in (False, None)] == [
        ("gate FAILED: g: why", {"red": True}),
        ("gate not decided: g: why", {}),
    ]
    assert told(False, soft=True)[0] == ("soft gate failed: g: why", {"yellow": True})
    assert told(True, soft=True)[0][0].startswith("gate passed")
    assert [len(told(passed)) for passed in (False, None)] == [3, 3]
    result = GateResult(name="g", passed=None, message="x" * 999, details=("x" * 999,))
    assert [len(text) for text, _ in gate_lines([result])] == [400, 402]


@pytest.mark.parametrize(
    ("outcomes", "control", "partial"),
    [
        (("passed", "failed"), "failed", False),
        (("passed", "skipped"), "failed", True),
        (("passed",), "skipped", False),
    ],
)
def test_a_run_whose_cells_were_not_all_run_is_a_part(
    tmp_path: Path, outcomes: tuple[Outcome, ...], control: Outcome, partial: bool
) -> None:
    whole = recorded(tmp_path, *outcomes, control=control)
    stopped = replace(whole, info=whole.info.model_copy(update={"interrupted": True}))

    assert rows_of(whole).interrupted is partial
    assert rows_of(stopped).interrupted is True


UNENDED = "the run did not come to its end: "


@pytest.mark.parametrize(
    ("lost", "changes", "why"),
    [
        (0, {"exit_status": 0}, ""),
        (0, {"exit_status": 1}, ""),
        (2, {"exit_status": 0}, ""),
        (1, {"exit_status": 1}, f"{UNENDED}1 cell never ran"),
        (2, {"exit_status": 1}, f"{UNENDED}2 cells never ran"),
        (0, {"exit_status": 2}, f"{UNENDED}pytest ended with exit code 2"),
        (0, {"exit_status": 3}, f"{UNENDED}pytest ended with exit code 3"),
        (1, {"exit_status": None}, f"{UNENDED}it was killed, or still goes on"),
        (0, {"interrupted": True}, "the run was interrupted before its end"),
    ],
)
def test_a_run_that_did_not_come_to_its_end_says_why(
    tmp_path: Path, lost: int, changes: dict[str, object], why: str
) -> None:
    ran = recorded(tmp_path, "passed", "failed")
    never = tuple(
        cell(CellKey(f"n{number}", "m"), "skipped", reason=NOT_RUN) for number in range(lost)
    )
    info = ran.info.model_copy(update=changes)

    assert why_unfinished(replace(ran, info=info, cells=(*ran.cells, *never))) == why


def test_a_run_without_cells_has_not_come_to_its_end(tmp_path: Path) -> None:
    ran = recorded(tmp_path, "passed")

    assert why_unfinished(replace(ran, cells=())) == "the run has no cells"


def test_a_saved_run_that_cannot_be_read_is_told_and_left_out(tmp_path: Path) -> None:
    folder, storage, notices = tmp_path / "run", tmp_path / "runs", list[str]()
    folder.mkdir()
    path = save_run(run(cells({"c0": "P"}), day=-1), storage)
    path.write_text("{", encoding="utf-8")

    decided = decide(recorded(folder, "passed"), GateInputs(STRICT, storage, notices=notices))

    assert decided.failed is False
    assert files(folder) == ["gates.json"]
    assert [path.name in notice for notice in notices] == [True]


def test_the_run_to_compare_with_is_found_or_said_to_be_missing(tmp_path: Path) -> None:
    before = run(cells({"a": "P"}))
    asked = GatePolicy(compare="latest")

    assert read_gate_inputs(GatePolicy(), tmp_path) == GateInputs(GatePolicy(), tmp_path)
    missing = read_gate_inputs(asked, tmp_path)
    assert missing.baseline is None
    with pytest.raises(RunNotFound) as why:
        load_any("latest", tmp_path)
    assert missing.missing == str(why.value)
    save_run(before, tmp_path)
    found = read_gate_inputs(asked, tmp_path)
    assert (found.baseline, found.missing, found.policy) == (before, "", asked)
    # A run is never compared with itself.
    assert read_gate_inputs(asked, tmp_path, except_ts=before.ts).baseline is None
    (tmp_path / "9999_abc_20991231_235959_000_torn.json").write_text("{")
    for again in (
        read_gate_inputs(asked, tmp_path),
        read_gate_inputs(asked, tmp_path, except_ts=before.ts),
    ):
        assert [("torn.json" in notice) for notice in again.notices] == [True]


@pytest.mark.parametrize(
    ("changes", "name", "autosave", "why"),
    [
        ({}, "", True, ""),
        ({}, "mine", False, ""),
        ({"interrupted": True}, "mine", False, ""),
        ({}, "", False, None),
        ({"rows": ()}, "", False, None),
        ({"rows": ()}, "mine", False, "there are no cells"),
        ({"rows": ()}, "", True, "there are no cells"),
        ({"interrupted": True}, "", True, "it is not run to its end; give it a name"),
        ({"shard": "1/2"}, "", True, "it is a shard; give it a name"),
        ({"shard": "1/2", "interrupted": True}, "", True, "it is a shard; give it a name"),
    ],
)
def test_a_whole_run_is_kept_and_a_part_only_under_a_name(
    tmp_path: Path, changes: dict[str, object], name: str, autosave: bool, why: str | None
) -> None:
    rows = run(cells({"a": "P"})).model_copy(update=changes)

    path, reason = keep(rows, tmp_path, name=name, autosave=autosave)

    if why == "":
        assert path is not None
        assert json.loads(path.read_text())["name"] == name
    else:
        assert (path, files(tmp_path)) == (None, [])
    assert why in reason if why else reason == ""
