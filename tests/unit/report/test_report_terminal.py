from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from made_up_run import CellKey, cell, realistic_cells, run_info

from pytest_autoweb.report.json_report import build_report
from pytest_autoweb.report.terminal import Line, terminal_lines
from pytest_autoweb.report.wording import width
from pytest_autoweb.results import Attempt, CellResult, Failure, PlanStep, StepResult
from pytest_autoweb.runs.run_folder import RecordedRun

PLAN = (PlanStep(index=1), PlanStep(index=2))


def lines_of(*cells: CellResult, **info: Any) -> list[Line]:
    return terminal_lines(build_report(RecordedRun(Path(), run_info(list(cells), **info), cells)))


def text_of(*cells: CellResult) -> str:
    return "\n".join(text for text, _ in lines_of(*cells))


def row_of(result: CellResult) -> str:
    return next(text for text, _ in lines_of(result) if "first=" in text)


def failing(**attempt: Any) -> CellResult:
    return cell(CellKey("a", "m"), "failed", attempts=(Attempt(**attempt),))


def test_a_cell_has_one_line_with_its_first_run_its_repair_and_what_failed() -> None:
    bad = StepResult(step_index=2, ok=False, status="failed")
    first = Attempt(plan_steps=PLAN, step_results=(bad,))
    healed = Attempt(plan_steps=PLAN, executed=True, checks_passed=True, repair_attempt=True)

    row = row_of(cell(CellKey("login", "m"), "healed", attempts=(first, healed)))

    assert row.split() == ["HEALED", "m", "login", "first=failed", "repair=yes", "repaired=ok"]


def test_the_checks_of_an_attempt_decide_and_not_a_step_that_failed_on_the_way() -> None:
    bad = StepResult(step_index=1, ok=False, status="failed")
    passing = Attempt(plan_steps=PLAN, step_results=(bad,), checks_passed=True)

    row = row_of(cell(CellKey("login", "m"), "passed", attempts=(passing,)))

    assert row.split() == ["PASSED", "m", "login", "first=ok", "repair=no"]


def test_failed_steps_are_named_by_number() -> None:
    bad = tuple(StepResult(step_index=i, ok=False, status="failed") for i in (2, 3))

    assert row_of(failing(plan_steps=PLAN, step_results=bad)).endswith("failed: 2, 3")


def test_a_missing_plan_a_stopped_run_and_a_check_have_labels() -> None:
    stopped = row_of(failing(plan_steps=PLAN))
    wrong = row_of(failing(plan_steps=PLAN, executed=True, checks_passed=False))

    assert row_of(failing()).endswith("failed: plan")
    assert row_of(failing(stage_ms={"open": 1, "plan": 1})).endswith("failed: plan")
    assert row_of(failing(stage_ms={"open": 1})).endswith("failed: run")
    assert stopped.endswith("failed: run")
    assert wrong.endswith("failed: check")


def test_a_cell_that_nobody_judged_is_not_called_failed() -> None:
    row = row_of(
        cell(CellKey("a", "m"), "ungraded", attempts=(Attempt(plan_steps=PLAN, executed=True),))
    )

    assert "first=unjudged" in row
    assert "failed" not in row


@settings(deadline=None)
@given(st.text(st.characters(exclude_categories=()), min_size=1))
def test_foreign_text_can_neither_steer_the_terminal_nor_break_lines(text: str) -> None:
    lines = lines_of(cell(CellKey(text, text), "failed", reason=text))

    for line, _ in lines:
        assert not any(ord(c) < 32 or 127 <= ord(c) < 160 for c in line)
        assert not set("\u202a\u202e\u2066\u2069\u2028") & set(line)


def test_columns_line_up_for_wide_characters() -> None:
    lines = lines_of(cell(CellKey("结账", "m")), cell(CellKey("abc", "m")))

    starts = {width(line.split("first=")[0]) for line, _ in lines if "first=" in line}
    assert len(starts) == 1


def test_many_cells_show_only_those_that_did_not_pass() -> None:
    cells = [cell(CellKey(f"c{i}", "m"), "failed" if i == 70 else "passed") for i in range(100)]

    rows = [line for line, _ in lines_of(*cells) if "first=" in line]

    assert len(rows) == 1
    assert "c70" in rows[0]


def test_models_controls_and_verdict_are_summed_up() -> None:
    text = text_of(*realistic_cells())

    assert "first attempt (95%)" in text
    assert "Not decisive" in text
    assert "controls hold in all 12 cases" in text
    assert "builtin/oracle" not in text


def test_a_control_in_doubt_is_red() -> None:
    noop = cell(CellKey("a", "builtin/noop"), "passed", attempts=(Attempt(checks_passed=True),))

    (line,) = ((t, m) for t, m in lines_of(noop) if "in doubt" in t)

    assert line == (
        "control in doubt: a: "
        "doing nothing passes every check, so a pass of this case proves nothing",
        {"red": True},
    )


def test_a_run_of_controls_alone_lists_them() -> None:
    oracle = cell(CellKey("a", "builtin/oracle"), attempts=(Attempt(executed=True),))

    assert "builtin/oracle" in text_of(oracle)


def test_the_control_that_fails_as_it_should_is_no_loss() -> None:
    noop = cell(CellKey("a", "builtin/noop"), "failed", attempts=(Attempt(checks_passed=False),))

    ((row, markup),) = ((t, m) for t, m in lines_of(noop) if "first=" in t)

    assert row.startswith("HOLDS")
    assert markup == {}
    assert "did not pass" not in text_of(noop)
    assert "controls hold in the one case" in text_of(noop)


def test_a_question_is_no_failure_of_the_plan() -> None:
    asked = Attempt(failure=Failure(kind="question", message="which?"))
    row = row_of(cell(CellKey("a", "m"), "needs_input", attempts=(asked,)))

    assert "first=asked" in row
    assert "failed" not in row


def test_what_infrastructure_broke_has_no_verdict() -> None:
    lost = Attempt(plan_steps=PLAN, failure=Failure(kind="browser", message="the browser died"))
    wrong = Attempt(plan_steps=PLAN, executed=True, checks_passed=False)

    broken = row_of(cell(CellKey("a", "m"), "broken", attempts=(lost,)))
    repair = row_of(cell(CellKey("a", "m"), "failed", attempts=(wrong, lost)))

    assert broken.split()[:5] == ["BROKEN", "m", "a", "first=-", "repair=no"]
    assert repair.split()[3:6] == ["first=failed", "repair=yes", "repaired=-"]


def test_an_empty_run_says_so() -> None:
    assert "no cells were run" in text_of()
