"""What may help after a failure, by its type: sentences, other calls, and a prompt file."""

from typing import NamedTuple

from pytest_autoweb.agents.correction.retry_decision import UNRECOVERABLE
from pytest_autoweb.base.language import NEVER_TOUCHED, NO_CODE_FOR_STEP, NO_CODE_IN_REPLY
from pytest_autoweb.models.prompts import fence, render
from pytest_autoweb.results.records import Attempt
from pytest_autoweb.results.records.record import Classification, FailureType, WebKind
from pytest_autoweb.settings.run_settings import MAX_RETRIES

MAX_ALTERNATIVES = 3
ASK_FIRST: frozenset[FailureType] = frozenset({"PERMISSION_ERROR", "BUSINESS_ERROR"})
"""Types after which a person should agree before a retry on a real system. In a test run every
attempt starts from a reset state, so they are retried anyway, except for permissions."""

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
_BY_OWN_WORDS: dict[str, tuple[str, ...]] = {
    NO_CODE_FOR_STEP: ("Write a block of code for every step of the plan, headed `# Step n`.",),
    NEVER_TOUCHED: ("Call the functions that you define: act on `page`, or give an answer.",),
    NO_CODE_IN_REPLY: ("Reply with the code, in one fenced Python block.",),
}
_INSTEAD: dict[WebKind, tuple[str, ...]] = {
    "plan_empty": ("Reply in the form that is asked for.",),
    "question": ("Decide by what the task and the site tell.",),
}
"""What helps after failures to which the advice for their type does not apply."""
_BY_FINDING: dict[str, tuple[str, ...]] = {
    "CONDITION_IGNORED": (
        "Search or filter by every condition of the task before you read the records.",
        "Compare each record with the conditions, and give back only those that meet them.",
    ),
    "PARTIAL_MATCH": (
        "Search or filter by every condition of the task, and leave out what does not meet them.",
        "If something is missing, read all of the list: further pages, rows that load late.",
    ),
    "EMPTY_RESULT": (
        "Look whether the list was still loading, or is on another page.",
        "Search with fewer or wider conditions.",
    ),
    "NO_MATCH": ("Read the page that the task means: what was given back is something else.",),
    "DATA_INCOMPLETE": ("Read all of the list: further pages, and rows that load late.",),
    "TOO_MANY_RECORDS": (
        "Narrow the search, and give back only as many records as the task asks for.",
    ),
    "FORMAT_ERROR": ("Give the answer back in the form that the task asks for.",),
}
"""What helps after a failed check that names what is wrong with an answer."""
_NOT_REACHED = (
    "Find out which part of the task is not done yet, and do it.",
    "Look at what the page shows after the last action: it may say why.",
)
"""What helps where something that was to be is not, and no field has refused a value."""
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
    """The options after a failure."""

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
        """Return whether another retry is worthwhile and allowed."""
        return self.should_retry and self.retry < self.max_retries


def recover(
    found: Classification,
    error: str,
    *,
    tool: str = "",
    retry: int = 0,
    max_retries: int = MAX_RETRIES,
    finding: str = "",
) -> Recovery:
    """Return advice for a failure, from the prompt file of its type.

    Args:
        found: the failure's type.
        error: the error message, which is fenced in the prompt because it may quote the page.
        tool: the method of the call that failed, such as `click`.
        retry: number of retries so far.
        max_retries: limit on the retries.
        finding: the name that a failed check has for what is wrong.
    """
    suggestions = _BY_OWN_WORDS.get(error) or _suggestions(found, finding)
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


def _suggestions(found: Classification, finding: str) -> tuple[str, ...]:
    """Return what may help, by what was found wrong, and only without such a finding by type."""
    if own := _BY_FINDING.get(finding):
        # What the page says, such as beside a field that refused its value, may be why.
        said = _SUGGESTIONS[found.type] if found.by == "evidence" else ()
        return (*own, *said)
    if found.type == "VALIDATION_ERROR" and found.web_kind == "claim" and found.by != "evidence":
        return _NOT_REACHED
    if found.web_kind in _INSTEAD:
        return _INSTEAD[found.web_kind]
    return (*_BY_KIND.get(found.web_kind, ()), *_SUGGESTIONS[found.type])


def alternatives(tool: str) -> tuple[Alternative, ...]:
    """Return at most three other calls of the same category; none for an unknown call."""
    for category in _CATEGORIES:
        if any(name == tool for name, _ in category):
            others = (Alternative(*each) for each in category if each[0] != tool)
            return tuple(others)[:MAX_ALTERNATIVES]
    return ()


def finding_of(attempt: Attempt, found: Classification) -> str:
    """Return what the failed checks name as wrong, unless a server's error says why it is."""
    ran = attempt.failure is None or attempt.failure.kind == "check"
    if not ran or found.by == "status":
        return ""
    failed = (check for check in attempt.checks if check.passed is False and not check.advisory)
    return next((check.finding for check in failed if check.finding in _BY_FINDING), "")
