"""Why a call of a service failed, as a cause that the report knows, and in the service's own words.

The errors are those of litellm and of the libraries below it, or those of `openai_api`, which have
the same attributes.
"""

import re
from collections.abc import Mapping

from pytest_autoweb.errors import ModelCause

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


def cause_of(error: Exception) -> ModelCause:
    """Return why the call failed, as a cause that the report knows."""
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
        # The provider's own words are often only in the error that litellm wrapped.
        body = f"{text} {error.__cause__!r}"
        for pattern, cause in _PATTERNS:
            if pattern.search(body):
                return cause
    return "unavailable"


def is_transient(error: Exception) -> bool:
    """Tell whether the same call may succeed when it is tried again shortly."""
    cause = cause_of(error)
    if cause in ("rate_limit", "timeout"):
        return True
    return cause == "unavailable" and (status_of(error) or 0) >= 500


def may_be_billed(error: Exception) -> bool:
    """Tell whether the service may charge for a call that gave no usable reply."""
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
    """Return what the error says."""
    # litellm raises some errors without a text, and with their words in an attribute.
    return str(error).strip() or str(getattr(error, "message", "") or "").strip()
