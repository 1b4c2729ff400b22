"""Which model answered, and whether the provider changed it: made-up runs."""

from pathlib import Path
from typing import Any

import pytest
from made_up_rows import cases, run
from made_up_run import CellKey, cell, run_info

from pytest_autoweb.base.errors import SettingsError
from pytest_autoweb.report.gates.gate_decision import evaluate_gates
from pytest_autoweb.report.gates.gate_policy import GatePolicy, compared_by_default, read_limits
from pytest_autoweb.report.json_report import build_report
from pytest_autoweb.report.markdown import render_markdown
from pytest_autoweb.report.terminal import terminal_lines
from pytest_autoweb.results.analysis.cell_numbers import RunRows
from pytest_autoweb.results.analysis.comparison import compare_models, compare_runs
from pytest_autoweb.results.analysis.served import changes_of_run, served_of, served_text
from pytest_autoweb.results.records import ServedModel
from pytest_autoweb.results.runs.run_folder import RecordedRun


def by(name: str, fingerprint: str = "", calls: int = 2) -> tuple[ServedModel, ...]:
    return (ServedModel(served=name, fingerprint=fingerprint, calls=calls),)


def answered(*served: tuple[ServedModel, ...], model: str = "m", day: int = 0) -> RunRows:
    """A run of a cell for each given answer."""
    rows = cases("P" * len(served), model)
    told = [row.model_copy(update={"served": each}) for row, each in zip(rows, served, strict=True)]
    return run(told, day=day)


def test_calls_are_counted_by_name_and_fingerprint() -> None:
    rows = answered(by("m-1", "fp_a"), by("m-1", "fp_b", 3), by("m-1", "fp_a")).rows

    found = served_of(rows)

    assert [(each.fingerprint, each.calls) for each in found] == [("fp_a", 4), ("fp_b", 3)]
    assert served_text(found) == "m-1 (fp_a), m-1 (fp_b)"


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        (by("m-1"), by("m-1"), ""),
        (by("m-1"), by("m-2"), "it answered as m-1 (2 calls), and now m-2 (2 calls)"),
        (by("m-1", "fp_a"), by("m-1", "fp_b"), "with the fingerprint fp_a (2 calls), and now fp_b"),
        # A change of name says more than one of the fingerprint that goes with it.
        (by("m-1", "fp_a"), by("m-2", "fp_b"), "it answered as m-1 (2 calls), and now m-2"),
        # What was not told is no change.
        (by("m-1", ""), by("m-1", "fp_b"), ""),
        ((), by("m-2"), ""),
        # Several configurations side by side are in use again.
        ((*by("m-1", "fp_a"), *by("m-1", "fp_b")), by("m-1", "fp_b"), ""),
    ],
)
def test_a_change_between_two_runs(
    before: tuple[ServedModel, ...], after: tuple[ServedModel, ...], told: str
) -> None:
    old, new = answered(before), answered(after, day=1)

    (sentences,) = changes_of_run(new, old).values()
    notes = compare_runs(old, new)[0].notes

    assert bool(sentences) == bool(told)
    assert told in " ".join(sentences)
    assert any("under the same name" in note for note in notes[:2]) == bool(told or len(before) > 1)


def test_a_change_within_a_run_is_told_wherever_the_run_is_compared() -> None:
    changed = answered(by("m-1"), by("m-2"))
    sentence = (
        "the provider changed the model under the same name: within one run it answered as m-1 (2 "
        "calls) and m-2 (2 calls)"
    )

    other = answered(by("n-1"), by("n-1"), model="n")
    (pair,) = compare_models(changed.model_copy(update={"rows": (*changed.rows, *other.rows)}))

    assert changes_of_run(changed) == {"m": (sentence,)}
    assert f"m: {sentence}." in pair.notes
    assert [each.served for each in pair.b.served] == ["n-1"]


def test_another_model_of_the_later_run_is_no_change_under_the_same_name() -> None:
    old, new = answered(by("m-1")), answered(by("n-1"), model="n", day=1)

    (pair,) = compare_runs(old, new, models=[("m", "n")])

    assert not any("same name" in note for note in pair.notes)


def gate(rows: RunRows, baseline: RunRows | None = None) -> Any:
    policy = GatePolicy(limits=read_limits("served:same", "x"))
    results = evaluate_gates(rows, policy, baseline=baseline)
    return next(result for result in results if result.name == "served")


def test_the_gate_fails_on_a_change_and_decides_nothing_where_nothing_is_told() -> None:
    same, other = answered(by("m-1")), answered(by("m-2"), day=1)

    assert gate(same).passed is True
    assert gate(other, same).passed is False
    assert "it answered as m-1 (2 calls), and now m-2 (2 calls)" in gate(other, same).message
    assert gate(answered(by("m-1", "a"), by("m-1", "b"))).passed is False
    assert gate(answered(())).passed is None


def test_the_gate_is_written_with_one_word_and_looks_at_the_latest_run() -> None:
    assert read_limits("served:same,cost:5%", "x") == {"served": 0.0, "cost": 5.0}
    assert compared_by_default("served:same") == "latest"
    with pytest.raises(SettingsError, match="can only be 'served:same'"):
        read_limits("served:5%", "x")


def test_a_saved_run_keeps_what_answered() -> None:
    rows = answered(by("m-1", "fp_a"))

    again = RunRows.model_validate_json(rows.model_dump_json())

    assert again.rows[0].served == by("m-1", "fp_a")


def test_the_report_says_it_in_every_form() -> None:
    cells = [
        cell(CellKey(name, "m"), served=by(answer, "fp_a"))
        for name, answer in (("one", "m-1"), ("two", "m-2"))
    ]
    run_read = RecordedRun(folder=Path("r"), info=run_info(cells), cells=tuple(cells), notes=())

    report = build_report(run_read)

    sentence = "m: the provider changed the model under the same name: within one run it answered"
    assert report.summary is not None
    assert [each.served for each in report.summary.models[0].served] == ["m-1", "m-2"]
    assert any(note.startswith(sentence) for note in report.notes)
    assert any(line.startswith(sentence) for line, _ in terminal_lines(report))
    assert sentence in render_markdown(report)
