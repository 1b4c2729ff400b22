"""Ask the model for the next action, given the current view of the page.

Models that cannot keep to a schema get a grammar, which offers only actions that make sense on the
marked elements.
"""

from collections.abc import Collection, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from msgspec.structs import replace

from pytest_autoweb.agents.act.actions import (
    FOR_CAPABLE,
    FORMS,
    Action,
    FillForm,
    Steps,
    brief_forms_text,
    decision_schema,
    forms_text,
    validate_action,
)
from pytest_autoweb.agents.act.memory import MAX_FAILURES_IN_A_ROW, ActMemory, Banned
from pytest_autoweb.agents.act.observe import Situation, Turn, View
from pytest_autoweb.agents.act.translate import computer_action
from pytest_autoweb.agents.attempt.decision_limit import decision_limit
from pytest_autoweb.agents.attempt.tools import Tools, ask
from pytest_autoweb.agents.choice.decision_json import ReplyProblem, read_decisions
from pytest_autoweb.agents.choice.disambiguate import ambiguous, distinguishing_texts
from pytest_autoweb.agents.choice.feedback import section, warning
from pytest_autoweb.browser.marks.mark_list import full_line, option_lines, page_list, waiting_lines
from pytest_autoweb.browser.marks.marking import Mark, listing, mark_page, texts_apart
from pytest_autoweb.models.computer_tool import ComputerTool
from pytest_autoweb.models.messages import Message, picture_uri
from pytest_autoweb.models.prompts import fence, render
from pytest_autoweb.models.replies import whole_lines, whole_object
from pytest_autoweb.models.reply_forms import grammar_of, string_rule
from pytest_autoweb.results.records import Attempt

MAX_TEXT = 120
STRINGS = string_rule(MAX_TEXT)
_TYPED = frozenset({"textbox", "searchbox", "spinbutton", "combobox", "slider"})

TEXT_SHARE = 16
"""Divisor of the model's context: the share of it that the page's text may take."""
CHARS_PER_TOKEN = 3
"""Characters per token in texts of a page; a cautious estimate."""
BRIEF_TOKENS = 200
"""Token limit of a reply in the brief form."""


class OtherActions(NamedTuple):
    """The actions that are possible besides those on elements."""

    scroll: tuple[str, ...] = ("down", "up")
    enter: bool = True
    """Whether Enter may be pressed, which makes sense after typing."""
    done: bool = True
    answers: bool = False
    """Whether `done` carries an answer."""


def grammar(
    marks: Sequence[Mark],
    others: OtherActions,
    *,
    banned: Banned = (),
    alike: Collection[int] = (),
    again: bool = False,
) -> str:
    """Return a grammar of one line of JSON: an action with a mark that suits it, or without a mark.

    Args:
        marks: the marks of the picture.
        others: the actions that need no mark.
        banned: actions already done or refused on this same picture.
        alike: numbers of marks that share their text, for which the reply may also name `near`.
        again: this is a second look, in which `near` must be named.
    """
    forms = []
    for action in ("click", "type", "select"):
        fitting = [m.number for m in marks if fits(action, m) and (action, m.number) not in banned]
        shared = [number for number in fitting if number in alike]
        if fitting and not again:
            forms.append(FORMS[action].without("near").among(fitting))
        if shared:
            forms.append(FORMS[action].among(shared))
    forms += [FORMS["scroll"].fixed(direction=way) for way in others.scroll]
    if others.enter:
        forms.append(FORMS["press"].fixed(key="Enter"))
    # A grammar needs at least one way to go on.
    if others.done or not forms:
        forms.append(FORMS["done"] if others.answers else FORMS["done"].without("answer"))
    return grammar_of(forms, STRINGS)


def fits(action: str, mark: Mark) -> bool:
    """Return whether an action makes sense on an element of this role."""
    if action == "select":
        return mark.tag == "select"
    if action == "upload":
        return mark.attributes.get("type") == "file" or mark.tag not in ("input", "select")
    if action in ("hover", "scroll_in", "drag"):
        return True
    if action == "type":
        return (mark.tag in ("input", "textarea") and _takes_text(mark)) or mark.role in _TYPED
    return action == "extract" or mark.tag != "select"


def _takes_text(mark: Mark) -> bool:
    return mark.role in _TYPED or not mark.role


def decide(turn: Turn, memory: ActMemory) -> Turn:
    """Return the turn with the model's action, or with the problem with its reply.

    After a malformed reply, the model is asked once more and told what is wrong, except in the
    control arm. A failed call fails the attempt.
    """
    tools, view, problem = turn.tools, turn.situation.view, ""
    if not turn.situation.second_look and (queued := memory.next_queued(view.marks, view.url)):
        return replace(turn, action=queued)
    for _ in range(2):
        attempt, reply = _ask(turn, memory, problem)
        turn = replace(turn, attempt=attempt, calls=turn.calls + 1, action=None, problem="")
        if turn.failed:
            return turn
        try:
            action, notes, memory.left_over = _read(reply, view, tools)
            for note in notes:
                tools.log.write(f"decision {turn.index}: {note}")
            if not turn.situation.second_look:
                memory.begin_reply()
            if isinstance(action, FillForm | Steps):
                action = memory.begin_several(action, view.marks, view.url)
            return replace(turn, action=action)
        except ReplyProblem as wrong:
            problem = str(wrong)
            tools.log.write(f"unusable reply: {problem}")
        if not memory.feedback.enabled:
            break
    return replace(turn, problem=problem)


