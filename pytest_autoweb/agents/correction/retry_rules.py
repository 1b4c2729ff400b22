"""Whether and when a failed attempt is retried, and what information and advice the retry gets.

That includes reflections: a model's own lessons from a failure, and whether they helped. After
Shinn et al., "Reflexion" (arXiv 2303.11366). A reflection belongs to a case and a model, and
records the outcome of the retry that it led to.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, NamedTuple, get_args

from pytest_autoweb.agents.correction.failure_types import trigger_of
from pytest_autoweb.base.language import NEVER_TOUCHED, NO_CODE_FOR_STEP, NO_CODE_IN_REPLY
from pytest_autoweb.base.variant_names import Arm
from pytest_autoweb.judging.checks.check_type import CHECKS, Ground
from pytest_autoweb.models.prompts import fence, render
from pytest_autoweb.models.replies import objects_in
from pytest_autoweb.results.records import Attempt, CheckResult, Correction, ToolCall
from pytest_autoweb.results.records.record import (
    Classification,
    CorrectionStrategy,
    FailureType,
    FindingCode,
    WebKind,
)
from pytest_autoweb.settings.run_settings import MAX_RETRIES

MAX_ALTERNATIVES = 3
ASK_FIRST: frozenset[FailureType] = frozenset({"PERMISSION_ERROR", "BUSINESS_ERROR"})
"""Types after which a person should agree before a retry on a real system. In a test run every
attempt starts from a reset state, so they are retried anyway, except for permissions."""
UNRECOVERABLE: frozenset[FailureType] = frozenset({"PERMISSION_ERROR"})
"""Types that no repair of a script can fix; only the user's own login hook may, once."""
TRANSIENT: frozenset[FailureType] = frozenset({"SERVICE_UNAVAILABLE", "RESOURCE_CONFLICT"})
"""Transient types, so a retry pauses first."""

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

# `on_page` is left out: it lists all elements, which the constrained arm offers in its own way.
_TOLD: frozenset[FindingCode] = frozenset(
    ("missing", "near", "ambiguous", "hidden", "covered", "disabled", "readonly", "wrong_kind",
     "outside", "other_frame", "dialog_open", "option_missing", "value_differs", "server_status",
     "no_answer", "field_invalid", "page_says")
)  # fmt: skip


_RESTS_ON: dict[Ground, str] = {
    "page": "what the page shows at the end",
    "address": "the page's address at the end",
    "answer": "the answer",
    "requests": "the requests that were sent",
    "downloads": "the files that were downloaded",
    "opinion": "how the page and the actions are judged",
    "live": "what the application holds at the end",
}

KEPT = 3
"""Number of past reflections in the prompt for a new one."""
_TEXT_CHARS = 600
_KEYS = {
    "analysis": ("errorAnalysis", "error_analysis", "analysis", "错误分析", "分析"),
    "strategy": ("correctionStrategy", "correction_strategy", "strategy", "修正策略", "策略"),
    "reflection": ("reflection", "反思"),
    "confidence": ("confidence", "置信度", "信心"),
}
_CHINESE: dict[str, CorrectionStrategy] = {
    "放弃": "ABANDON",
    "格式": "FIX_FORMAT",
    "重新": "RE_QUERY",
    "扩大": "EXPAND_RANGE",
    "条件": "CHANGE_CONDITION",
}
SCHEMA: dict[str, Any] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["errorAnalysis", "correctionStrategy", "reflection", "confidence"],
    "properties": {
        "errorAnalysis": {"type": "string", "maxLength": 400},
        "correctionStrategy": {"enum": list(get_args(CorrectionStrategy))},
        "reflection": {"type": "string", "maxLength": 400},
        "confidence": {"type": "number", "minimum": 0, "maximum": 1},
    },
}
"""JSON Schema of a reply, for servers that enforce one."""


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


MIN_CONFIDENCE = 0.3
"""Confidence below which a reflection is ignored."""

MIN_SUCCESS_SHARE = 0.1
"""Minimum share of past corrections that must have helped."""
CORRECTIONS_COUNTED = 100
"""Number of the latest corrections that count for this share."""
MIN_CORRECTIONS = 30
"""Minimum number of corrections for a conclusion: if one in ten helps, 20 in a row still fail in an
eighth of all runs."""

PastCorrections = Mapping[str, tuple[int, int]]
"""For each type, how many of the latest corrections by this model in this arm helped, and their
number."""


