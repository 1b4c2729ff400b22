"""The dashboard's questions have the same answers in SQLite and in Postgres."""

from datetime import timedelta
from pathlib import Path

import pytest
from made_up_run import BEGAN, realistic_cells
from made_up_runs import attempt, call, save, tried

from pytest_autoweb.results.analysis.cell_numbers import cell_row, rates_of
from pytest_autoweb.results.analysis.counted_outcomes import GOOD
from pytest_autoweb.results.records import Classification
from pytest_autoweb.results.records.cell import ArmRun
from pytest_autoweb.store import call_queries, correction_queries, run_queries
from pytest_autoweb.store.database import Store
from pytest_autoweb.store.session_hooks import corrections_so_far
from pytest_autoweb.store.sync import sync_run

DAY = BEGAN.date()


def test_questions_about_calls_are_answered(store: Store, tmp_path: Path) -> None:
    first = attempt(1, [call("click", True), call("fill", False, ms=30)], False)
    cells = [tried("one", "m", first, attempt(2, [call("fill", True)], True))]
    run = sync_run(store, save(tmp_path / "run", cells)).run_id
    target = {"target": "page.get_by_role('button')"}
    with store.read() as connection:
        (failure,) = call_queries.failure_counts(connection, DAY)
        (arm,) = correction_queries.arms(connection, DAY)
        total = call_queries.together(call_queries.days(connection, DAY))
        tools = call_queries.ranking(connection)
        same = call_queries.precedent(connection, "locator.fill", target, run)
        none = call_queries.precedent(connection, "locator.fill", {"arguments": "other\0"})
        nothing = call_queries.failure_counts(connection, DAY + timedelta(days=1))

    assert (failure.failure_type, failure.web_kind) == ("PARAMETER_ERROR", "strict_mode")
    assert (failure.count, failure.share) == (1, 1.0)
    assert (arm.arm, arm.solved.value, arm.avg_ms, arm.calls) == ("off", 1.0, 1000.0, 1)
    assert (total.calls, total.failures.part, total.corrections.n) == (3, 1, 1)
    assert [(tool.tool_name, tool.avg_execution_time) for tool in tools] == [
        ("locator.click", 10.0),
        ("locator.fill", 20.0),
    ]
    assert (same.same_call.part, same.same_call.n) == (1, 2)
    assert (none.same_call.value, none.same_tool.n) == (None, 2)
    assert nothing == ()


def test_the_cause_of_a_cell_is_not_the_symptom_of_its_call(store: Store, tmp_path: Path) -> None:
    failed = attempt(1, [call("click", False)], False).model_copy(
        update={"classification": Classification(type="SERVICE_UNAVAILABLE", by="evidence")}
    )
    sync_run(store, save(tmp_path / "run", [tried("one", "m", failed)]))
    with store.read() as connection:
        (symptom,) = call_queries.failure_counts(connection, DAY)
        (cause,) = run_queries.causes(connection, DAY)
        (run,) = run_queries.runs(connection)
        (point,) = run_queries.trends(connection, DAY)
        later = run_queries.causes(connection, DAY + timedelta(days=1))

    assert (symptom.failure_type, symptom.count) == ("PARAMETER_ERROR", 1)
    assert (cause.failure_type, cause.count) == ("SERVICE_UNAVAILABLE", 1)
    assert run.failure_types == point.failure_types == {"SERVICE_UNAVAILABLE": 1}
    assert later == ()


def test_a_trend_has_the_rates_of_the_runs_own_report(store: Store, tmp_path: Path) -> None:
    cells = realistic_cells()
    sync_run(store, save(tmp_path / "run", cells))
    with store.read() as connection:
        points = run_queries.trends(connection, DAY)
        (run,) = run_queries.runs(connection, model="openai/gpt-5-mini")

    rows = {point.model: [cell_row(c) for c in cells if c.model == point.model] for point in points}
    assert len(points) == 3
    rates = {model: rates_of(own, GOOD["first_attempt"]) for model, own in rows.items()}
    assert {point.model: (point.pass_rate, point.pass_interval) for point in points} == {
        model: (rate.all_trials.value, rate.all_trials.interval) for model, rate in rates.items()
    }
    assert run.passed == sum(
        row.outcome in ("passed", "healed") for own in rows.values() for row in own
    )


def test_arms_run_for_comparison_are_stored_beside_and_remembered_by_how_often_they_helped(
    store: Store, store_url: str, tmp_path: Path
) -> None:
    first = attempt(1, [call("fill", False)], False)
    again = attempt(2, [call("click", True)], False)
    better = attempt(2, [call("click", True), call("fill", True)], True)
    beside = ArmRun(arm="constrained", attempts=(better,), passed=True)
    cells = [
        tried(f"case {n}", "m", first, again, correction="plain", arms=(beside,)) for n in range(3)
    ]
    told = sync_run(store, save(tmp_path / "run", cells))
    with store.read() as connection:
        (one, *_) = run_queries.cells(connection, told.run_id)
        shown = run_queries.cell(connection, one["id"])
        by_arm = {arm.arm: arm.solved for arm in correction_queries.arms(connection, DAY)}
        past = {
            (arm, last): correction_queries.past_corrections(connection, "m", arm, last)
            for arm, last in (("plain", 100), ("constrained", 2), ("reflexion", 100))
        }
        other = correction_queries.past_corrections(connection, "other", "plain", 100)

    assert shown is not None
    assert [(each["arm"], each["beside"]) for each in shown["attempts"]] == [
        ("", False),
        ("plain", False),
        ("constrained", True),
    ]
    last = shown["attempts"][2]
    assert (len(last["tool_calls"]), last["correction"]["is_successful"]) == (2, True)
    assert last["correction"]["tool_call_id"] == shown["attempts"][0]["tool_calls"][0]["id"]
    assert shown["outcome"] == "failed"
    assert {arm: (share.part, share.n) for arm, share in by_arm.items()} == {
        "constrained": (3, 3),
        "plain": (0, 3),
    }
    assert past == {
        ("plain", 100): {"VALIDATION_ERROR": (0, 3)},
        ("constrained", 2): {"VALIDATION_ERROR": (2, 2)},
        ("reflexion", 100): {},
    }
    assert other == {}
    assert corrections_so_far(store_url, tmp_path, "m", "plain", 2) == {"VALIDATION_ERROR": (0, 2)}


def test_a_store_that_cannot_say_whether_corrections_helped_stops_none(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "runs.db").write_text("these are notes, not a database " * 100)

    assert corrections_so_far("sqlite:///runs.db", tmp_path, "m", "plain", 100) == {}
    assert "runs.db: file is not a database" in caplog.text
