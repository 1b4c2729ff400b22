"""Ask for the script again, with the page at the failure."""

from pytest_autoweb.agents.attempt.execute import unified_diff
from pytest_autoweb.agents.attempt.finders import with_marks, with_sight
from pytest_autoweb.agents.attempt.outcome_text import outcome_told
from pytest_autoweb.agents.attempt.retry_notes import evidence_text, retry_hint
from pytest_autoweb.agents.attempt.tools import Tools, ask, change, fail
from pytest_autoweb.agents.codegen.captured_pages import describe_picture, page_budget
from pytest_autoweb.agents.codegen.constrained import (
    MAX_ELEMENTS,
    code_of_calls,
    constrained_grammar,
    disallowed_calls,
    offered_calls,
    schema,
)
from pytest_autoweb.agents.codegen.failed_calls import acted_pairs, failed_pairs
from pytest_autoweb.agents.codegen.generate import take_code, write_script
from pytest_autoweb.agents.codegen.plan import plan_for
from pytest_autoweb.base.language import NOT_OFFERED, SAME_AGAIN, StepProblem
from pytest_autoweb.browser.page.acted_element import located
from pytest_autoweb.browser.page.small_list import small_view
from pytest_autoweb.judging.evidence.scene import snapshot_text
from pytest_autoweb.models.prompts import fence, render
from pytest_autoweb.results.records import Attempt, Failure

CHARS_PER_TOKEN = 3


def repair_script(attempt: Attempt, tools: Tools) -> Attempt:
    """Ask for a refined script for the same plan.

    The model sees neither the checks nor what they expected, except the hints of checks that have
    one, because a repair must reach the task's outcome rather than please the checks. A repair that
    repeats the failed script is not run.
    """
    failed = tools.previous
    assert failed is not None, "a repair has an attempt to repair"
    attempt = _with_plan_of(failed, attempt)
    if not attempt.visual_description:
        attempt = describe_picture(attempt, tools)
    visual = attempt.visual_description
    messages = render(
        "repair",
        task=tools.case.user_task,
        url=tools.case.entry_url,
        plan=fence(plan, "plan") if (plan := plan_for(failed, tools)) else "",
        code=fence(failed.code, "code") if failed.code else "",
        hint=retry_hint(failed, attempt, tools),
        output=outcome_told(failed),
        ran=_what_ran(tools.ran) if tools.ran else "",
        page=_page_text(tools.ran or failed, tools),
        visual=fence(visual, "picture of the entry page") if visual else "",
        secrets=sorted(tools.case.secrets),
        files=tools.case.upload_names,
        seconds=f"{tools.settings.step_timeout:g}",
    )
    told = with_marks(with_sight(messages, tools), tools)
    attempt, reply = ask(attempt, tools, "repair", told)
    if attempt.failure:
        return attempt
    return _unless_the_same(take_code(attempt, tools, reply), failed)


def write_again(attempt: Attempt, tools: Tools) -> Attempt:
    """Ask with the first attempt's prompt, for the control arm."""
    assert tools.guidance is not None, "only a correction writes again"
    return write_script(_with_plan_of(tools.guidance.failed, attempt), tools)


def write_constrained(attempt: Attempt, tools: Tools) -> Attempt:
    """Ask for a script that only names elements that were found and repeats no failed call.

    Servers that support grammars or schemas enforce this; other models' scripts are checked before
    they run. The script is a single step, because its calls need not follow the plan.
    """
    guidance, made = tools.guidance, attempt.correction
    assert guidance is not None, "only a correction is held to anything"
    assert made is not None, "it began with its correction"
    failed = guidance.failed
    here = small_view(tools.page, budget_tokens=page_budget(tools, 2)).elements[:MAX_ELEMENTS]
    here = tuple(map(located, here))
    offered = offered_calls(here, guidance.attempts, may_answer=tools.case.may_answer)
    told_so = made.model_copy(update={"offered": len(offered.elements)})
    attempt = change(_with_plan_of(failed, attempt), correction=told_so)
    messages = render(
        "repair_constrained",
        task=tools.case.user_task,
        plan=fence(plan_for(failed, tools), "plan"),
        elements=fence("\n".join(offered.elements), "elements"),
        worked=fence(worked, "calls") if (worked := _worked(guidance.attempts)) else "",
        tried=fence(tried, "calls") if (tried := _tried(guidance.attempts)) else "",
        evidence=evidence_text(tools),
        secrets=sorted(tools.case.secrets),
        as_json=tools.spec.constrained == "json_schema",
    )
    attempt, reply = ask(
        attempt,
        tools,
        "repair",
        messages,
        grammar=constrained_grammar(offered) if tools.spec.constrained == "gbnf" else None,
        json_schema=schema(offered) if tools.spec.constrained == "json_schema" else None,
    )
    if attempt.failure:
        return attempt
    attempt = take_code(attempt, tools, code_of_calls(reply) or reply)
    if attempt.failure:
        return attempt
    # Its calls need not follow the plan, whose steps would fail for want of code.
    attempt = change(attempt, plan_steps=())
    if problems := disallowed_calls(attempt.code, offered):
        failure = Failure(kind="lint", message="; ".join(problems)[:500], rule="AW700")
        return fail(attempt, failure, *(StepProblem.of("(lint)", NOT_OFFERED, p) for p in problems))
    return _unless_the_same(attempt, failed)


