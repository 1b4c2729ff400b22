"""A run as rows of the tables; the same files always give the same rows."""

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from pytest_autoweb.calibrate.classify import classify_failure
from pytest_autoweb.report.controls import is_control
from pytest_autoweb.report.rows import cell_row
from pytest_autoweb.report.run_folder import RecordedRun
from pytest_autoweb.results import Attempt, CellResult, Classification, Failure, Usage, total_usage
from pytest_autoweb.store import tables
from pytest_autoweb.store.calls import RetriedAttempt, call_rows, correction_row
from pytest_autoweb.store.fields import clean, clean_value, row_id

Row = dict[str, Any]


class Rows(NamedTuple):
    """The rows of one run by table; parent tables come before those that refer to them."""

    run: Row
    of_table: dict[type[tables.Base], list[Row]]


def run_id(ts: str, folders: Iterable[str]) -> str:
    """Return the id of a run, made from its `ts` and the folders of its planned cells."""
    return row_id("run", ts, *sorted(folders))


def rows_of(run: RecordedRun, identity: str) -> Rows:
    """Return all rows of a run.

    Args:
        run: the run as read from its folder.
        identity: the id of the run, as `run_id` returns it.
    """
    of_table: dict[type[tables.Base], list[Row]] = {
        table: []
        for table in (
            tables.CellRow,
            tables.AttemptRow,
            tables.CheckRow,
            tables.ToolCallRecord,
            tables.CorrectionRecord,
        )
    }
    for cell in run.cells:
        own = row_id(identity, cell.folder)
        of_table[tables.CellRow].append({"id": own, "run_id": identity, **_cell(cell)})
        for table, row in _below(cell, own):
            of_table[table].append(row)
    return Rows(_run(run, identity), of_table)


def _run(run: RecordedRun, identity: str) -> Row:
    info = run.info
    return {
        "id": identity,
        "ts": clean(info.ts),
        "started_at": info.started,
        "duration_s": info.duration_s,
        "exit_status": info.exit_status,
        "interrupted": info.interrupted,
        "commit": clean(info.environment.get("git", "")),
        "models": [clean(model) for model in info.models],
        "environment": {clean(name): clean(text) for name, text in info.environment.items()},
        "workers": info.workers,
        "folder": clean(str(run.folder.resolve())),
    }


def _cell(cell: CellResult) -> Row:
    small = cell_row(cell)
    kept = type(small).model_fields.keys() & tables.CellRow.__table__.columns.keys()
    return {
        **{name: clean_value(getattr(small, name)) for name in kept},
        "correction": cell.correction,
        "control": is_control(cell.model),
        "reason": clean(cell.reason),
        **_type(cell.failure, _classification(cell)),
        "duration_ms": round(cell.duration_ms),
        "started_at": cell.started,
    }


def _classification(cell: CellResult) -> Classification | None:
    """Return the classification that was made when the cell failed, while its page was open."""
    own = (a.classification for a in reversed(cell.attempts) if a.failure == cell.failure)
    return next(own, None)


def _below(cell: CellResult, cell_id: str) -> Iterator[tuple[type[tables.Base], Row]]:
    """Yield the rows of the cell's own attempts, then those of the arms run for comparison.

    All arms continue from the same first attempt, whose rows are yielded only once.
    """
    first, began = cell.attempts[:1], cell.started
    arms = (cell.correction, *(arm.arm for arm in cell.arms))
    lines = [_Line(False, began, cell.attempts)]
    began += timedelta(milliseconds=sum(attempt.duration_ms for attempt in cell.attempts))
    for arm in cell.arms:
        lines.append(_Line(True, began, (*first, *arm.attempts)))
        began += timedelta(milliseconds=sum(attempt.duration_ms for attempt in arm.attempts))
    for arm_name, line in zip(arms, lines, strict=True):
        yield from _of_line(cell, cell_id, arm_name, line)


class _Line(NamedTuple):
    """A sequence of attempts, each a reaction to the one before."""

    beside: bool
    began: datetime
    """When the first attempt began that belongs to this sequence alone."""
    attempts: tuple[Attempt, ...]
    """The attempts; an arm run for comparison also starts with the cell's first attempt."""


def _of_line(
    cell: CellResult, cell_id: str, arm: str, line: _Line
) -> Iterator[tuple[type[tables.Base], Row]]:
    began, control = line.began, is_control(cell.model)
    failed: tuple[Attempt, str | None] | None = None
    for place, attempt in enumerate(line.attempts):
        # An arm run for comparison shares the first attempt, whose rows exist already; it is
        # looked at again only to know which call the arm's first correction was about.
        shared = line.beside and place == 0
        # The cell's own attempts have ids without the arm: they were so before there were arms,
        # and writing an old run again must find its rows.
        names = (arm, attempt.attempt_index) if line.beside and place else (attempt.attempt_index,)
        own = row_id(cell_id, *names)
        calls = [] if control else call_rows(attempt, own, began)
        last_failed = next((row for row in reversed(calls) if not row["result"]["ok"]), None)
        if not shared:
            made_by = {"arm": arm if place else "", "beside": line.beside}
            row = {"id": own, "cell_id": cell_id, **made_by, **_attempt(attempt, began)}
            yield tables.AttemptRow, row
            yield from ((tables.CheckRow, row) for row in _checks(attempt, own))
            if failed is not None and not control:
                retry = RetriedAttempt(*failed, attempt, own, began)
                yield tables.CorrectionRecord, correction_row(retry)
            retried = attempt is not line.attempts[-1] or (
                place == 0 and any(other.attempts for other in cell.arms)
            )
            if last_failed and retried:
                last_failed["is_corrected"] = True
            yield from ((tables.ToolCallRecord, row) for row in calls)
            began += timedelta(milliseconds=attempt.duration_ms)
        failed = (attempt, last_failed["id"] if last_failed else None)


def _attempt(attempt: Attempt, began: datetime) -> Row:
    usage = sum(total_usage((attempt,)).values(), start=Usage())
    failure = attempt.failure
    return {
        "attempt_index": attempt.attempt_index,
        "repair_attempt": attempt.repair_attempt,
        "executed": attempt.executed,
        "checks_passed": attempt.checks_passed,
        "false_success": attempt.false_success,
        "score": attempt.score,
        "failure_kind": failure.kind if failure else None,
        **_type(failure, attempt.classification),
        "error": clean(failure.message) if failure else "",
        "calls": usage.calls,
        "cost_usd": usage.cost_usd,
        "duration_ms": round(attempt.duration_ms),
        "started_at": began,
    }


def _type(failure: Failure | None, known: Classification | None) -> Row:
    found = (known or classify_failure(failure)) if failure else None
    return {
        "failure_type": found.type if found else None,
        "web_kind": found.web_kind if found else None,
    }


def _checks(attempt: Attempt, attempt_id: str) -> Iterator[Row]:
    for place, check in enumerate(attempt.checks):
        yield {
            "id": row_id(attempt_id, "check", place),
            "attempt_id": attempt_id,
            "check_index": check.index,
            "type": check.type,
            "passed": check.passed,
            "expected": clean(check.expected),
            "actual": clean(check.actual),
            "message": clean(check.message),
            "weight": check.weight,
            "advisory": check.advisory,
        }
