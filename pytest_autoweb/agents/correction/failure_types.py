"""Classifies a failure by its class, status and words, and by evidence from page and server."""

import re
from collections.abc import Sequence
from typing import Any

from pytest_autoweb.agents.correction import failure_words
from pytest_autoweb.base.language import NEVER_TOUCHED, NO_CODE_FOR_STEP, NO_CODE_IN_REPLY
from pytest_autoweb.results.records import Attempt, Failure, FailureKind, ToolCall
from pytest_autoweb.results.records.record import (
    Classification,
    FailureType,
    Finding,
    Trigger,
    WebKind,
)

_Rule = tuple[FailureType, WebKind]

_BY_KIND: dict[FailureKind, _Rule] = {
    "lint": ("PARAMETER_ERROR", "lint"),
    "repair": ("PARAMETER_ERROR", "lint"),
    "browser": ("SERVICE_UNAVAILABLE", "page_lost"),
    "webserver": ("SERVICE_UNAVAILABLE", ""),
    "check": ("VALIDATION_ERROR", "claim"),
    "killed": ("SERVICE_UNAVAILABLE", "page_lost"),
    "agent": ("SERVICE_UNAVAILABLE", ""),
    "internal": ("UNKNOWN", ""),
    "fixture": ("UNKNOWN", ""),
    "recording": ("UNKNOWN", ""),
    "off_record": ("UNKNOWN", ""),
    "question": ("PARAMETER_ERROR", "question"),
}
_OWN_WORDS: dict[str, _Rule] = {
    NO_CODE_FOR_STEP: ("PARAMETER_ERROR", "script_error"),
    NEVER_TOUCHED: ("PARAMETER_ERROR", "script_error"),
    NO_CODE_IN_REPLY: ("PARAMETER_ERROR", "script_error"),
}
"""Failures in the pipeline's own words, none of which a page has said."""
_AS_PROBLEM = re.compile(r"^Step \d+: ")
_CONTINUED = re.compile(r"^the (continued step took another path|calls to continue from)")
_BY_CHOICE: dict[str, _Rule] = {
    "mismatch": ("PARAMETER_ERROR", "element_mismatch"),
    "unverifiable": ("PARAMETER_ERROR", "strict_mode"),
    "ambiguous": ("PARAMETER_ERROR", "strict_mode"),
    "inconsistent": ("PARAMETER_ERROR", "strict_mode"),
    "not_found": ("DATA_NOT_FOUND", "not_found"),
    "drawn": ("PARAMETER_ERROR", "element_mismatch"),
}
"""What became of a choice by mark or by sight, whose message quotes the page."""
_PLAN_ASKS = re.compile(r"^the (plan|model) (needs input|asks)")
_BY_RULE: dict[str, _Rule] = {
    **dict.fromkeys(("AW501", "AW508", "AW510"), ("PERMISSION_ERROR", "refused")),
    **dict.fromkeys(
        ("AW502", "AW503", "AW504", "AW505", "AW507", "AW511", "AW512"),
        ("PARAMETER_ERROR", "refused"),
    ),
    "AW506": ("PARAMETER_ERROR", "limit"),
    "AW509": ("SERVICE_UNAVAILABLE", "limit"),
}
"""What the rules of the sandbox's border refuse."""
_AT_LAST: dict[FailureKind, _Rule] = {
    "limit": ("PARAMETER_ERROR", "limit"),
    "timeout": ("SERVICE_UNAVAILABLE", "limit"),
    "sandbox": ("PERMISSION_ERROR", "refused"),
    "navigation": ("SERVICE_UNAVAILABLE", "navigation"),
}
"""Failures of these kinds that quote neither the browser nor a server."""
_SCRIPT_ERRORS = frozenset(
    ("ArithmeticError", "AttributeError", "ImportError", "IndentationError", "IndexError",
     "FloatingPointError", "IllegalMonthError", "InvalidOperation", "JSONDecodeError", "KeyError",
     "ModuleNotFoundError", "NameError", "NotImplementedError",
     "OverflowError", "ParseError", "PatternError", "RecursionError", "StatisticsError",
     "StopIteration", "SyntaxError", "TabError",
     "TypeError", "UnboundLocalError", "UnicodeDecodeError", "UnicodeEncodeError", "UnicodeError",
     "ValueError",
     "ZeroDivisionError", "error")
)  # fmt: skip
_BY_CLASS: dict[str, _Rule] = {
    **dict.fromkeys(_SCRIPT_ERRORS, ("PARAMETER_ERROR", "script_error")),
    "AssertionError": ("VALIDATION_ERROR", "claim"),
    "ValidationError": ("VALIDATION_ERROR", ""),
    "TargetClosedError": ("SERVICE_UNAVAILABLE", "page_lost"),
    "PermissionError": ("PERMISSION_ERROR", ""),
    "FileNotFoundError": ("DATA_NOT_FOUND", ""),
    "FileExistsError": ("RESOURCE_CONFLICT", ""),
    "IsADirectoryError": ("PARAMETER_ERROR", ""),
    "NotADirectoryError": ("PARAMETER_ERROR", ""),
    "ZoneInfoNotFoundError": ("DATA_NOT_FOUND", ""),
    **dict.fromkeys(
        ("ConnectionError", "ConnectionRefusedError", "ConnectionResetError", "BrokenPipeError",
         "gaierror", "RemoteDisconnected", "SSLError", "ConnectError", "ReadError",
         "RemoteProtocolError", "ClientConnectorError", "ClientConnectorDNSError", "ClientOSError",
         "ServerDisconnectedError", "MaxRetryError", "NewConnectionError", "NameResolutionError",
         "ProtocolError", "ProxyError", "IncompleteRead", "TimeoutExpired", "ConnectTimeout",
         "ReadTimeout", "WriteTimeout", "PoolTimeout", "ConnectTimeoutError", "ReadTimeoutError",
         "ConnectionTimeoutError", "ServerTimeoutError"),
        ("SERVICE_UNAVAILABLE", ""),
    ),
    **dict.fromkeys(
        ("InvalidURL", "InvalidSchema", "MissingSchema", "UnsupportedProtocol",
         "LocationParseError"),
        ("PARAMETER_ERROR", ""),
    ),
}  # fmt: skip
_BY_CAUSE: dict[str, FailureType] = {
    "timeout": "SERVICE_UNAVAILABLE",
    "rate_limit": "SERVICE_UNAVAILABLE",
    "auth": "PERMISSION_ERROR",
    "refusal": "BUSINESS_ERROR",
    "empty": "SERVICE_UNAVAILABLE",
    "truncated": "PARAMETER_ERROR",
    "parse": "SERVICE_UNAVAILABLE",
    "context_window": "PARAMETER_ERROR",
    "budget": "BUSINESS_ERROR",
}
_BY_STATUS: dict[int, FailureType] = {
    **dict.fromkeys((401, 403, 407, 451, 511), "PERMISSION_ERROR"),
    402: "BUSINESS_ERROR",
    **dict.fromkeys((404, 410), "DATA_NOT_FOUND"),
    **dict.fromkeys((409, 412, 423, 428), "RESOURCE_CONFLICT"),
    422: "VALIDATION_ERROR",
    **dict.fromkeys((408, 425, 429), "SERVICE_UNAVAILABLE"),
    501: "PARAMETER_ERROR",
}
_STATUS_TOLD = re.compile(
    r"^([45]\d\d)(?=$|[:,]|\W+(?-i:[A-Z]))|\(([45]\d\d)\)$"
    r"|\b(?:HTTP(?: error)?|status(?: code)?(?: of| was|:)?|(?:client|server) error '?\(?"
    r"|range, was) ?'?([45]\d\d)\b",
    re.IGNORECASE,
)
"""An HTTP status in messages of servers, clients and the browser's console."""
_ENDINGS: tuple[tuple[str, FailureType], ...] = (
    (r"goes in circles|decisions in a row came to nothing|decisions were not enough",
     "PARAMETER_ERROR"),
    (r"^the attempt's \S+ s are over", "SERVICE_UNAVAILABLE"),
)  # fmt: skip
"""Endings of an attempt at its own limits: fruitless decisions, or time running out."""
_ERR_CODES: tuple[tuple[str, FailureType], ...] = (
    (r"FILE_NOT_FOUND|NOT_FOUND", "DATA_NOT_FOUND"),
    (r"UNSAFE_|INVALID_URL|INVALID_REDIRECT|DISALLOWED_URL|UNKNOWN_URL", "PARAMETER_ERROR"),
    (r"BLOCKED_BY|ACCESS_DENIED|UNEXPECTED_PROXY_AUTH|INVALID_AUTH|CERT_", "PERMISSION_ERROR"),
)
# The first pattern that matches counts, so Playwright's precise messages come before timeouts,
# and each kind of timeout before the general one.
_PATTERNS: tuple[tuple[str, FailureType, WebKind], ...] = (
    (r"strict mode violation", "PARAMETER_ERROR", "strict_mode"),
    (r"an action before it opened another page, where nothing fits ", "DATA_NOT_FOUND",
     "not_found"),
    (r"not attached to the DOM|Frame was detached|Execution context was destroyed"
     r"|Cannot find context|the rows moved: ", "RESOURCE_CONFLICT", "detached"),
    (r"(page|context|browser) has been closed|Target crashed|Page crashed",
     "SERVICE_UNAVAILABLE", "page_lost"),
    (r"(Element|Node) is not an? <?\w+|> was expected|cannot be filled"
     r"|Not a checkbox|Malformed value|is not a file input"
     r"|Cannot type text into", "PARAMETER_ERROR", "element_mismatch"),
    (r"nth\((?!-?\d)|not a valid XPath|Unknown attribute", "PARAMETER_ERROR", "script_error"),
    (r"did not find some options", "DATA_NOT_FOUND", "not_found"),
    (r"\bexpected to \w+.*\nActual value", "VALIDATION_ERROR", "claim"),
    (r"Timeout [\d.]+ms exceeded[\s\S]*?locator resolved to", "RESOURCE_CONFLICT",
     "not_actionable"),
    (r"Timeout [\d.]+ms exceeded[\s\S]*?(waiting for (event|navigation|response|request)"
     r"|wait_for_(function|load_state))|wait_for_function: Timeout", "DATA_NOT_FOUND",
     "wait_timeout"),
    (r"Timeout [\d.]+ms exceeded[\s\S]*?navigating to|(goto|reload|go_back): Timeout",
     "SERVICE_UNAVAILABLE", "navigation"),
    (r"Timeout [\d.]+ms exceeded[\s\S]*?waiting for (locator|get_by|frame_locator|selector)",
     "DATA_NOT_FOUND", "not_found"),
    (r"^(Locator|Page|Frame|ElementHandle|FrameLocator)\.\w+: Timeout", "DATA_NOT_FOUND",
     "locator_timeout"),
    (r"Failed to fetch|NetworkError when|\bE(CONN(REFUSED|RESET|ABORTED)|NOTFOUND|TIMEDOUT|PIPE"
     r"|HOSTUNREACH|NETUNREACH|AI_AGAIN)\b|socket hang up", "SERVICE_UNAVAILABLE", ""),
    (r"CORS policy|Content Security Policy|[Pp]ermissions [Pp]olicy", "PERMISSION_ERROR", ""),
    (r"\.(evaluate|evaluate_all|wait_for_function): \w*Error\b", "PARAMETER_ERROR",
     "script_error"),
    (r"while parsing|not a valid selector|Unknown engine|InvalidSelector|Unknown key:"
     r"|expected one of|expected (string|float|integer|number|boolean|object), got"
     r"|Cannot navigate to invalid URL|unknown url type|Unsupported .*mime|missing \d+ required"
     r"|takes \d+ positional", "PARAMETER_ERROR", "script_error"),
    (r"^(near \"|incomplete input|no such function|Incorrect number of bindings)"
     r"|^unrecognized token", "PARAMETER_ERROR", ""),
    (r"^no such (table|column)", "DATA_NOT_FOUND", ""),
    (r"^UNIQUE constraint|database (table )?is locked", "RESOURCE_CONFLICT", ""),
    (r"^(NOT NULL|CHECK|FOREIGN KEY) constraint", "VALIDATION_ERROR", ""),
    (r"^\[Errno \d+\] (Directory not empty|File exists|Device or resource busy|Text file busy)",
     "RESOURCE_CONFLICT", ""),
    (r"Cannot connect to host|<urlopen error"
     r"|\[Errno \d+\] (Connection|Network|Name or service|No route)",
     "SERVICE_UNAVAILABLE", ""),
    (rf"\b(?:{'|'.join(sorted(_SCRIPT_ERRORS - {'error'}))}): ", "PARAMETER_ERROR", "script_error"),
)  # fmt: skip


