"""The loop of the strategy `act`: observe, decide, resolve, perform, until the task is done."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from playwright.sync_api import Dialog, Error

from pytest_autoweb.act.decide import decide
from pytest_autoweb.act.memory import MAX_CIRCLES, MAX_FAILURES_IN_A_ROW, ActMemory
from pytest_autoweb.act.observe import more_tabs, observe
from pytest_autoweb.act.perform import perform
from pytest_autoweb.act.resolve import resolve
from pytest_autoweb.act.turn import Turn
from pytest_autoweb.attempt.execute import relative
from pytest_autoweb.attempt.tools import Tools, change, fail
from pytest_autoweb.choice.feedback import Feedback
from pytest_autoweb.language import StepProblem
from pytest_autoweb.results import Attempt, Decision, Failure, FailureKind

_DIALOG_CHARS = 200
_AT_ONCE_S = 0.2
_TAB_CAME = "a new tab opened by itself while you decided; what you decided then was not done"


def act_on_page(attempt: Attempt, tools: Tools) -> Attempt:
    """Decide and act until the model says it is done or a limit is reached.

    On a mismatch nothing is performed. The next prompt, and only that one, says what was wrong,
    unless `--autoweb-feedback=false` makes this the control arm.
    """
    memory = ActMemory(
        Feedback(tools.settings.feedback, english=not tools.spec.small), mistaken=tools.mistaken
    )
    limit = tools.settings.max_decisions
    last: Turn | None = None
    with dialogs_answered(tools, memory.done.append):
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
    """Look and decide; once more, on a tab that nothing announced and that came meanwhile.

    What was decided on the tab behind it is not performed: the model did not know of the new one.
    """
    seen = observe(attempt, tools, memory, last)
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
        # What follows was decided on as if this had worked.
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
    """Return the attempt as failed at a limit of time, decisions or circles."""
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
    """Return the decision with `redact` applied to what model and page wrote."""
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
            "action": _redacted(decision.action, redact),
            "thinking": redact(decision.thinking),
            "chosen": chosen,
            "error": redact(decision.error),
        }
    )


def _redacted(value: Any, redact: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, dict):
        return {key: _redacted(item, redact) for key, item in value.items()}
    return [_redacted(item, redact) for item in value] if isinstance(value, list) else value


@contextmanager
def dialogs_answered(tools: Tools, tell: Callable[[str], None]) -> Iterator[None]:
    """Accept every dialog, because a picture of the page does not show it.

    Args:
        tools: the tools of the attempt.
        tell: called with one line for each dialog, without secrets.
    """

    def answer(dialog: Dialog) -> None:
        said = " ".join(tools.redact(dialog.message).split())[:_DIALOG_CHARS]
        tell(f'a dialog said "{said}" and was accepted')
        try:
            dialog.accept()
        except Error as error:
            tools.log.write(f"a dialog could not be answered: {error}")

    context = tools.page.context
    context.on("dialog", answer)
    try:
        yield
    finally:
        context.remove_listener("dialog", answer)
