"""The loop of the strategy `act`: observe, decide, resolve, perform, until the task is done.

A decision is performed as a step of the attempt's script.
"""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from msgspec.structs import replace
from playwright.sync_api import Dialog, Error

from pytest_autoweb.agents.act.actions import (
    Action,
    AnswerDialog,
    DismissDialog,
    Done,
    Extract,
    OnElement,
    ReadDownload,
    Retry,
    SwitchTab,
)
from pytest_autoweb.agents.act.decide import decide, wants_data
from pytest_autoweb.agents.act.memory import MAX_CIRCLES, MAX_FAILURES_IN_A_ROW, ActMemory
from pytest_autoweb.agents.act.observe import Turn, View, more_tabs, observe
from pytest_autoweb.agents.act.resolve import refuse, resolve
from pytest_autoweb.agents.act.translate import Details, code_by_sight, code_of, describe_action
from pytest_autoweb.agents.attempt.decision_limit import decision_limit
from pytest_autoweb.agents.attempt.execute import run_block
from pytest_autoweb.agents.attempt.read_download import NO_DOWNLOAD, read_download
from pytest_autoweb.agents.attempt.tools import Tools, change, fail, relative
from pytest_autoweb.agents.choice.feedback import Feedback
from pytest_autoweb.agents.choice.verify_choice import Resolution
from pytest_autoweb.base.errors import first_line
from pytest_autoweb.base.json_values import map_texts
from pytest_autoweb.base.language import StepProblem
from pytest_autoweb.results.records import (
    Attempt,
    ChosenMark,
    Decision,
    Failure,
    FailureKind,
    Location,
    StepResult,
)

_WHY_CHARS = 300

_DIALOG_CHARS = 200
_NAME_CHARS = 200
_AT_ONCE_S = 0.2
_TAB_CAME = "a new tab opened by itself while you decided; what you decided then was not done"


def perform(turn: Turn, memory: ActMemory) -> Turn:
    """Return the turn with the result of its decision; a settled turn is returned unchanged."""
    if turn.status:
        return turn
    if turn.action is None:
        memory.add_problem(turn.index, None, turn.tools.redact(turn.problem))
        memory.failures_in_a_row += 1
        return turn.ended("invalid", turn.problem)
    if isinstance(turn.action, Done):
        return _take_answer(turn, turn.action, memory)
    if turn.by_sight:
        return _by_sight(turn, turn.action, memory)
    return _act(turn, turn.action, memory)


def _act(turn: Turn, action: Action, memory: ActMemory) -> Turn:
    chosen, tools = turn.verified, turn.tools
    number = chosen.mark.number if chosen.mark else None
    if chosen.resolution:
        known = chosen.resolution.chosen
        memory.note_tried(turn.view.digest, action.action, known.taken or known.mark)
    line, told = describe_action(action), len(memory.done)
    code = code_of(action, number, _details(turn))
    if code:
        turn, result = _run(turn, code, chosen.view, line)
        if not result.ok:
            return _failed(turn, action, result, memory)
    if isinstance(action, Extract) and number is not None:
        read = tools.redact(chosen.view.read(number))
        memory.extracted.append(read)
        line = f"{line}: {read!r:.300}"
    if isinstance(action, ReadDownload):
        file = read_download(tools, turn.view.page, 1)
        if file is None:
            return _came_to_nothing(turn, action, NO_DOWNLOAD, memory)
        memory.keep_file(file)
    if isinstance(action, Retry):
        memory.failures_in_a_row += 1
    else:
        memory.note_success(tools.redact(line), told)
    if isinstance(action, AnswerDialog):
        memory.dialog_text = action.text
    memory.dismisses = memory.dismisses or isinstance(action, DismissDialog)
    if isinstance(action, SwitchTab):
        memory.tab = turn.view.page.context.pages[action.tab - 1]
    memory.last_action = action.action
    return _performed(turn, action)


def _tell_downloads(tools: Tools, memory: ActMemory) -> None:
    """Add a line for each download that has begun; small models cannot read one."""
    names = [file.name for file in tools.downloads[memory.downloads :]]
    memory.downloads += len(names)
    if not tools.spec.small:
        memory.done += [f"a download began: {tools.redact(name)[:_NAME_CHARS]!r}" for name in names]


