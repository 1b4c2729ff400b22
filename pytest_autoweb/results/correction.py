"""The types of failures, what was found out about them, and how they were corrected."""

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
    "limit",  # the attempt ended at a limit of its own: circles, decisions, time
    "llm_error",  # the model's service
]
"""The web's own kinds of failure, below the eight types."""


class Classification(Record):
    """A failure's type, and what gave it away."""

    type: FailureType
    """The failure's type, one of eight."""
    web_kind: WebKind = ""
    """The web's own kind of failure, if there is one that fits."""
    by: Literal["kind", "class", "status", "pattern", "keyword", "evidence", "model", "none"]
    """Which rule decided. `keyword` is the least certain one, `evidence` is what the page
    says, and `model` says that no rule spoke clearly and that `--autoweb-failure-model` did."""
    matched: str = ""
    """The words of the failure that decided."""
    clear: bool = True
    """False if the words only lean to this type, so that `--autoweb-failure-model` may decide."""
    ruled: FailureType | None = None
    """The type that the rules lean to, where a model decided."""


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
    """What kind of fact it is."""
    fact: str
    """The fact as a plain sentence, in which quoted text comes from the page."""
    locators: tuple[str, ...] = ()
    """Expressions in the step language, each of which finds exactly one element."""
    status: int | None = None
    """The HTTP status, for facts with the code `server_status`."""


class Correction(Record):
    """What a retry was based on, and what became of it."""

    arm: CorrectionArmName
    """The way in which the attempt was corrected."""
    retry: int
    """The number of the retry, from 1."""
    of: Classification | None = None
    """The type of the failure that it corrects."""
    trigger: Trigger = ""
    """The cause that calls for a correction by name; empty for other failures."""
    error: str = ""
    """What went wrong, as the retry was told it."""
    waited_s: float = 0.0
    """How long the rules for retries waited before it, in seconds."""
    recovery_prompt: str = ""
    """What the rules advise the model to do; empty for arms that tell it nothing."""
    suggestions: tuple[str, ...] = ()
    """What the rules suggest for this type of failure."""
    alternatives: tuple[str, ...] = ()
    """Up to three other calls of the same sort."""
    requires_user_confirmation: bool = False
    """Whether failures of this type call for a person's confirmation before a retry."""
    relogin: bool = False
    """Whether the user's hook logged in again before it."""
    analysis: str = ""
    """The model's analysis of the failure."""
    strategy: CorrectionStrategy | None = None
    """What the model chose to do about the failure."""
    reflection: str = ""
    """The model's reflection on the failure."""
    confidence: float | None = None
    """How sure the model says it is, from 0 to 1."""
    offered: int = 0
    """The number of elements to which the second try was limited."""
    outcome: Literal["pending", "solved", "not_solved"] = "pending"
    """What became of the correction."""
