"""The loop that tries a failed attempt again, in one correction arm."""

from collections.abc import Callable
from typing import NamedTuple

from pytest_autoweb.agents.attempt.tools import Clock, change
from pytest_autoweb.agents.correction.guidance import Guidance, guidance_for
from pytest_autoweb.agents.correction.retry_decision import Rules, decide_retry
from pytest_autoweb.base.variant_names import Arm
from pytest_autoweb.results.records import ArmRun, Attempt, Usage, total_usage


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
