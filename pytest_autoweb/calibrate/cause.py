"""The type of an attempt's failure, with what the page and its server said taken into account."""

import re
from collections.abc import Sequence

from pytest_autoweb.calibrate import keywords
from pytest_autoweb.calibrate.classify import classify, classify_failure
from pytest_autoweb.results import Attempt, Failure
from pytest_autoweb.results.calibration import Classification, Finding, Trigger

_SYMPTOMS = frozenset(
    ("not_found", "locator_timeout", "wait_timeout", "claim", "not_actionable", "detached")
)
"""Something that was waited for did not come: the reason lies elsewhere."""
_NAMED: dict[str, Trigger] = {
    "CONDITION_IGNORED": "CONDITION_IGNORED",
    "PARTIAL_MATCH": "PARTIAL_MATCH",
    "EMPTY_RESULT": "EMPTY_RESULT",
}


def cause_of(failure: Failure | None, findings: Sequence[Finding]) -> Classification | None:
    """What kind of failure it really is.

    "The heading did not come" is a symptom when the server just answered 500. Evidence counts
    in this order: the last answer of a server with an error status, fields that refuse their value,
    what the page says in an alert or dialog; and last the failure's own words.

    Returns:
        None: nothing failed.
    """
    if failure is None:
        return None
    found = classify_failure(failure)
    if failure.kind not in ("check", "limit") and found.web_kind not in _SYMPTOMS:
        return found
    kind = found.web_kind
    statuses = [f for f in findings if f.code == "server_status" and f.status is not None]
    said = [f for f in findings if f.code in ("page_says", "dialog_open")]
    for finding in reversed(statuses):
        cause = classify("", status=finding.status).model_copy(update={"web_kind": kind})
        if cause.type not in ("PARAMETER_ERROR", "VALIDATION_ERROR") or not said:
            return cause
    for finding in findings:
        if finding.code == "field_invalid":
            return _by_evidence("VALIDATION_ERROR", kind, finding)
    for finding in said:
        if (words := keywords.find(finding.fact)) is not None:
            return _by_evidence(words[0], kind, finding)
    silent = next((finding for finding in findings if finding.code == "no_answer"), None)
    if silent is not None and not statuses:
        return _by_evidence("SERVICE_UNAVAILABLE", kind, silent)
    if statuses:
        return classify("", status=statuses[-1].status).model_copy(update={"web_kind": kind})
    return found


def trigger_of(attempt: Attempt) -> Trigger:
    """What calls for a correction by name: a check's verdict on records first, then the type."""
    for check in attempt.checks:
        if check.passed is False and not check.advisory and check.finding in _NAMED:
            return _NAMED[check.finding]
    kind = attempt.classification.type if attempt.classification else ""
    if kind == "PARAMETER_ERROR":
        return "PARAMETER_ERROR"
    return "DATA_NOT_FOUND" if kind == "DATA_NOT_FOUND" else ""


def _by_evidence(failure_type: object, kind: object, finding: Finding) -> Classification:
    matched = re.sub(r"\s+", " ", finding.fact)[:80]
    return Classification.model_validate(
        {"type": failure_type, "web_kind": kind, "by": "evidence", "matched": matched}
    )
