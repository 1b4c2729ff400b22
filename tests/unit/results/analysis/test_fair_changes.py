"""Cells under changes of the page that say nothing of a model: they are left out, and counted."""

from typing import Any

from made_up_rows import cases, row, run

from pytest_autoweb.report.wording import robustness_text
from pytest_autoweb.results.analysis.fair_changes import fair_cells
from pytest_autoweb.results.analysis.robustness import robustness_of

ORACLE = "builtin/oracle@error-once"


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