class Rules(NamedTuple):
    """The limits for one cell."""

    max_retries: int
    """Maximum number of attempts after the first one."""
    resettable: bool
    """Whether every attempt starts from the same state of the server."""
    can_relogin: bool = False
    """Whether the user has a hook that logs in again."""
    past: PastCorrections = MappingProxyType({})
    """The record of earlier corrections from a store; empty if there is none."""
    compared: bool = False
    """Whether several arms are compared, all of which must then keep these rules."""


class RetryDecision(NamedTuple):
    """Whether and how to continue after the last attempt."""

    retry: bool
    reason: str = ""
    """The reason if there is no retry."""
    wait_s: float = 0.0
    relogin: bool = False


def may_pass(attempt: Attempt) -> bool:
    """Return whether the failure may be transient, so that repeating the calls may help."""
    return attempt.classification is not None and attempt.classification.type in TRANSIENT


_REFUSED = frozenset(("lint", "plan", "repair"))
"""Kinds of failures that end an attempt before it does anything on the page."""


def last_run(attempts: Sequence[Attempt]) -> Attempt:
    """Return the last attempt that reached the page, or the last one if none did.

    A retry refused before it ran shows nothing new about the task, so the failure's type and the
    observations of the page are still those of the previous attempt.
    """
    return next((each for each in reversed(attempts) if not was_refused(each)), attempts[-1])


def was_refused(attempt: Attempt) -> bool:
    """Return whether the attempt ended before it did anything on the page."""
    return attempt.failure is not None and attempt.failure.kind in _REFUSED


def decide_retry(attempts: Sequence[Attempt], rules: Rules) -> RetryDecision:
    """Decide whether to stop or to retry after a pause.

    The pause before retry 1, 2 and 3 is 1, 2 and 4 s, but only if the failure may be transient.
    Missing permissions end the retries, unless the user's hook logs in again, which is tried once.
    There is no retry if the attempt may have changed something that cannot be reset, or if such
    corrections have hardly ever helped.

    Args:
        attempts: the attempts so far, of which the last one failed.
        rules: the limits for the cell.
    """
    last, made = last_run(attempts), len(attempts) - 1
    if made >= rules.max_retries:
        return RetryDecision(
            False, f"{made} retries were made" if made else "no retries are allowed"
        )
    # This rule applies to every type of failure, because nothing may be ordered or sent twice.
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
    # Past success decides last, because the rules above apply regardless of it.
    helped, tried = rules.past.get(kind, (0, 0))
    if tried >= MIN_CORRECTIONS and helped / tried < MIN_SUCCESS_SHARE:
        return RetryDecision(False, f"{helped} of the last {tried} corrections of {kind} helped")
    return RetryDecision(True, wait_s=float(2**made) if kind in TRANSIENT else 0.0)


@dataclass(frozen=True, slots=True)
class Guidance:
    """The information that one retry gets."""

    arm: Arm
    attempts: tuple[Attempt, ...]
    """The attempts so far in this arm, of which the last one is corrected."""
    correction: Correction
    """The record of the correction at the start of the retry."""
    recovery: Recovery

    @property
    def failed(self) -> Attempt:
        """Return the attempt being corrected."""
        return self.attempts[-1]

    @property
    def evidence(self) -> tuple[str, ...]:
        """Describe the ends of all attempts so far, with the observations, latest first."""
        told: list[str] = []
        latest = last_run(self.attempts)
        for attempt in reversed(self.attempts):
            if was_refused(attempt) and attempt is not latest:
                told.append(f"a retry was refused before it ran: {failure_text(attempt)}")
                continue
            run = "the run" if attempt is latest else "an earlier run"
            told.append(f"{run} ended with: {failure_text(attempt)}")
            told += (found.fact for found in attempt.findings if found.code in _TOLD)
        return tuple(dict.fromkeys(told))


def guidance_for(
    arm: Arm, attempts: tuple[Attempt, ...], decision: RetryDecision, limit: int
) -> Guidance:
    """Return the information for an arm's next retry.

    Args:
        arm: the way to correct.
        attempts: the attempts so far.
        decision: the decision by the rules for retries.
        limit: limit on the retries.
    """
    failed, retry = last_run(attempts), len(attempts)
    found = failed.classification or Classification(type="UNKNOWN", by="none")
    error = failure_text(failed)
    if failed is not attempts[-1]:
        error = f"{error} (the last retry was refused: {failure_text(attempts[-1])})"
    recovery = recover(
        found,
        error,
        tool=failed_tool(failed),
        retry=retry - 1,
        max_retries=limit,
        finding=finding_of(failed, found),
    )
    return Guidance(
        arm=arm,
        attempts=attempts,
        correction=Correction(
            arm=arm.name,
            retry=retry,
            of=found,
            trigger=trigger_of(failed),
            error=error,
            waited_s=decision.wait_s,
            recovery_prompt=recovery.user_prompt if arm.informed else "",
            suggestions=recovery.suggestions if arm.informed else (),
            alternatives=tuple(other.name for other in recovery.alternatives)
            if arm.informed
            else (),
            requires_user_confirmation=recovery.requires_user_confirmation,
            relogin=decision.relogin,
        ),
        recovery=recovery,
    )


