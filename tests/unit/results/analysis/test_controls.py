"""What the controls of a case prove, over repeats, versions of the case, and a later look."""

from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

import pytest
from made_up_run import CellKey, cell, save_run

from pytest_autoweb.report.write import write_report
from pytest_autoweb.results.analysis.cell_numbers import cell_row
from pytest_autoweb.results.analysis.controls import (
    OTHER_VERSION,
    ControlRow,
    broken_controls,
    control_rows,
    is_control,
    must_fail,
    with_later_controls,
)
from pytest_autoweb.results.records import Attempt, CellResult, Outcome
from pytest_autoweb.results.runs.run_folder import read_run


def controls(
    case: str, oracle: list[Outcome], noop: list[Outcome], checksum: str = ""
) -> list[CellResult]:
    return [
        cell(
            CellKey(case, f"builtin/{name}", repeat=repeat),
            outcome,
            attempts=(Attempt(checks_passed=outcome == "passed", score=0.0),),
            checksums={"case": checksum} if checksum else {},
        )
        for name, outcomes in (("oracle", oracle), ("noop", noop))
        for repeat, outcome in enumerate(outcomes, 1)
    ]


def row_of(*cells: CellResult) -> ControlRow:
    (row,) = control_rows(cells)
    assert row == control_rows([cell_row(one) for one in cells])[0].model_copy(
        update={"reason": row.reason}
    )
    return row


@pytest.mark.parametrize(
    ("oracle", "noop", "states", "held"),
    [
        (["passed"] * 3, ["failed"] * 3, ("holds", "holds"), (3, 3)),
        (["passed", "failed", "passed"], ["failed"] * 3, ("broken", "holds"), (2, 3)),
        (["passed"] * 3, ["failed", "failed", "passed"], ("holds", "broken"), (3, 2)),
        (["passed", "broken", "passed"], ["failed"] * 3, ("unproven", "holds"), (2, 3)),
        (["broken", "failed", "passed"], ["ungraded"], ("broken", "unproven"), (1, 0)),
        (["skipped"], ["failed"] * 3, ("unproven", "holds"), (0, 3)),
    ],
)
def test_one_repeat_that_fails_breaks_a_control_and_one_without_a_verdict_leaves_it_unproven(
    oracle: list[Outcome],
    noop: list[Outcome],
    states: tuple[str, str],
    held: tuple[int, int],
) -> None:
    row = row_of(*controls("a", oracle, noop))

    assert (row.oracle, row.noop) == states
    assert (row.oracle_held, row.noop_held) == held
    assert (row.oracle_runs, row.noop_runs) == (len(oracle), len(noop))
    assert bool(row.reason) == (states != ("holds", "holds"))


@pytest.mark.parametrize("swapped", [False, True])
def test_the_reason_is_that_of_the_worst_control(swapped: bool) -> None:
    unproven, broken = controls("a", ["broken"], ["passed"])
    both = [broken, unproven] if swapped else [unproven, broken]

    assert control_rows(both)[0].reason == control_rows([broken])[0].reason
    assert control_rows([unproven])[0].reason != control_rows([broken])[0].reason


def test_only_broken_controls_keep_a_case_out() -> None:
    rows = control_rows(
        [
            *controls("sound", ["passed"], ["failed"]),
            *controls("unproven", ["broken"], ["failed"]),
            *controls("weak", ["passed"], ["passed"]),
        ]
    )

    assert [row.case_id for row in rows] == ["weak", "unproven", "sound"]
    assert broken_controls(rows) == {("cases/shop.yaml", "weak")}


def test_controls_of_another_version_of_the_case_prove_nothing() -> None:
    contestant = cell(CellKey("a", "m"), checksums={"case": "now"})

    same = row_of(*controls("a", ["passed"], ["failed"], "now"), contestant)
    other = row_of(*controls("a", ["passed"], ["failed"], "then"), contestant)

    assert (same.oracle, same.noop) == ("holds", "holds")
    assert (other.oracle, other.noop) == ("unproven", "unproven")
    assert other.reason == OTHER_VERSION


