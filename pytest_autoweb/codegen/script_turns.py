"""Turns in the Playwright dialect: see the page, write code for it, run that, look again.

What ran is one script at the end, with a step for each turn. An error inside a turn is told to the
model, which may correct it in the next one; lines that were not carried out stay in the script as
comments, so that the script can be read and run again.
"""

import ast
import json
import re
from typing import NamedTuple

from pytest_autoweb.attempt.execute import (
    TOLD_CALL_S,
    finish_turns,
    normal_form,
    run_block,
)
from pytest_autoweb.attempt.finders import with_sight
from pytest_autoweb.attempt.tools import Tools, ask, change, fail
from pytest_autoweb.checks.answer_checks import AnswerCheck
from pytest_autoweb.codegen.generate import extract_code
from pytest_autoweb.codegen.plan import find_answer
from pytest_autoweb.codegen.repair import execution_output, retry_hint, without_durations
from pytest_autoweb.codegen.show_pages import page_budget
from pytest_autoweb.language import NO_STEPS, PLAN_ASKS, REFUSED_BY_LINT, StepProblem
from pytest_autoweb.llm.client import Message
from pytest_autoweb.llm.plan_syntax import heading_number, parse_plan
from pytest_autoweb.llm.prompts import fence, render
from pytest_autoweb.llm.replies import strip_reasoning
from pytest_autoweb.page.capture import capture_snapshot
from pytest_autoweb.page.opening import settle
from pytest_autoweb.page.outline import estimate_tokens
from pytest_autoweb.results import Attempt, Failure, PlanStep, StageName, StepResult
from pytest_autoweb.sandbox.engine import scripts_allowed
from pytest_autoweb.sandbox.lint import fields_in, lint_code

SETTLE_MS = 400
"""Quiet time before a new look, because what an action opens comes with a delay."""
LOG_CHARS = 4_000
"""The most characters of a turn's log that the model is shown, from its end."""

_DONE = re.compile(r"^\W*(?:DONE|已?完成)\W*$", re.MULTILINE | re.IGNORECASE)
_FENCED = re.compile(r"^[ \t]*(`{3,}|~{3,}).*?(?:^[ \t]*\1[ \t]*$|\Z)", re.DOTALL | re.MULTILINE)


class TurnReply(NamedTuple):
    """What a reply says."""

    words: str
    code: str
    done: bool
    """Nothing is left to do once the code has run."""
    question: str = ""
    """What the model asks instead of writing code."""


class _Became(NamedTuple):
    """What became of a turn, as the model is told."""

    words: str
    error: str = ""
    logged: str = ""
    well: bool = False
    """The code ran to its end."""
    ends: bool = False
    """The attempt goes no further."""


def write_by_turns(attempt: Attempt, tools: Tools) -> Attempt:
    """Take turns until the model says that the task is done, or the limit is reached.

    An attempt also ends when two turns in a row come to nothing with the same code, or with none.
    """
    limit = tools.settings.max_turns
    talk = _opening(attempt, tools)
    in_vain: str | None = None
    for number in range(1, limit + 1):
        attempt, page = _see(attempt, tools, number, talk)
        attempt, reply = _ask_turn(attempt, tools, number, (*talk, page))
        if attempt.failure:
            break
        attempt, said = change(attempt, turns=number), read_turn(reply)
        if said.done and not said.code:
            break
        attempt, became = _take(attempt, tools, number, said)
        if became.ends or (said.done and became.well):
            break
        if not became.well and said.code == in_vain:
            attempt = attempt if attempt.failure else _without_code(attempt)
            break
        in_vain = None if became.well else said.code
        # The last turn is followed by none in which its error could be corrected.
        attempt = _corrected(attempt) if attempt.failure and number < limit else attempt
        talk = (*talk, *_told(number, reply, became, tools))
    else:
        note = f"The limit of {limit} turns was reached before the model said that it was done."
        attempt = change(attempt, code_notes=(*attempt.code_notes, note))
    return finish_turns(attempt, tools)


def _without_code(attempt: Attempt) -> Attempt:
    failure = Failure(kind="plan", message="the replies hold neither code nor DONE")
    return fail(attempt, failure, StepProblem.of("(plan)", NO_STEPS, failure.message))


def read_turn(reply: str) -> TurnReply:
    """Read a reply; code without a fence counts if the whole reply is valid Python."""
    text = strip_reasoning(reply)
    words = _FENCED.sub("", text)
    if words != text:
        code = extract_code(reply)
    else:
        code = text if "page." in text and _is_python(text) else ""
        words = "" if code else text
    code = _without_headings(code).strip("\n")
    question = "" if code else parse_plan(reply).question
    return TurnReply(_DONE.sub("", words).strip(), code, bool(_DONE.search(words)), question)


