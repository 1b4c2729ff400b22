"""What a retry may know of the attempts before it."""

from collections.abc import Iterable
from dataclasses import dataclass

from pytest_autoweb.checks.check_type import CHECKS, Ground
from pytest_autoweb.correct.failure_types import trigger_of
from pytest_autoweb.correct.retry_rules import (
    Recovery,
    RetryDecision,
    last_run,
    recover,
    was_refused,
)
from pytest_autoweb.results import Attempt, CheckResult, Correction
from pytest_autoweb.results.correction import Classification, FindingCode

# `on_page` is left out: it lists all elements, which the constrained arm offers in its own way.
_TOLD: frozenset[FindingCode] = frozenset(
    ("missing", "near", "ambiguous", "hidden", "covered", "disabled", "readonly", "wrong_kind",
     "outside", "other_frame", "dialog_open", "option_missing", "value_differs", "server_status",
     "no_answer", "field_invalid", "page_says")
)  # fmt: skip


_RESTS_ON: dict[Ground, str] = {
    "page": "what the page shows at the end",
    "address": "the page's address at the end",
    "answer": "the answer",
    "requests": "the requests that were sent",
    "downloads": "the files that were downloaded",
    "opinion": "how the page and the actions are judged",
    "live": "what the application holds at the end",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Arm:
    """A way to try a failed attempt again, without the stages that it changes."""

    name: str
    summary: str
    label: str = ""
    """Its label in reports; empty if that is its name."""
    ordinary: bool = False
    """Whether it is the ordinary repair. Alone it is limited only by the number of retries; beside
    other arms it keeps their rules."""
    informed: bool = True
    """Whether a retry may know of the previous attempt, the evidence and what may help."""
    advised: bool = False
    """Whether prompts also contain the advice for the type of failure."""
    bans_failed_calls: bool = False
    """Whether lists that models choose from omit what failed before."""
    differs: str = ""
    """How its budget or the ends of its retries differ from those of other arms, as the end of a
    sentence that begins with its name; empty if they do not."""
    control: bool = False
    """Whether it is the control arm, against which the gain of other arms is measured."""


@dataclass(frozen=True, slots=True)
class Guidance:
    """What one retry may know."""

    arm: Arm
    attempts: tuple[Attempt, ...]
    """The attempts so far in this arm, of which the last one is corrected."""
    correction: Correction
    """The record of the correction as the retry begins."""
    recovery: Recovery

    @property
    def failed(self) -> Attempt:
        """Return the attempt that is corrected."""
        return self.attempts[-1]

    @property
    def evidence(self) -> tuple[str, ...]:
        """Say how all attempts so far ended and what was seen then, the latest first."""
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
    """Return what the next retry of an arm begins with.

    Args:
        arm: the way to correct.
        attempts: the attempts so far.
        decision: what the rules for retries decided.
        limit: limit on the retries.
    """
    failed, retry = last_run(attempts), len(attempts)
    found = failed.classification or Classification(type="UNKNOWN", by="none")
    error = failure_text(failed)
    if failed is not attempts[-1]:
        error = f"{error} (the last retry was refused: {failure_text(attempts[-1])})"
    recovery = recover(found, error, tool=failed_tool(failed), retry=retry - 1, max_retries=limit)
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


def failed_tool(attempt: Attempt) -> str:
    """Return the method of the last failed call, such as `click`; empty if none failed."""
    failed = [call.method for call in attempt.tool_calls if not call.ok]
    return failed[-1] if failed else ""


def failure_text(attempt: Attempt) -> str:
    """Return what went wrong, without what the checks expect."""
    # A failed check's own message says what it expects, and a retry that knew this could write the
    # answer down instead of finding it.
    if attempt.failure is None or attempt.failure.kind == "check":
        return unmet(attempt.checks)
    return attempt.failure.message


def unmet(checks: Iterable[CheckResult]) -> str:
    """Say that the outcome was not reached, and what the failed checks rest on."""
    failed = [check for check in checks if check.passed is False and not check.advisory]
    grounds = (CHECKS[check.type].rests_on for check in failed if check.type in CHECKS)
    places = "; ".join(dict.fromkeys(_RESTS_ON[ground] for ground in grounds))
    wrong = f" Not as it should be: {places}." if places else ""
    hints = (" ".join(check.hint.split()) for check in failed if check.hint)
    told = "".join(f" {hint}" for hint in dict.fromkeys(hints))
    return f"The task's outcome was not reached.{wrong}{told}"
