"""Whether and when a failed attempt is tried again, and the advice for each type of failure."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from pytest_autoweb.llm.prompts import fence, render
from pytest_autoweb.results import Attempt
from pytest_autoweb.results.correction import Classification, FailureType, WebKind
from pytest_autoweb.settings import MAX_RETRIES

MAX_ALTERNATIVES = 3
ASK_FIRST: frozenset[FailureType] = frozenset({"PERMISSION_ERROR", "BUSINESS_ERROR"})
"""Types after which a person should agree before a retry on a real system. In a test run every
attempt starts from a reset state, so they are retried anyway, except for permissions."""
UNRECOVERABLE: frozenset[FailureType] = frozenset({"PERMISSION_ERROR"})
"""Types that no repair of a script can cure; only the user's own login hook may, once."""
TRANSIENT: frozenset[FailureType] = frozenset({"SERVICE_UNAVAILABLE", "RESOURCE_CONFLICT"})
"""Types that may pass by themselves, so a retry waits for them."""

PROMPTS = tuple(
    f"recover_{name}"
    for name in (
        "business_error",
        "data_not_found",
        "parameter_error",
        "permission_error",
        "resource_conflict",
        "service_unavailable",
        "unknown",
        "validation_error",
    )
)

_SUGGESTIONS: dict[FailureType, tuple[str, ...]] = {
    "PARAMETER_ERROR": (
        "Use the arguments that the call takes, in their types.",
        "Add what is missing; leave out what the call does not know.",
    ),
    "PERMISSION_ERROR": (
        "Log in again: the session may have ended.",
        "Ask an administrator for the right, if the account lacks it.",
    ),
    "SERVICE_UNAVAILABLE": (
        "Try again after a pause.",
        "Check that the server runs and the network reaches it.",
    ),
    "DATA_NOT_FOUND": (
        "Use the name, spelling and place that the page shows.",
        "Search with fewer or wider conditions.",
    ),
    "VALIDATION_ERROR": (
        "Give a value in the form that the field asks for.",
        "Read the message beside the field.",
    ),
    "BUSINESS_ERROR": (
        "Read what the application says; do what it asks for first.",
        "Choose something that its rules allow.",
    ),
    "RESOURCE_CONFLICT": (
        "Look at the page anew: it changed meanwhile.",
        "Use another name, if the one given is taken.",
    ),
    "UNKNOWN": ("Look at the page anew and take another way.",),
}
_BY_KIND: dict[WebKind, tuple[str, ...]] = {
    "strict_mode": (
        "Several elements fit: name the one meant exactly, or take .first or .nth(n).",
    ),
    "element_mismatch": ("Use the call that this kind of element takes.",),
    "not_actionable": (
        "Remove what is in the way first: close the dialog, open the fold, scroll.",
    ),
    "detached": ("The page was drawn anew: find the element again right before the call.",),
    "wait_timeout": ("Wait for something that the action really brings about.",),
    "refused": ("Stay within the step language: no scripts, no files, no other sites.",),
    "lint": ("Use only the calls of the step language.",),
}
_CATEGORIES: tuple[tuple[tuple[str, str], ...], ...] = (
    (
        ("click", "press an element with the mouse"),
        ("press", "press a key on an element, such as Enter"),
        ("check", "tick a box or a radio button"),
        ("dblclick", "press twice"),
        ("dispatch_event", "send the element an event"),
    ),
    (
        ("fill", "put a text into a field at once"),
        ("press_sequentially", "type a text key by key, for fields that listen to keys"),
        ("select_option", "choose in a select box"),
        ("set_input_files", "hand a file to an upload"),
    ),
    (
        ("get_by_role", "find by what it is and what it is called"),
        ("get_by_label", "find a field by its label"),
        ("get_by_text", "find by the text that it shows"),
        ("get_by_placeholder", "find a field by its hint"),
        ("locator", "find by a CSS selector"),
    ),
    (
        ("goto", "open an address"),
        ("reload", "load the page again"),
        ("go_back", "go back to the page before"),
    ),
    (
        ("inner_text", "read the text as it is shown"),
        ("text_content", "read all text, hidden too"),
        ("input_value", "read what stands in a field"),
        ("get_attribute", "read an attribute"),
    ),
    (
        ("wait_for", "wait for an element"),
        ("wait_for_url", "wait for an address"),
        ("wait_for_load_state", "wait until the page has loaded"),
    ),
)


class Alternative(NamedTuple):
    """Another call of the same category."""

    name: str
    description: str


class Recovery(NamedTuple):
    """What can be done after a failure."""

    system_prompt: str
    user_prompt: str
    suggestions: tuple[str, ...]
    alternatives: tuple[Alternative, ...]
    failure_type: FailureType
    original_error: str
    failed_tool: str
    should_retry: bool
    retry: int
    """Number of retries so far."""
    max_retries: int
    requires_user_confirmation: bool

    @property
    def can_retry(self) -> bool:
        """Tell whether another retry is worthwhile and allowed."""
        return self.should_retry and self.retry < self.max_retries


