"""What a retry may know of the attempts before it."""

from dataclasses import dataclass

from pytest_autoweb.calibrate.cause import trigger_of
from pytest_autoweb.calibrate.policy import Move
from pytest_autoweb.calibrate.recovery import Recovery, recover
from pytest_autoweb.results import Attempt, Correction, CorrectionArm
from pytest_autoweb.results.calibration import Classification, FindingCode

_TOLD: frozenset[FindingCode] = frozenset(
    ("missing", "near", "ambiguous", "hidden", "covered", "disabled", "readonly", "wrong_kind",
     "outside", "other_frame", "dialog_open", "option_missing", "value_differs", "server_status",
     "no_answer", "field_invalid", "page_says")
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Guidance:
    """Of one retry."""

    arm: CorrectionArm
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
        return tuple(dict.fromkeys((f"the run ended with: {said(self.failed)}", *seen)))


def guide(arm: CorrectionArm, attempts: tuple[Attempt, ...], move: Move, limit: int) -> Guidance:
    """What the next retry of an arm begins with.

    Args:
        arm: how it is corrected.
        attempts: so far.
        move: what the policy decided.
        limit: retries at most.
    """
    failed, retry = attempts[-1], len(attempts)
    found = failed.classification or Classification(type="UNKNOWN", by="none")
    error = said(failed)
    recovery = recover(found, error, tool=failed_tool(failed), retry=retry - 1, max_retries=limit)
    told = arm not in ("off", "plain")
    return Guidance(
        arm=arm,
        attempts=attempts,
        correction=Correction(
            arm=arm,
            retry=retry,
            of=found,
            trigger=trigger_of(failed),
            error=error,
            waited_s=move.wait_s,
            recovery_prompt=recovery.user_prompt if told else "",
            suggestions=recovery.suggestions if told else (),
            alternatives=tuple(other.name for other in recovery.alternatives) if told else (),
            requires_user_confirmation=recovery.requires_user_confirmation,
            relogin=move.relogin,
        ),
        recovery=recovery,
    )


def failed_tool(attempt: Attempt) -> str:
    """The call that failed, such as `click`; empty when none did."""
    failed = [call.method for call in attempt.tool_calls if not call.ok]
    return failed[-1] if failed else ""


def said(attempt: Attempt) -> str:
    """What went wrong, without what the checks expect: a retry must reach the outcome, not them."""
    if attempt.failure is None or attempt.failure.kind == "check":
        hints = [c.hint for c in attempt.checks if c.passed is False and c.hint and not c.advisory]
        return " ".join(["the task's outcome was not reached.", *dict.fromkeys(hints)])
    return attempt.failure.message
