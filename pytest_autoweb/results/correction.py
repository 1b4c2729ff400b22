"""What kind of failure something is, in the words of the behaviour calibration."""

from typing import Literal

from pytest_autoweb.results.record import CorrectionArmName, Record

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
    by: Literal["kind", "class", "status", "pattern", "keyword", "evidence", "none"]
    """Which rule decided; `keyword` is the least certain. `evidence`: what the page says."""
    matched: str = ""
    """The words that decided."""


Trigger = Literal[
    "",
    "CONDITION_IGNORED",  # no record meets the conditions
    "PARTIAL_MATCH",  # some do
    "EMPTY_RESULT",
    "PARAMETER_ERROR",
    "DATA_NOT_FOUND",
]
"""What calls for a correction by name; other failures are left to the rules for retries."""

CorrectionStrategy = Literal[
    "RE_QUERY", "EXPAND_RANGE", "FIX_FORMAT", "CHANGE_CONDITION", "ABANDON"
]

FindingCode = Literal[
    "missing",  # no such element
    "near",  # elements with a similar name
    "ambiguous",  # several fit
    "hidden",
    "covered",
    "disabled",
    "readonly",
    "wrong_kind",
    "outside",  # out of the viewport
    "other_frame",
    "dialog_open",
    "option_missing",
    "value_differs",
    "text_missing",
    "url_differs",
    "row_missing",
    "server_status",
    "no_answer",  # a server that was asked has not answered
    "field_invalid",
    "page_says",
    "present",  # what was looked for is there
    "on_page",  # all that can be acted on
]


class Finding(Record):
    """One fact about the page, seen by looking; no opinion."""

    code: FindingCode
    fact: str
    """A plain sentence; what it quotes is the page's text."""
    locators: tuple[str, ...] = ()
    """Expressions in the step language; each finds exactly one element."""
    status: int | None = None
    """HTTP status, with `server_status`."""


class Correction(Record):
    """What a retry was based on, and what became of it."""

    arm: CorrectionArmName
    retry: int
    """From 1."""
    of: Classification | None = None
    """The failure that it corrects."""
    trigger: Trigger = ""
    error: str = ""
    waited_s: float = 0.0
    recovery_prompt: str = ""
    suggestions: tuple[str, ...] = ()
    alternatives: tuple[str, ...] = ()
    """At most three other calls of the same sort."""
    requires_user_confirmation: bool = False
    relogin: bool = False
    """The user's hook logged in again before it."""
    analysis: str = ""
    strategy: CorrectionStrategy | None = None
    reflection: str = ""
    confidence: float | None = None
    """0 to 1, as the model says."""
    offered: int = 0
    """Elements that the second try was limited to."""
    outcome: Literal["pending", "solved", "not_solved"] = "pending"