def recover(
    found: Classification,
    error: str,
    *,
    tool: str = "",
    retry: int = 0,
    max_retries: int = MAX_RETRIES,
) -> Recovery:
    """Return advice for a failure, from the prompt file of its type.

    Args:
        found: the failure's type.
        error: the error message, which is fenced in the prompt because it may quote the page.
        tool: the method of the call that failed, such as `click`.
        retry: number of retries so far.
        max_retries: limit on the retries.
    """
    suggestions = (*_BY_KIND.get(found.web_kind, ()), *_SUGGESTIONS[found.type])
    others = alternatives(tool)
    system, user = render(
        f"recover_{found.type.lower()}",
        tool=tool,
        error=fence(" ".join(error.split())[:600], "error"),
        suggestions=suggestions,
        alternatives=others,
    )
    return Recovery(
        system_prompt=system.content,
        user_prompt=user.content,
        suggestions=suggestions,
        alternatives=others,
        failure_type=found.type,
        original_error=error,
        failed_tool=tool,
        should_retry=found.type not in UNRECOVERABLE,
        retry=retry,
        max_retries=max_retries,
        requires_user_confirmation=found.type in ASK_FIRST,
    )


def alternatives(tool: str) -> tuple[Alternative, ...]:
    """Return at most three other calls of the same category; none for an unknown call."""
    for category in _CATEGORIES:
        if any(name == tool for name, _ in category):
            others = (Alternative(*each) for each in category if each[0] != tool)
            return tuple(others)[:MAX_ALTERNATIVES]
    return ()


MIN_CONFIDENCE = 0.3
"""Confidence below which a reflection is not acted on."""

MIN_SUCCESS_SHARE = 0.1
"""Least share of past corrections that must have helped."""
CORRECTIONS_COUNTED = 100
"""Number of the latest corrections that count for this share."""
MIN_CORRECTIONS = 30
"""Least number of corrections for a conclusion: if one in ten helps, 20 in a row still fail in an
eighth of all runs."""

PastCorrections = Mapping[str, tuple[int, int]]
"""For each type, how many of the latest corrections by this model in this arm helped, and their
number."""


class Rules(NamedTuple):
    """What is allowed for one cell."""

    max_retries: int
    """Limit on the attempts after the first one."""
    resettable: bool
    """Whether every attempt starts from the same state of the server."""
    can_relogin: bool = False
    """Whether the user has a hook that logs in again."""
    past: PastCorrections = MappingProxyType({})
    """What a store remembers; empty if nothing is known."""
    compared: bool = False
    """Whether several arms are compared, which must then all keep these rules."""


class RetryDecision(NamedTuple):
    """Whether and how to go on after the last attempt."""

    retry: bool
    reason: str = ""
    """The reason if there is no retry."""
    wait_s: float = 0.0
    relogin: bool = False


def may_pass(attempt: Attempt) -> bool:
    """Return whether the failure may pass by itself, so that repeating the calls may help."""
    return attempt.classification is not None and attempt.classification.type in TRANSIENT


_REFUSED = frozenset(("lint", "plan", "repair"))
"""Kinds of failures that end an attempt before it does anything on the page."""


def last_run(attempts: Sequence[Attempt]) -> Attempt:
    """Return the last attempt that reached the page, or the last one if none did.

    A retry that was refused before it ran says nothing new about the task, so the type of the
    failure and what was seen on the page are still those of the attempt before it.
    """
    return next((each for each in reversed(attempts) if not was_refused(each)), attempts[-1])


def was_refused(attempt: Attempt) -> bool:
    """Return whether the attempt ended before it did anything on the page."""
    return attempt.failure is not None and attempt.failure.kind in _REFUSED


def decide_retry(attempts: Sequence[Attempt], rules: Rules) -> RetryDecision:
    """Decide whether to stop or to try again after a pause.

    The pause before retry 1, 2 and 3 is 1, 2 and 4 s, but only if the failure may pass by itself. A
    lack of permissions ends the retries, unless the user's hook logs in again, which is tried once.
    There is no retry if the attempt may have changed something that cannot be reset, or if such
    corrections have hardly ever helped.

    Args:
        attempts: the attempts so far, of which the last one failed.
        rules: what is allowed for the cell.
    """
    last, made = last_run(attempts), len(attempts) - 1
    if made >= rules.max_retries:
        return RetryDecision(
            False, f"{made} retries were made" if made else "no retries are allowed"
        )
    # This rule holds for every type of failure, because nothing may be ordered or sent twice.
    if any(attempt.writes for attempt in attempts) and not rules.resettable:
        return RetryDecision(
            False, "it may have changed something, and nothing puts the server back"
        )
    kind = last.classification.type if last.classification else "UNKNOWN"
    if kind in UNRECOVERABLE:
        used = any(attempt.correction and attempt.correction.relogin for attempt in attempts)
        if used or not rules.can_relogin:
            done = "logging in again did not help" if used else "nothing logs in again"
            return RetryDecision(False, f"{kind} is not retried: {done}")
        return RetryDecision(True, relogin=True)
    # The past decides last, because the rules above hold however often corrections have helped.
    helped, tried = rules.past.get(kind, (0, 0))
    if tried >= MIN_CORRECTIONS and helped / tried < MIN_SUCCESS_SHARE:
        return RetryDecision(False, f"{helped} of the last {tried} corrections of {kind} helped")
    return RetryDecision(True, wait_s=float(2**made) if kind in TRANSIENT else 0.0)
