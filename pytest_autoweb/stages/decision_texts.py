"""The texts of a decision's record: without secrets, and why an action failed in one line."""

from collections.abc import Callable
from typing import Any

from pytest_autoweb.results import Decision, StepResult

_WHY_CHARS = 300


def without_secrets(decision: Decision, redact: Callable[[str], str]) -> Decision:
    """The decision with `redact` applied to what model and page wrote."""
    chosen = tuple(
        one.model_copy(
            update={
                "expected_text": redact(one.expected_text),
                "actual_text": redact(one.actual_text),
                "reason": redact(one.reason),
            }
        )
        for one in decision.chosen
    )
    return decision.model_copy(
        update={
            "url": redact(decision.url),
            "feedback": tuple(map(redact, decision.feedback)),
            "action": _redacted(decision.action, redact),
            "thinking": redact(decision.thinking),
            "chosen": chosen,
            "error": redact(decision.error),
        }
    )


def _redacted(value: Any, redact: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, dict):
        return {key: _redacted(item, redact) for key, item in value.items()}
    return [_redacted(item, redact) for item in value] if isinstance(value, list) else value


def why_failed(result: StepResult) -> str:
    """The first line of the error, and what stood in the way of a click."""
    detail = str(result.failure.evidence.get("detail", "")) if result.failure else ""
    covered = next((line for line in detail.splitlines() if "intercepts pointer" in line), "")
    first = (result.error or "it failed").splitlines()[0]
    return " ".join(f"{first} {covered.strip(' -')}".split())[:_WHY_CHARS]
