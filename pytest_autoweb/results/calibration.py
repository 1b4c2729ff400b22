"""What kind of failure something is, in the words of the behaviour calibration."""

from typing import Literal

from pytest_autoweb.results.record import Record

FailureType = Literal[
    "PARAMETER_ERROR",  # the call itself is wrong: its form, its arguments, its target
    "PERMISSION_ERROR",  # not allowed, not logged in, token expired
    "SERVICE_UNAVAILABLE",  # a server, the network or the browser does not answer
    "DATA_NOT_FOUND",  # what was asked for does not exist
    "VALIDATION_ERROR",  # a value breaks a rule, a claim does not hold
    "BUSINESS_ERROR",  # the application's own rules: stock, state, process
    "RESOURCE_CONFLICT",  # something else holds it, or it changed meanwhile
    "UNKNOWN",
]

WebKind = Literal[
    "",
    "locator_timeout",  # an element was waited for in vain; more is not known
    "not_found",  # no such element, frame or option
    "not_actionable",  # it is there, but hidden, covered, disabled or moving
    "strict_mode",  # several elements fit
    "element_mismatch",  # not the kind of element that the call needs
    "detached",  # the element or its frame went away
    "wait_timeout",  # an awaited event did not come
    "claim",  # an `expect` does not hold
    "navigation",  # an address could not be opened
    "page_lost",  # the page or the browser is gone
    "script_error",  # the code itself is wrong
    "lint",  # refused before it ran
    "refused",  # refused at the sandbox's border
    "plan_empty",
    "question",  # the plan asks instead of planning
    "llm_error",  # the model's service
]
"""The web's own kinds of failure, below the eight types."""


class Classification(Record):
    """A failure's type, and what gave it away."""

    type: FailureType
    web_kind: WebKind = ""
    by: Literal["kind", "class", "status", "pattern", "keyword", "none"]
    """Which rule decided; `keyword` is the least certain."""
    matched: str = ""
    """The words that decided."""
