"""Turns of a conversation: see the page, write code for it, run that, look again.

The executed code ends up as one script, in the Playwright dialect with a step for each turn. An
error inside a turn is reported to the model, which may correct it in the next one; lines that were
not executed stay in the script as comments, so it can be read and run again. Events outside the
page, such as a dialog or a download, are reported with the turn.
"""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

from playwright.sync_api import Dialog, Error, Page

from pytest_autoweb.agents.attempt.execute import TOLD_CALL_S, finish_turns, run_block
from pytest_autoweb.agents.attempt.finders import with_sight
from pytest_autoweb.agents.attempt.outcome_text import (
    answer_text,
    complaints,
    outcome_told,
    own_log,
    step_error,
)
from pytest_autoweb.agents.attempt.retry_notes import retry_hint
from pytest_autoweb.agents.attempt.tools import Tools, ask, change, fail
from pytest_autoweb.agents.codegen.captured_pages import page_budget
from pytest_autoweb.agents.codegen.failed_calls import repeated_calls
from pytest_autoweb.agents.codegen.generate import read_code, tidied
from pytest_autoweb.agents.codegen.plan import find_answer
from pytest_autoweb.agents.codegen.turn_talk import Shown, TurnTalk
from pytest_autoweb.agents.correction.deeds import parts_and_deeds
from pytest_autoweb.base.language import NO_STEPS, PLAN_ASKS, REFUSED_BY_LINT, StepProblem
from pytest_autoweb.base.python_source import read_python
from pytest_autoweb.base.waiting.playwright_internals import has_listeners
from pytest_autoweb.base.whole_characters import whole_text
from pytest_autoweb.browser.page.capture import capture_snapshot
from pytest_autoweb.browser.page.form_validation import refused_values
from pytest_autoweb.browser.page.quiet import wait_until_quiet
from pytest_autoweb.models.messages import Message
from pytest_autoweb.models.prompts import fence, quote, render
from pytest_autoweb.models.replies import closed_block, heading_number, parse_plan, strip_reasoning
from pytest_autoweb.models.reply_blocks import bare_code, holds_calls, mentions_calls
from pytest_autoweb.results.records import Attempt, Failure, StageName, StepResult
from pytest_autoweb.sandbox.levels import scripts_allowed
from pytest_autoweb.sandbox.lint import fields_in, lint_code

_MOST = 12
"""Maximum number of lines reported to a model after one turn."""
_TEXT_CHARS = 300

PICTURE_TOKENS = 1_600
"""Room that a picture of a window takes; services count 700 to 1,600 tokens."""
CHARS_PER_TOKEN = 3
"""Characters per token of a page; a cautious estimate."""
_DONE = re.compile(r"^[^\w\n]*(?:DONE|已?完成)[^\w\n]*$", re.MULTILINE | re.IGNORECASE)

_DONE_IN_CODE = re.compile(r"^(?:DONE|已?完成)\W*\Z", re.MULTILINE)


class _SeenDialog(NamedTuple):
    dialog: Dialog
    line: str


