"""What decisions amount to, and the numbers of a verifier whose truth is known."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from made_up_decisions import DECISIONS, sight_cell
from made_up_run import CellKey, cell, save_run

from benchmarks.verifier_facts import ChoiceTrial, gain, verifier_facts
from pytest_autoweb.report.write import write_report
from pytest_autoweb.results.analysis.decision_facts import chose_right, decision_facts, reliability
from pytest_autoweb.results.records import Attempt

sys.path.append(str(Path(__file__).parents[4] / "benchmarks" / "recompute"))

import cell_amounts  # type: ignore[import-not-found]
import recompute  # type: ignore[import-not-found]


def test_statuses_verdicts_and_retries_are_counted_for_each_model() -> None:
    other = sight_cell("fake/other", attempts=sight_cell().attempts * 2)

    first, second = decision_facts([sight_cell(), cell(CellKey("a", "codegen")), other])

    assert first.model == "fake/seeing"
    assert (first.decisions, first.performed, first.refused) == (5, 2, 1)
    assert (first.failed, first.invalid) == (1, 1)
    assert (first.match, first.mismatch, first.unverifiable) == (1, 2, 1)
    assert (first.overridden, first.second_looks) == (1, 1)
    assert (first.retries, first.retries_performed) == (1, 1)
    assert [(kind.kind, kind.wrong, kind.chosen) for kind in first.kinds] == [
        ("button", 2, 3),
        ("textbox", 0, 1),
    ]
    assert (second.decisions, second.retries) == (10, 2)


def stored(attempt: Attempt) -> dict[str, Any]:
    """A cell of the model `m` as the report has it."""
    return {"model": "m", "attempts": [attempt.model_dump(mode="json")]}


def test_refusals_do_not_count_circles_and_giving_up() -> None:
    refused = DECISIONS[0]
    turns = [
        refused,
        DECISIONS[2],
        *(refused.model_copy(update={"refused_for": why}) for why in ("circle", "gave_up")),
        refused.model_copy(update={"refused_for": "choice"}),
    ]
    attempt = sight_cell().attempts[0].model_copy(update={"decisions": tuple(turns)})

    [facts] = decision_facts([sight_cell(attempts=(attempt,))])

    assert (facts.decisions, facts.refused, facts.circles, facts.gave_up) == (5, 2, 1, 1)
    assert (facts.retries, facts.retries_performed) == (1, 1)
    assert {
        name: value
        for name, value in cell_amounts.decisions("m", [stored(attempt)]).items()
        if name in ("refused", "circles", "gave_up", "retries")
    } == {"refused": 2, "circles": 1, "gave_up": 1, "retries": 1}


def test_controls_and_other_strategies_have_no_facts() -> None:
    assert decision_facts([cell(CellKey("a", "m")), sight_cell("builtin/oracle")]) == ()


def test_a_choice_is_right_when_its_number_fits_and_unknown_without_a_text() -> None:
    assert [chose_right(decision) for decision in DECISIONS] == [False, False, True, None, None]


def test_confidence_is_held_against_the_outcome() -> None:
    facts = reliability([(1.0, True), (0.95, False), (0.25, False), (0.2, True)])

    # (0 + 0.9025 + 0.0625 + 0.64) / 4, and two bins of two: |0.975 - 0.5| and |0.225 - 0.5|.
    assert facts.n == 4
    assert facts.brier == pytest.approx(0.40125)
    assert facts.ece == pytest.approx((0.475 + 0.275) / 2)
    assert [(b.low, b.high, b.n, b.right) for b in facts.bins] == [
        (0.2, pytest.approx(0.3), 2, 0.5),
        (0.9, 1.0, 2, 0.5),
    ]


def test_no_confidence_is_no_data_and_not_a_perfect_score() -> None:
    facts = reliability([])

    assert (facts.n, facts.brier, facts.ece, facts.bins) == (0, None, None, ())


def report_in(folder: Path) -> dict[str, Any]:
    save_run(folder, [sight_cell(), sight_cell("fake/other")])
    write_report(folder, max_chars=8_000_000)
    report: dict[str, Any] = json.loads((folder / "report.json").read_text())
    return report


def test_the_facts_in_the_report_are_recomputed_from_its_decisions(tmp_path: Path) -> None:
    report = report_in(tmp_path)
    again = recompute.recompute(report)

    said = report["decision_facts"]
    checked = [path for path, *_ in recompute.compare(said, again["decision_facts"])]
    wrong = [
        path for path, same, *_ in recompute.compare(said, again["decision_facts"]) if not same
    ]
    assert wrong == []
    assert set(recompute.leaves(said)) <= set(checked)


def test_a_changed_fact_is_found(tmp_path: Path) -> None:
    report = report_in(tmp_path)
    report["decision_facts"][1]["reliability"]["brier"] += 0.01
    report["decision_facts"][0]["overridden"] += 1

    results = recompute.compare(report, recompute.recompute(report))

    assert [path for path, same, *_ in results if not same] == [
        "decision_facts[0].overridden",
        "decision_facts[1].reliability.brier",
    ]


def trial(
    performed: Any, *, wrong: bool = False, differs: bool = True, text: bool = True
) -> ChoiceTrial:
    return ChoiceTrial(wrong=wrong, distinguishable=differs, has_text=text, performed=performed)


def test_a_verifier_is_rated_on_what_text_can_tell_apart() -> None:
    facts = verifier_facts(
        [
            trial("right"),
            trial("nothing"),
            trial("asked", differs=False),
            trial("nothing", text=False),
            trial("nothing", wrong=True),
            trial("right", wrong=True),
            trial("wrong", wrong=True),
            trial("wrong", wrong=True, differs=False),
        ]
    )

    assert facts.trials == 8
    assert (facts.caught.count, facts.caught.n) == (2, 3)
    assert (facts.set_right.count, facts.set_right.n) == (1, 3)
    assert (facts.false_alarms.count, facts.false_alarms.n) == (1, 3)
    assert (facts.missed_alike.count, facts.missed_alike.n) == (1, 1)
    assert facts.caught.interval is not None
    assert facts.caught.interval.low < 2 / 3 < facts.caught.interval.high


def test_a_share_of_nothing_is_no_share() -> None:
    facts = verifier_facts([])

    assert (facts.caught.value, facts.caught.interval) == (None, None)


def test_the_gain_is_tested_in_pairs() -> None:
    facts = gain([(True, False)] * 8 + [(True, True)] * 10 + [(False, False)] * 2)

    assert (facts.solved_with, facts.solved_without, facts.only_with, facts.only_without) == (
        *(18, 10),
        *(8, 0),
    )
    assert facts.difference == pytest.approx(0.4)
    assert facts.p == pytest.approx(2 / 2**8)
    assert gain([]).difference is None
