"""Ask the model for a plan, show it the planned pages, and ask for a script.

The planned pages are shown with one snapshot per URL and entry action. The model's questions are
answered or refused; its code is normalised, and rejected if unsafe.
"""

import re
from collections.abc import Callable, Sequence

from playwright.sync_api import Error

from pytest_autoweb.agents.attempt.execute import normal_form, split_blocks
from pytest_autoweb.agents.attempt.finders import with_sight
from pytest_autoweb.agents.attempt.tools import Tools, ask, change, fail
from pytest_autoweb.agents.attempt.unwrapped_script import unwrapped_script
from pytest_autoweb.base.language import (
    NO_CODE,
    NO_CODE_IN_REPLY,
    NO_STEPS,
    PLAN_ASKS,
    REFUSED_BY_LINT,
    StepProblem,
)
from pytest_autoweb.base.python_source import is_python
from pytest_autoweb.browser.marks.marking import listing, mark_page
from pytest_autoweb.browser.page.capture import cache_key, capture_snapshot
from pytest_autoweb.browser.page.opening import open_page
from pytest_autoweb.browser.page.outline import estimate_tokens
from pytest_autoweb.judging.evidence.page_evidence import shot
from pytest_autoweb.models.client import Message, picture_uri
from pytest_autoweb.models.prompts import fence, render
from pytest_autoweb.models.replies import (
    PLAN_BLOCK,
    PlanParse,
    heading_number,
    parse_plan,
    strip_reasoning,
)
from pytest_autoweb.models.reply_blocks import CodeOf, bare_code, blocks_of_code
from pytest_autoweb.results.records import Attempt, Failure, PlanStep, Snapshot, StepResult
from pytest_autoweb.sandbox.engine import StepCallError
from pytest_autoweb.sandbox.levels import scripts_allowed
from pytest_autoweb.sandbox.lint import lint_code

CURRENT_PAGE = "CURRENT_PAGE"
PROMPT_OVERHEAD_TOKENS = 1_800
"""Estimate of the tokens of rules, examples, task and plan around the snapshots."""

# A truncated reply has no closing fence, and a truncated plan no end mark.
# Lines written by `prompts.fence`, which models tend to copy.
_FENCE_MARK = re.compile(r"^<<(?:end )?[\w ]+ [0-9a-f]{8}>>[ \t]*\n?", re.MULTILINE)


def capture_pages(attempt: Attempt, tools: Tools) -> Attempt:
    """Take the snapshots without acting; other pages are opened in separate tabs.

    The entry page is always among them. The model gets the reason why a page cannot be shown: a
    plan may name addresses that do not exist.
    """
    wanted: dict[tuple[str, str], list[int]] = {}
    where = (CURRENT_PAGE, "")
    for step in attempt.plan_steps:
        # A step on the current page continues where the previous step was.
        where = _page_of(step, tools) or where
        wanted.setdefault(where, []).append(step.index)
    if (CURRENT_PAGE, "") not in wanted:
        wanted = {(CURRENT_PAGE, ""): [], **wanted}
    budget = page_budget(tools, len(wanted))
    snapshots: list[Snapshot] = []
    for (url, action), indexes in wanted.items():
        try:
            snapshots.append(_capture(url, action, tuple(indexes), budget, tools))
        except LookupError as error:
            tools.log.write(f"capture: {error}")
            snapshots.append(_not_shown(url, action, tuple(indexes), str(error), tools))
    attempt = change(attempt, snapshots=tuple(snapshots))
    return describe_picture(attempt, tools)


def show_more(tools: Tools, number: int, row: int = 1) -> None:
    """Make the next listing show in full a list that this one shortens; `page.show_more(…)`.

    Args:
        tools: the tools of the attempt.
        number: the list's number in the listing.
        row: where to begin, from 1.

    Raises:
        StepCallError: the listing has no such list.
    """
    if type(number) is not int or type(row) is not int:
        raise StepCallError("page.show_more takes the number of a list, and a row to begin at")
    try:
        tools.folds.ask(number, row)
    except LookupError as error:
        raise StepCallError(f"page.show_more: {error.args[0]}") from None