class TurnEvents:
    """The events since the last turn, as lines for the model.

    Args:
        tools: the tools of the attempt.
    """

    def __init__(self, tools: Tools) -> None:
        self._tools = tools
        self._lines: list[str | _SeenDialog] = []
        self._downloads = len(tools.downloads)
        self._complained: set[str] = set()
        tools.watch.news()
        # From now on it is known which forms were sent although a field was refused.
        refused_values(front_tab(tools))

    def take(self) -> tuple[str, ...]:
        """Return the events since the last call, without secrets, noting any that are left out."""
        seen, self._lines = self._lines, []
        lines = [self._became(one) if isinstance(one, _SeenDialog) else one for one in seen]
        self._tools.dialogs.clear()
        files = self._tools.downloads[self._downloads :]
        self._downloads += len(files)
        lines += (f"a download began: {self._clean(file.name)}" for file in files)
        lines += complaints(*self._tools.watch.news(), self._complained)
        lines += map(self._clean, refused_values(front_tab(self._tools)))
        lines = list(dict.fromkeys(lines))
        if left_out := len(lines) - _MOST:
            lines = lines[:_MOST] + ([f"({left_out} more)"] if left_out > 0 else [])
        return tuple(lines)

    def on_page(self, page: Page) -> None:
        """Record a new tab; one without any address is what a download leaves behind."""
        if page.url:
            self._lines.append(f"a tab opened: {self._clean(page.url)}")

    def on_dialog(self, dialog: Dialog) -> None:
        """Record a dialog, and answer it as Playwright does when no code listens to dialogs."""
        said, kind = self._clean(whole_text(dialog.message)), dialog.type
        # A listener is expected to answer; Playwright answers only if there is none. This listener
        # must not prevent that; Playwright has no public way to ask for the others.
        if has_listeners(dialog.page, "dialog"):
            # What the code does with it is known only later.
            self._lines.append(_SeenDialog(dialog, f'the page showed a dialog ({kind}), "{said}"'))
            return
        leaving = kind == "beforeunload"
        try:
            if leaving:
                dialog.accept()
            else:
                dialog.dismiss()
        except Error as error:
            self._tools.log.write(f"a dialog could not be answered: {error}")
        became = "accepted" if leaving else "dismissed"
        self._lines.append(f'the page showed a dialog ({kind}), "{said}", which was {became}')

    def _became(self, seen: "_SeenDialog") -> str:
        """Return what became of a dialog that the code was given."""
        notes = [note for note in self._tools.dialogs if note.dialog is seen.dialog]
        replies = [note.reply for note in notes if note.reply]
        failed = [f"a function of it failed: {note.error}" for note in notes if note.error]
        answered = f"your code answered ({self._clean(replies[0])})" if replies else ""
        became = answered or "your code did not answer, so it was dismissed"
        return "; ".join([f"{seen.line}: {became}", *map(self._clean, failed)])

    def _clean(self, text: str) -> str:
        return " ".join(self._tools.redact(text).split())[:_TEXT_CHARS]


@contextmanager
def turn_events(tools: Tools) -> Iterator[TurnEvents]:
    """Listen to an attempt's tabs while turns are taken."""
    events, context = TurnEvents(tools), tools.page.context
    context.on("dialog", events.on_dialog)
    context.on("page", events.on_page)
    try:
        yield events
    finally:
        context.remove_listener("dialog", events.on_dialog)
        context.remove_listener("page", events.on_page)


class TurnReply(NamedTuple):
    """The content of a reply."""

    words: str
    code: str
    done: bool
    """Nothing is left to do once the code has run."""
    question: str = ""
    """The model's question, if it wrote no code."""
    left_out: tuple[str, ...] = ()
    """The blocks of code that are not run, each with the reason."""


class Became(NamedTuple):
    """A turn's outcome, as reported to the model."""

    words: str
    error: str = ""
    logged: str = ""
    lines: str = ""
    """The executed code, where the reply does not show it well enough."""
    well: bool = False
    """The code ran to its end."""
    ends: bool = False
    """The attempt ends here."""
    may_end: bool = False
    """The reply says that the task is done; said twice, it is believed."""
    code: str = ""
    """The turn's code, which identifies a repetition."""
    acted: tuple[str, ...] = ()
    """The elements acted on of which code only said the place, each with what it stands beside."""
    beside: tuple[str, ...] = ()
    """Events in the meantime that no listing of the page shows."""


class TurnForm(NamedTuple):
    """The parts of a conversation by turns that depend on the dialect."""

    prompt: str
    """The file in `prompts/` with the rules and the task."""
    see: Callable[[Attempt, Tools, int, int], tuple[Attempt, Shown]]
    """Observes the page; takes the turn's number and the page's token limit."""
    take: Callable[[Attempt, Tools, Shown, str], tuple[Attempt, Became]]
    """Reads a reply and runs its code."""
    usable: Callable[[str], str] = closed_block
    """The usable part of a truncated reply; see `ask`."""


