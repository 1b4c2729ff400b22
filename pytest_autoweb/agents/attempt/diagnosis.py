"""Why an attempt failed: evidence from page and servers, and the type of the failure."""

from pytest_autoweb.agents.attempt.tools import Tools, change
from pytest_autoweb.agents.correction.failure_types import cause_of
from pytest_autoweb.agents.correction.guidance import failed_call
from pytest_autoweb.agents.correction.page_critic import (
    PageCritic,
    server_findings,
    target_of,
    writes_of,
)
from pytest_autoweb.results.records import Attempt, Finding, ToolCall

_LAST_CALLS = 30


def with_findings(attempt: Attempt, tools: Tools) -> Attempt:
    """Return the attempt with evidence from the page, taken before anything changes.

    Servers' answers are recorded anyway; the page is examined only if a correction may need it.
    """
    if attempt.findings:
        return attempt
    found = server_findings(tools.wire, tools.page.url, tools.redact)
    if tools.settings.corrects and not tools.page.is_closed():
        critic = PageCritic(tools.page, tools.redact)
        failed = failed_call(attempt)
        found = (*critic.context(failed), *found)
        if failed is None:
            found = (*_undone(attempt.tool_calls, critic), *found)
    return change(attempt, findings=found)


def with_cause(attempt: Attempt, tools: Tools) -> Attempt:
    """Return the attempt with the type of its failure and the number of its writes to servers."""
    found = attempt.findings or server_findings(tools.wire, tools.page.url, tools.redact)
    kind = attempt.failure.kind if attempt.failure else ""
    if kind == "repair" and tools.guidance:
        # A retry that gave up leaves the cause of the earlier failure unchanged.
        cause = tools.guidance.correction.of
    else:
        cause = cause_of(attempt.failure, found)
    return change(attempt, findings=found, classification=cause, writes=writes_of(tools.wire))


def _undone(calls: tuple[ToolCall, ...], critic: PageCritic) -> tuple[Finding, ...]:
    """Return findings on calls that ran without an error but not with the effect they claim.

    A later call may have put it right.
    """
    written = (call for call in calls if call.ok and call.read_back)
    last = {str(target_of(call) or call.target): call for call in written}
    acting = [call for call in last.values() if call.acting][-_LAST_CALLS:]
    return tuple(finding for call in acting for finding in critic.check(call).findings)