def _details(turn: Turn) -> Details:
    chosen, marked = turn.verified, turn.view.marked
    target = chosen.target.mark if chosen.target else None
    box = chosen.mark.box if chosen.mark and chosen.mark.revealed else None
    return Details(
        target=target.number if target else None,
        viewport=marked.viewport,
        scale=marked.scale,
        file_field=chosen.mark is not None and chosen.mark.attributes.get("type") == "file",
        under=(box.x + box.width / 2, box.y + box.height / 2) if box else None,
        editor=chosen.mark.editor if chosen.mark else "",
    )


def _by_sight(turn: Turn, action: Action, memory: ActMemory) -> Turn:
    """Let the vision locator find an element that is in doubt or was refused repeatedly."""
    assert isinstance(action, OnElement)
    before, view, line = len(turn.attempt.locations), turn.verified.view, describe_action(action)
    memory.refusals.clear()
    turn, result = _run(turn, code_by_sight(action), view, line)
    click = result.failure.evidence.get("click") if result.failure else None
    if click and action.action == "click":
        # A drawing on a canvas has a position, but no element to click.
        turn, result = _run(turn, str(click), view, line)
    # A step may fail before it ever calls the locator.
    if len(turn.attempt.locations) > before:
        turn = _with_search(replace(turn, location=before), turn.attempt.locations[before])
    if result.ok:
        if turn.doubt:
            memory.withdraw(turn.doubt)
        memory.note_success(turn.tools.redact(line))
        return _performed(turn, action)
    reason = why_failed(result)
    if turn.doubt is None:
        memory.add_problem(turn.index, None, turn.tools.redact(f"{line}: {reason}"))
    memory.failures_in_a_row += 1
    return turn.refused("gave_up", reason)


def _performed(turn: Turn, action: Action) -> Turn:
    """Settle the turn as performed, and end the task if the model says that nothing is left."""
    # The data that the task asks for is still outstanding.
    return replace(turn.ended("performed"), done=action.last and not wants_data(turn.tools))


def _with_search(turn: Turn, location: Location) -> Turn:
    """Return the turn with a record of what the search found and how its text compares."""
    chosen = turn.verified
    if chosen.resolution is None or location.verdict is None:
        return turn
    found = ChosenMark(
        mark=chosen.resolution.chosen.mark,
        expected_text=location.expected_text,
        actual_text=location.actual_text,
        verdict=location.verdict,
        reason=f"found by sight: {location.compared}",
        kind=chosen.resolution.chosen.kind,
        box=location.box,
    )
    return replace(
        turn, chosen=chosen._replace(resolution=chosen.resolution._replace(chosen=found))
    )


def _take_answer(turn: Turn, action: Done, memory: ActMemory) -> Turn:
    """End the task with the model's answer, or with what it extracted if it gives none."""
    read = memory.extracted
    if action.answer in (None, "") and read and wants_data(turn.tools):
        action = action.model_copy(update={"answer": read[0] if len(read) == 1 else read})
        turn = replace(turn, action=action)
    if action.answer == "" and not turn.tools.case.asks_for_data:
        # The form of a reply has an answer even where there is none to give.
        action = action.model_copy(update={"answer": None})
    if code := code_of(action):
        turn, result = _run(turn, code, turn.view, describe_action(action))
        if not result.ok:
            return _failed(turn, action, result, memory)
    return replace(turn.ended("performed"), done=True)


def _failed(turn: Turn, action: Action, result: StepResult, memory: ActMemory) -> Turn:
    """Settle an action that the browser could not do, or refuse an element whose text changed."""
    evidence = result.failure.evidence if result.failure else {}
    chosen = turn.verified
    if "chosen" in evidence and chosen.resolution:
        late = ChosenMark.model_validate(evidence["chosen"])
        gone = evidence.get("status") == "element_gone"
        stopped = Resolution("element_gone" if gone else "text_changed", late, None)
        turn = replace(turn, chosen=chosen._replace(resolution=stopped))
        turn = refuse(turn, action, stopped, memory)
        return _by_sight(turn, action, memory) if turn.by_sight else turn
    memory.note_tried(turn.view.digest, action.action, getattr(action, "mark_id", None))
    turn = _came_to_nothing(turn, action, why_failed(result), memory)
    lost = result.failure if evidence.get("page_lost") else None
    return replace(turn, lost=lost)


