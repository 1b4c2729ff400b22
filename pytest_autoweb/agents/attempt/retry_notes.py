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

from pytest_autoweb.agents.attempt.tools import Tools
from pytest_autoweb.agents.correction.guidance import Guidance, unmet
from pytest_autoweb.base.language import NO_CODE_FOR_STEP, StepProblem
from pytest_autoweb.models.prompts import fence
from pytest_autoweb.results.records import Attempt, StepResult

LOG_CHARS = 4_000
"""Maximum number of characters from the end of a log that a model is shown."""
_ANSWER_CHARS = 500
_CALL_LOG_CHARS = 1_500
_EVIDENCE_LINES = 12
_NOISE_LINES = 5

# Cassettes are looked up by prompt, which what a page measured would make unique. Limits stay: they
# are what the code can change.
_TOOK = re.compile(r"(?<=\btook )\d+(?:\.\d+)? ?(?:ms|s)\b")
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
    return f"{_what_became(failed)} {advice if failed.code else 'Do the task now.'}"


def _what_became(failed: Attempt) -> str:
    kind = failed.failure.kind if failed.failure else None
    if kind == "repair" and failed.code:
        return "The script was the one that had failed before, so it was not run again."
    if failed.lint_errors or (kind == "lint" and failed.code):
        return "The script was refused before it ran."
    if not failed.code:
        checked = f" {unmet(failed.checks)}" if failed.checks else ""
        return f"No code was written, so nothing was done.{checked}"
    if kind == "plan":
        return "It ended before the task was done."
    if failed.executed:
        corrected = any(result.status == "corrected" for result in failed.step_results)
        how = "to its end, after errors" if corrected else "without an error"
        return f"The script ran {how}. {unmet(failed.checks)}"
    return f"The script failed while it ran. Failed: {failed_labels(failed)}."


def failed_labels(attempt: Attempt) -> str:
    """Return `plan`, `run`, the numbers of the failed steps, or `unknown`."""
    if attempt.failure and attempt.failure.kind == "plan":
        return "plan"
    if steps := attempt.failed_steps():
        return f"step {steps}"
    return "run" if attempt.failure else "unknown"


def execution_output(failed: Attempt) -> str:
    """Return what came of an attempt: errors, its log, its question, its answer, the console.

    Parts of which there is nothing to say are left out; all of them may be.
    """
    problems = [
        # The names of stages are nothing that a model knows.
        problem.en if problem.where.startswith("(") else problem.line("en")
        for problem in failed.problems
    ]
    steps = [line for result in failed.step_results for line in _step_told(result, failed.code)]
    answered = failed.plan_answer or "Nobody answered."
    parts = (
        ("errors", problems),
        ("steps that failed", steps),
        ("log", filter(None, [own_log(result.logged for result in failed.step_results)])),
        ("question", [failed.plan_question, answered] if failed.plan_question else []),
        ("answer", [answer_text(failed.answer)] if failed.answered else []),
        ("address at the end", [failed.final_url] if failed.final_url else []),
    )
    lines = [line for name, told in parts for line in _part(name, told)]
    if failed.scene:
        lines += complaints(failed.scene.console, failed.scene.failed_requests)
    return "\n".join(lines)


def _part(name: str, told: Iterable[str]) -> list[str]:
    lines = list(told)
    return [f"=== {name} ===", *lines] if lines else []


def outcome_told(failed: Attempt) -> str:
    """Return what came of an attempt as data in a prompt; empty if there is nothing to say."""
    return fence(output, "output") if (output := execution_output(failed)) else ""


def _step_told(result: StepResult, code: str) -> list[str]:
    if result.status == "corrected":
        # The reason why lines that are now comments were not executed, without the call's log.
        error = "\n".join(step_error(result, code).splitlines()[:2])
        return [f"step={result.step_index} ended in an error, and you went on", error]
    if result.ok or (result.status == "not_run" and result.failure is None):
        return []
    what = "failed" if result.status == "failed" else "was not run"
    return [f"step={result.step_index} {what}", step_error(result, code)]


def step_error(result: StepResult, code: str, *, before: int = 0) -> str:
    """Return the line at which a step ended, its error, and Playwright's log of the call.

    Args:
        result: a step that did not end well.
        code: the code that the failure's line number refers to.
        before: how many of its lines the model does not count.
    """
    at = detail = ""
    if failure := result.failure:
        at = _statement(code, failure.line, before) if failure.line else ""
        detail = str(failure.evidence.get("detail", "")).strip()[:_CALL_LOG_CHARS]
    error = result.error or result.status
    # Playwright's own text begins with the message that is already in the error.
    first, _, rest = detail.partition("\n")
    if error == NO_CODE_FOR_STEP or not first or first in error:
        detail = rest.strip()
    return "\n".join(filter(None, (at, error, detail)))


def _statement(code: str, number: int, before: int) -> str:
    """Return a line of the code, with its number if the same line stands there twice."""
    lines = [line.strip().removeprefix("#|").strip() for line in code.splitlines()]
    at = "".join(lines[number - 1 : number])
    # The model knows its own lines but not their numbers, unless it has to count.
    return f"line {number - before}: {at}" if at and lines.count(at) > 1 else at


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
        told = (_TOOK.sub("some time", line) for line in lines)
        kept = dict.fromkeys(line for line in told if not _NOISE.search(line))
        yield from (f"{name}: {line}" for line in list(kept)[-_NOISE_LINES:])


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