def write_by_turns(attempt: Attempt, tools: Tools) -> Attempt:
    """Take turns in the Playwright dialect; see `converse`."""
    return converse(attempt, tools, TurnForm("turns", _see, _take))


def converse(attempt: Attempt, tools: Tools, form: TurnForm) -> Attempt:
    """Take turns until the model reports that the task is done, or the limit is reached.

    An attempt also ends when two turns in a row fail with the same code, or with none.
    """
    with turn_events(tools) as events:
        attempt = _conversation(attempt, tools, form, events)
    return finish_turns(attempt, tools)


def _conversation(attempt: Attempt, tools: Tools, form: TurnForm, events: TurnEvents) -> Attempt:
    limit = tools.settings.max_turns
    talk = TurnTalk(_opening(attempt, tools, form.prompt), limit)
    in_vain: str | None = None
    for number in range(1, limit + 1):
        pictures = tools.looks.take()
        attempt, shown = form.see(attempt, tools, number, _room(tools, talk, len(pictures)))
        attempt, reply = _ask_turn(attempt, tools, number, talk.messages(shown, pictures), form)
        if attempt.failure:
            break
        attempt, became = form.take(change(attempt, turns=number), tools, shown, reply)
        if became.ends:
            break
        if not became.well and became.code == in_vain:
            attempt = attempt if attempt.failure or became.may_end else _in_vain(attempt, became)
            break
        in_vain = None if became.well else became.code
        # No turn follows the last one, so its error cannot be corrected.
        attempt = corrected(attempt) if attempt.failure and number < limit else attempt
        if number < limit:
            # The effects of a turn appear while the page settles.
            wait_until_quiet(front_tab(tools))
        became = became._replace(beside=(*became.beside, *events.take()))
        talk.add(*_told(number, reply, became, tools))
    else:
        note = f"The limit of {limit} {_CUT_OFF}"
        attempt = change(attempt, code_notes=(*attempt.code_notes, note))
    return attempt


_CUT_OFF = "turns was reached before the model said that it was done."


def is_cut_off(attempt: Attempt) -> bool:
    """Tell whether the limit of turns ended an attempt."""
    return any(note.endswith(_CUT_OFF) for note in attempt.code_notes)


