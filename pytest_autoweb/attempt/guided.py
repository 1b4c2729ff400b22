"""What a correction tells a retry, as text for the prompts."""

from pytest_autoweb.attempt.tools import Tools
from pytest_autoweb.llm.prompts import fence
from pytest_autoweb.results import Attempt

_LINES = 12


def told(attempt: Attempt, tools: Tools) -> str:
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