def _is_python(text: str) -> bool:
    try:
        ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def _without_headings(code: str) -> str:
    """Return the code without headings of steps, which would cut the turn into several."""
    lines = code.split("\n")
    return "\n".join(
        "" if line.lstrip().startswith("#") and heading_number(line) is not None else line
        for line in lines
    )


def _opening(attempt: Attempt, tools: Tools) -> tuple[Message, ...]:
    """Return the rules and the task, which stay the same in all turns."""
    failed = tools.previous
    messages = render(
        "turns",
        task=tools.case.user_task,
        url=tools.case.entry_url,
        turns=tools.settings.max_turns,
        seconds=f"{tools.settings.step_timeout:g}",
        call_seconds=f"{TOLD_CALL_S:g}",
        secrets=sorted(tools.case.secrets),
        files=sorted(tools.case.files),
        may_answer=any(isinstance(check, AnswerCheck) for check in tools.case.expect),
        earlier=fence(failed.code, "code") if failed else "",
        hint=retry_hint(failed, attempt, tools) if failed else "",
        output=fence(execution_output(failed), "output") if failed else "",
    )
    return with_sight(messages, tools)


def _asked(attempt: Attempt, tools: Tools, asks: str) -> tuple[Attempt, _Became]:
    """Stop at a question or answer it, as `--autoweb-questions` says."""
    attempt = change(attempt, plan_has_question=True, plan_question=tools.redact(asks))
    policy, answer = tools.settings.questions, ""
    if policy == "answer":
        answer = find_answer(tools.case.answers, asks)
    if not answer and policy != "record":
        failure = Failure(kind="question", message=f"the model needs input: {asks}")
        problem = StepProblem.of("(plan)", PLAN_ASKS, asks)
        return fail(attempt, failure, problem), _Became("asked.", ends=True)
    told = f"asked. The answer: {answer}" if answer else "asked, and nobody answers: decide."
    return attempt, _Became(told, well=True)


def _see(
    attempt: Attempt, tools: Tools, number: int, talk: tuple[Message, ...]
) -> tuple[Attempt, Message]:
    """Return the message with the page as it is now, and the attempt with this snapshot."""
    if number > 1:
        settle(tools.page, quiet_ms=SETTLE_MS)
    said = sum(estimate_tokens(message.content) for message in talk[1:])
    snapshot = capture_snapshot(
        tools.page,
        tools.mode,
        url=tools.redact(tools.page.url),
        entry_action="",
        step_indexes=(number,),
        budget_tokens=max(400, page_budget(tools, 1) - said),
    )
    snapshot = snapshot.model_copy(update={"text": tools.redact(snapshot.text)})
    attempt = change(attempt, snapshots=(*attempt.snapshots, snapshot))
    shown = "\n".join([*(f"({note})" for note in snapshot.notes), snapshot.text])
    page = render(
        "turn_page",
        number=number,
        turns=tools.settings.max_turns,
        url=snapshot.url,
        page=fence(shown, "page"),
    )[1]
    return attempt, page


def _ask_turn(
    attempt: Attempt, tools: Tools, number: int, messages: tuple[Message, ...]
) -> tuple[Attempt, str]:
    stage: StageName = "repair" if tools.previous and number == 1 else "generate"
    return ask(attempt, tools, stage, _alternating(messages), turn=number)


def _alternating(messages: tuple[Message, ...]) -> tuple[Message, ...]:
    """Join messages of one role that follow each other, because some servers refuse these."""
    joined: list[Message] = []
    for message in messages:
        if joined and joined[-1].role == message.role:
            last = joined.pop()
            text = f"{last.content}\n\n{message.content}"
            images = (*last.images, *message.images)
            message = last.model_copy(update={"content": text, "images": images})
        joined.append(message)
    return tuple(joined)


