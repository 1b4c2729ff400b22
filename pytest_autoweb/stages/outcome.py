"""What the attempts of a cell come to."""

from pytest_autoweb.results import Attempt, Failure, FailureKind, Outcome

BROKEN: frozenset[FailureKind] = frozenset(
    {"model", "navigation", "browser", "webserver", "internal", "killed"}
)
"""Failures of the infrastructure: they say nothing about how well the model drives the page."""


def settle(attempts: list[Attempt], *, has_checks: bool) -> tuple[Outcome, str, Failure | None]:
    """Outcome, one-line reason and failure of a cell, from its attempts.

    Checks alone make a cell pass. A repair that broke down does not undo the verdict on the first
    attempt, and a case without checks is never more than `ungraded`.
    """
    last, failure = attempts[-1], attempts[-1].failure
    if last.checks_passed:
        return ("passed", "", None) if len(attempts) == 1 else ("healed", "", None)
    reason = failure.message if failure else ""
    if failure and failure.kind in BROKEN:
        if len(attempts) == 1:
            return "broken", reason, failure
        first = attempts[-2].failure
        return "failed", f"{first.message if first else ''} (the repair broke: {reason})", first
    if not has_checks:
        if last.executed:
            return "ungraded", "the case has no checks", None
        return "failed", reason, failure
    if last.checks and last.checks_passed is None:
        return "ungraded", _why_ungraded(last), failure
    return "failed", reason, failure


def _why_ungraded(last: Attempt) -> str:
    unknown = [c for c in last.checks if c.passed is None and not c.advisory]
    if not unknown:
        return "all checks are advice only (see --autoweb-judge-labels)"
    return f"check {unknown[0].index} ({unknown[0].type}): {unknown[0].message}"


def repairable(attempt: Attempt) -> bool:
    """Whether another attempt may do better."""
    if attempt.checks_passed:
        return False
    if attempt.failure is None:
        return attempt.checks_passed is False
    return attempt.failure.kind in (
        "plan",
        "lint",
        "step",
        "timeout",
        "sandbox",
        "limit",
        "check",
    )
