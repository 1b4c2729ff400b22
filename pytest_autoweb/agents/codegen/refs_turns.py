"""Turns in the `refs` dialect: observe, ask for a few lines, run them, look again.

Small models get short prompts and the limits that measured best for them (`take_turns`); capable
ones take turns as in the Playwright dialect (`write_lines_by_turns`).
"""

import ast
from collections.abc import Mapping, Sequence
from functools import partial
from typing import NamedTuple

from msgspec.structs import replace
from playwright.sync_api import Error

from pytest_autoweb.agents.attempt.execute import finish_turns, run_block
from pytest_autoweb.agents.attempt.retry_notes import retry_hint
from pytest_autoweb.agents.attempt.tools import Tools, ask, change, fail
from pytest_autoweb.agents.codegen.failed_calls import Pair, failed_pairs, normalized
from pytest_autoweb.agents.codegen.fitted_actions import (
    count_tabs,
    fitted,
    tab_code,
    tabs_told,
    waiting_for_tab,
)
from pytest_autoweb.agents.codegen.refs_dialect import (
    DIALOG_ACTIONS,
    NO_MORE_REPLIES,
    Action,
    Actions,
    read_actions,
    read_lines,
    refs_grammar,
)
from pytest_autoweb.agents.codegen.script_turns import (
    Became,
    TurnForm,
    asked,
    carry_out,
    converse,
    front_tab,
    nothing_left,
    read_turn,
    unread_code,
)
from pytest_autoweb.agents.codegen.turn_talk import Shown
from pytest_autoweb.agents.correction.retry_decision import may_pass
from pytest_autoweb.base.language import NO_STEPS, NOTHING_TO_ACT_ON, REFUSED_BY_LINT, StepProblem
from pytest_autoweb.base.python_source import read_expression
from pytest_autoweb.base.waiting.playwright_internals import has_listeners
from pytest_autoweb.browser.page.acted_element import (
    Aim,
    ElementChangedError,
    listed_by,
    locator_now,
)
from pytest_autoweb.browser.page.capture import unlisted
from pytest_autoweb.browser.page.frames import RefElement, RefView
from pytest_autoweb.browser.page.locator_expressions import parse_locator
from pytest_autoweb.browser.page.quiet import wait_until_quiet
from pytest_autoweb.browser.page.ref_view import numbered_view
from pytest_autoweb.browser.page.same_element import (
    AS_LISTED,
    ElementIdentity,
    RowsMovedError,
    identity_of,
    note_elements,
    pinned,
)
from pytest_autoweb.browser.page.small_list import small_view
from pytest_autoweb.models.prompts import fence, render
from pytest_autoweb.models.replies import whole_lines
from pytest_autoweb.results.records import Attempt, Failure, Snapshot, StageName
from pytest_autoweb.sandbox.lint import lint_code

MAX_TURNS = 8
VIEW_SHARE = 16
"""Divisor of the model's context: the share that the list may take, because small models read
slowly and get lost in long lists."""
REPLY_TOKENS = 200


class _Turn(NamedTuple):
    number: int
    view: RefView
    done: tuple[str, ...]
    """The lines performed so far, in the model's own words."""
    banned: frozenset[tuple[str, str]]
    unread: tuple[str, ...] = ()
    """What could not be read of the last reply, a sentence for each call."""


