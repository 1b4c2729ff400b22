"""What a retry is told of the attempts before it."""

from collections.abc import Iterable

from msgspec import Struct

from pytest_autoweb.agents.correction.advice import Recovery, finding_of, recover
from pytest_autoweb.agents.correction.failure_types import trigger_of
from pytest_autoweb.agents.correction.retry_decision import RetryDecision, last_run, was_refused
from pytest_autoweb.base.variant_names import Arm
from pytest_autoweb.judging.checks.check_type import CHECKS, Ground
from pytest_autoweb.results.records import Attempt, CheckResult, Correction, ToolCall
from pytest_autoweb.results.records.record import Classification, FindingCode

# `on_page` is left out: it lists all elements, which the constrained arm offers in its own way.
_TOLD: frozenset[FindingCode] = frozenset(
    ("missing", "near", "ambiguous", "hidden", "covered", "disabled", "readonly", "wrong_kind",
     "outside", "other_frame", "dialog_open", "option_missing", "value_differs", "server_status",
     "no_answer", "field_invalid", "page_says")
)  # fmt: skip

_RESTS_ON: dict[Ground, str] = {
    "page": "what the page shows at the end",
    "address": "the page's address at the end",
    "appearances": "what appeared on the page on the way",
    "answer": "the answer",
    "requests": "the requests that were sent",
    "downloads": "the files that were downloaded",
    "opinion": "how the page and the actions are judged",
    "live": "what the application holds at the end",
}


class Guidance(Struct, frozen=True):
    """The information that one retry gets."""

    arm: Arm
    attempts: tuple[Attempt, ...]
    """The attempts so far in this arm, of which the last one is corrected."""
    correction: Correction
    """The record of the correction at the start of the retry."""
    recovery: Recovery

    @property
    def failed(self) -> Attempt:
        """Return the attempt being corrected."""
        return self.attempts[-1]

    @property
    def evidence(self) -> tuple[str, ...]:
        """Describe the ends of all attempts so far, with the observations, latest first."""
        told: list[str] = []
        latest = last_run(self.attempts)
        for attempt in reversed(self.attempts):
            if was_refused(attempt) and attempt is not latest:
                told.append(f"a retry was refused before it ran: {failure_text(attempt)}")
                continue
            run = "the run" if attempt is latest else "an earlier run"
            told.append(f"{run} ended with: {failure_text(attempt)}")
            told += (found.fact for found in attempt.findings if found.code in _TOLD)
        return tuple(dict.fromkeys(told))


def guidance_for(
    arm: Arm, attempts: tuple[Attempt, ...], decision: RetryDecision, limit: int
) -> Guidance:
    """Return the information for an arm's next retry.

    Args:
        arm: the way to correct.
        attempts: the attempts so far.
        decision: the decision by the rules for retries.
        limit: limit on the retries.
    """
    failed, retry = last_run(attempts), len(attempts)
    found = failed.classification or Classification(type="UNKNOWN", by="none")
    error = failure_text(failed)
    if failed is not attempts[-1]:
        error = f"{error} (the last retry was refused: {failure_text(attempts[-1])})"
    recovery = recover(
        found,
        error,
        tool=failed_tool(failed),
        retry=retry - 1,
        max_retries=limit,
        finding=finding_of(failed, found),
    )
    return Guidance(
        arm=arm,
        attempts=attempts,
        correction=Correction(
            arm=arm.name,
            retry=retry,
            of=found,
            trigger=trigger_of(failed),
            error=error,
            waited_s=decision.wait_s,
            recovery_prompt=recovery.user_prompt if arm.informed else "",
            suggestions=recovery.suggestions if arm.informed else (),
            alternatives=tuple(other.name for other in recovery.alternatives)
            if arm.informed
            else (),
            requires_user_confirmation=recovery.requires_user_confirmation,
            relogin=decision.relogin,
        ),
        recovery=recovery,
    )


def failed_call(attempt: Attempt) -> ToolCall | None:
    """Return the last failed call if the page is still the one on which it failed.

    Code that caught the error, or a later turn, may have gone on to other pages. Those say nothing
    about why that call failed, and it is not what the attempt failed of.
    """
    for call in reversed(attempt.tool_calls):
        if not call.ok:
            return call
        if call.acting:
            return None
    return None


def failed_tool(attempt: Attempt) -> str:
    """Return the method of the call at which the attempt ended, such as `click`, or empty."""
    call = failed_call(attempt)
    return call.method if call else ""


def failure_text(attempt: Attempt) -> str:
    """Return the failure's message, without the checks' expectations."""
    # A failed check's own message reveals its expectation, and a retry that knew this could write
    # down the answer instead of finding it.
    if attempt.failure is None or attempt.failure.kind == "check":
        return unmet(attempt.checks)
    return attempt.failure.message


def unmet(checks: Iterable[CheckResult]) -> str:
    """State that the outcome was not reached, and the grounds of the failed checks."""
    failed = [check for check in checks if check.passed is False and not check.advisory]
    grounds = (CHECKS[check.type].rests_on for check in failed if check.type in CHECKS)
    places = "; ".join(dict.fromkeys(_RESTS_ON[ground] for ground in grounds))
    wrong = f" Not as it should be: {places}." if places else ""
    hints = (" ".join(check.hint.split()) for check in failed if check.hint)
    told = "".join(f" {hint}" for hint in dict.fromkeys(hints))
    return f"The task's outcome was not reached.{wrong}{told}"
