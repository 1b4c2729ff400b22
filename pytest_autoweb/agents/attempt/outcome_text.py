"""What came of an attempt, as a model is told: errors, its log, its answer, the console."""

import json
import re
from collections.abc import Iterable, Iterator

from pytest_autoweb.base.language import NO_CODE_FOR_STEP
from pytest_autoweb.models.prompts import fence
from pytest_autoweb.results.records import Attempt, StepResult

LOG_CHARS = 4_000
"""Maximum number of characters of a log that a model is shown, half of them from its end."""
_ANSWER_CHARS = 500
_CALL_LOG_CHARS = 1_500
_LEFT_OUT_CHARS = 40
_LINE_CHARS = 200
_NOISE_LINES = 5

# Cassettes are looked up by prompt, which what a page measured would make unique. Limits stay: they
# are what the code can change.
_TOOK = re.compile(r"(?<=\btook )\d+(?:\.\d+)? ?(?:ms|s)\b")
_COMPLAINTS = ("error: ", "uncaught: ")
# The browser's console repeats failed requests without their address, and a missing icon or a page
# left while loading is not a failure.
_NOISE = re.compile(r"Failed to load resource|/favicon\.ico\b|net::ERR_ABORTED")
_SENT = re.compile(r"(?:DELETE|PATCH|POST|PUT) ")
# A query may hold the time, to keep a file out of caches.
_QUERY = re.compile(r"\?\S*(?=: )")


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
    """Return the code's log; only its beginning and its end if it is long."""
    return without_middle("\n".join(filter(None, parts)), LOG_CHARS)


def without_middle(text: str, most: int) -> str:
    """Return a text of at most so many characters, the beginning and the end of a longer one.

    What is returned is never shortened again, so the number of characters left out stays true.
    """
    if len(text) <= most:
        return text
    room = most - _LEFT_OUT_CHARS
    head = _whole_lines(text[: room // 2], from_end=False)
    tail = _whole_lines(text[-(room // 2) :], from_end=True)
    left_out = len(text) - len(head) - len(tail)
    return f"{head}\n({left_out} characters left out)\n{tail}"


def _whole_lines(text: str, *, from_end: bool) -> str:
    """Return a piece of a text without the part of a line at which it was cut, if that is short."""
    at = text.find("\n", 0, _LINE_CHARS) if from_end else text.rfind("\n", -_LINE_CHARS)
    if at < 0:
        return text
    return text[at + 1 :] if from_end else text[:at]


def answer_text(answer: object) -> str:
    """Return an answer as JSON, truncated if long."""
    text = json.dumps(answer, ensure_ascii=False)
    return text if len(text) <= _ANSWER_CHARS else f"{text[:_ANSWER_CHARS]} … (cut)"


def complaints(
    console: Iterable[str], failed_requests: Iterable[str], told: set[str] | None = None
) -> Iterator[str]:
    """Yield console errors and failed requests, without those that always occur.

    Args:
        console: the lines of the console.
        failed_requests: the requests that failed.
        told: what was yielded before and is not to be yielded again; the new lines are added. A
            page asks for its missing picture each time it opens, but what could not be sent once
            more is another event.
    """
    known = set() if told is None else told
    errors = (line for line in console if line.startswith(_COMPLAINTS))
    for name, lines in (("console", errors), ("failed request", failed_requests)):
        timeless = (_TOOK.sub("some time", line) for line in lines)
        kept = dict.fromkeys(
            line
            for line in timeless
            if not _NOISE.search(line) and (_SENT.match(line) or _QUERY.sub("", line) not in known)
        )
        for line in list(kept)[-_NOISE_LINES:]:
            known.add(_QUERY.sub("", line))
            yield f"{name}: {line}"
