"""The dashboard's questions have the same answers in SQLite and in Postgres."""

from collections import Counter
from datetime import datetime, timedelta
from pathlib import Path
from random import Random

import pytest
from made_up_run import BEGAN, realistic_cells
from made_up_runs import attempt, call, save, tried
from sqlalchemy import select

from pytest_autoweb.results.analysis.cell_numbers import cell_row, rates_of
from pytest_autoweb.results.analysis.counted_outcomes import GOOD
from pytest_autoweb.results.records import Attempt, CellResult, Classification
from pytest_autoweb.results.records.cell import ArmRun
from pytest_autoweb.store import call_queries, correction_queries, run_queries
from pytest_autoweb.store.database import Store
from pytest_autoweb.store.session_hooks import corrections_so_far
from pytest_autoweb.store.sync import prune, sync_run
from pytest_autoweb.store.tables import AttemptRow, CorrectionRecord

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


def test_counted_corrections_and_the_newest_runs_are_those_of_all_records(
    store: Store, tmp_path: Path
) -> None:
    draw = Random(40)
    for n in range(14):
        # Few moments, so that runs begin at the same one; a run may last until the next day.
        began = BEGAN + timedelta(days=draw.randrange(4))
        cells = [_drawn(draw, f"case {case}", began) for case in range(draw.randrange(1, 7))]
        sync_run(store, save(tmp_path / f"{n}", cells, day=n, started=began))
    prune(store, before=BEGAN + timedelta(hours=1), now=BEGAN)
    since = DAY + timedelta(days=2)
    with store.read() as connection:
        pairs = connection.execute(
            select(
                *(AttemptRow.arm, CorrectionRecord.created_at, CorrectionRecord.is_successful),
                *(AttemptRow.duration_ms, AttemptRow.calls),
            ).join(AttemptRow, AttemptRow.id == CorrectionRecord.id)
        ).all()
        arms = correction_queries.arms(connection, since)
        days = call_queries.days(connection, DAY)
        every = run_queries.trends(connection, since)
        newest = run_queries.trends(connection, since, newest=2)
        runs = run_queries.runs_of_models(connection, since)
        paged = {
            model: [
                point
                for offset in range(0, runs[model] + 2, 2)
                for point in run_queries.trend(connection, since, model, limit=2, offset=offset)
            ]
            for model in runs
        }

    recent = [pair for pair in pairs if pair.created_at.date() >= since]
    assert {arm.arm: (arm.solved.part, arm.solved.n, arm.avg_ms, arm.calls) for arm in arms} == {
        arm: (
            sum(pair.is_successful for pair in own),
            len(own),
            sum(pair.duration_ms for pair in own) / len(own),
            sum(pair.calls for pair in own),
        )
        for arm in {pair.arm for pair in recent}
        if (own := [pair for pair in recent if pair.arm == arm])
    }
    tried_on = Counter(pair.created_at.date() for pair in pairs)
    assert {day.date: day.corrections.n for day in days} == {
        day.date: tried_on[day.date] for day in days
    }
    assert sum(day.corrections.n for day in days) == len(pairs) > len(recent) > 20
    by_model = {model: [one for one in every if one.model == model] for model in runs}
    assert min(runs.values()) > 2
    assert runs == {model: len(points) for model, points in by_model.items()}
    assert newest == tuple(one for one in every if one in by_model[one.model][-2:])
    assert paged == {model: points[::-1] for model, points in by_model.items()}


def _drawn(draw: Random, case_id: str, began: datetime) -> CellResult:
    """A cell whose first attempt failed, and which was corrected in one or two ways."""
    failed = attempt(1, [call("fill", False)], False)
    again = [_corrected(draw) for _ in range(2)]
    beside = ArmRun(arm="constrained", attempts=(again[1],), passed=bool(again[1].checks_passed))
    return tried(
        case_id,
        draw.choice("abc"),
        *(failed, again[0]),
        correction=draw.choice(["off", "plain"]),
        arms=(beside,)[: draw.randrange(2)],
        started=began + timedelta(hours=draw.randrange(30)),
    )


def _corrected(draw: Random) -> Attempt:
    made = attempt(2, [call("fill", True)], draw.choice([True, False]))
    return made.model_copy(update={"duration_ms": float(draw.randrange(1, 9000))})


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