def _not_shown(
    url: str, action: str, indexes: tuple[int, ...], reason: str, tools: Tools
) -> Snapshot:
    text = tools.redact(f"NOT SHOWN: {reason}")
    return Snapshot(
        step_indexes=indexes,
        url=url,
        entry_action=action,
        mode=tools.mode,
        cache_key=cache_key(url, action, tools.mode),
        text=text,
        tokens=estimate_tokens(text),
        notes=(text,),
    )


def page_budget(tools: Tools, pages: int) -> int:
    """Return the number of tokens that each page may take in the prompt."""
    room = tools.spec.context_tokens - tools.spec.max_tokens - PROMPT_OVERHEAD_TOKENS
    # Less than this shows nothing useful, so exceeding a small context is the lesser evil.
    return max(400, min(room, tools.spec.page_tokens) // max(1, pages))


def _page_of(step: PlanStep, tools: Tools) -> tuple[str, str] | None:
    """Return the URL and entry action of the page that a step names, or None if it names none.

    The entry page needs no URL.
    """
    url = step.target_url
    if not url.startswith(("http://", "https://")):
        return None
    return (CURRENT_PAGE, "") if url == tools.case.entry_url else (url, step.entry_action)


def _capture(
    url: str, action: str, indexes: tuple[int, ...], budget: int, tools: Tools
) -> Snapshot:
    page = tools.page
    if url != CURRENT_PAGE:
        # A plan may name any address, but must not lead the browser off the case's origins.
        if not tools.policy.allows(url):
            raise LookupError(f"{url} is outside the case's origins; not captured")
        page = tools.page.context.new_page()
    try:
        if url != CURRENT_PAGE and (failure := open_page(page, url, timeout_ms=15_000)):
            raise LookupError(f"{url} could not be captured: {failure.message}")
        snapshot = capture_snapshot(
            page,
            tools.mode,
            url=page.url,
            entry_action=action,
            step_indexes=indexes,
            budget_tokens=budget,
        )
        return snapshot.model_copy(update={"text": tools.redact(snapshot.text)})
    finally:
        if page is not tools.page:
            page.close()


def describe_picture(attempt: Attempt, tools: Tools) -> Attempt:
    """Ask the model to describe a screenshot, for `--autoweb-visual-supplement`."""
    if not (tools.settings.visual_supplement and tools.spec.vision):
        return attempt
    path = tools.folder / "visual.jpg"
    if not shot(tools.page, path, tools.hidden):
        return attempt
    picture = picture_uri(path.read_bytes(), "jpeg")
    messages: tuple[Message, ...] = render(
        "visual", images=(picture,), task=tools.case.user_task, url=tools.page.url
    )
    described, text = ask(attempt, tools, "visual", messages, max_tokens=600, usable=str)
    if described.failure:
        # The picture is only a supplement, so the attempt continues without it.
        return change(described, failure=None)
    return change(described, visual_description=tools.redact(text))


def snapshots_as_text(attempt: Attempt) -> str:
    """Return the snapshots for a prompt; a URL already shown is only named."""
    parts: list[str] = []
    first_with: dict[str, str] = {}
    for snapshot in attempt.snapshots:
        steps = ", ".join(map(str, snapshot.step_indexes))
        where = f"Step {steps}" if steps else "Entry page"
        entry = f" | Entry: {snapshot.entry_action}" if snapshot.entry_action else ""
        head = f"[{where}] URL: {snapshot.url}{entry}"
        if snapshot.url in first_with:
            parts.append(f"{head}\nDUPLICATE_URL: SAME_AS_{first_with[snapshot.url]}")
            continue
        first = f"STEP {snapshot.step_indexes[0]}" if snapshot.step_indexes else "ENTRY PAGE"
        first_with[snapshot.url] = first
        parts.append(f"{head}\n{snapshot.text}")
    return "\n\n".join(parts)


def write_script(attempt: Attempt, tools: Tools) -> Attempt:
    """Ask the model for the script, with one call."""
    messages = render(
        "generate",
        task=tools.case.user_task,
        url=tools.case.entry_url,
        plan=fence(plan_for(attempt, tools), "plan"),
        pages=fence(snapshots_as_text(attempt), "page"),
        visual=fence(attempt.visual_description, "picture") if attempt.visual_description else "",
        secrets=sorted(tools.case.secrets),
        files=sorted(tools.case.files),
        collect=tools.case.collect is not None,
        seconds=f"{tools.settings.step_timeout:g}",
    )
    told = with_marks(with_sight(messages, tools), tools)
    attempt, reply = ask(attempt, tools, "generate", told)
    return attempt if attempt.failure else take_code(attempt, tools, reply)


def with_marks(messages: tuple[Message, ...], tools: Tools) -> tuple[Message, ...]:
    """Return a prompt for a script with the marked picture, for `--autoweb-visual-supplement`."""
    if not (tools.settings.visual_supplement and tools.spec.vision):
        return messages
    try:
        marked = mark_page(tools.page, hide=tools.hidden)
    except Error as error:
        # The picture is only a supplement, so the attempt continues without it.
        tools.log.write(f"the page could not be marked: {error}")
        return messages
    listed = fence(tools.redact(listing(marked.marks, "", max_chars=0)), "marks")
    *before, last = messages
    text = f"{last.content}\n\n{render('marks', marks=listed)[1].content}"
    images = (*last.images, picture_uri(marked.picture))
    return (*before, last.model_copy(update={"content": text, "images": images}))


def take_code(attempt: Attempt, tools: Tools, reply: str) -> Attempt:
    """Add the script of a reply, normalised if only that form lints clean."""
    found = read_code(reply)
    code = found.code or _bare(found.words)
    if not code.strip():
        failure = Failure(kind="lint", message=NO_CODE_IN_REPLY)
        return fail(attempt, failure, StepProblem.of("(code)", NO_CODE))
    notes = [f"{said[0].upper()}{said[1:]}." for said in found.left_out]
    tidy = tidied(code, lambda code: lint_code(code, offered=tools.offered))
    if tidy != code:
        code = tidy
        notes.append("The script was brought into normal form.")
    code = tools.redact(code)
    tools.log.write(f"code: {len(code.splitlines())} lines")
    return change(attempt, code=code, code_notes=(*notes, *split_blocks(code).notes))


def tidied(code: str, findings: Callable[[str], Sequence[object]]) -> str:
    """Return the code in the form in which it lints clean, or as it is if none does.

    Normalising can change what code does, so code that is already clean is left alone, unless it
    stands in a function that nothing calls.
    """
    plain = unwrapped_script(code)
    if plain != code and not findings(plain):
        return plain
    if not findings(code) or findings(tidy := normal_form(code)):
        return code
    return tidy


def lint_script(attempt: Attempt, tools: Tools) -> Attempt:
    """Reject a script with lint findings: the attempt fails and no step runs."""
    scripts = scripts_allowed(tools.settings.sandbox, tools.spec.provider)
    findings = lint_code(attempt.code, scripts=scripts, offered=tools.offered)
    if not findings:
        return attempt
    for finding in findings:
        tools.log.write(f"lint: {finding}")
    steps = tuple(
        StepResult(step_index=index, ok=False, status="not_run", error="lint errors")
        for index in [step.index for step in attempt.plan_steps] or [1]
    )
    attempt = change(attempt, lint_errors=findings, step_results=steps)
    first = findings[0]
    failure = Failure(
        kind="lint",
        message=f"{len(findings)} lint error(s), first: {first}",
        rule=first.code,
        line=first.line,
    )
    problems = (StepProblem.of("(lint)", REFUSED_BY_LINT, str(finding)) for finding in findings)
    return fail(attempt, failure, *problems)


def read_code(reply: str) -> CodeOf:
    """Return the blocks of code of a reply, without plan and reasoning."""
    text = _FENCE_MARK.sub("", strip_reasoning(reply))
    return blocks_of_code(text, is_headed=_has_headings, is_plan=PLAN_BLOCK.search)


def _has_headings(code: str) -> bool:
    return any(map(heading_number, code.splitlines()))


def extract_code(reply: str) -> str:
    """Return the blocks of code of a reply, or else the lines of it that are statements.

    A reply without either is returned whole, which the lint then refuses.
    """
    found = read_code(reply)
    return found.code or _bare(found.words)


def _bare(words: str) -> str:
    text = _without_plan(words)
    return text if is_python(text) else bare_code(text).code or text


def _without_plan(text: str) -> str:
    text = re.sub(r"/\*\s*PLAN_START.*?(?:\*/|\Z)", "", text, flags=re.DOTALL | re.IGNORECASE)
    return PLAN_BLOCK.sub("", text).strip()


def plan_case(attempt: Attempt, tools: Tools) -> Attempt:
    """Ask for a plan; `--autoweb-questions` decides what happens if it contains a question."""
    attempt = change(attempt, prompt=_task_text(tools))
    attempt, plan = _ask_plan(attempt, tools, hint=_hint(tools))
    # Each answer may lead to one more question.
    for turn in range(1, len(tools.case.answers) + 1 if tools.settings.answers else 1):
        asks = plan.question if plan and plan.has_question else ""
        answer = find_answer(tools.case.answers, asks) if asks else ""
        if not answer:
            break
        attempt, plan = _ask_plan(attempt, tools, answer=answer, asked=plan, turn=turn)
        attempt = change(
            attempt,
            plan_question=attempt.plan_question or asks,
            plan_answer="" if attempt.plan_question else tools.redact(answer),
        )
    if plan is None:
        return attempt
    if plan.has_question and tools.settings.questions != "record":
        failure = Failure(kind="question", message=f"the plan needs input: {plan.question}")
        return fail(attempt, failure, StepProblem.of("(plan)", PLAN_ASKS, plan.question))
    if not plan.steps:
        failure = Failure(kind="plan", message="the reply holds no plan steps")
        return fail(attempt, failure, StepProblem.of("(plan)", NO_STEPS))
    return attempt


def plan_as_task(attempt: Attempt, tools: Tools) -> Attempt:
    """Note the task in place of a plan, which nobody is asked for."""
    return change(attempt, prompt=_task_text(tools))


def plan_for(attempt: Attempt, tools: Tools) -> str:
    """Return the plan as a prompt shows it; without one, the task is its only step."""
    return attempt.plan_text or f"Step 1: {tools.case.user_task}"


def _task_text(tools: Tools) -> str:
    """Return the task as shown in the report; the prompts have their own wording."""
    label = "Entry URL" if tools.settings.language == "en" else "入口URL"
    return tools.redact(f"{tools.case.user_task}\n{label}: {tools.case.entry_url}")


def _ask_plan(
    attempt: Attempt,
    tools: Tools,
    *,
    hint: str = "",
    answer: str = "",
    asked: PlanParse | None = None,
    turn: int = 0,
) -> tuple[Attempt, PlanParse | None]:
    messages = render(
        "plan",
        mode="PLAN_REFINE" if asked or hint else "PLAN_ONLY",
        task=tools.case.user_task,
        url=tools.case.entry_url,
        hint=hint,
        earlier_plan=asked.text if asked else "",
        question=asked.question if asked else "",
        answer=answer,
    )
    attempt, text = ask(attempt, tools, "plan", messages, turn=turn)
    if attempt.failure:
        return attempt, None
    plan = parse_plan(text)
    attempt = change(
        attempt,
        plan_text=tools.redact(plan.text),
        plan_steps=plan.steps,
        plan_confirmed=plan.confirmed,
        plan_has_question=plan.has_question,
        plan_question=plan.question,
    )
    tools.log.write(f"plan: {len(plan.steps)} steps, confirmed={plan.confirmed}")
    return attempt, plan


def _hint(tools: Tools) -> str:
    """Return the problem with the previous attempt's plan; empty if there was none."""
    if tools.previous and tools.previous.failure:
        return tools.previous.failure.message
    return ""


def find_answer(answers: dict[str, str], question: str) -> str:
    """Return the case's answers to questions that overlap with this one, or its only answer."""
    asked = question.casefold()
    fitting = [
        answer
        for known, answer in answers.items()
        if known.casefold().strip(" ?？") in asked or asked.strip(" ?？") in known.casefold()
    ]
    if len(answers) == 1:
        return next(iter(answers.values()))
    return " ".join(dict.fromkeys(fitting))