def classify(
    message: str,
    *,
    error_type: str = "",
    status: int | None = None,
    kind: FailureKind | None = None,
    rule: str = "",
) -> Classification:
    """Return the type of a failure.

    Args:
        message: the error message, preferably with Playwright's call log.
        error_type: the class name of the exception, if there was one.
        status: the HTTP status, if there was one.
        kind: the pipeline's name for the failure, if it has one.
        rule: the rule that refused the code or the call, if one did.
    """
    # Facts take precedence over words: a message may quote arbitrary page text.
    own = _AS_PROBLEM.sub("", message).casefold()
    if kind in ("step", "lint", None) and own in _OWN_WORDS:
        return _found(_OWN_WORDS[own], "kind", kind or own)
    if kind == "step" and _CONTINUED.match(message):
        return _found(("SERVICE_UNAVAILABLE", "limit"), "kind", kind)
    if kind in _BY_KIND:
        return _found(_BY_KIND[kind], "kind", kind)
    if kind == "model" or error_type == "ModelError":
        return _of_model(message)
    if kind in ("limit", "timeout"):
        for pattern, failure_type in _ENDINGS:
            if hit := re.search(pattern, message):
                return _found((failure_type, "limit"), "pattern", hit[0])
    if kind == "plan":
        # Older records hold a question as a plan.
        asks: WebKind = "question" if _PLAN_ASKS.match(message) else "plan_empty"
        return _found(("PARAMETER_ERROR", asks), "kind", kind)
    if rule in _BY_RULE:
        return _found(_BY_RULE[rule], "kind", rule)
    if status is not None and status >= 400:
        return _found((_of_status(status), ""), "status", str(status))
    if told := _STATUS_TOLD.search(message):
        return _found((_of_status(int(told[told.lastindex or 0])), ""), "pattern", told[0])
    if code := re.search(r"\b(?:net::)?ERR_([A-Z_]+)", message):
        return _found((_of_network(code[1]), "navigation"), "pattern", code[0])
    for pattern, failure_type, web_kind in _PATTERNS:
        if hit := re.search(pattern, message):
            return _found((failure_type, web_kind), "pattern", hit[0])
    if by_class := _of_class(error_type, message):
        return by_class
    # The pipeline's own sentences may hold any word.
    return _found(_AT_LAST[kind], "kind", kind) if kind in _AT_LAST else _of_words(message)


