"""A run as rows of the tables; pure, and the same rows for the same files, every time."""

import hashlib
import json
import re
from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from pytest_autoweb.agents.correction.failure_types import classify_call, classify_failure
from pytest_autoweb.base.redaction import redact_shapes
from pytest_autoweb.judging.checks.check_type import CHECKS
from pytest_autoweb.results.analysis.cell_numbers import cell_row
from pytest_autoweb.results.analysis.controls import is_control
from pytest_autoweb.results.analysis.decision_facts import is_wrong
from pytest_autoweb.results.records import (
    Attempt,
    CellResult,
    CheckResult,
    Classification,
    Failure,
    ToolCall,
    Usage,
    total_usage,
)
from pytest_autoweb.results.runs.run_folder import RecordedRun
from pytest_autoweb.store import tables

LONGEST = 20_000
"""Limit on the stored characters of a text; the run's own files have the rest."""
_SHORT = 300
"""The same for the text of an element, of which a page may have thousands."""
# Numbers from here on do not fit an integer column of Postgres.
_LARGEST = 2**31


def row_id(*parts: object) -> str:
    """Return the id of the object that the parts identify; equal parts always give the same id."""
    text = json.dumps([str(part) for part in parts])
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def clean(text: str) -> str:
    """Return a text of limited length without NUL and lone surrogates, which Postgres refuses."""
    # UTF-16 joins the two halves of a pair into their character, leaving only lone ones to replace.
    text = (
        text.replace("\0", "\ufffd").encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    )
    return text if len(text) <= LONGEST else text[:LONGEST] + "…"


def clean_value(value: Any) -> Any:
    """Return the value, cleaned if it is a text."""
    return clean(value) if isinstance(value, str) else value


MOST_OF_A_CALL = 2_000
"""Limit on the stored characters of a call's parameter or result."""
MOST_CALLS = 20
"""Limit on the stored calls of a correction."""


def parameter(text: str) -> str:
    """Return a call's parameter or result as stored: redacted, bounded and clean."""
    # Redacted before the cut that counts, because half a key is not recognised as one; this one
    # only bounds the work.
    text = redact_shapes(text[: 4 * MOST_OF_A_CALL])
    return clean(text if len(text) <= MOST_OF_A_CALL else text[:MOST_OF_A_CALL] + "…")


_PART = re.compile(r"(?:^|\.)([a-z_]+)$")
"""The last name of a target that ends without a call, such as `page` or `page.keyboard`."""

_VERDICT = {False: "a check does not hold", None: "no check could be evaluated", True: ""}


class RetriedAttempt(NamedTuple):
    """An attempt that followed a failed one."""

    failed: Attempt
    failed_call: str | None
    """Id of the last failed call of that attempt."""
    attempt: Attempt
    attempt_id: str
    began: datetime


def tool_name(target: str, method: str) -> str:
    """Return the tool name of a call, such as `page.goto`, `keyboard.press` or `locator.click`.

    Args:
        target: the receiver as shown in the report.
        method: the method that was called on it.
    """
    if target.startswith("expect("):
        return f"expect.{method}"[:200]
    part = _PART.search(target)
    return f"{part[1] if part else 'locator'}.{method}"[:200]


def call_rows(attempt: Attempt, attempt_id: str, began: datetime) -> list[dict[str, Any]]:
    """Return rows for the calls that an attempt really performed, in their order."""
    rows = []
    made = [call for call in attempt.tool_calls if not call.replayed]
    last = max((place for place, call in enumerate(made) if _gives_answer(call)), default=None)
    for place, call in enumerate(made):
        word = _word_on_answer(attempt) if place == last else ""
        rows.append({**_row(call, attempt_id, place, began), **({_WORD: word} if word else {})})
        # The moment of a call is not recorded; this estimate keeps the calls in order.
        began += timedelta(milliseconds=call.duration_ms, microseconds=1)
    return rows


_WORD = "validation_result"


def _gives_answer(call: ToolCall) -> bool:
    return call.ok and (call.target, call.method) == ("step", "answer")


def _word_on_answer(attempt: Attempt) -> str:
    """Return what the checks of the answer found; empty if none of them could look at it.

    It is said of the last answer of an attempt, which is the one that counts.
    """
    rests = (each for each in attempt.checks if not each.advisory and each.passed is not None)
    looked = [each for each in rests if _grounds(each) == "answer"]
    if not looked:
        return ""
    wrong = next((each for each in looked if not each.passed), None)
    return clean((wrong.finding or "INVALID") if wrong else "VALID")


def _grounds(check: CheckResult) -> str:
    known = CHECKS.get(check.type)
    return known.rests_on if known else ""


def _row(call: ToolCall, attempt_id: str, place: int, began: datetime) -> dict[str, Any]:
    return {
        "id": row_id(attempt_id, "call", place),
        "session_id": attempt_id,
        "tool_name": clean(tool_name(call.target, call.method)),
        "parameters": _parameters(call),
        "result": _result(call),
        "execution_time_ms": round(call.duration_ms),
        "is_duplicate": call.duplicate,
        "is_corrected": False,
        _WORD: _validation(call),
        "created_at": began,
    }


def _parameters(call: ToolCall) -> dict[str, Any]:
    return {"target": parameter(call.target), "arguments": parameter(call.arguments)}


def _result(call: ToolCall) -> dict[str, Any]:
    found = classify_call(call)
    return {
        "ok": call.ok,
        "value": parameter(call.result) if call.result else None,
        "error": parameter(call.error) if call.error else None,
        "failure_type": found.type if found else None,
        "web_kind": found.web_kind if found else None,
    }


