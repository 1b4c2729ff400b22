"""The base of all saved records, the closed sets of words, and the usage of model calls.

The words include the types of failures, the findings about one, and its corrections.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Annotated, Literal

from pydantic import ConfigDict, Field

from pytest_autoweb.base.specs import Documented

VARIANT_NAME = r"^[A-Za-z][A-Za-z0-9_]*$"

VariantName = Annotated[str, Field(pattern=VARIANT_NAME)]
"""Names of registered variants are plain words, so they are safe in folder names and in Markdown.

Their existence is not checked, because results of other machines, and of projects with variants of
their own, must stay readable.
"""

CaptureModeName = VariantName
"""How the page was shown to the model."""

CorrectionArmName = VariantName
"""How a failed attempt was tried again."""

FailureType = Literal[
    "PARAMETER_ERROR",  # the call itself is wrong: its form, its arguments, its target
    "PERMISSION_ERROR",  # not allowed, not logged in, token expired
    "SERVICE_UNAVAILABLE",  # a server, the network or the browser does not answer
    "DATA_NOT_FOUND",  # the requested thing does not exist
    "VALIDATION_ERROR",  # a value breaks a rule, a claim does not hold
    "BUSINESS_ERROR",  # the application's own rules: stock, state, process
    "RESOURCE_CONFLICT",  # something else holds it, or it changed meanwhile
    "UNKNOWN",
]

WebKind = Literal[
    "",
    "locator_timeout",  # waiting for an element timed out; the cause is unknown
    "not_found",  # no such element, frame or option
    "not_actionable",  # it exists, but is hidden, covered, disabled or moving
    "strict_mode",  # several elements fit
    "element_mismatch",  # the wrong kind of element for the call
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
    "limit",  # the attempt hit its own limit: loops, decisions, time
    "llm_error",  # the model's service
]
"""The web's own kinds of failure, below the eight types."""


class Record(Documented):
    """Base of everything saved: frozen, unknown fields refused, docstrings become the schema."""

    model_config = ConfigDict(frozen=True, extra="forbid")


Outcome = Literal[
    "passed", "failed", "healed", "broken", "ungraded", "skipped", "needs_input", "off_record"
]
"""How a cell ended: `healed` passed only after a repair, `broken` means that infrastructure failed,
`needs_input` that the plan asked a question that `--autoweb-questions` leaves open, `off_record`
that it sent a replayed site a request that is not in the recording."""

OUTCOME_LETTERS: Mapping[str, str] = {
    "passed": "P",
    "healed": "H",
    "failed": "F",
    "broken": "B",
    "ungraded": "U",
    "skipped": "S",
    "needs_input": "Q",
    "off_record": "O",
}
"""How outcomes are told where there is little room."""

NotNeeded = Literal["", "decided", "time", "money", "steered"]
"""Why a cell was left out: by `--autoweb-until`, or because somebody stopped its model or its case
while the run went on (`steered`); empty for every other cell."""

StageName = Literal[
    "plan",
    "capture",
    "visual",
    "generate",
    "lint",
    "execute",
    "judge",
    "repair",
    "analysis",
    "decide",  # strategy act: one decision on the marked page
    "navigate",  # strategy collect, its phases
    "explore",
    "paginate",
    "collect",
    "locate",  # a question of the vision locator
    "reflect",
    "classify",  # a model names the type of a failure
    "agent",  # any call of an outside agent
    "read",  # a value that a test asks for
]

FailureKind = Literal[
    "model",  # the model's service gave no usable reply
    "plan",  # the reply holds no plan
    "question",  # the plan asks a question that is left open
    "lint",  # the code is missing, or refused by the sandbox's policy
    "repair",  # the repair repeats the failed code
    "step",  # the code raised while it ran
    "timeout",  # a step ran out of time
    "sandbox",  # a call was refused, or the worker was killed by a limit
    "limit",  # a strategy used up its decisions, calls or repetitions
    "check",  # the steps ran, a check does not hold
    "navigation",  # the entry page could not be opened
    "browser",  # the browser or the page died
    "webserver",  # the case's web server did not start or reset
    "killed",  # the test process died while it ran the cell
    "internal",  # a bug in pytest-autoweb
    "fixture",  # a fixture of the project failed before or after the cell
    "agent",  # the program of an outside agent did not run
    "recording",  # there is no recorded traffic to replay, or it is damaged
    "off_record",  # a replayed site got a request that is not in the recording
]

