"""What a retry is told about the attempt that failed, in every strategy and correction arm.

A retry is told everything that the model could have seen for itself: its own script, log and
answer, the error with its line and Playwright's call log, both pages, and the browser's complaints.
For a failed check it is told the evidence, such as the answer or the page's address, and never what
the check expected: a retry has to reach the task's outcome, not copy it. The only exception is a
hint that a check type gives on purpose.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

from pydantic import BaseModel

from pytest_autoweb.attempt.tools import Tools
from pytest_autoweb.correct.retry_rules import Guidance, unmet
from pytest_autoweb.language import NO_CODE_FOR_STEP, StepProblem
from pytest_autoweb.llm.prompts import fence
from pytest_autoweb.results import Attempt, StepResult

LOG_CHARS = 4_000
"""Maximum number of characters from the end of a log that a model is shown."""
_ANSWER_CHARS = 500
_CALL_LOG_CHARS = 1_500
_EVIDENCE_LINES = 12
_NOISE_LINES = 5

# Cassettes are looked up by prompt, and durations would make every prompt unique.
_DURATION = re.compile(r"\b\d+(?:\.\d+)? ?(?:ms|s)\b")
_COMPLAINTS = ("error: ", "uncaught: ")
# The browser's console repeats failed requests without their address, and a missing icon or a page
# left while loading is not a failure.
_NOISE = re.compile(r"Failed to load resource|/favicon\.ico\b|net::ERR_ABORTED")


_KEEP = "Fix only what is necessary; keep the plan and the output format."


def retry_hint(failed: Attempt, attempt: Attempt, tools: Tools, *, advice: str = _KEEP) -> str:
    """Return the kind of failure, and the evidence that the way of correcting passes on.

    Args:
        failed: the attempt that is retried.
        attempt: the retry.
        tools: its tools.
        advice: advice on the failure.
    """
    return "\n".join(filter(None, (repair_hint(failed, advice), retry_notes(attempt, tools))))


def repair_hint(failed: Attempt, advice: str = _KEEP) -> str:
    """Describe the kind of failure in one paragraph."""
    if failed.lint_errors or not failed.code:
        what = "The script was refused before it ran."
    elif failed.executed:
        corrected = any(result.status == "corrected" for result in failed.step_results)
        how = "to its end, after errors" if corrected else "without an error"
        what = f"The script ran {how}. {unmet(failed.checks)}"
    else:
        what = f"The script failed while it ran. Failed: {failed_labels(failed)}."
    return f"{what} {advice}"


def failed_labels(attempt: Attempt) -> str:
    """Return `plan`, `run`, the numbers of the failed steps, or `unknown`."""
    if attempt.failure and attempt.failure.kind == "plan":
        return "plan"
    if steps := attempt.failed_steps():
        return f"step {steps}"
    return "run" if attempt.failure else "unknown"


def execution_output(failed: Attempt) -> str:
    """Return a script's outcome: errors, failed steps, its log, its answer, the console.

    Durations are left out, so that equal failures give equal prompts, which cassettes rely on.
    """
    lines = ["=== formattedErrors ===", *(problem.line("en") for problem in failed.problems)]
    lines.append("=== stepResults ===")
    for result in failed.step_results:
        if result.status == "corrected":
            # The reason why lines that are now comments were not executed, without the call's log.
            error = "\n".join(step_error(result, failed.code).splitlines()[:2])
            lines += [f"step={result.step_index} ended in an error, and you went on", error]
        elif not result.ok:
            lines += [f"step={result.step_index} ok=false", step_error(result, failed.code)]
    if logged := own_log(result.logged for result in failed.step_results):
        lines += ["=== log ===", logged]
    if failed.answered:
        lines += ["=== answer ===", answer_text(failed.answer)]
    if failed.final_url:
        lines += ["=== address at the end ===", failed.final_url]
    if failed.scene:
        lines += complaints(failed.scene.console, failed.scene.failed_requests)
    return without_durations("\n".join(lines))


def step_error(result: StepResult, code: str) -> str:
    """Return the line at which a step ended, its error, and Playwright's log of the call.

    Args:
        result: a step that did not end well.
        code: the code that the failure's line number refers to.
    """
    at = detail = ""
    if failure := result.failure:
        # The model knows its own lines but not their numbers in the whole script.
        at = "".join(code.splitlines()[failure.line - 1 : failure.line]) if failure.line else ""
        detail = str(failure.evidence.get("detail", "")).strip()[:_CALL_LOG_CHARS]
    error = result.error or result.status
    # Playwright's own text begins with the message that is already in the error.
    first, _, rest = detail.partition("\n")
    if error == NO_CODE_FOR_STEP or not first or first in error:
        detail = rest.strip()
    return without_durations("\n".join(filter(None, (at.strip(), error, detail))))


def own_log(parts: Iterable[str]) -> str:
    """Return the code's log; only its end if it is long."""
    logged = "\n".join(filter(None, parts))
    if len(logged) <= LOG_CHARS:
        return logged
    return f"({len(logged) - LOG_CHARS} characters left out)\n{logged[-LOG_CHARS:]}"


