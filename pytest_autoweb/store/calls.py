"""Table rows of tool calls and corrections."""

import re
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from pytest_autoweb.calibrate.classify import classify_call, classify_failure
from pytest_autoweb.results import Attempt, ToolCall
from pytest_autoweb.store.fields import clean, row_id

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
    for place, call in enumerate(call for call in attempt.tool_calls if not call.replayed):
        rows.append(_row(call, attempt_id, place, began))
        # The moment of a call is not recorded; this estimate keeps the calls in order.
        began += timedelta(milliseconds=call.duration_ms, microseconds=1)
    return rows


def _row(call: ToolCall, attempt_id: str, place: int, began: datetime) -> dict[str, Any]:
    return {
        "id": row_id(attempt_id, "call", place),
        "session_id": attempt_id,
        "tool_name": clean(tool_name(call.target, call.method)),
        "parameters": {"target": clean(call.target), "arguments": clean(call.arguments)},
        "result": _result(call),
        "execution_time_ms": round(call.duration_ms),
        "is_duplicate": call.duplicate,
        "is_corrected": False,
        "validation_result": _validation(call),
        "created_at": began,
    }


def _result(call: ToolCall) -> dict[str, Any]:
    found = classify_call(call)
    return {
        "ok": call.ok,
        "error": clean(call.error) if call.error else None,
        "failure_type": found.type if found else None,
        "web_kind": found.web_kind if found else None,
    }


def _validation(call: ToolCall) -> str:
    if not call.ok:
        return "INVALID"
    return "VALID" if call.target.startswith("expect(") else "UNVERIFIED"


def correction_row(retry: RetriedAttempt) -> dict[str, Any]:
    """Return the row about a correction: what was tried after a failure, and whether it helped."""
    failed, attempt, told = retry.failed, retry.attempt, retry.attempt.correction
    known = (told.of if told else None) or failed.classification
    if known is None and failed.failure:
        known = classify_failure(failed.failure)
    solved = attempt.checks_passed is True
    why = attempt.failure.message if attempt.failure else _VERDICT[attempt.checks_passed]
    code = {"code_diff": attempt.code_diff} if attempt.code_diff else {"code": attempt.code}
    return {
        "id": retry.attempt_id,
        "tool_call_id": retry.failed_call,
        "original_error": clean(failed.failure.message if failed.failure else ""),
        "failure_type": known.type if known else "UNKNOWN",
        "recovery_prompt": clean(_recovery_prompt(attempt)),
        "corrected_params": {name: clean(text) for name, text in code.items()},
        "correction_result": "solved" if solved else clean(f"not solved: {why}"),
        "is_successful": solved,
        "retry_count": told.retry if told else attempt.attempt_index - 1,
        "created_at": retry.began,
    }


def _recovery_prompt(attempt: Attempt) -> str:
    if attempt.correction and attempt.correction.recovery_prompt:
        return attempt.correction.recovery_prompt
    asked = (e.prompt for e in attempt.exchanges if e.stage in ("repair", "reflect"))
    return next(asked, "")