class _Read(NamedTuple):
    action: Action
    notes: tuple[str, ...] = ()
    """How the reply was read, for the log."""
    left_over: str = ""
    """What of it is not done, as a sentence for the model."""


def _read(reply: str, view: View, tools: Tools) -> _Read:
    if tools.spec.computer:
        return _Read(computer_action(reply, view.marks, view.marked.scale))
    found = read_decisions(reply)
    notes = ("the reply was no valid JSON, and was repaired",) if found.repaired else ()
    meant = _once(found.fields)
    twice = _TWICE if len(meant) < len(found.fields) else ""
    notes = (*notes, twice) if twice else notes
    small, fields = tools.spec.small, _ended(meant, wants_data(tools))
    if len(fields) == 1:
        return _Read(validate_action(fields[0], small=small), notes, twice)
    if not small:
        # Those that cannot stand in one list of steps are asked for again.
        with suppress(ReplyProblem):
            steps = {"action": "steps", "steps": list(fields), "last": fields[-1].get("last")}
            action = validate_action({k: v for k, v in steps.items() if v is not None})
            return _Read(action, notes, twice)
    left = f"of the {len(fields)} decisions in one reply only the first was done"
    told = "; ".join(filter(None, (twice, left)))
    return _Read(validate_action(fields[0], small=small), (*notes, left), told)


_TWICE = "what stood twice in a row in one reply was done once; decide again if twice was meant"
_THOUGHTS = frozenset(("thinking", "confidence", "last"))


def _once(fields: tuple[dict[str, Any], ...]) -> tuple[dict[str, Any], ...]:
    """Return decisions without those that only repeat what stands directly before them.

    Models write a decision a second time, in a block, as their final one. A second click on "Add"
    would do harm, and one that was meant can still be made. Those in a list of `steps` stay.
    """
    does = [{k: v for k, v in one.items() if k not in _THOUGHTS} for one in fields]
    half = len(fields) // 2
    if does[:half] == does[half:]:
        return _once(fields[half:])
    return tuple(
        one for at, one in enumerate(fields) if at + 1 == len(fields) or does[at] != does[at + 1]
    )


def _ended(fields: tuple[dict[str, Any], ...], answers: bool) -> tuple[dict[str, Any], ...]:
    """Return decisions of which the last one only says that nothing is left as one fewer.

    Where data is asked for, no action is the last, so the end is decided afresh.
    """
    *before, end = fields
    if not before or end.get("action") != "done" or end.get("answer") not in (None, ""):
        return fields
    return (*before[:-1], before[-1] if answers else {**before[-1], "last": True})


def _ask_computer(turn: Turn, memory: ActMemory, problem: str) -> tuple[Attempt, str]:
    """Ask a model with its provider's tool, on a picture without marks."""
    situation, tools = turn.situation, turn.tools
    view, kind = situation.view, tools.spec.computer
    assert kind is not None, "only models with such a tool are asked so"
    memory.asked += 1
    picture = mark_page(view.page, only=(), hide=tools.hidden).picture
    messages = render(
        "act_computer",
        images=(picture_uri(picture),),
        task=tools.case.user_task,
        url=tools.redact(view.page.url),
        secrets=sorted(tools.case.secrets),
        answers=wants_data(tools),
        hint=situation.hint,
        done=memory.history(small=False),
        feedback=section(situation.problems),
        problem=problem,
        **_limits(tools),
    )
    width, height = (round(side * view.marked.scale) for side in view.marked.viewport)
    tool = ComputerTool(kind=kind, width=width, height=height)
    attempt, asked = turn.attempt, memory.asked
    return ask(attempt, tools, "decide", messages, turn=asked, computer=tool, usable=whole_object)


def _ask(turn: Turn, memory: ActMemory, problem: str) -> tuple[Attempt, str]:
    if turn.tools.spec.computer:
        return _ask_computer(turn, memory, problem)
    situation, tools = turn.situation, turn.tools
    view, spec, brief = situation.view, tools.spec, is_brief(tools)
    answers = wants_data(tools)
    memory.asked += 1
    marks = _allowed(view.marks, tools)
    return ask(
        turn.attempt,
        tools,
        "decide",
        _messages(turn, memory, problem),
        turn=memory.asked,
        grammar=grammar(
            marks,
            _other_actions(view, memory, answers),
            banned=memory.banned(view.digest),
            alike=_texts_apart(situation),
            again=bool(situation.second_look),
        )
        if spec.constrained == "gbnf" and brief
        else None,
        json_schema=decision_schema(answers=answers, without=_impossible(tools))
        if spec.constrained != "none" and not brief
        else None,
        max_tokens=BRIEF_TOKENS if brief else None,
        usable=whole_lines if brief else whole_object,
    )