def finding_of(attempt: Attempt, found: Classification) -> str:
    """Return what the failed checks name as wrong, unless a server's error says why it is."""
    ran = attempt.failure is None or attempt.failure.kind == "check"
    if not ran or found.by == "status":
        return ""
    failed = (check for check in attempt.checks if check.passed is False and not check.advisory)
    return next((check.finding for check in failed if check.finding in _BY_FINDING), "")


def failed_call(attempt: Attempt) -> ToolCall | None:
    """Return the last failed call if the page is still the one on which it failed.

    Code that caught the error, or a later turn, may have gone on to other pages. Those say nothing
    about why that call failed, and it is not what the attempt failed of.
    """
    for call in reversed(attempt.tool_calls):
        if not call.ok:
            return call
        if call.acting:
            return None
    return None


def failed_tool(attempt: Attempt) -> str:
    """Return the method of the call at which the attempt ended, such as `click`, or empty."""
    call = failed_call(attempt)
    return call.method if call else ""


def failure_text(attempt: Attempt) -> str:
    """Return the failure's message, without the checks' expectations."""
    # A failed check's own message reveals its expectation, and a retry that knew this could write
    # down the answer instead of finding it.
    if attempt.failure is None or attempt.failure.kind == "check":
        return unmet(attempt.checks)
    return attempt.failure.message


def unmet(checks: Iterable[CheckResult]) -> str:
    """State that the outcome was not reached, and the grounds of the failed checks."""
    failed = [check for check in checks if check.passed is False and not check.advisory]
    grounds = (CHECKS[check.type].rests_on for check in failed if check.type in CHECKS)
    places = "; ".join(dict.fromkeys(_RESTS_ON[ground] for ground in grounds))
    wrong = f" Not as it should be: {places}." if places else ""
    hints = (" ".join(check.hint.split()) for check in failed if check.hint)
    told = "".join(f" {hint}" for hint in dict.fromkeys(hints))
    return f"The task's outcome was not reached.{wrong}{told}"


class Reflected(NamedTuple):
    """The fields of a reply."""

    analysis: str
    strategy: CorrectionStrategy | None
    reflection: str
    confidence: float | None
    """From 0 to 1; None if the reply gives none."""


def read_reflection(reply: str) -> Reflected:
    """Read a reply, which is the reflection itself if it contains no JSON; never raises."""
    fields = next(filter(None, objects_in(reply[:20_000])), None)
    if fields is None:
        return Reflected("", None, _short(reply), None)
    return Reflected(
        analysis=_short(_value(fields, "analysis")),
        strategy=_strategy(str(_value(fields, "strategy"))),
        reflection=_short(_value(fields, "reflection")),
        confidence=_share(_value(fields, "confidence")),
    )


def past_reflections(attempts: Sequence[Attempt]) -> str:
    """Return the last three in one line each: number, whether it helped, error, reflection."""
    made = [a.correction for a in attempts if a.correction and a.correction.reflection]
    return "\n".join(_line(number, each) for number, each in enumerate(made[-KEPT:], start=1))


def _line(number: int, made: Correction) -> str:
    helped = {"solved": "helped", "not_solved": "did not help", "pending": "not known yet"}
    error = _short(made.error, 200)
    return f"{number}. [{helped[made.outcome]}] {error} -> {made.reflection}"


def _value(fields: Mapping[str, Any], name: str) -> Any:
    return next((fields[key] for key in _KEYS[name] if key in fields), "")


def _strategy(text: str) -> CorrectionStrategy | None:
    for name in get_args(CorrectionStrategy):
        if name in text.upper().replace("-", "_").replace(" ", "_"):
            found: CorrectionStrategy = name
            return found
    return next((name for word, name in _CHINESE.items() if word in text), None)


def _share(value: Any) -> float | None:
    text = str(value).strip()
    try:
        number = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        return None
    # Models also write 70 when they mean 0.7.
    number = number / 100 if 1 < number <= 100 else number
    return number if 0 <= number <= 1 else None


def _short(text: Any, limit: int = _TEXT_CHARS) -> str:
    clean = " ".join(str(text).split())
    return clean if len(clean) <= limit else clean[: limit - 1] + "…"