def classify_failure(failure: Failure) -> Classification:
    """Return the type of a failure recorded by the pipeline."""
    evidence: dict[str, Any] = failure.evidence
    if failure.kind == "model" and failure.cause:
        return classify(f"model: {failure.cause}: {failure.message}", kind="model")
    chosen = str(evidence.get("verdict") or evidence.get("location") or "")
    if failure.kind == "step" and chosen in _BY_CHOICE:
        return _found(_BY_CHOICE[chosen], "kind", chosen)
    return classify(
        str(evidence.get("detail") or failure.message),
        error_type=str(evidence.get("error_type", "")),
        status=evidence.get("status"),
        kind=failure.kind,
        rule=failure.rule or "",
    )


def classify_call(call: ToolCall) -> Classification | None:
    """Return the type of a failed call, or None if the call succeeded."""
    if call.error is None:
        return None
    error_type, _, message = call.error.partition(": ")
    refused: FailureKind | None = "sandbox" if error_type == "Refused" else None
    return classify(message, error_type=error_type, kind=refused)


def _of_class(error_type: str, message: str) -> Classification | None:
    if error_type in _BY_CLASS:
        return _found(_BY_CLASS[error_type], "class", error_type)
    if error_type in ("TimeoutError", "URLError"):
        return _found(("SERVICE_UNAVAILABLE", ""), "class", error_type)
    return None