def _room(tools: Tools, talk: TurnTalk, pictures: int) -> int:
    """Return how many tokens the page of the next turn may take."""
    left = page_budget(tools, 1) - talk.said_tokens() - pictures * PICTURE_TOKENS
    # Less than this shows nothing useful, so exceeding a small context is the lesser evil.
    # Budgets are counted in four characters a token, of which tables with numbers have fewer.
    return max(400, min(left, tools.spec.turn_page_tokens * CHARS_PER_TOKEN // 4))


def _in_vain(attempt: Attempt, became: Became) -> Attempt:
    message = "the replies hold neither code nor DONE"
    if became.code:
        message = "the same reply could not be carried out twice"
    failure = Failure(kind="plan", message=message)
    return fail(attempt, failure, StepProblem.of("(plan)", NO_STEPS, failure.message))


def read_turn(reply: str) -> TurnReply:
    """Read a reply; without any block, the lines that are statements of a script are its code."""
    found = read_code(reply)
    done = bool(_DONE.search(found.words))
    if not found.code:
        found = bare_code(_DONE.sub("", found.words))
    code = _without_headings(found.code).strip("\n")
    if _DONE_IN_CODE.search(code):
        code, done = _DONE_IN_CODE.sub("", code).strip("\n"), True
    words = _DONE.sub("", found.words).strip()
    question = "" if code else parse_plan(reply).question
    return TurnReply(words, code, done, question, found.left_out)


def _without_headings(code: str) -> str:
    """Return the code without step headings, which would split the turn into several."""
    lines = code.split("\n")
    return "\n".join(
        "" if line.lstrip().startswith("#") and heading_number(line) is not None else line
        for line in lines
    )


def _opening(attempt: Attempt, tools: Tools, prompt: str) -> tuple[Message, ...]:
    """Return the rules and the task, which stay the same in all turns."""
    failed = tools.previous
    messages = render(
        prompt,
        task=tools.case.user_task,
        url=tools.case.entry_url,
        turns=tools.settings.max_turns,
        seconds=f"{tools.settings.step_timeout:g}",
        call_seconds=f"{TOLD_CALL_S:g}",
        all_seconds=f"{tools.case.timeout:g}",
        looks=tools.settings.max_looks if "look" in tools.offered else 0,
        secrets=sorted(tools.case.secrets),
        files=tools.case.upload_names,
        may_answer=tools.case.may_answer,
        asks_for_data=tools.case.asks_for_data,
        again=failed is not None,
        earlier=fence(failed.code, "code") if failed and failed.code else "",
        hint=retry_hint(failed, attempt, tools, advice=_ADVICE) if failed else "",
        output=outcome_told(failed) if failed else "",
        done=fence(done, "done") if failed and (done := _done_by(failed, tools)) else "",
        at_end=_page_at_end(failed, tools) if failed else "",
    )
    # Only code can call `get_by_sight`; the other dialect has no equivalent.
    return with_sight(messages, tools) if prompt == "turns" else messages


_ADVICE = "Do again what worked, and find another way for what did not."


def _done_by(failed: Attempt, tools: Tools) -> str:
    """Return the parts of the task beside what was done, if the attempt ended as done."""
    return parts_and_deeds(tools.case.user_task, failed)


def _page_at_end(failed: Attempt, tools: Tools) -> str:
    """Return the page at which the failed attempt ended; empty if it is unknown."""
    scene = failed.scene
    if scene is None or not scene.snapshot:
        return ""
    if failed.snapshots and scene.snapshot == failed.snapshots[0].text:
        return " the one that it began with."
    # This attempt's own pages need the room.
    room = page_budget(tools, 4) * CHARS_PER_TOKEN
    text = scene.snapshot[:room]
    note = "" if text == scene.snapshot else "\n...(cut here)"
    return ":\n" + fence(f"URL: {scene.url}\n{text}{note}", "page at the end")


def front_tab(tools: Tools) -> Page:
    """Return the most recently opened tab that is still open, or the one that was chosen."""
    return tools.tab.front(tools.page)


def asked(attempt: Attempt, tools: Tools, asks: str) -> tuple[Attempt, Became]:
    """Stop at a question or answer it, depending on `--autoweb-questions`."""
    settings = tools.settings
    answer = find_answer(tools.case.answers, asks) if settings.answers else ""
    attempt = change(
        attempt,
        plan_has_question=True,
        plan_question=tools.redact(asks),
        plan_answer=tools.redact(answer),
    )
    if not answer and settings.questions != "record":
        failure = Failure(kind="question", message=f"the model needs input: {asks}")
        problem = StepProblem.of("(plan)", PLAN_ASKS, asks)
        return fail(attempt, failure, problem), Became("asked.", ends=True)
    told = f"asked. The answer: {answer}" if answer else "asked, and nobody answers: decide."
    return attempt, Became(told, well=True)


def _see(attempt: Attempt, tools: Tools, number: int, budget: int) -> tuple[Attempt, Shown]:
    page = front_tab(tools)
    snapshot = capture_snapshot(
        page,
        tools.mode,
        url=tools.redact(page.url),
        entry_action="",
        step_indexes=(number,),
        budget_tokens=budget,
        folds=tools.folds,
    )
    snapshot = snapshot.model_copy(update={"text": tools.redact(snapshot.text)})
    attempt = change(attempt, snapshots=(*attempt.snapshots, snapshot))
    text = "\n".join([*(f"({note})" for note in snapshot.notes), snapshot.text])
    return attempt, Shown(number, snapshot.url, text, tab=_name_of(page, tools))


def _name_of(page: Page, tools: Tools) -> str:
    """Return the listed tab's name in code; empty if it is `page`."""
    tabs = page.context.pages
    listed = page is not tools.page and page in tabs
    return f"page.context.pages[{tabs.index(page)}]" if listed else ""


def _ask_turn(
    attempt: Attempt, tools: Tools, number: int, messages: tuple[Message, ...], form: TurnForm
) -> tuple[Attempt, str]:
    stage: StageName = "repair" if tools.previous and number == 1 else "generate"
    return ask(attempt, tools, stage, messages, turn=number, usable=form.usable)


def _take(attempt: Attempt, tools: Tools, shown: Shown, reply: str) -> tuple[Attempt, Became]:
    """Run the code of a turn as the next step of the script."""
    said = read_turn(reply)
    if not said.code and not said.question and (unread := unread_code(said)):
        return attempt, unread
    if said.done and not said.code:
        return attempt, nothing_left(shown)
    if said.question:
        return asked(attempt, tools, said.question)
    if not said.code:
        return attempt, Became("held no code. Reply with one fenced Python block, or with DONE.")
    code = tidied(f"{said.code}\n", lambda code: _findings(code, tools, attempt.code))
    attempt, became = carry_out(attempt, tools, shown.number, code, said.words)
    ends = said.done and became.well and not said.left_out
    beside = tuple(map(tools.redact, said.left_out))
    lines = "\n".join(became.acted[:_MAX_ACTED])
    return attempt, became._replace(code=said.code, ends=ends, beside=beside, lines=lines)


_MAX_ACTED = 12
UNREAD_CODE = (
    "held code outside a fenced block, and nothing of it was done. Reply with one fenced block, or "
    "with DONE alone."
)


def unread_code(said: TurnReply) -> Became | None:
    """Return the outcome of a reply whose words hold calls that were not read, else None."""
    if holds_calls(said.words):
        return Became(UNREAD_CODE, code=said.words)
    # A call within a sentence may be meant, or be told of.
    if said.done and mentions_calls(said.words):
        return Became(UNREAD_CODE, code=said.words, may_end=True)
    return None


def nothing_left(shown: Shown) -> Became:
    """Return the outcome of a turn without code, in which the model reports the task as done.

    In the first turn the model is asked to confirm: small models tend to reply like this to
    anything.
    """
    if shown.number > 1:
        return Became("", well=True, ends=True)
    return Became("did nothing. Do the task now; only if nothing has to be done, reply DONE again.")


def carry_out(
    attempt: Attempt, tools: Tools, number: int, code: str, words: str
) -> tuple[Attempt, Became]:
    """Run code as a step of the script; lines that were not executed stay in it as comments.

    Args:
        attempt: the attempt so far.
        tools: its tools.
        number: the number of the step.
        code: its code, without a heading, which ends in a line break.
        words: a description of the step.
    """
    first_line = len(attempt.code.splitlines()) + 1
    findings = _findings(code, tools, attempt.code)
    block = f"# Step {number}\n{code}"
    said = " ".join(words.split())[:500]
    attempt = change(attempt, code=attempt.code + tools.redact(block))
    if findings:
        attempt = _refused(attempt, tools, number, findings, said)
        listed = "\n".join(findings)
        became = Became("was refused before it ran, so nothing of it was done:", listed)
    else:
        # The block keeps its line numbers from the whole script.
        placed = "\n" * (first_line - 1) + block
        # The names in the code show the intended frame more reliably than the description does.
        attempt = run_block(attempt, tools, number, placed, code, told=True, description=said)
        became = _became(attempt.step_results[-1], placed, first_line)
        became = became._replace(acted=_acted_on(attempt, number))
    if became.error:
        failed = attempt.failure
        line = failed.line if failed and failed.step_index in (None, number) else None
        left = attempt.code.splitlines(keepends=True)[: first_line - 1]
        kept = as_it_ran(tools.redact(block), (line or first_line) - first_line + 1)
        attempt = change(attempt, code="".join(left) + kept)
    return attempt, became


def _acted_on(attempt: Attempt, number: int) -> tuple[str, ...]:
    """Return, for each call of a step that named only a place, what stood there."""
    made = (call for call in attempt.tool_calls if call.step_index == number and call.element)
    return tuple(f"{call.method}: {call.element}" for call in made)


def _findings(code: str, tools: Tools, before: str) -> tuple[str, ...]:
    """Return why the code is rejected; dataclasses defined in earlier code are known.

    In a correction arm that bans failed calls, these are rejected as well.
    """
    scripts = scripts_allowed(tools.settings.sandbox, tools.spec.provider)
    found = lint_code(code, scripts=scripts, offered=tools.offered, fields=fields_in(before))
    guidance = tools.guidance
    held = guidance is not None and guidance.arm.bans_failed_calls
    again = repeated_calls(code, guidance.attempts) if guidance and held else ()
    return (*map(str, found), *again)


def _refused(
    attempt: Attempt, tools: Tools, number: int, findings: tuple[str, ...], said: str
) -> Attempt:
    for finding in findings:
        tools.log.write(f"lint: {finding}")
    failure = Failure(kind="lint", message=findings[0], step_index=number)
    result = StepResult(
        step_index=number,
        description=tools.redact(said),
        ok=False,
        status="not_run",
        error=findings[0],
        failure=failure,
    )
    attempt = change(attempt, step_results=(*attempt.step_results, result))
    return fail(attempt, failure, StepProblem.of("(lint)", REFUSED_BY_LINT, findings[0]))


def _became(result: StepResult, placed: str, heading: int) -> Became:
    logged = own_log((result.logged,))
    if result.ok:
        return Became("was carried out.", logged=logged, well=True)
    return Became("ended in an error:", step_error(result, placed, before=heading), logged)


def as_it_ran(block: str, failed_line: int) -> str:
    """Return a block with the lines not executed as comments, so that line numbers stay the same.

    Args:
        block: the code of a turn that ended in an error.
        failed_line: the line of the block, from 1, at which it ended; 1 if nothing ran.
    """
    lines = block.splitlines()
    tree = read_python(block)
    done = 0
    if tree is not None:
        # For a script, a statement that failed halfway counts as not executed.
        ends = [node.end_lineno or node.lineno for node in tree.body]
        done = max((end for end in ends if end < failed_line), default=0)
    heading, *_ = lines
    kept = lines[1:done]
    # A plain comment could be mistaken for a step heading.
    rest = [f"#| {line}".rstrip() for line in lines[max(done, 1) :]]
    return "\n".join([heading, *kept, *rest]) + "\n"


def corrected(attempt: Attempt) -> Attempt:
    """Return the attempt with its last error marked as reported to the model for correction."""
    results = list(attempt.step_results)
    # What ended the turn is not always its last step: replies to dialogs are taken back after it.
    at = max((place for place, result in enumerate(results) if not result.ok), default=-1)
    results[at] = results[at].model_copy(update={"status": "corrected"})
    return change(
        attempt,
        step_results=tuple(results),
        failure=None,
        problems=(),
        scene=None,
        findings=(),
    )


def _told(number: int, reply: str, became: Became, tools: Tools) -> tuple[Message, ...]:
    """Return a turn as kept in the conversation afterwards, without its page."""
    answered, answer = tools.engine.answer
    found, tools.found[:] = list(tools.found), []
    told = render(
        "turn_became",
        number=number,
        became=became.words,
        error=quote(became.error, "error"),
        logged=quote(became.logged, "log"),
        lines=quote(became.lines, "lines"),
        found=quote("\n".join(found), "found"),
        beside=quote("\n".join(became.beside), "events"),
        answer=quote(answer_text(answer), "answer") if answered else "",
    )[1]
    return Message(role="assistant", content=strip_reasoning(reply)), told