def answer_text(answer: object) -> str:
    """Return an answer as JSON, truncated if long."""
    text = json.dumps(answer, ensure_ascii=False)
    return text if len(text) <= _ANSWER_CHARS else f"{text[:_ANSWER_CHARS]} … (cut)"


def complaints(console: Iterable[str], failed_requests: Iterable[str]) -> Iterator[str]:
    """Yield console errors and failed requests, without those that always occur."""
    errors = (line for line in console if line.startswith(_COMPLAINTS))
    for name, lines in (("console", errors), ("failed request", failed_requests)):
        kept = dict.fromkeys(line for line in lines if not _NOISE.search(line))
        yield from (f"{name}: {line}" for line in list(kept)[-_NOISE_LINES:])


def without_durations(text: str) -> str:
    """Return a run's output without durations, so that equal failures give equal prompts."""
    return _DURATION.sub("some time", text)


def at_new_address(failed: Attempt, entry_url: str) -> Attempt:
    """Return a failed attempt as if its server had used the new server's port.

    A case's own server may have another port in each attempt, and a faithful repair would keep the
    old one.

    Args:
        failed: the attempt that is retried.
        entry_url: the page on which the retry starts.
    """
    old, new = urlsplit(failed.entry_url_used), urlsplit(entry_url)
    if old.hostname != new.hostname or old.port == new.port or not old.port or not new.port:
        return failed
    there = re.compile(rf"(?<![\w.]){re.escape(old.netloc)}(?!\d)")
    moved: Attempt = _with_texts(failed, lambda text: there.sub(new.netloc, text))
    return moved


def guidance_at(guidance: Guidance, entry_url: str) -> Guidance:
    """Return a retry's guidance, with its attempts as if made at the new address."""
    attempts = (at_new_address(attempt, entry_url) for attempt in guidance.attempts)
    return replace(guidance, attempts=tuple(attempts))


def _with_texts(value: Any, change_text: Callable[[str], str]) -> Any:
    """Return a value with all its texts changed, even those in tuples, mappings and records."""
    if isinstance(value, str):
        return change_text(value)
    if isinstance(value, BaseModel):
        # Text sent to the model stays as it was sent.
        fields = type(value).model_fields.keys() - {"exchanges"}
        changed = {name: _with_texts(getattr(value, name), change_text) for name in fields}
        return value.model_copy(update=changed)
    if isinstance(value, StepProblem):
        return StepProblem(*(change_text(text) for text in (value.where, value.en, value.zh)))
    if isinstance(value, dict):
        return {key: _with_texts(item, change_text) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(_with_texts(item, change_text) for item in value)
    return value


def retry_notes(attempt: Attempt, tools: Tools) -> str:
    """Return advice, evidence and reflection for a retry; empty if its arm gets none.

    Page text and the model's own words are fenced, because both may contain instructions.
    """
    guidance = tools.guidance
    if guidance is None or not guidance.arm.informed:
        return ""
    parts = [guidance.recovery.user_prompt] if guidance.arm.advised else []
    parts.append(evidence_text(tools))
    if attempt.correction and attempt.correction.reflection:
        parts.append(fence(attempt.correction.reflection, "reflection"))
    return "\n".join(parts)


def evidence_text(tools: Tools) -> str:
    """Return what the page showed when the previous attempt failed."""
    assert tools.guidance is not None, "only a correction has evidence"
    lines = (f"- {fact}" for fact in tools.guidance.evidence[:_EVIDENCE_LINES])
    return fence("\n".join(lines), "evidence")