def _of_model(message: str) -> Classification:
    said = re.match(r"\w+: (\w+): (.*)", message, re.DOTALL)
    cause, message = (said[1], said[2]) if said else ("", message)
    # Some services report an oversized request as a rate limit, for which no pause would help.
    if cause in _BY_CAUSE and not (cause == "rate_limit" and "too large" in message):
        return _found((_BY_CAUSE[cause], "llm_error"), "class", cause)
    if told := failure_words.find_of_service(message):
        return _found((told.type, "llm_error"), "keyword", told.words)
    words = _of_words(message)
    if words.type != "UNKNOWN":
        return words.model_copy(update={"web_kind": "llm_error"})
    return _found(("SERVICE_UNAVAILABLE", "llm_error"), "class", cause)


def _of_status(status: int) -> FailureType:
    return _BY_STATUS.get(status, "SERVICE_UNAVAILABLE" if status >= 500 else "PARAMETER_ERROR")


def _of_network(code: str) -> FailureType:
    for pattern, failure_type in _ERR_CODES:
        if re.match(pattern, code):
            return failure_type
    return "SERVICE_UNAVAILABLE"


def _of_words(message: str) -> Classification:
    found = failure_words.find(message)
    if found is None:
        return Classification(type="UNKNOWN", by="none")
    read = _found((found.type, ""), "keyword", found.words)
    return read.model_copy(update={"clear": found.clear})


