"""The outcome of a cell's attempts, and the loop that corrects a failed one."""

from collections.abc import Callable
from typing import NamedTuple

from pytest_autoweb.agents.attempt.tools import Clock, change
from pytest_autoweb.agents.correction.guidance import Guidance, guidance_for
from pytest_autoweb.agents.correction.retry_decision import Rules, decide_retry
from pytest_autoweb.base.variant_names import Arm
from pytest_autoweb.results.records import (
    BROKEN,
    ArmRun,
    Attempt,
    Failure,
    Outcome,
    Usage,
    total_usage,
)

NO_CHECKS = "the case has no checks"


def settle(attempts: list[Attempt], *, has_checks: bool) -> tuple[Outcome, str, Failure | None]:
    """Return outcome, one-line reason and failure of a cell, given its attempts.

    Only checks make a cell pass. A repair that breaks down leaves the verdict on the attempt before
    it in force, and a case without checks is at best `ungraded`.
    """
    last, failure = attempts[-1], attempts[-1].failure
    if failure and failure.kind == "off_record":
        # What would have come of it nobody knows, whatever the checks saw on the page.
        return "off_record", failure.message, failure
    if last.checks_passed:
        return ("passed", "", None) if len(attempts) == 1 else ("healed", "", None)
    reason = failure.message if failure else ""
    if failure and failure.kind in BROKEN:
        if len(attempts) == 1:
            return "broken", reason, failure
        first = attempts[-2].failure
        return "failed", f"{first.message if first else ''} (the repair broke: {reason})", first
    if failure and failure.kind == "question":
        return "needs_input", reason, failure
    if not has_checks:
        if last.executed:
            return "ungraded", NO_CHECKS, None
        return "failed", reason, failure
    if last.checks and last.checks_passed is None:
        return "ungraded", _why_ungraded(last), failure
    return "failed", f"{reason}{_question_told(attempts)}", failure


_QUESTION_CHARS = 200


def _question_told(attempts: list[Attempt]) -> str:
    """Return the last question that was asked, for the end of a reason; empty if there was none.

    What a check misses may be what nobody said.
    """
    asked = next((each for each in reversed(attempts) if each.plan_question), None)
    if asked is None:
        return ""
    question, answer = (
        text if len(text) <= _QUESTION_CHARS else f"{text[:_QUESTION_CHARS]}…"
        for text in (" ".join(asked.plan_question.split()), " ".join(asked.plan_answer.split()))
    )
    became = f'was answered "{answer}"' if answer else "nobody answered"
    return f' (the model asked "{question}" and {became})'


def _why_ungraded(last: Attempt) -> str:
    unknown = [c for c in last.checks if c.passed is None and not c.advisory]
    if not unknown:
        return "all checks are advice only (see --autoweb-judge-labels)"
    return f"check {unknown[0].index} ({unknown[0].type}): {unknown[0].message}"


def repairable(attempt: Attempt) -> bool:
    """Return whether another attempt may do better."""
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


MakeAttempt = Callable[[Attempt, int, Guidance | None], Attempt]
"""Makes one more attempt from a reset state, given the failed attempt, the new one's index, and
what it may know."""


class ArmAttempts(NamedTuple):
    """All attempts of one arm."""

    attempts: tuple[Attempt, ...]
    """All of them, including the first."""
    stopped: str
    """The reason why there was no further retry; empty if the last attempt passed."""


def correct(
    first: Attempt, arm: Arm, rules: Rules, clock: Clock, make_attempt: MakeAttempt
) -> ArmAttempts:
    """Retry until an attempt passes or there is a reason to stop.

    The outcome of each retry is recorded on its correction, so that the next reflection knows what
    helped.

    Args:
        first: the first attempt, passed or failed.
        arm: the way to correct; alone, the ordinary repair is limited only by the number of
            retries, but compared with other arms it keeps the same rules as they do.
        rules: what is allowed for this cell.
        clock: used for the pauses before retries.
        make_attempt: makes one more attempt.
    """
    attempts: tuple[Attempt, ...] = (first,)
    while True:
        last = attempts[-1]
        if last.checks_passed:
            return ArmAttempts(attempts, "")
        if not repairable(last):
            return ArmAttempts(attempts, _why_not(last))
        if arm.ordinary and not rules.compared:
            if len(attempts) > rules.max_retries:
                return ArmAttempts(attempts, f"{rules.max_retries} retries are allowed")
            attempts = (*attempts, make_attempt(last, len(attempts) + 1, None))
            continue
        decision = decide_retry(attempts, rules)
        if not decision.retry:
            return ArmAttempts(attempts, decision.reason)
        if decision.wait_s:
            clock.sleep(decision.wait_s)
        guidance = guidance_for(arm, attempts, decision, rules.max_retries)
        made = make_attempt(last, len(attempts) + 1, guidance)
        attempts = (*attempts, _with_outcome(made))


def arm_run(made: ArmAttempts, arm: Arm) -> ArmRun:
    """Return the retries of an arm that does not decide the outcome of the cell."""
    retries = made.attempts[1:]
    return ArmRun(
        arm=arm.name,
        attempts=retries,
        passed=bool(made.attempts[-1].checks_passed),
        stopped=made.stopped,
        usage=sum(total_usage(retries).values(), Usage()),
    )


def _with_outcome(attempt: Attempt) -> Attempt:
    if attempt.correction is None:
        return attempt
    outcome = "solved" if attempt.checks_passed else "not_solved"
    return change(attempt, correction=attempt.correction.model_copy(update={"outcome": outcome}))


def _why_not(last: Attempt) -> str:
    if last.failure is None:
        return "no check could be evaluated"
    return f"{last.failure.kind}: {last.failure.message}"