def _validation(call: ToolCall) -> str:
    if not call.ok:
        return "INVALID"
    return "VALID" if call.target.startswith("expect(") else "UNVERIFIED"


def correction_row(retry: RetriedAttempt) -> dict[str, Any]:
    """Return the row of a correction: the reaction to a failure, and whether it helped."""
    failed, attempt, told = retry.failed, retry.attempt, retry.attempt.correction
    known = (told.of if told else None) or failed.classification
    if known is None and failed.failure:
        known = classify_failure(failed.failure)
    solved = attempt.checks_passed is True
    why = attempt.failure.message if attempt.failure else _VERDICT[attempt.checks_passed]
    code = {"code_diff": attempt.code_diff} if attempt.code_diff else {"code": attempt.code}
    made = {_identity(call) for call in failed.tool_calls}
    instead = [c for c in attempt.tool_calls if not c.replayed and _identity(c) not in made]
    return {
        "id": retry.attempt_id,
        "tool_call_id": retry.failed_call,
        "original_error": clean(failed.failure.message if failed.failure else ""),
        "failure_type": known.type if known else "UNKNOWN",
        "recovery_prompt": clean(_recovery_prompt(attempt)),
        "corrected_params": {
            "calls": [
                {"tool_name": clean(tool_name(c.target, c.method)), "ok": c.ok, **_parameters(c)}
                for c in instead[:MOST_CALLS]
            ],
            **{name: clean(redact_shapes(text)) for name, text in code.items()},
        },
        "correction_result": "solved" if solved else clean(f"not solved: {why}"),
        "is_successful": solved,
        "retry_count": told.retry if told else attempt.attempt_index - 1,
        "created_at": retry.began,
    }


def _identity(call: ToolCall) -> tuple[str, str, str]:
    return call.target, call.method, call.arguments


def _recovery_prompt(attempt: Attempt) -> str:
    if attempt.correction and attempt.correction.recovery_prompt:
        return attempt.correction.recovery_prompt
    asked = (e.prompt for e in attempt.exchanges if e.stage in ("repair", "reflect"))
    return next(asked, "")


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
            tables.ChoiceRecord,
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
    failure = _failure(cell)
    kept = type(small).model_fields.keys() & tables.CellRow.__table__.columns.keys()
    return {
        **{name: clean_value(getattr(small, name)) for name in kept},
        "cached_tokens": cell.total_usage.cached_tokens,
        "reasoning_tokens": cell.total_usage.reasoning_tokens,
        "correction": cell.correction,
        "control": is_control(cell.model),
        "reason": clean(cell.reason),
        **_type(failure, _classification(cell, failure)),
        "duration_ms": round(cell.duration_ms),
        "started_at": cell.started,
    }


def _failure(cell: CellResult) -> Failure | None:
    """Return the cell's failure or, if it has none of its own, that of its last attempt."""
    if cell.failure or not cell.attempts or cell.outcome not in ("failed", "broken"):
        return cell.failure
    return cell.attempts[-1].failure


def _classification(cell: CellResult, failure: Failure | None) -> Classification | None:
    """Return the classification that was made when the cell failed, while its page was open."""
    own = (a.classification for a in reversed(cell.attempts) if a.failure == failure)
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
        # An arm run for comparison shares the first attempt, whose rows exist already; it is read
        # again only to find which call the arm's first correction was about.
        shared = line.beside and place == 0
        # The ids of the cell's own attempts leave out the arm, as all ids did before there were
        # arms, because writing an old run again must find its rows.
        names = (arm, attempt.attempt_index) if line.beside and place else (attempt.attempt_index,)
        own = row_id(cell_id, *names)
        calls = [] if control else call_rows(attempt, own, began)
        last_failed = next((row for row in reversed(calls) if not row["result"]["ok"]), None)
        if not shared:
            made_by = {"arm": arm if place else "", "beside": line.beside}
            row = {"id": own, "cell_id": cell_id, **made_by, **_attempt(attempt, began)}
            yield tables.AttemptRow, row
            yield from ((tables.CheckRow, row) for row in _checks(attempt, own))
            if not control:
                yield from ((tables.ChoiceRecord, row) for row in _choices(attempt, own, began))
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


def _choices(attempt: Attempt, attempt_id: str, began: datetime) -> Iterator[Row]:
    """Yield the elements that a model chose; their texts are redacted in the record already."""
    for decision in attempt.decisions:
        for place, chosen in enumerate(decision.chosen):
            yield {
                "id": row_id(attempt_id, "choice", decision.index, place),
                "attempt_id": attempt_id,
                "decision_index": decision.index,
                "phase": clean(decision.phase),
                "mark": chosen.mark if abs(chosen.mark or 0) < _LARGEST else None,
                "kind": clean(chosen.kind)[:_SHORT],
                "expected_text": clean(chosen.expected_text)[:_SHORT],
                "actual_text": clean(chosen.actual_text)[:_SHORT],
                "verdict": chosen.verdict,
                "is_wrong": is_wrong(chosen),
                "confidence": decision.confidence,
                "created_at": began,
            }


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
    # The tables do not record who named a type, so they keep only the rules' result.
    if found and found.by == "model":
        found = found.model_copy(update={"type": found.ruled or "UNKNOWN"})
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
            "finding": clean(check.finding),
            "match_score": check.credit,
            "weight": check.weight,
            "advisory": check.advisory,
        }