def test_a_checksum_that_only_one_side_has_proves_no_difference() -> None:
    contestants = [
        cell(CellKey("a", "m"), checksums={"case": "now"}),
        cell(CellKey("a", "n"), checksums={}),
    ]

    assert row_of(*controls("a", ["passed"], ["failed"]), *contestants).oracle == "holds"
    for name in ("case", "checks"):
        (told, _) = controls("a", ["passed"], ["failed"])
        control = told.model_copy(update={"checksums": {"case": "now", name: "then"}})
        judged = cell(CellKey("a", "o"), checksums={"case": "now", "checks": "now"})
        assert row_of(control, judged).oracle == "unproven"


@pytest.mark.parametrize(
    ("oracle", "noop", "reason"),
    [
        ("healed", "failed", "builtin/oracle: made-up reason"),
        ("failed", "passed", "builtin/oracle: made-up reason"),
        ("broken", "passed", "doing nothing passes every check, so a pass of this case proves"),
        ("passed", "healed", "doing nothing passes every check, so a pass of this case proves"),
        ("passed", "broken", "builtin/noop: made-up reason"),
    ],
)
def test_the_worst_of_the_controls_gives_the_reason(
    oracle: Outcome, noop: Outcome, reason: str
) -> None:
    (row,) = control_rows(controls("a", [oracle], [noop]))

    assert row.reason.startswith(reason)


@pytest.mark.parametrize(
    ("attempts", "state"),
    [
        ((Attempt(checks_passed=False, score=0.0),), "holds"),
        ((Attempt(checks_passed=True), Attempt(checks_passed=False, score=0.0)), "holds"),
        ((Attempt(checks_passed=False, score=0.0), Attempt(checks_passed=None)), "unproven"),
        ((), "unproven"),
    ],
)
def test_doing_nothing_that_failed_before_it_was_judged_proves_nothing(
    attempts: tuple[Attempt, ...], state: str
) -> None:
    (row,) = control_rows([cell(CellKey("a", "builtin/noop"), "failed", attempts=attempts)])

    assert (row.noop, row.oracle) == (state, None)


def test_changed_solutions_are_controls_that_say_nothing_about_the_case() -> None:
    mutants = [cell(CellKey("a", f"builtin/mutant-{n}"), "passed") for n in (1, 2)]

    assert [is_control(model) for model in ("builtin/mutant-1", "builtin/noop", "m")] == [
        *(True, True, False),
    ]
    assert [must_fail(f"builtin/{name}") for name in ("mutant-1", "noop", "oracle")] == [
        *(True, True, False),
    ]
    assert not must_fail("m")
    (row,) = control_rows([*controls("a", ["passed"], ["failed"]), *mutants])
    assert (row.oracle, row.noop, row.oracle_runs, row.noop_runs) == ("holds", "holds", 1, 1)


def test_controls_run_later_replace_those_of_the_same_cases_alone() -> None:
    def told(cells: Iterable[CellResult]) -> list[tuple[str, str, str]]:
        return [(one.case_id, one.model, one.outcome) for one in cells]

    own = controls("a", ["failed"], ["failed"]) + controls("b", ["passed"], [])
    contestant = cell(CellKey("a", "m"))
    later = controls("a", ["passed"], []) + controls("stranger", ["passed"], [])

    assert told(with_later_controls([*own, contestant], later)) == [
        ("b", "builtin/oracle", "passed"),
        ("a", "m", "passed"),
        ("a", "builtin/oracle", "passed"),
    ]


def test_controls_run_later_stand_in_for_the_run_s_own_and_are_linked(tmp_path: Path) -> None:
    own = [*controls("a", ["failed"], ["failed"]), *controls("b", ["passed"], ["failed"])]
    contestants = [cell(CellKey(case, "m")) for case in "ab"]
    save_run(tmp_path / "run", [*own, *contestants])
    later = [*controls("a", ["passed"], ["failed"]), *controls("stranger", ["passed"], ["failed"])]
    save_run(tmp_path / "run" / "controls", later, started=datetime.now(UTC))

    report = write_report(tmp_path / "run", max_chars=8_000_000)

    assert report.summary is not None
    assert {row.case_id: row.oracle for row in report.summary.controls} == {
        "a": "holds",
        "b": "holds",
    }
    folders = [one.folder for one in read_run(tmp_path / "run").cells if one.case_id == "a"]
    assert "controls/cells/a/builtin-oracle-" in " ".join(folders)
    assert all((tmp_path / "run" / folder / "cell.json").is_file() for folder in folders)
