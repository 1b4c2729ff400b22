"""Why a service call failed, and what a failure means for the next call.

An error is mapped to one of the report's causes and keeps the service's own words. The errors are
those of litellm and of the libraries below it, or those of `openai_api`, which have the same
attributes.
"""

import re
from collections.abc import Mapping

from pytest_autoweb.base.errors import ModelCause

_CAUSES: tuple[tuple[str, ModelCause], ...] = (
    # Names of litellm's exceptions, looked up along the class hierarchy; first match wins.
    ("ContextWindowExceededError", "context_window"),
    ("ContentPolicyViolationError", "refusal"),
    ("CallOverdue", "timeout"),
    ("Timeout", "timeout"),
    ("APITimeoutError", "timeout"),
    ("TimeoutError", "timeout"),
    ("RateLimitError", "rate_limit"),
    ("AuthenticationError", "auth"),
    ("PermissionDeniedError", "auth"),
    ("APIResponseValidationError", "parse"),
)
# Servers with an OpenAI-compatible interface often name these causes only in their message.
_PATTERNS: tuple[tuple[re.Pattern[str], ModelCause], ...] = (
    (
        re.compile(
            r"context[ _](?:length|window|size)|maximum context|prompt is too long"
            r"|too many tokens|exceed_context",
            re.IGNORECASE,
        ),
        "context_window",
    ),
    (
        re.compile(r"content[_ ](?:policy|filter)|safety system|responsible_?ai", re.IGNORECASE),
        "refusal",
    ),
)
# Some libraries report a missing key as a general error.
_NO_KEY = re.compile(
    r"missing credentials|api[_ ]key client option|no api[_ ]key"
    r"|api[_ ]key is (?:missing|required)",
    re.IGNORECASE,
)
_GARBLED = re.compile(
    r"Received response - <APIResponse \[2|Empty or invalid response|is not a list"
    r"|Expecting (?:value|property|',')|Unterminated string|JSONDecodeError|Extra data:"
)
_GARBLED_TYPES = (LookupError, TypeError, AttributeError, ValueError)
_STATUS_CAUSES: Mapping[int, ModelCause] = {
    401: "auth",
    403: "auth",
    408: "timeout",
    413: "context_window",
    429: "rate_limit",
    504: "timeout",
}


# A person has to pay before another call can succeed. Services say so with various statuses.
_NO_MONEY = re.compile(
    r"insufficient[_ ]?(?:quota|balance|credits?|funds)|billing[_ ](?:hard[_ ]limit|not[_ ]active)"
    r"|credit balance is too low|check your billing details|payment[_ ]required|arrearage|余额不足"
    r"|(?:requires|used all available|not enough|out of|no) (?:\w+ ){0,2}credits"
    r"|exceeded[_ ]current[_ ]quota|monthly spending limit",
    re.IGNORECASE,
)
# Said by OpenAI of an empty account, and by Google of the calls of a minute.
_QUOTA = re.compile(r"exceeded your current quota", re.IGNORECASE)
_LATER = re.compile(r"retry|per[_ ]?(?:minute|day)|try again", re.IGNORECASE)


def out_of_money(error: Exception) -> bool:
    """Tell whether the service refuses calls until somebody pays."""
    status = status_of(error)
    if status == 402:
        return True
    if status is None or not 400 <= status < 500:
        return False
    said = _whole_text(error)
    return bool(_NO_MONEY.search(said) or (_QUOTA.search(said) and not _LATER.search(said)))


def _whole_text(error: Exception) -> str:
    """Return all that is said in a refusal; libraries quote only its message."""
    seen: list[BaseException] = [error]
    while (under := seen[-1].__cause__ or seen[-1].__context__) and under not in seen:
        seen.append(under)
    bodies = (getattr(each, "body", None) or getattr(each, "text", "") for each in seen)
    return " ".join((words_of(error), *map(str, seen[1:]), *map(str, bodies)))


def cause_of(error: Exception) -> ModelCause:
    if out_of_money(error):
        return "auth"
    names = {base.__name__ for base in type(error).__mro__}
    for name, cause in _CAUSES:
        if name in names:
            return cause
    text = str(error)
    status = status_of(error)
    if _NO_KEY.search(text):
        return "auth"
    # A malformed reply surfaces as an ordinary Python error inside litellm's parsing code.
    if (status is None and isinstance(error, _GARBLED_TYPES)) or _GARBLED.search(text):
        return "parse"
    if status is not None and status in _STATUS_CAUSES:
        return _STATUS_CAUSES[status]
    if status is not None and 400 <= status < 500:
        # The provider's own words are often only in the wrapped error.
        body = f"{text} {error.__cause__!r}"
        for pattern, cause in _PATTERNS:
            if pattern.search(body):
                return cause
    return "unavailable"


def is_transient(error: Exception) -> bool:
    """Tell whether the same call may succeed if retried shortly."""
    cause = cause_of(error)
    if cause in ("rate_limit", "timeout"):
        return True
    return cause == "unavailable" and (status_of(error) or 0) >= 500


def may_be_billed(error: Exception) -> bool:
    """Tell whether the service may charge for a call without a usable reply."""
    return cause_of(error) in ("timeout", "parse")


def status_of(error: Exception) -> int | None:
    """Return the HTTP status of a refusal, or None."""
    status = getattr(error, "status_code", None)
    return status if isinstance(status, int) else None


def describe(error: Exception, cause: ModelCause, tries: int, *, limit_s: float | None) -> str:
    """Return the provider's own message without the prefixes that libraries add.

    Args:
        error: the failure of the last try.
        cause: its cause.
        tries: the number of tries.
        limit_s: the time limit of the call if it was reached, else None.
    """
    text = re.sub(r"^(?:litellm\.)?(?:\w+(?:Error|Timeout): )+", "", words_of(error))
    text = re.sub(r"^\w+Exception - ", "", text).split("\nTraceback")[0]
    text = " ".join(text.split())[:600] or type(error).__name__
    if cause == "timeout":
        text = f"no reply in time ({text})"
        if limit_s is not None:
            text = (
                f"no reply in time: a call may take {limit_s:g} s until the last byte of its "
                "reply (`timeout` in the model's settings)"
            )
    return f"{text} (after {tries} tries)" if tries > 1 else text


def words_of(error: Exception) -> str:
    # litellm raises some errors without text, with the message in an attribute.
    return str(error).strip() or str(getattr(error, "message", "") or "").strip()
