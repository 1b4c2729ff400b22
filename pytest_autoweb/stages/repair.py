"""Ask for the whole script again, with the scene of the failure and what the run said."""

import re

from pytest_autoweb.llm.prompts import fence, render
from pytest_autoweb.results import Attempt, Failure, StepResult
from pytest_autoweb.stages.base import Tools, ask, change, error_line, fail
from pytest_autoweb.stages.capture import page_budget
from pytest_autoweb.stages.finding import with_sight
from pytest_autoweb.stages.generate import take_code
from pytest_autoweb.stages.script import unified_diff

CHARS_PER_TOKEN = 3
_DURATION = re.compile(r"\b\d+(?:\.\d+)? ?(?:ms|s)\b")


def repair_script(attempt: Attempt, tools: Tools) -> Attempt:
    """A refined script for the same plan, run from a fresh context.

    The model sees neither the checks nor what they expected, but for the hints of those that
    give nothing away: a repair must reach the task's outcome, not the checks. A repair that
    repeats the failed script is not run again.
    """
    failed = tools.previous
    assert failed is not None, "a repair has an attempt to repair"
    attempt = change(
        attempt,
        prompt=failed.prompt,
        plan_text=failed.plan_text,
        plan_confirmed=failed.plan_confirmed,
        plan_has_question=failed.plan_has_question,
        plan_question=failed.plan_question,
        plan_steps=failed.plan_steps,
        snapshots=failed.snapshots,
        visual_description=failed.visual_description,
    )
    messages = render(
        "repair",
        task=tools.case.user_task,
        url=tools.case.entry_url,
        plan=fence(failed.plan_text, "plan"),
        code=fence(failed.code, "code"),
        hint=repair_hint(failed),
        output=fence(execution_output(failed), "output"),
        page=_page_text(failed, tools),
        secrets=sorted(tools.case.secrets),
        files=sorted(tools.case.files),
    )
    attempt, reply = ask(attempt, tools, "repair", with_sight(messages, tools))
    if attempt.failure:
        return attempt
    attempt = take_code(attempt, tools, reply)
    if attempt.failure:
        return attempt
    if attempt.code.strip() == failed.code.strip():
        failure = Failure(kind="repair", message="the repair repeats the failed script")
        return fail(attempt, failure, error_line("(repair)", "修复与原脚本相同", failure.message))
    diff = unified_diff(failed.code, attempt.code, attempt.attempt_index)
    return change(attempt, code_diff=diff)


def failed_labels(attempt: Attempt) -> str:
    """`plan`, `run`, the failed steps' numbers, or `unknown` (row 4.1.25)."""
    if attempt.failure and attempt.failure.kind == "plan":
        return "plan"
    steps = [str(r.step_index) for r in attempt.step_results if r.status == "failed"]
    if steps:
        return ",".join(steps)
    return "run" if attempt.failure else "unknown"


def repair_hint(failed: Attempt) -> str:
    """What kind of failure it was, in one paragraph (row 4.1.22)."""
    if failed.lint_errors or not failed.code:
        what = "The script was refused before it ran."
    elif failed.executed:
        what = "The script ran without an error, but the task's outcome was not reached."
    else:
        what = f"The script failed while it ran. 失败步骤={failed_labels(failed)}"
    hints = [c.hint for c in failed.checks if c.passed is False and c.hint and not c.advisory]
    said = "".join(f" {' '.join(hint.split())}" for hint in dict.fromkeys(hints))
    return f"{what}{said} Fix only what is necessary; keep the plan and the output format."


def execution_output(failed: Attempt) -> str:
    """The run's own words, in the seed's two sections (row 4.1.23).

    Durations are left out: the same failure gives the same prompt, which cassettes rely on.
    """
    lines = ["=== formattedErrors ===", *failed.formatted_errors, "=== stepResults ==="]
    for result in failed.step_results:
        if not result.ok:
            lines += _step_lines(result)
    if failed.scene:
        lines += [f"console: {line}" for line in failed.scene.console[-5:]]
        lines += [f"failed request: {line}" for line in failed.scene.failed_requests[-5:]]
    return _DURATION.sub("some time", "\n".join(lines))


def _step_lines(result: StepResult) -> list[str]:
    tail = result.log_tail.splitlines()[-5:]
    return [
        f"step={result.step_index} ok=false",
        f"error={result.error or result.status}",
        "logTail:",
        *tail,
    ]


def _page_text(failed: Attempt, tools: Tools) -> str:
    """The page at the failure, or as captured for the first attempt."""
    budget = page_budget(tools, 2) * CHARS_PER_TOKEN
    if failed.scene and failed.scene.snapshot:
        head = f"URL: {failed.scene.url}\n"
        return fence(head + failed.scene.snapshot[:budget], "page at the failure")
    text = "\n\n".join(f"URL: {s.url}\n{s.text}" for s in failed.snapshots)
    return fence(text[:budget], "page")