def _came_to_nothing(turn: Turn, action: Action, reason: str, memory: ActMemory) -> Turn:
    told = turn.tools.redact(f"{describe_action(action)}: {reason}")
    memory.add_problem(turn.index, turn.verified.mark, told)
    memory.failures_in_a_row += 1
    return turn.ended("failed", reason)


def _run(turn: Turn, code: str, view: View, line: str) -> tuple[Turn, StepResult]:
    """Run the code as a step of the script; its failure does not fail the attempt."""
    attempt, tools = turn.attempt, turn.tools
    tools.marks.hold(view.marked)
    block = f"# Step {turn.index}\n{code}\n"
    first_line = len(attempt.code.splitlines()) + 1
    attempt = change(attempt, code=attempt.code + tools.redact(block))
    # Blank lines make the line numbers in errors match the whole script.
    placed = "\n" * (first_line - 1) + block
    attempt = run_block(attempt, tools, turn.index, placed, line, description=line)
    attempt = change(attempt, failure=None)
    return turn.with_attempt(attempt), attempt.step_results[-1]


def why_failed(result: StepResult) -> str:
    """Return the first line of the error, and the element that blocked a click."""
    detail = str(result.failure.evidence.get("detail", "")) if result.failure else ""
    covered = next((line for line in detail.splitlines() if "intercepts pointer" in line), "")
    first = first_line(result.error or "it failed")
    return " ".join(f"{first} {covered.strip(' -')}".split())[:_WHY_CHARS]


def act_on_page(attempt: Attempt, tools: Tools) -> Attempt:
    """Decide and act until the model says it is done or a limit is reached.

    On a mismatch nothing is performed. Only the next prompt reports the problem, unless
    `--autoweb-feedback=false` makes this the control arm.
    """
    memory = ActMemory(
        Feedback(tools.settings.feedback, english=not tools.spec.small), mistaken=tools.mistaken
    )
    limit = decision_limit(tools.settings, tools.case)
    last: Turn | None = None
    with dialogs_answered(tools, memory.done.append, memory.reply_to):
        for index in range(1, limit + 1):
            tools.progress(f"decision {index}")
            if tools.budget.left <= 0:
                message = f"the attempt's {tools.case.timeout:g} s are over"
                attempt = _stopped(attempt, "timeout", message)
                break
            last = _one_turn(_decided(attempt, tools, memory, last), memory)
            attempt = last.attempt
            if last.failed or last.done:
                break
        else:
            attempt = _stopped(attempt, "limit", f"{limit} decisions were not enough")
    tools.marks.hold(None)
    answered, answer = tools.engine.answer
    acted = any(decision.status == "performed" for decision in attempt.decisions)
    return change(
        attempt,
        # A model that says it is done without having acted or answered has not executed the task.
        executed=last is not None and last.done and (acted or answered),
        answered=answered,
        answer=answer,
    )


def _one_turn(turn: Turn, memory: ActMemory) -> Turn:
    """Take a decided turn to its end; a failed model call ends it without a record."""
    for step in (resolve, perform):
        if turn.failed:
            return turn
        turn = step(turn, memory)
    return turn if turn.failed else _ended(turn, memory)


def _decided(attempt: Attempt, tools: Tools, memory: ActMemory, last: Turn | None) -> Turn:
    """Look and decide; repeat both if a tab has opened unannounced in the meantime.

    The decision made on the earlier tab is not performed: the model did not know of the new one.
    """
    seen = observe(attempt, tools, memory, last)
    _tell_downloads(tools, memory)
    looked = tools.clock.now()
    turn = decide(seen, memory)
    at_once = tools.clock.now() - looked < _AT_ONCE_S
    if turn.failed or at_once or not more_tabs(turn.view.page, memory):
        return turn
    memory.queued = ()
    memory.done.append(_TAB_CAME)
    again = observe(turn.attempt, tools, memory, last)
    told = again.situation._replace(problems=turn.situation.problems)
    return decide(replace(again, situation=told, began=turn.began, calls=turn.calls), memory)