BROKEN: frozenset[FailureKind] = frozenset(
    {
        *("model", "navigation", "browser", "webserver"),
        *("internal", "fixture", "killed", "agent", "recording"),
    }
)
"""Infrastructure failures, which do not reflect on the model."""

StepStatus = Literal["ok", "failed", "blocked", "skipped", "not_run", "corrected"]
"""`blocked`: an earlier step failed; `not_run`: nothing was executed (lint, empty plan);
`corrected`: the turn ended in an error, which was reported to the model before its next turn."""


class Usage(Record):
    """Tokens, money and time of model calls; adds up with `+`."""

    calls: int = 0
    """Model calls, failed ones included."""
    input_tokens: int = 0
    """The tokens of the prompts."""
    output_tokens: int = 0
    """The tokens of the replies, thoughts included."""
    cached_tokens: int = 0
    """Those tokens of the prompts that the service read from its cache."""
    reasoning_tokens: int = 0
    """Those tokens of the replies that were thoughts, as far as the service says so."""
    cost_usd: float | None = None
    """The US dollars of all priced calls; None if no call had a price."""
    unpriced_calls: int = 0
    """The number of calls without a known price, for which `cost_usd` is a lower bound or
    unknown."""
    latency_s: float = 0.0
    """The seconds spent waiting for the service, or those of the recording for replayed calls."""
    replayed_calls: int = 0
    """Calls answered by a cassette."""

    def __add__(self, other: "Usage") -> "Usage":
        return Usage.total((self, other))

    @staticmethod
    def total(usages: "Iterable[Usage]") -> "Usage":
        """Return the total usage of several calls, in one step for any number of them."""
        every = tuple(usages)
        costs = [each.cost_usd for each in every if each.cost_usd is not None]
        return Usage(
            calls=sum(each.calls for each in every),
            input_tokens=sum(each.input_tokens for each in every),
            output_tokens=sum(each.output_tokens for each in every),
            cached_tokens=sum(each.cached_tokens for each in every),
            reasoning_tokens=sum(each.reasoning_tokens for each in every),
            cost_usd=sum(costs) if costs else None,
            unpriced_calls=sum(each.unpriced_calls for each in every),
            latency_s=sum(each.latency_s for each in every),
            replayed_calls=sum(each.replayed_calls for each in every),
        )


class Exchange(Record):
    """One model call: what was asked and what came back, redacted."""

    stage: StageName
    """The stage that asked."""
    turn: int = 0
    """The number of the question within its stage, from 0."""
    prompt: str
    """The texts of all messages of the prompt, redacted."""
    reply: str
    """The reply, redacted."""
    usage: Usage
    """What the call used."""
    model: str = ""
    """The name of the model that was asked, which need not be that of the cell (a judge, say);
    empty in older records."""
    model_served: str = ""
    """The name of the model that answered, as its provider gives it."""
    fingerprint: str = ""
    """What else the provider tells of that model: the fingerprint of its configuration, or of a
    model file its digest, quantisation and engine; empty if it tells nothing."""
    error: str | None = None
    """Why there is no usable reply, redacted; None if there is one."""
    cause: str = ""
    """The kind of the error, such as `timeout` or `rate_limit`; empty without one."""
    started: datetime | None = None
    """The time at which the call was made; None in older records."""
    ended: datetime | None = None
    """The time at which its reply was there, which is soon for a replayed call."""


class ServedModel(Record):
    """One model that answered calls, as its provider tells of it."""

    served: str = ""
    """Its name, which need not be the one that was asked for."""
    fingerprint: str = ""
    """What else the provider tells of it; see `Exchange.fingerprint`."""
    calls: int = 1
    """How many calls it answered, replayed ones included."""


def served_models(told: Iterable[ServedModel]) -> tuple[ServedModel, ...]:
    """Count the calls of each model that answered, in the order in which they first did."""
    calls: dict[tuple[str, str], int] = {}
    for each in told:
        if each.served or each.fingerprint:
            key = (each.served, each.fingerprint)
            calls[key] = calls.get(key, 0) + each.calls
    return tuple(
        ServedModel(served=served, fingerprint=fingerprint, calls=count)
        for (served, fingerprint), count in calls.items()
    )


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
"""Named triggers of a correction; other failures are left to the rules for retries."""

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
    "no_answer",  # a requested server has not answered
    "field_invalid",
    "page_says",
    "present",  # the wanted element exists
    "on_page",  # all actionable elements
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
