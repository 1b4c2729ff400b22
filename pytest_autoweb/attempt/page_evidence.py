"""What the page says at the moment of a failure, and what of it a retry is told."""

from pytest_autoweb.attempt.tools import Tools, change
from pytest_autoweb.correct.failure_types import cause_of
from pytest_autoweb.correct.page_critic import PageCritic, server_findings, writes_of
from pytest_autoweb.llm.prompts import fence
from pytest_autoweb.results import Attempt, Finding, ToolCall

_LAST_CALLS = 30


def with_findings(attempt: Attempt, tools: Tools) -> Attempt:
    """The attempt with evidence from the page, taken before anything moves.

    Servers' answers are known anyway. The page is looked at only where a correction may need it.
    """
    if attempt.findings:
        return attempt
    found = server_findings(tools.wire, tools.page.url, tools.redact)
    if tools.settings.corrects and not tools.page.is_closed():
        critic = PageCritic(tools.page, tools.redact)
        failed = next((call for call in reversed(attempt.tool_calls) if not call.ok), None)
        found = (*critic.context(failed), *found)
        if failed is None:
            found = (*_undone(attempt.tool_calls, critic), *found)
    return change(attempt, findings=found)


def with_cause(attempt: Attempt, tools: Tools) -> Attempt:
    """The attempt with its failure's type, and how often it wrote to a server."""
    found = attempt.findings or server_findings(tools.wire, tools.page.url, tools.redact)
    kind = attempt.failure.kind if attempt.failure else ""
    if kind == "repair" and tools.guidance:
        # It gave up: what failed is still what failed before.
        cause = tools.guidance.correction.of
    else:
        cause = cause_of(attempt.failure, found)
    return change(attempt, findings=found, classification=cause, writes=writes_of(tools.wire))


def _undone(calls: tuple[ToolCall, ...], critic: PageCritic) -> tuple[Finding, ...]:
    """Calls that ran, but left the page otherwise than they say."""
    acting = [call for call in calls if call.acting and call.ok][-_LAST_CALLS:]
    return tuple(finding for call in acting for finding in critic.check(call).findings)


_LINES = 12


def retry_notes(attempt: Attempt, tools: Tools) -> str:
    """Advice, evidence and reflection; empty where a retry is told nothing of the kind.

    Page text and the model's own words stand between fences: both may be hostile.
    """
    guidance = tools.guidance
    if guidance is None or not guidance.arm.told:
        return ""
    parts = [guidance.recovery.user_prompt] if guidance.arm.advised else []
    parts.append(evidence_text(tools))
    if attempt.correction and attempt.correction.reflection:
        parts.append(fence(attempt.correction.reflection, "reflection"))
    return "\n".join(parts)


def evidence_text(tools: Tools) -> str:
    """What was seen on the page when the attempt before failed."""
    assert tools.guidance is not None, "only a correction has evidence"
    lines = (f"- {fact}" for fact in tools.guidance.evidence[:_LINES])
    return fence("\n".join(lines), "evidence")