def take_turns(attempt: Attempt, tools: Tools) -> Attempt:
    """Take turns, each a step of the script, until the page shows nothing new.

    After calls that could not be read the model is told so, until it only writes the same again.
    The model sees no history except the lines already done, because small models copy their own
    earlier replies (measured in docs/benchmarks.md).
    """
    seen: set[tuple[str, str]] = set()
    done: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()
    failed, banned = _failed_pairs(tools), _banned(tools)
    for number in range(1, MAX_TURNS + 1):
        view = small_view(tools.page, budget_tokens=tools.spec.shown_tokens // VIEW_SHARE)
        note_elements(tools.page)
        view = without_failed_calls(view, _on_list(failed, view, tools))
        names = {(element.role, element.name) for element in view.elements}
        if number > 1 and not names - seen and not unread:
            break
        seen |= names
        told = unread
        barred = _on_list(banned, view, tools)
        attempt, actions = _ask_turn(attempt, tools, _Turn(number, view, done, barred, told))
        unread = actions.unread
        if not attempt.failure and not actions.actions and unread and unread != told:
            continue
        if attempt.failure or not actions.actions:
            break
        acted = _with_locators(actions.actions)
        _hold(acted, tools)
        attempt = _run_turn(attempt, tools, number, acted)
        done = (*done, *(action.line for action in acted))
        # Calls barred from the first turn of a repair are allowed later; the last turn is not
        # repeated.
        banned = frozenset(action.pair for action in acted if action.pair) | (
            banned if number > 1 else frozenset()
        )
        if attempt.failure or actions.done:
            break
    return finish_turns(attempt, tools)


def _on_list(calls: frozenset[tuple[str, str]], view: RefView, tools: Tools) -> frozenset[Pair]:
    """Return those calls whose element is on the list, with the list's own locator of it."""
    found: set[Pair] = set()
    elements = {locator: _listed(locator, view, tools) for locator, _ in calls}
    for locator, method in calls:
        if (element := elements[locator]) is not None:
            found.add((element.locator, method))
    return frozenset(found)


def _listed(locator: str, view: RefView, tools: Tools) -> RefElement | None:
    try:
        return listed_by(locator, view.elements, tools.page)
    except Error:
        # The page has changed since; nothing is known to be the same.
        return None


def _with_locators(actions: Sequence[Action]) -> tuple[Action, ...]:
    """Return the actions with plain locators of the elements as they are now."""
    plain: dict[str, str] = {}
    for element in (element for action in actions for element in action.elements):
        if element.locator not in plain:
            plain[element.locator] = locator_now(element)
    found = []
    for action in actions:
        code, pair = action.code, action.pair
        if pair is not None:
            code = f"{plain[pair[0]]}{code.removeprefix(pair[0])}"
            pair = (plain[pair[0]], pair[1])
        elements = tuple(replace(one, locator=plain[one.locator]) for one in action.elements)
        found.append(action._replace(code=code, pair=pair, elements=elements))
    return tuple(found)


def _hold(actions: Sequence[Action], tools: Tools) -> None:
    """Hold each line of a turn to the record that its number was listed with."""
    named = [each for action in actions for each in action.elements]
    tools.shown.clear()
    # Told as late as each call is made, since a line may change what the next one's row says.
    tools.shown.update({normalized(each.locator): partial(_as_listed, each) for each in named})


def without_failed_calls(view: RefView, failed: frozenset[Pair]) -> RefView:
    """Return the list without failed calls, which deters even models without a grammar.

    Args:
        view: the page.
        failed: pairs of an element's locator, as the list has it, and a method.
    """
    if not failed:
        return view
    left: list[RefElement] = []
    gone: set[str] = set()
    for element in view.elements:
        actions = tuple(name for name in element.actions if (element.locator, name) not in failed)
        if actions or not element.actions:
            left.append(replace(element, actions=actions))
        else:
            gone.add(element.ref)
    lines = (line for line in view.text.split("\n") if line.partition(" ")[0] not in gone)
    return replace(view, text="\n".join(lines), elements=tuple(left))


def _failed_pairs(tools: Tools) -> frozenset[tuple[str, str]]:
    """Return the failed calls of all attempts so far, if the arm bans them."""
    guidance = tools.guidance
    if guidance is None or not guidance.arm.bans_failed_calls:
        return frozenset()
    return failed_pairs(guidance.attempts)


def _ask_turn(attempt: Attempt, tools: Tools, turn: _Turn) -> tuple[Attempt, Actions]:
    nothing = Actions((), (), False)
    rule = None
    may_answer = tools.case.may_answer
    if tools.spec.constrained == "gbnf":
        rule = refs_grammar(
            turn.view.elements,
            banned=turn.banned,
            may_end=turn.number > 1,
            may_answer=may_answer,
        )
        if rule is None:
            failure = Failure(kind="plan", message="the page shows nothing to act on")
            return fail(attempt, failure, StepProblem.of("(plan)", NOTHING_TO_ACT_ON)), nothing
    text = tools.redact(turn.view.text)
    messages = render(
        "refs",
        task=tools.case.user_task,
        page=fence(text, "page"),
        done=turn.done,
        may_answer=may_answer,
        asks_for_data=tools.case.asks_for_data,
        hint=_hint(attempt, tools, turn),
        secrets=sorted(tools.case.secrets),
    )
    attempt = keep_view(attempt, tools, turn.number, turn.view, text)
    stage: StageName = "repair" if tools.previous and turn.number == 1 else "generate"
    attempt, reply = ask(
        attempt,
        tools,
        stage,
        messages,
        turn=turn.number,
        grammar=rule,
        max_tokens=REPLY_TOKENS,
        usable=whole_lines,
    )
    if attempt.failure:
        return attempt, nothing
    actions = read_actions(reply, turn.view.elements)
    attempt = change(attempt, code_notes=(*attempt.code_notes, *actions.problems))
    if not actions.actions and not actions.done and turn.number == 1:
        failure = Failure(kind="plan", message="; ".join(actions.problems) or "an empty reply")
        return fail(attempt, failure, StepProblem.of("(plan)", NO_STEPS, failure.message)), nothing
    return attempt, actions


def _hint(attempt: Attempt, tools: Tools, turn: _Turn) -> str:
    if turn.unread:
        return "\n".join(["Not done, because it could not be read:", *turn.unread])
    if tools.previous is None or turn.number > 1:
        return ""
    return retry_hint(tools.previous, attempt, tools)


def keep_view(attempt: Attempt, tools: Tools, step: int, view: RefView, text: str) -> Attempt:
    """Return the attempt with what the model is shown, as one of its snapshots."""
    snapshot = Snapshot(
        step_indexes=(step,),
        url=tools.redact(tools.page.url),
        entry_action="",
        mode=tools.mode,
        cache_key="",
        text=text,
        tokens=len(text) // 4,
        truncated=view.truncated,
        notes=("numbered list of the refs dialect",),
    )
    return change(attempt, snapshots=(*attempt.snapshots, snapshot))


def _run_turn(attempt: Attempt, tools: Tools, number: int, actions: tuple[Action, ...]) -> Attempt:
    first_line = len(attempt.code.splitlines()) + 1
    block = "\n".join([f"# Step {number}", *(action.code for action in actions)]) + "\n"
    attempt = change(attempt, code=attempt.code + tools.redact(block))
    if findings := lint_code(block, offered=tools.offered):
        failure = Failure(kind="lint", message=str(findings[0]), rule=findings[0].code)
        attempt = change(attempt, lint_errors=(*attempt.lint_errors, *findings))
        return fail(attempt, failure, StepProblem.of("(lint)", REFUSED_BY_LINT, str(findings[0])))
    # The block keeps the line numbers it has in the whole script.
    placed = "\n" * (first_line - 1) + block
    lines = "; ".join(action.line for action in actions)
    with tools.listed.watched(tools.page):
        return run_block(attempt, tools, number, placed, "", description=lines)


def _banned(tools: Tools) -> frozenset[tuple[str, str]]:
    """Return calls that a repair must not begin with: failed ones, or a lone one that did not help.

    A correction recognises transient failures, and may repeat their calls.
    """
    failed = tools.previous
    corrects = tools.guidance is not None and not tools.guidance.arm.ordinary
    if failed is None or (corrects and may_pass(failed)):
        return frozenset()
    lines = failed.code.splitlines()
    number = failed.failure.line if failed.failure else None
    if number is not None and 0 < number <= len(lines):
        pair = _pair(lines[number - 1])
        return frozenset({pair} if pair else ())
    pairs = [pair for pair in map(_pair, lines) if pair]
    return frozenset(pairs if len(pairs) == 1 else ())


def _pair(line: str) -> tuple[str, str] | None:
    tree = read_expression(line.strip())
    if not (isinstance(tree, ast.Call) and isinstance(tree.func, ast.Attribute)):
        return None
    locator = ast.get_source_segment(line.strip(), tree.func.value) or ""
    return locator, tree.func.attr


def write_lines_by_turns(attempt: Attempt, tools: Tools) -> Attempt:
    """Take turns as in the Playwright dialect, with lines about a numbered list of elements."""
    return converse(attempt, tools, TurnForm("refs_turns", see_list, take_lines, until_cut))


def until_cut(text: str) -> str:
    """Return the complete lines of a truncated reply, and a line that informs the model."""
    lines = whole_lines(text)
    return f"{lines}\n(here the reply was cut off at its limit)" if lines else ""


def see_list(attempt: Attempt, tools: Tools, number: int, budget: int) -> tuple[Attempt, Shown]:
    """Look at the tab in front, for a turn: its numbered list, and the other tabs."""
    page = front_tab(tools)
    attempt = change(attempt, code=waiting_for_tab(attempt.code, tools))
    count_tabs(tools)
    view = numbered_view(page, budget_tokens=budget, folds=tools.folds)
    note_elements(page)
    text = tools.redact(view.text) or f"({unlisted(page) or 'the page is blank'})"
    text = tools.redact(tabs_told(tools)) + text
    attempt = keep_view(attempt, tools, len(attempt.step_results) + 1, view, text)
    return attempt, Shown(number, tools.redact(page.url), text, view)


def take_lines(attempt: Attempt, tools: Tools, shown: Shown, reply: str) -> tuple[Attempt, Became]:
    """Execute the lines of a reply, each as a step of the script."""
    assert shown.view is not None, "this dialect shows numbered lists"
    sees = "look" in tools.offered
    said, view = read_turn(reply), shown.view
    lines = read_lines(
        reply, view.elements, sees=sees, left_out=view.left_out, calls=tools.site.in_use
    )
    if not lines.actions and not lines.problem:
        if unread := unread_code(said):
            return attempt, unread
        if said.done or lines.done:
            return attempt, nothing_left(shown)
        if said.question:
            return asked(attempt, tools, said.question)
        return attempt, Became("held no action. Reply with one fenced block, or with DONE.")
    done, logged = list[str](), list[str]()
    error, left, before = "", lines.left_out, len(tools.downloads)
    aims = {each.ref: Aim.at(each) for action in lines.actions for each in action.elements}
    for place, action in enumerate(lines.actions):
        aimed, error = _aimed(action, tools, aims, first=place == 0)
        if not error:
            attempt, ran = _carry_out(attempt, tools, aimed, before + 1 if place else 0)
            logged += filter(None, [ran.logged])
            error = ran.error
        if error:
            later = (other.line for other in lines.actions[place + 1 :])
            error, left = f"{action.told}\n{error}", (*later, *lines.left_out)
            break
        acted = "; ".join(ran.acted)
        done.append(f"{action.line}  # {acted}" if acted else action.told)
    attempt, unused = _without_unused_replies(attempt, tools, lines.actions[: len(done)])
    if not error and lines.problem:
        error, left = f"{left[0]}\n{lines.problem}", left[1:]
    if error and left:
        error = "\n".join([error, "Not carried out either:", *left])
    became = Became(
        _became_of(done, error),
        error=tools.redact(error),
        logged="\n".join(logged),
        lines=tools.redact("\n".join(done)),
        well=not error,
        ends=not error and (said.done or lines.done),
        code="\n".join([*(action.code for action in lines.actions), *lines.left_out]),
        beside=unused,
    )
    return attempt, became


def _became_of(done: list[str], error: str) -> str:
    if not error:
        return "was carried out:"
    return "was carried out so far, and then stopped:" if done else "stopped at its first line:"


def _carry_out(
    attempt: Attempt, tools: Tools, action: Action, downloads: int
) -> tuple[Attempt, Became]:
    attempt = change(attempt, code=waiting_for_tab(attempt.code, tools))
    count_tabs(tools)
    fit = fitted(action, tools, downloads)
    if fit.error:
        return attempt, Became("could not be carried out:", fit.error)
    code = tab_code(fit.code, tools)
    number = len(attempt.step_results) + 1
    attempt, ran = carry_out(attempt, tools, number, f"{code}\n", action.told)
    if ran.error:
        return attempt, ran
    fit.then()
    # What a line changed in its own row is no move for the next one.
    note_elements(front_tab(tools))
    return attempt, ran._replace(logged="\n".join(filter(None, [ran.logged, fit.logged])))


def _without_unused_replies(
    attempt: Attempt, tools: Tools, carried_out: tuple[Action, ...]
) -> tuple[Attempt, tuple[str, ...]]:
    """Take back the replies to dialogs that no dialog has used, and say which these are.

    They were meant for this turn: a later dialog may ask about something else.
    """
    waiting = [action for action in carried_out if action.name in DIALOG_ACTIONS]
    if not waiting:
        return attempt, ()
    # A dialog may come with the answer of a server.
    wait_until_quiet(front_tab(tools))
    used = len({id(note.dialog) for note in tools.dialogs})
    unused = waiting[used:]
    for number, tab in enumerate(tools.page.context.pages):
        if unused and has_listeners(tab, "dialog"):
            name = "page" if tab is tools.page else f"page.context.pages[{number}]"
            step = len(attempt.step_results) + 1
            code = NO_MORE_REPLIES.format(tab=name)
            attempt, _ = carry_out(attempt, tools, step, code, "no dialog came")
    told = (f"{action.line} was not used, as no dialog came for it" for action in unused)
    return attempt, tuple(told)


def _aimed(
    action: Action, tools: Tools, aims: Mapping[str, Aim], *, first: bool
) -> tuple[Action, str]:
    """Return a line with its elements' locators, or why it must not be carried out."""
    if not first:
        wait_until_quiet(front_tab(tools))
    try:
        action = _located(action, aims)
        as_listed = {normalized(each.locator): _as_listed(each) for each in action.elements}
        tools.shown.clear()
        tools.shown.update({one: partial(_itself, seen) for one, seen in as_listed.items()})
    except (ElementChangedError, RowsMovedError) as changed:
        return action, f"{tools.redact(str(changed))}: look again"
    except Error as error:
        return action, f"the page does not answer: {tools.redact(error.message)[:200]}"
    if action.pair and (normalized(action.pair[0]), action.pair[1]) in _failed_pairs(tools):
        return action, "this failed in an earlier attempt: find another way"
    return action, ""


def _itself(seen: ElementIdentity) -> ElementIdentity:
    return seen


def _as_listed(element: RefElement) -> ElementIdentity:
    """Return what an element's locator must find when the line acts, though rows move meanwhile.

    A locator by a place finds whatever is there by then. So it is told the texts of the very
    element, which until now are those of the list.

    Raises:
        RowsMovedError: the element shows another record than when it was listed.
    """
    expression = parse_locator(element.locator.removeprefix("page."))
    if element.kept is None or expression is None or not expression.is_placed:
        return AS_LISTED
    return identity_of(pinned(element.kept(), AS_LISTED)) or AS_LISTED


def _located(action: Action, aims: Mapping[str, Aim]) -> Action:
    code, pair, elements = action.code, action.pair, list[RefElement]()
    for element in action.elements:
        found = aims[element.ref].locate()
        code = code.replace(element.locator, found.locator)
        if pair and pair[0] == element.locator:
            pair = (found.locator, pair[1])
        elements.append(found)
    return action._replace(code=code, pair=pair, elements=tuple(elements))