def _impossible(tools: Tools) -> tuple[str, ...]:
    """Return the actions that are withheld from the model in this cell."""
    if tools.spec.small:
        return FOR_CAPABLE
    return (
        # Only a model that sees the picture can name a place.
        *(() if tools.spec.vision else ("click_at", "drag_at", "hover_at")),
        *(() if tools.case.files else ("upload",)),
    )


def _texts_apart(situation: Situation) -> dict[int, str]:
    """Return texts that distinguish marks that read alike; in a second look, one for every mark."""
    view = situation.view
    if situation.second_look:
        return distinguishing_texts(view.marks)
    return ambiguous(view.marks)


def _allowed(marks: tuple[Mark, ...], tools: Tools) -> tuple[Mark, ...]:
    """Return the marks without those on which an action failed before, in an arm that bans them."""
    guidance = tools.guidance
    if guidance is None or not guidance.arm.bans_failed_calls:
        return marks
    failed = {
        (chosen.kind, chosen.actual_text)
        for attempt in guidance.attempts
        for decision in attempt.decisions
        if decision.status == "failed"
        for chosen in decision.chosen
    }
    left = tuple(m for m in marks if not any((m.role or m.tag, t) in failed for t in m.texts))
    # With no element left, the model could only give up.
    return left or marks


def _other_actions(view: View, memory: ActMemory, answers: bool) -> OtherActions:
    # Nothing can be done before the first action, unless the task only asks for data.
    return OtherActions(
        scroll=view.scroll,
        enter=memory.last_action == "type",
        done=bool(memory.done) or answers,
        answers=answers,
    )


def _messages(turn: Turn, memory: ActMemory, problem: str) -> tuple[Message, ...]:
    situation, tools = turn.situation, turn.tools
    view, brief, vision = situation.view, is_brief(tools), tools.spec.vision
    near = _texts_apart(situation)
    listed = _listing(tools, situation, near)
    answers = wants_data(tools)
    variables: dict[str, Any] = {
        "task": tools.case.user_task,
        "secrets": sorted(tools.case.secrets),
        "answers": answers,
        "asks_for_data": tools.case.asks_for_data,
        "hint": situation.hint,
        "done": memory.history(small=tools.spec.small),
        "feedback": section(situation.problems),
        "second_look": " ".join(situation.second_look.split())[:80],
        "unsure": situation.unsure,
        "alone": len(view.marks) == 1,
        "problem": problem,
        "listing": fence(listed, "page") if listed else "",
    }
    if brief:
        forms = brief_forms_text(answers=answers, near=bool(near))
        return render("act_brief", forms=forms, near=bool(near), **variables)
    images = (picture_uri(view.marked.picture),) if vision else ()
    return render(
        "act",
        images=images,
        forms=forms_text(answers=answers, without=_impossible(tools)),
        warning=warning(memory.often_mistaken()),
        url=tools.redact(view.page.url),
        vision=vision,
        capable=not tools.spec.small,
        files=tools.case.upload_names,
        read=[fence(f"{file.name}: {file.content}", "download") for file in memory.read_files],
        tabs=view.tabs if len(view.tabs) > 1 else (),
        **_limits(tools),
        **variables,
    )


def _limits(tools: Tools) -> dict[str, Any]:
    """Return the limits that end an attempt, as the prompt states them."""
    return {
        "decisions": decision_limit(tools.settings, tools.case),
        "seconds": f"{tools.case.timeout:g}",
        "in_a_row": MAX_FAILURES_IN_A_ROW,
    }


def _listing(tools: Tools, situation: Situation, near: dict[int, str]) -> str:
    if is_brief(tools):
        return _brief_listing(tools, situation, near)
    view = situation.view
    marks = _allowed(view.marks, tools)
    if situation.second_look:
        lines = [full_line(mark, near.get(mark.number, "")) for mark in marks]
        lines += option_lines(marks)
    elif tools.spec.vision:
        # A picture shows what a select box holds, but not what it offers.
        lines = [*waiting_lines(marks, near), *option_lines(marks)]
    else:
        last = situation.before
        before = (
            {line.text for line in last.marked.lines} if last and last.url == view.url else None
        )
        lines = [page_list(view.marked, marks, max_chars=_room(tools), before=before, near=near)]
    return tools.redact("\n".join([*lines, *view.refused]))


def _brief_listing(tools: Tools, situation: Situation, near: dict[int, str]) -> str:
    view, last = situation.view, situation.before
    before = last.text if last and last.url == view.url and not situation.second_look else None
    marks = _allowed(view.marks, tools)
    apart = texts_apart(marks, view.marked.lines)
    shown = listing(marks, view.text, max_chars=_room(tools), apart=apart, before=before, near=near)
    return tools.redact("\n".join([shown, *view.refused]))


def _room(tools: Tools) -> int:
    """Return how many characters the page's text may have."""
    return tools.spec.shown_tokens // TEXT_SHARE * CHARS_PER_TOKEN


def is_brief(tools: Tools) -> bool:
    """Return whether the model is small, and gets short prompts and replies in the brief form."""
    return tools.spec.brief


def wants_data(tools: Tools) -> bool:
    return tools.case.may_answer
