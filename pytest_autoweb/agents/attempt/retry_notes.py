"""What a retry is told about the attempt that failed, in every strategy and correction arm.

A retry is told everything that the model could have seen for itself: its own script, log and
answer, the error with its line and Playwright's call log, both pages, and the browser's complaints.
For a failed check it is told the evidence, such as the answer or the page's address, and never what
the check expected: a retry has to reach the task's outcome, not copy it. The only exception is a
hint that a check type gives on purpose.
"""

from pytest_autoweb.agents.attempt.tools import Tools
from pytest_autoweb.agents.correction.guidance import unmet
from pytest_autoweb.models.prompts import fence
from pytest_autoweb.results.records import Attempt

_EVIDENCE_LINES = 12


_KEEP = "Fix only what is necessary; keep the plan and the output format."


def retry_hint(failed: Attempt, attempt: Attempt, tools: Tools, *, advice: str = _KEEP) -> str:
    """Return the kind of failure, and the evidence that the way of correcting passes on.

    Args:
        failed: the attempt that is retried.
        attempt: the retry.
        tools: its tools.
        advice: advice on the failure.
    """
    return "\n".join(filter(None, (repair_hint(failed, advice), retry_notes(attempt, tools))))


def repair_hint(failed: Attempt, advice: str = _KEEP) -> str:
    """Describe the kind of failure in one paragraph."""
    return f"{_what_became(failed)} {advice if failed.code else 'Do the task now.'}"


def _what_became(failed: Attempt) -> str:
    kind = failed.failure.kind if failed.failure else None
    if kind == "repair" and failed.code:
        return "The script was the one that had failed before, so it was not run again."
    if kind == "lint" and failed.turns:
        return "The code of its last turn was refused before it ran."
    if failed.lint_errors or (kind == "lint" and failed.code):
        return "The script was refused before it ran."
    if not failed.code:
        checked = f" {unmet(failed.checks)}" if failed.checks else ""
        return f"No code was written, so nothing was done.{checked}"
    if kind == "plan":
        return "It ended before the task was done."
    if failed.executed:
        corrected = any(result.status == "corrected" for result in failed.step_results)
        how = "to its end, after errors" if corrected else "without an error"
        return f"The script ran {how}. {unmet(failed.checks)}"
    return f"The script failed while it ran. Failed: {failed_labels(failed)}."


def failed_labels(attempt: Attempt) -> str:
    """Return `plan`, `run`, the numbers of the failed steps, or `unknown`."""
    if attempt.failure and attempt.failure.kind == "plan":
        return "plan"
    if steps := attempt.failed_steps():
        return f"step {steps}"
    return "run" if attempt.failure else "unknown"


def retry_notes(attempt: Attempt, tools: Tools) -> str:
    """Return advice, evidence and reflection for a retry; empty if its arm gets none.

    Page text and the model's own words are fenced, because both may contain instructions.
    """
    guidance = tools.guidance
    if guidance is None or not guidance.arm.informed:
        return ""
    parts = [guidance.recovery.user_prompt] if guidance.arm.advised else []
    parts.append(evidence_text(tools))
    if attempt.correction and attempt.correction.reflection:
        parts.append(fence(attempt.correction.reflection, "reflection"))
    return "\n".join(parts)


def evidence_text(tools: Tools) -> str:
    """Return what the page showed when the previous attempt failed."""
    assert tools.guidance is not None, "only a correction has evidence"
    lines = (f"- {fact}" for fact in tools.guidance.evidence[:_EVIDENCE_LINES])
    return fence("\n".join(lines), "evidence")