def _found(rule: _Rule, by: Any, matched: str | None) -> Classification:
    return Classification(type=rule[0], web_kind=rule[1], by=by, matched=(matched or "")[:80])


_SYMPTOMS = frozenset(
    ("not_found", "locator_timeout", "wait_timeout", "claim", "not_actionable", "detached", "limit")
)
"""Kinds of failures that only report what did not appear; the cause lies elsewhere."""
_NAMED: dict[str, Trigger] = {
    "CONDITION_IGNORED": "CONDITION_IGNORED",
    "PARTIAL_MATCH": "PARTIAL_MATCH",
    "EMPTY_RESULT": "EMPTY_RESULT",
}


def cause_of(failure: Failure | None, findings: Sequence[Finding]) -> Classification | None:
    """Return the type of the failure's cause.

    "The heading did not appear" is only a symptom if the server has just answered 500. Evidence
    counts in this order: the last error status of a server, fields that reject their value, the
    text of an alert or dialog on the page, and finally the words of the failure itself.

    Returns:
        None if nothing failed, or if only a replayed site's recording did.
    """
    if failure is None or failure.kind == "off_record":
        return None
    found = classify_failure(failure)
    if failure.kind not in ("check", "limit") and found.web_kind not in _SYMPTOMS:
        return found
    kind = found.web_kind
    statuses = [f for f in findings if f.code == "server_status" and f.status is not None]
    said = [f for f in findings if f.code in ("page_says", "dialog_open")]
    for finding in reversed(statuses):
        cause = classify("", status=finding.status).model_copy(update={"web_kind": kind})
        # For a general status such as 400, the page's words are more precise.
        if cause.type not in ("PARAMETER_ERROR", "VALIDATION_ERROR") or not said:
            return _by_rule_told(said, kind) or cause if finding.status == 409 else cause
    for finding in findings:
        if finding.code == "field_invalid":
            return _by_evidence("VALIDATION_ERROR", kind, finding)
    for finding in said:
        if (words := failure_words.find(finding.fact)) is not None:
            told = _by_evidence(words.type, kind, finding)
            return told.model_copy(update={"clear": words.clear})
    silent = next((finding for finding in findings if finding.code == "no_answer"), None)
    if silent is not None and not statuses:
        return _by_evidence("SERVICE_UNAVAILABLE", kind, silent)
    if statuses:
        return classify("", status=statuses[-1].status).model_copy(update={"web_kind": kind})
    return found


def _by_rule_told(said: Sequence[Finding], kind: object) -> Classification | None:
    """Return an application rule named by the page, for a status as broad as 409.

    Servers answer 409 both to a conflict with another user and to an order that is out of stock.
    """
    for finding in said:
        words = failure_words.find(finding.fact)
        if words is not None and words.type == "BUSINESS_ERROR":
            return _by_evidence("BUSINESS_ERROR", kind, finding)
    return None


def trigger_of(attempt: Attempt) -> Trigger:
    """Return the trigger of a correction: the finding of a check, or else the failure's type."""
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
