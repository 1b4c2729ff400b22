"""Ask the model for a script; its code is normalised, and rejected if unsafe."""

import re
from collections.abc import Callable, Sequence

from pytest_autoweb.agents.attempt.finders import with_marks, with_sight
from pytest_autoweb.agents.attempt.normal_form import normal_form
from pytest_autoweb.agents.attempt.script_blocks import split_blocks
from pytest_autoweb.agents.attempt.tools import Tools, ask, change, fail
from pytest_autoweb.agents.attempt.unwrapped_script import unwrapped_script
from pytest_autoweb.agents.codegen.plan import plan_for
from pytest_autoweb.base.language import NO_CODE, NO_CODE_IN_REPLY, REFUSED_BY_LINT, StepProblem
from pytest_autoweb.base.python_source import is_python
from pytest_autoweb.models.prompts import fence, render
from pytest_autoweb.models.replies import PLAN_BLOCK, heading_number, strip_reasoning
from pytest_autoweb.models.reply_blocks import CodeOf, bare_code, blocks_of_code
from pytest_autoweb.results.records import Attempt, Failure, StepResult
from pytest_autoweb.sandbox.levels import scripts_allowed
from pytest_autoweb.sandbox.lint import lint_code

# A truncated reply has no closing fence, and a truncated plan no end mark.
# Lines written by `prompts.fence`, which models tend to copy.
_FENCE_MARK = re.compile(r"^<<(?:end )?[\w ]+ [0-9a-f]{8}>>[ \t]*\n?", re.MULTILINE)


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
        files=tools.case.upload_names,
        collect=tools.case.collect is not None,
        seconds=f"{tools.settings.step_timeout:g}",
    )
    told = with_marks(with_sight(messages, tools), tools)
    attempt, reply = ask(attempt, tools, "generate", told)
    return attempt if attempt.failure else take_code(attempt, tools, reply)


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