def _ended(turn: Turn, memory: ActMemory) -> Turn:
    """Record the turn, and fail the attempt when a limit is reached or the page is lost."""
    turn = turn.with_attempt(_recorded(turn))
    if turn.status != "performed":
        # The queued actions were chosen on the assumption that this one works.
        memory.queued = ()
    if memory.circles >= MAX_CIRCLES:
        message = f"the model goes in circles: {turn.error}"
        return turn.with_attempt(_stopped(turn.attempt, "limit", message))
    if memory.failures_in_a_row >= MAX_FAILURES_IN_A_ROW:
        history = memory.feedback.history
        last = f": {history[-1].line}" if history else ""
        message = f"{MAX_FAILURES_IN_A_ROW} decisions in a row came to nothing{last}"
        turn = turn.with_attempt(_stopped(turn.attempt, "limit", message))
    if turn.lost:
        turn = turn.with_attempt(change(turn.attempt, failure=turn.lost))
    return turn


def _stopped(attempt: Attempt, kind: FailureKind, message: str) -> Attempt:
    """Return the attempt as failed at its limit on time, decisions or circles."""
    return fail(attempt, Failure(kind=kind, message=message), StepProblem.quoted("(act)", message))


def _recorded(turn: Turn) -> Attempt:
    """Return the attempt with a record of the turn's decision, without secrets."""
    assert turn.status is not None, "a turn that is recorded is settled"
    view, tools, action, chosen = turn.view, turn.tools, turn.action, turn.verified
    width, height = view.marked.viewport
    decision = Decision(
        index=turn.index,
        url=view.page.url,
        picture=relative(turn.picture, tools),
        viewport=(round(width), round(height)),
        marks=len(view.marks),
        failed_marks=tuple(mark.number for mark in view.marks if mark.failed),
        feedback=tuple(problem.line for problem in turn.situation.problems),
        action=action.model_dump(mode="json") if action else None,
        thinking=action.thinking if action else "",
        confidence=action.confidence if action else None,
        chosen=tuple(one.chosen for one in (chosen.resolution, chosen.target) if one),
        second_look=chosen.second_look,
        second_picture=relative(turn.second_picture, tools) if turn.second_picture else None,
        status=turn.status,
        refused_for=turn.refused_for,
        error=turn.error,
        location=turn.location,
        calls=turn.calls,
        duration_ms=(tools.clock.now() - turn.began) * 1000,
    )
    clean = _without_secrets(decision, tools.redact)
    return change(turn.attempt, decisions=(*turn.attempt.decisions, clean))


def _without_secrets(decision: Decision, redact: Callable[[str], str]) -> Decision:
    """Return the decision with `redact` applied to all text from the model and the page."""
    chosen = tuple(
        one.model_copy(
            update={
                "expected_text": redact(one.expected_text),
                "actual_text": redact(one.actual_text),
                "reason": redact(one.reason),
            }
        )
        for one in decision.chosen
    )
    return decision.model_copy(
        update={
            "url": redact(decision.url),
            "feedback": tuple(map(redact, decision.feedback)),
            "action": map_texts(decision.action, redact),
            "thinking": redact(decision.thinking),
            "chosen": chosen,
            "error": redact(decision.error),
        }
    )


@contextmanager
def dialogs_answered(
    tools: Tools,
    tell: Callable[[str], None],
    reply: Callable[[str], str | None] = lambda kind: "",
) -> Iterator[None]:
    """Answer every dialog, because a picture of the page does not show dialogs.

    Args:
        tools: the tools of the attempt.
        tell: called with one line for each dialog, without secrets.
        reply: returns the text with which to accept a dialog of a kind, or None to dismiss it.
    """

    def answer(dialog: Dialog) -> None:
        said = " ".join(tools.redact(dialog.message).split())[:_DIALOG_CHARS]
        text, asks = reply(dialog.type), dialog.type == "prompt"
        became = "dismissed" if text is None else "accepted"
        if asks and text is not None:
            typed = json.dumps(text, ensure_ascii=False)
            became += f" with {tools.redact(typed)}" if text else " without the text it asks for"
        tell(f'a dialog said "{said}" and was {became}')
        try:
            if text is None:
                dialog.dismiss()
            else:
                # An empty text would replace the one that the page suggests.
                dialog.accept(text or None)
        except Error as error:
            tools.log.write(f"a dialog could not be answered: {error}")

    context = tools.page.context
    context.on("dialog", answer)
    try:
        yield
    finally:
        context.remove_listener("dialog", answer)
