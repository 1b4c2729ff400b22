from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_up_run import CellKey, cell, realistic_cells, run_info

from pytest_autoweb.report.json_report import build_report
from pytest_autoweb.report.junit_properties import junit_properties
from pytest_autoweb.report.markdown import escape, render_markdown
from pytest_autoweb.report.terminal import Line, terminal_lines
from pytest_autoweb.report.wording import width
from pytest_autoweb.results.records import (
    Attempt,
    CellResult,
    CheckResult,
    Failure,
    PlanStep,
    StepResult,
    Usage,
)
from pytest_autoweb.results.runs.run_folder import RecordedRun

OUTCOMES = ("PASSED", "HEALED", "FAILED", "BROKEN", "UNGRADED", "NEEDS_INPUT", "HOLDS")
PLAN = (PlanStep(index=1), PlanStep(index=2))


def lines_of(*cells: CellResult, **info: Any) -> list[Line]:
    return terminal_lines(build_report(RecordedRun(Path(), run_info(list(cells), **info), cells)))


def text_of(*cells: CellResult) -> str:
    return "\n".join(text for text, _ in lines_of(*cells))


def row_of(result: CellResult) -> str:
    return next(text for text, _ in lines_of(result) if text.startswith(OUTCOMES))


def failing(**attempt: Any) -> CellResult:
    return cell(CellKey("a", "m"), "failed", attempts=(Attempt(**attempt),))


def test_a_cell_has_one_line_with_its_first_run_its_repair_and_what_failed() -> None:
    bad = StepResult(step_index=2, ok=False, status="failed")
    first = Attempt(plan_steps=PLAN, step_results=(bad,))
    healed = Attempt(plan_steps=PLAN, executed=True, checks_passed=True, repair_attempt=True)

    row = row_of(cell(CellKey("login", "m"), "healed", attempts=(first, healed)))

    assert row.split() == ["HEALED", "m", "login", "first=failed", "repair=yes", "repaired=ok"]


@pytest.mark.parametrize(
    ("passes", "says"),
    [
        (1, "takes 1 call, 30 tokens, 1.5 s, 1 action, $0 (the only one)"),
        (2, "takes 1 call, 30 tokens, 1.5 s, 1 action, $0 (medians of 2)"),
        (
            6,
            "takes 1 (1–1) calls, 30 (30–30) tokens, 1.5 s (1.5 s–1.5 s), 1 (1–1) actions, "
            "$0 ($0–$0) (medians of 6 with 95% intervals)",
        ),
    ],
)
def test_what_a_pass_took_is_told_in_words_that_fit_the_numbers(passes: int, says: str) -> None:
    usage = {"generate": Usage(calls=1, input_tokens=20, output_tokens=10)}
    attempts = (Attempt(executed=True, checks_passed=True, actions=1),)
    cells = [
        cell(CellKey(f"case-{at}", "m"), attempts=attempts, usage=usage) for at in range(passes)
    ]

    assert f"a pass of m {says}" in text_of(*cells).splitlines()


def test_the_checks_of_an_attempt_decide_and_not_a_step_that_failed_on_the_way() -> None:
    bad = StepResult(step_index=1, ok=False, status="failed")
    passing = Attempt(plan_steps=PLAN, step_results=(bad,), checks_passed=True)

    row = row_of(cell(CellKey("login", "m"), "passed", attempts=(passing,)))

    assert row.split() == ["PASSED", "m", "login"]


def test_what_failed_is_told_in_the_first_words_of_the_reason() -> None:
    saw = CheckResult(index=1, type="sql", passed=False, expected="Incident", actual="Code_Defect")
    unmet = Failure(kind="check", message="check 1 (sql) does not hold: expected Incident, saw …")
    step = Failure(kind="step", message="TimeoutError: no button 'Start'", step_index=2)
    plan = Failure(kind="plan", message="the reply holds no plan steps")
    given = {
        "check 2 sql: saw Code_Defect": (unmet, Attempt(failure=unmet, checks=(saw,))),
        "step 2: TimeoutError: no button 'Start'": (step, Attempt(failure=step)),
        "the reply holds no plan steps": (plan, Attempt(failure=plan)),
    }

    for words, (failure, attempt) in given.items():
        result = cell(
            CellKey("a", "m"),
            "failed",
            reason=failure.message,
            failure=failure,
            attempts=(attempt,),
        )
        assert row_of(result).split(maxsplit=3) == ["FAILED", "m", "a", words]
        assert dict(junit_properties(result))["autoweb.failed"] == words
        report = build_report(RecordedRun(Path(), run_info([result]), (result,)))
        assert f"- a on m: failed: {escape(words)}" in render_markdown(report)


def test_a_check_decides_though_the_repair_broke() -> None:
    saw = CheckResult(index=0, type="text", passed=False, expected="Hi", actual="")
    unmet = Failure(kind="check", message="check 1 (text) does not hold: expected Hi, saw ")
    lost = Attempt(failure=Failure(kind="model", message="timeout"))

    row = row_of(
        cell(
            CellKey("a", "m"),
            "failed",
            failure=unmet,
            attempts=(Attempt(failure=unmet, checks=(saw,)), lost),
        )
    )

    assert row.endswith("first=failed  repair=yes  repaired=-  check 1 text: not met")


