"""Cells under changes of the page that say nothing of a model: they are left out, and counted."""

from pathlib import Path
from typing import Any

import pytest
from made_up_rows import cases, row, run

from pytest_autoweb.base.errors import SettingsError
from pytest_autoweb.models.named_specs import load_specs
from pytest_autoweb.report.wording import robustness_text
from pytest_autoweb.results.analysis.cell_numbers import CellSummary
from pytest_autoweb.results.analysis.fair_changes import fair_cells
from pytest_autoweb.results.analysis.resistance import resistance_of, unfair_attacks
from pytest_autoweb.results.analysis.robustness import robustness_of
from pytest_autoweb.results.analysis.stress_rows import stress_rows

ORACLE = "builtin/oracle@error-once"


def test_on_attacked_pages_the_oracle_proves_each_attack_under_each_change() -> None:
    def met(model: str, letters: str, repeat: int, **more: Any) -> list[CellSummary]:
        facts = {"repeat": repeat, "attack": "text", "obeyed": False, **more}
        return [row(f"c{n:02}", letter, model, **facts) for n, letter in enumerate(letters, 1)]

    rows = run(
        *(met("m", "PP", repeat) for repeat in (1, 2)),
        *(met("m@zoom", "FP", repeat, obeyed=True) for repeat in (1, 2)),
        *(met("builtin/oracle@attacked", "PP", repeat) for repeat in (1, 2)),
        met("builtin/oracle@zoom", "PF", 1),
        met("builtin/oracle@zoom", "PP", 2),
    )

    kept = [(r.case_id, r.repeat) for r in fair_cells(rows.rows) if r.model == "m@zoom"]
    assert kept == [("c01", 1), ("c01", 2), ("c02", 2)]
    (found,) = robustness_of(rows, ("zoom",))
    assert (found.cases, found.loss, found.unfair) == (2, 0.5, ("c02",))
    # Nor does what the oracle cannot bear under the change say anything of the unchanged page.
    unfair = unfair_attacks(rows.rows)
    bore = {
        model: resistance_of([r for r in rows.rows if r.model == model], unfair)
        for model in ("m", "m@zoom")
    }
    assert [one and (one.cells, one.obeyed, one.unfair) for one in bore.values()] == [
        (4, 0, 0),
        (3, 3, 1),
    ]


def test_a_model_whose_own_name_ends_in_a_change_is_not_changed() -> None:
    rows = run(cases("PP"), cases("FF", "m@slow", page_change=""))

    assert list(robustness_of(rows, ("slow",))) == []
    assert len(fair_cells(rows.rows)) == 4
    assert [row.model for row in stress_rows(rows, None, ("slow",))] == ["m", "m@slow"]
    # Its name counts in rows of earlier versions only.
    (found,) = robustness_of(run(cases("PP"), cases("FF", "m@slow")), ("slow",))
    assert found.unproven == ("c01", "c02")


def test_a_model_that_takes_the_name_of_another_one_under_a_change_is_refused(
    tmp_path: Path,
) -> None:
    own = tmp_path / "models.yaml"
    own.write_text("models: {m@slow: {model: openai/m}, m@zoom: {perturb: zoom}}")

    assert load_specs(["m@slow"], models_file=own)["m@slow"].perturb == ""
    assert load_specs(["m", "m@zoom"], models_file=own)["m@zoom"].perturb == "zoom"
    with pytest.raises(SettingsError, match="'m@slow': this is m under the change of the page"):
        load_specs(["m", "m@slow"], models_file=own)


def test_a_cell_in_which_nothing_went_wrong_is_no_proof_that_a_model_bears_it() -> None:
    struck: dict[str, Any] = {"model": "m@error-once", "met_change": True}
    missed: dict[str, Any] = {"model": "m@error-once", "met_change": False}
    rows = run(
        cases("PPPPP"),
        [row("c01", "F", **struck), row("c02", "P", **struck), row("c03", "P", **missed)],
        # The oracle itself was not struck, or not done, where models were.
        [row("c04", "P", **struck), row("c05", "F", **missed)],
        [row(case, "P", ORACLE, met_change=True) for case in ("c01", "c02", "c03")],
        [row("c04", "P", ORACLE, met_change=False), row("c05", "F", ORACLE, met_change=True)],
    )

    (found,) = robustness_of(rows, ("error-once",))
    assert (found.cases, found.loss) == (2, 0.5)
    assert (found.unfair, found.unproven) == ((), ("c04",))
    assert found.never_met == ("c03", "c05")
    assert robustness_text(found).endswith("1 unproven, left out; 2 never met, left out")
    kept = [cell.case_id for cell in fair_cells(rows.rows) if cell.model == struck["model"]]
    assert kept == ["c01", "c02"]