def _with_plan_of(failed: Attempt, attempt: Attempt) -> Attempt:
    return change(
        attempt,
        prompt=failed.prompt,
        plan_text=failed.plan_text,
        plan_confirmed=failed.plan_confirmed,
        plan_has_question=failed.plan_has_question,
        plan_question=failed.plan_question,
        plan_answer=failed.plan_answer,
        plan_steps=failed.plan_steps,
        snapshots=failed.snapshots,
        visual_description=failed.visual_description,
    )


def _calls(attempt: Attempt, *, ok: bool) -> list[str]:
    calls = [call for call in attempt.tool_calls if call.ok is ok and (call.acting or not ok)]
    lines = (f"{call.target}.{call.method}({call.arguments})" for call in calls)
    return list(dict.fromkeys(lines))


def _worked(attempts: tuple[Attempt, ...]) -> str:
    """Return the acting calls that succeeded in any attempt so far, in the order of attempts."""
    tried = _tried(attempts).splitlines()
    lines = dict.fromkeys(line for each in attempts for line in _calls(each, ok=True))
    return "\n".join(line for line in lines if line not in tried)


def _tried(attempts: tuple[Attempt, ...]) -> str:
    """Return the calls that failed; a script that ran to its end without success is one line.

    Each of its calls worked, and may be needed together with others. A script's only call is listed
    only if it must not be made again.
    """
    banned = failed_pairs(attempts)
    lines = []
    for each in attempts:
        if failed := _calls(each, ok=False):
            lines += failed
        elif len(pairs := acted_pairs(each)) > 1 or pairs & banned:
            lines.append("; ".join(_calls(each, ok=True)))
    return "\n".join(dict.fromkeys(lines))


def _unless_the_same(attempt: Attempt, failed: Attempt) -> Attempt:
    if attempt.failure:
        return attempt
    # Each attempt starts from the same state, so the same script would fail in the same way.
    if attempt.code.strip() == failed.code.strip():
        failure = Failure(kind="repair", message=SAME_AGAIN.en)
        return fail(attempt, failure, StepProblem.of("(repair)", SAME_AGAIN))
    diff = unified_diff(failed.code, attempt.code, attempt.attempt_index)
    return change(attempt, code_diff=diff)


def _what_ran(attempt: Attempt) -> str:
    """Return the script that ran before the refused one, and its outcome."""
    return f"{fence(attempt.code, 'code')}\n{outcome_told(attempt)}"


def _page_text(failed: Attempt, tools: Tools) -> str:
    """Return the entry page and the page at the failure, or the pages of the first attempt.

    The script starts again from the entry page. If the failure happened there, the page is shown
    once.
    """
    budget = page_budget(tools, 2) * CHARS_PER_TOKEN
    if failed.scene and failed.scene.snapshot:
        head = f"URL: {failed.scene.url}\n"
        at_failure = fence(head + failed.scene.snapshot[:budget], "page at the failure")
        entry = snapshot_text(tools.page, tools.mode, tools.redact)
        url = tools.redact(tools.page.url)
        if not entry or (url, entry) == (failed.scene.url, failed.scene.snapshot):
            return at_failure
        at_entry = fence(f"URL: {url}\n{entry[:budget]}", "entry page")
        return f"{at_entry}\n\n{at_failure}"
    text = "\n\n".join(f"URL: {s.url}\n{s.text}" for s in failed.snapshots)
    return fence(text[:budget], "page")