def unchecked(model: str, case_id: str, *attempts: Attempt) -> CellResult:
    ran = attempts[-1].executed
    failure = None if ran else Failure(kind="step", message="no such button", step_index=2)
    return cell(
        CellKey(case_id, model),
        "ungraded" if ran else "failed",
        attempts=attempts,
        without_checks=True,
        failure=failure,
        reason="the case has no checks" if failure is None else failure.message,
    )


def test_cases_without_checks_are_told_by_their_execution_and_compared_on_it_alone() -> None:
    cells = [
        *(unchecked("good", f"c{n}", Attempt(executed=True)) for n in range(6)),
        *(unchecked("bad", f"c{n}", Attempt(), Attempt(executed=n == 0)) for n in range(6)),
    ]

    report = build_report(RecordedRun(Path(), run_info(cells), tuple(cells)))
    lines = [text for text, _ in terminal_lines(report)]
    page = render_markdown(report)

    ran = ["UNGRADED", "good", "c0", "every", "step", "ran", "(no", "proof)"]
    assert ran in [line.split() for line in lines]
    assert any(line.endswith("step 2: no such button") for line in lines)
    told = "good: every step ran in 100% (61–100%), 6 of 6"
    assert told in lines
    assert f"- {escape(told)}" in page
    assert any(
        line.startswith("bad: every step ran in 0% (0–39%), 0 of 6; after repair") for line in lines
    )
    verdict = (
        "good against bad: Execution only, no proof: good runs every step more often: 100% "
        "against 0%"
    )
    assert any(line.startswith(verdict) for line in lines)
    assert sum("6 cases have no checks" in line and "docs/checks.md" in line for line in lines) == 1
    rows = [line.split() for line in lines if line.startswith(("good  ", "bad  "))]
    assert all(row[1:5] == ["no", "checks", "no", "checks"] for row in rows)
    assert not any("Nothing to compare" in line for line in lines)
    assert "❔ every step ran (no proof)" in page
    assert report.execution
    (pair,) = report.execution.comparisons
    assert (pair.metric, pair.decisive, pair.gained + pair.lost) == ("executed", True, 6)
    assert not any(each.cases for each in report.comparisons)


def test_execution_is_told_only_of_cases_without_checks_and_is_in_no_rate() -> None:
    cells = [
        unchecked("m", "free", Attempt(executed=True)),
        cell(CellKey("held", "m"), "failed", attempts=(Attempt(executed=True),)),
    ]

    report = build_report(RecordedRun(Path(), run_info(cells), tuple(cells)))
    text = "\n".join(text for text, _ in terminal_lines(report))

    assert "m: every step ran in 100% (21–100%), 1 of 1" in text
    assert "0% (0–66%), 0 of 2" in text
    assert report.execution
    assert report.execution.cases == 1
    whole = [cells[1]]
    alone = build_report(RecordedRun(Path(), run_info(whole), tuple(whole)))
    assert alone.execution is None
    assert "no checks" not in render_markdown(alone)


@settings(deadline=None)
@given(st.text(st.characters(exclude_categories=()), min_size=1))
def test_foreign_text_can_neither_steer_the_terminal_nor_break_lines(text: str) -> None:
    lines = lines_of(cell(CellKey(text, text), "failed", reason=text))

    for line, _ in lines:
        assert not any(ord(c) < 32 or 127 <= ord(c) < 160 for c in line)
        assert not set("\u202a\u202e\u2066\u2069\u2028") & set(line)


def test_columns_line_up_for_wide_characters() -> None:
    shown = [cell(CellKey(name, "m"), "failed", reason="x y") for name in ("结账", "abc")]
    lines = lines_of(*shown)

    starts = {width(line.split("x ")[0]) for line, _ in lines if line.startswith(OUTCOMES)}
    assert len(starts) == 1


def test_many_cells_show_only_those_that_did_not_pass() -> None:
    cells = [cell(CellKey(f"c{i}", "m"), "failed" if i == 70 else "passed") for i in range(100)]

    rows = [line for line, _ in lines_of(*cells) if line.startswith(OUTCOMES)]

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

    ((row, markup),) = ((t, m) for t, m in lines_of(noop) if t.startswith(OUTCOMES))

    assert row.split() == ["HOLDS", "builtin/noop", "a"]
    assert markup == {}
    assert "did not pass" not in text_of(noop)
    assert "controls hold in the one case" in text_of(noop)


def test_a_question_is_no_failure_of_the_plan() -> None:
    asked = Attempt(failure=Failure(kind="question", message="which?"))
    row = row_of(cell(CellKey("a", "m"), "needs_input", reason="which?", attempts=(asked,)))

    assert row.split() == ["NEEDS_INPUT", "m", "a", "which?"]


def test_what_infrastructure_broke_has_no_verdict() -> None:
    lost = Attempt(plan_steps=PLAN, failure=Failure(kind="browser", message="the browser died"))
    wrong = Attempt(plan_steps=PLAN, executed=True, checks_passed=False)

    broken = row_of(cell(CellKey("a", "m"), "broken", reason="it died", attempts=(lost,)))
    repair = row_of(cell(CellKey("a", "m"), "failed", attempts=(wrong, lost)))

    assert broken.split()[:5] == ["BROKEN", "m", "a", "it", "died"]
    assert repair.split()[3:6] == ["first=failed", "repair=yes", "repaired=-"]


def test_an_empty_run_says_so() -> None:
    assert "no cells were run" in text_of()