def _take(attempt: Attempt, tools: Tools, number: int, said: TurnReply) -> tuple[Attempt, _Became]:
    """Run the code of a turn as the next step of the script."""
    if said.question:
        return _asked(attempt, tools, said.question)
    if not said.code:
        return attempt, _Became("held no code. Reply with one fenced Python block, or with DONE.")
    first_line = len(attempt.code.splitlines()) + 1
    code = f"{said.code}\n"
    fields = fields_in(attempt.code)
    if _findings(code, tools, fields) and not _findings(tidy := normal_form(code), tools, fields):
        code = tidy
    block = f"# Step {number}\n{code}"
    step = PlanStep(
        index=number,
        description=" ".join(said.words.split())[:500] or f"turn {number}",
        entry_action="Direct URL",
        status="CONFIRMED",
    )
    known = attempt.plan_steps if attempt.code else ()
    text = f"{attempt.plan_text}\n\n" if attempt.code else ""
    attempt = change(
        attempt,
        plan_steps=(*known, step),
        plan_text=tools.redact(f"{text}Step {number}: {said.words}"),
        code=attempt.code + tools.redact(block),
    )
    if findings := _findings(code, tools, fields):
        attempt = _refused(attempt, tools, number, findings)
        listed = "\n".join(findings)
        became = _Became("was refused before it ran, so nothing of it was done:", listed)
    else:
        began = len(tools.log.lines)
        # The block keeps the line numbers that it has in the whole script.
        placed = "\n" * (first_line - 1) + block
        # The names in the code tell which frame it is meant for, more surely than the words do.
        attempt = run_block(attempt, tools, number, placed, said.code, told=True)
        became = _became(attempt.step_results[-1], placed, tools.log.lines[began:])
    if became.error:
        failed = attempt.failure
        line = failed.line if failed and failed.step_index in (None, number) else None
        left = attempt.code.splitlines(keepends=True)[: first_line - 1]
        kept = as_it_ran(tools.redact(block), (line or first_line) - first_line + 1)
        attempt = change(attempt, code="".join(left) + kept)
    return attempt, became


def _findings(code: str, tools: Tools, fields: frozenset[str]) -> tuple[str, ...]:
    scripts = scripts_allowed(tools.settings.sandbox, tools.spec.provider)
    return tuple(map(str, lint_code(code, scripts=scripts, offered=tools.offered, fields=fields)))


def _refused(attempt: Attempt, tools: Tools, number: int, findings: tuple[str, ...]) -> Attempt:
    for finding in findings:
        tools.log.write(f"lint: {finding}")
    failure = Failure(kind="lint", message=findings[0], step_index=number)
    result = StepResult(
        step_index=number, ok=False, status="not_run", error=findings[0], failure=failure
    )
    attempt = change(attempt, step_results=(*attempt.step_results, result))
    return fail(attempt, failure, StepProblem.of("(lint)", REFUSED_BY_LINT, findings[0]))


def _became(result: StepResult, placed: str, log: list[str]) -> _Became:
    own = f"step {result.step_index} "
    logged = "\n".join(line for line in log if not line.startswith(own))
    if len(logged) > LOG_CHARS:
        left_out = len(logged) - LOG_CHARS
        logged = f"({left_out} characters left out)\n{logged[-LOG_CHARS:]}"
    if result.ok:
        return _Became("was carried out.", logged=logged, well=True)
    at = detail = ""
    if failure := result.failure:
        # The model knows its own lines, but not their numbers in the whole script.
        at = placed.splitlines()[failure.line - 1].strip() if failure.line else ""
        detail = str(failure.evidence.get("detail", "")).strip()
    error = result.error or "it failed"
    # Playwright's own text begins with the message that stands in the error already.
    first, _, rest = detail.partition("\n")
    told = filter(None, (at, error, rest.strip() if first in error else detail))
    return _Became("ended in an error:", without_durations("\n".join(told)), logged)


def as_it_ran(block: str, failed_line: int) -> str:
    """Return a block with what was not carried out as comments, so that lines keep their numbers.

    Args:
        block: the code of a turn that ended in an error.
        failed_line: the line of the block, from 1, at which it ended; 1 if nothing ran.
    """
    lines = block.splitlines()
    try:
        tree = ast.parse(block)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        done = 0
    else:
        # A statement that failed half way through is not carried out as far as a script can say.
        ends = [node.end_lineno or node.lineno for node in tree.body]
        done = max((end for end in ends if end < failed_line), default=0)
    heading, *_ = lines
    kept = lines[1:done]
    # A plain comment could be taken for the heading of another step.
    rest = [f"#| {line}".rstrip() for line in lines[max(done, 1) :]]
    return "\n".join([heading, *kept, *rest]) + "\n"


def _corrected(attempt: Attempt) -> Attempt:
    """Return the attempt with its last error as one that the model was told and may correct."""
    *before, last = attempt.step_results
    corrected = last.model_copy(update={"status": "corrected"})
    return change(
        attempt,
        step_results=(*before, corrected),
        failure=None,
        problems=(),
        scene=None,
        findings=(),
    )


def _told(number: int, reply: str, became: _Became, tools: Tools) -> tuple[Message, ...]:
    """Return a turn as it stands in the conversation afterwards, without its page."""
    answered, answer = tools.engine.answer
    told = render(
        "turn_became",
        number=number,
        became=became.words,
        error=fence(became.error, "error") if became.error else "",
        logged=fence(became.logged, "log") if became.logged else "",
        answer=fence(json.dumps(answer, ensure_ascii=False)[:500], "answer") if answered else "",
    )[1]
    return Message(role="assistant", content=strip_reasoning(reply)), told
