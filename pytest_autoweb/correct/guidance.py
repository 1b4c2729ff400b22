"""What a retry may know of the attempts before it."""

from dataclasses import dataclass

from pytest_autoweb.correct.failure_types import trigger_of
from pytest_autoweb.correct.retry_rules import Recovery, RetryDecision, recover
from pytest_autoweb.results import Attempt, Correction
from pytest_autoweb.results.correction import Classification, FindingCode

_TOLD: frozenset[FindingCode] = frozenset(
    ("missing", "near", "ambiguous", "hidden", "covered", "disabled", "readonly", "wrong_kind",
     "outside", "other_frame", "dialog_open", "option_missing", "value_differs", "server_status",
     "no_answer", "field_invalid", "page_says")
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Arm:
    """A way to try a failed attempt again, apart from the stages that it changes."""

    name: str
    summary: str
    label: str = ""
    """What reports call it; empty: its name."""
    ordinary: bool = False
    """The ordinary repair: there is no limit to it but the number of retries."""
    told: bool = True
    """A retry may know that there was an attempt before, the evidence and what may help."""
    advised: bool = False
    """Prompts also get the advice for the type of failure."""
    bans_failed_calls: bool = False
    """Models that choose from a list are not shown what failed before."""
    control: bool = False
    """The gain of other arms is measured against it."""


@dataclass(frozen=True, slots=True)
class Guidance:
    """Of one retry."""

    arm: Arm
    attempts: tuple[Attempt, ...]
    """So far in this arm; the last one is what is corrected."""
    correction: Correction
    """As the retry begins."""
    recovery: Recovery

    @property
    def failed(self) -> Attempt:
        """The attempt that is corrected."""
        return self.attempts[-1]

    @property
    def evidence(self) -> tuple[str, ...]:
        """How it ended, and what was seen on the page then; a sentence each."""
        seen = (found.fact for found in self.failed.findings if found.code in _TOLD)
        return tuple(dict.fromkeys((f"the run ended with: {failure_text(self.failed)}", *seen)))


def guidance_for(
    arm: Arm, attempts: tuple[Attempt, ...], decision: RetryDecision, limit: int
) -> Guidance:
    """What the next retry of an arm begins with.

    Args:
        arm: how it is corrected.
        attempts: so far.
        decision: what the policy decided.
        limit: retries at most.
    """
    failed, retry = attempts[-1], len(attempts)
    found = failed.classification or Classification(type="UNKNOWN", by="none")
    error = failure_text(failed)
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
            recovery_prompt=recovery.user_prompt if arm.told else "",
            suggestions=recovery.suggestions if arm.told else (),
            alternatives=tuple(other.name for other in recovery.alternatives) if arm.told else (),
            requires_user_confirmation=recovery.requires_user_confirmation,
            relogin=decision.relogin,
        ),
        recovery=recovery,
    )


def failed_tool(attempt: Attempt) -> str:
    """The call that failed, such as `click`; empty when none did."""
    failed = [call.method for call in attempt.tool_calls if not call.ok]
    return failed[-1] if failed else ""


def failure_text(attempt: Attempt) -> str:
    """What went wrong, without what the checks expect: a retry must reach the outcome, not them."""
    if attempt.failure is None or attempt.failure.kind == "check":
        hints = [c.hint for c in attempt.checks if c.passed is False and c.hint and not c.advisory]
        return " ".join(["the task's outcome was not reached.", *dict.fromkeys(hints)])
    return attempt.failure.message
