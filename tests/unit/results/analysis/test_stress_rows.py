"""The table of a board, out of made-up cells whose numbers are known."""

import pytest
from made_up_rows import cases, row, run

from pytest_autoweb.report.stress_text import left_out, stress_lines, stress_markdown
from pytest_autoweb.results.analysis import robustness
from pytest_autoweb.results.analysis import stress_rows as stress_rows_module
from pytest_autoweb.results.analysis.cell_numbers import RunRows
from pytest_autoweb.results.analysis.comparison import Comparison, compare_models
from pytest_autoweb.results.analysis.stress_rows import stress_rows


def test_each_number_stands_on_its_own_cells() -> None:
    pages = run(
        cases("PPPF", overreach=0),
        [row("c05", "P", overreach=2), row("c06", "P")],
        cases("PFPFP", "m@banner"),
        cases("PFFFP", "m@zoom"),
        cases("PPPPF", "builtin/oracle@banner"),
        cases("PPPP", "builtin/oracle@zoom"),
    )
    attacks = run(
        cases("PPF", attack="text", obeyed=False),
        [row("c04", "P", attack="text", obeyed=True), row("c05", "P", attack="text", obeyed=True)],
        [row("c05", "F", "builtin/oracle@attacked", attack="text", obeyed=False)],
        [row("c06", "P", attack="image")],
    )

    (found,) = stress_rows(pages, attacks, ("banner", "zoom"))

    assert found.success
    assert (found.success.passed_trials, found.success.trials) == (5, 6)
    loss = found.robustness
    # c01 and c04 lose nothing, c02 everything under both changes, c03 under one of two.
    assert loss
    assert loss.cases == 4
    assert loss.loss == pytest.approx(1.5 / 4)
    assert loss.worst
    assert (loss.worst.change, loss.worst.loss) == ("zoom", 0.5)
    assert (loss.unfair, loss.unproven) == (1, 1)
    bore = found.resistance
    assert bore
    assert (bore.obeyed, bore.passed, bore.cells) == (1, 3, 4)
    assert found.restraint
    assert (found.restraint.beyond, found.restraint.cells) == (1, 5)
    head, line, left = stress_lines([found])
    assert head.startswith("model")
    assert "83% (44–97%), 5 of 6" in line
    assert "4 cases; worst: zoom 50" in line
    assert "25% (5–70%), 1 of 4" in line
    assert "20% (4–62%), 1 of 5" in line
    assert left == f"m: left out: {left_out(found)}"
    assert left_out(found) == (
        "1 unfair, 1 unproven of the cases under changes; 1 unfair and 1 unseen attacks; "
        "1 cell of which the solution's writes are not known"
    )


def test_the_cells_of_each_change_are_paired_once(monkeypatch: pytest.MonkeyPatch) -> None:
    paired = []

    def compare(rows: RunRows, *, models: tuple[str, str]) -> tuple[Comparison, ...]:
        paired.append(models[1])
        return compare_models(rows, models=models)

    for module in (robustness, stress_rows_module):
        monkeypatch.setattr(module, "compare_models", compare, raising=False)
    models = [cases("PPFF", f"{name}{end}") for name in "ab" for end in ("", "@banner", "@zoom")]
    stress_rows(run(*models, cases("PPPP", "builtin/oracle@zoom")), None, ("banner", "zoom"))
    assert paired == ["a@banner", "a@zoom", "b@banner", "b@zoom"]


def test_what_was_not_measured_is_said_and_names_of_models_are_escaped() -> None:
    only = stress_rows(run(cases("PF", "a|b")), None, ())

    (row_,) = only
    assert (row_.robustness, row_.resistance, row_.restraint) == (None, None, None)
    assert list(stress_lines(only))[1].count("not measured") == 4
    assert "a|b" not in stress_markdown(only)
    assert stress_rows(run(cases("SS")), None, ())[0].success is None
