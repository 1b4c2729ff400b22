"""The outcome of a cell's attempts, and when one is made again: after a failure or a lost browser.

A browser that died is blamed on the attempt's code, or the attempt is made again once.
"""

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from pytest_autoweb import waiting
from pytest_autoweb.agents.outside_agent import BLAMED
from pytest_autoweb.attempt.tools import Clock, Tools, change
from pytest_autoweb.correct.retry_rules import Arm, Guidance, Rules, decide_retry, guidance_for
from pytest_autoweb.egress.browser_watch import WATCH
from pytest_autoweb.page.opening import browser_ended
from pytest_autoweb.results import (
    BROKEN,
    ArmRun,
    Attempt,
    Failure,
    Outcome,
    ToolCall,
    Usage,
    total_usage,
)
from pytest_autoweb.sandbox.allowed_members import SCRIPT_METHODS

NO_CHECKS = "the case has no checks"

BROWSER_ENDED = "the browser ended"
PAGE_CRASHED = "the process that shows the page crashed"
_LOST = "lost"


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
    return "failed", reason, failure


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


def with_loss(attempt: Attempt, tools: Tools) -> Attempt:
    """Return the attempt, with the failure that its browser, or its page's process, died.

    If a script of the code was running at that moment, the code is to blame; whatever else it was
    doing is what browsers are made for.
    """
    blamed = attempt.failure is not None and BLAMED in attempt.failure.evidence
    if attempt.checks_passed or blamed:
        return attempt
    lost = _loss(tools)
    if not lost:
        return attempt
    # With others in flight any of them may have been what the browser died of.
    call = None if waiting.in_company() else _running(attempt)
    if call is not None and _is_to_blame(call):
        message = f"{lost} while {call.method}() ran, a script or pattern of the code"
        failure = Failure(
            kind="sandbox",
            rule="AW512",
            message=message,
            step_index=call.step_index,
            line=call.line,
        )
    else:
        failure = Failure(
            kind="browser", message=f"{lost} while the cell ran", evidence={_LOST: True}
        )
    return change(attempt, failure=failure)


def _loss(tools: Tools) -> str:
    """Say what died, or return "" if browser and page live."""
    if browser_ended(tools.page):
        return f"{BROWSER_ENDED} ({WATCH.reason})" if WATCH.reason else BROWSER_ENDED
    # A page that stopped answering was ended on purpose, and would stop answering again.
    return PAGE_CRASHED if tools.watch.crashed and not WATCH.page_ended else ""


def _running(attempt: Attempt) -> ToolCall | None:
    """Return the call of the code during which the attempt failed, if it was one."""
    last = attempt.tool_calls[-1] if attempt.tool_calls else None
    return last if last is not None and not last.ok else None


def _is_to_blame(call: ToolCall) -> bool:
    return call.method in SCRIPT_METHODS or "re.compile(" in call.arguments + call.target


def made_again_if_lost(
    make: Callable[[], tuple[Attempt, Any]], folder: Path
) -> tuple[Attempt, Any]:
    """Make an attempt, and once more if its browser died through no fault of its code.

    Args:
        make: makes the attempt; returns it with more that the caller needs.
        folder: the attempt's folder; that of the lost one is kept beside it as `…-lost`.
    """
    attempt, more = make()
    if not _is_lost(attempt):
        return attempt, more
    waiting.own_turn()
    with suppress(OSError):
        folder.rename(folder.with_name(f"{folder.name}-lost"))
    again, more = make()
    assert attempt.failure is not None
    if _is_lost(again) and again.failure is not None:
        message = f"{again.failure.message}, for the second time"
        again = change(again, failure=again.failure.model_copy(update={"message": message}))
    spent = {
        stage: attempt.usage.get(stage, Usage()) + again.usage.get(stage, Usage())
        for stage in attempt.usage | again.usage
    }
    return change(
        again,
        rerun_because=attempt.failure.message,
        usage=spent,
        exchanges=(*attempt.exchanges, *again.exchanges),
    ), more


def _is_lost(attempt: Attempt) -> bool:
    return attempt.failure is not None and bool(attempt.failure.evidence.get(_LOST))
