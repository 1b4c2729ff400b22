"""The `refs` dialect: one action per line on numbered elements, and its grammar. Pure text.

`e1.fill("ana")` becomes the step language's own `page.get_by_label("User").fill("ana")`, so lint,
sandbox, judge and report see plain Playwright code.
"""

import ast
import json
from collections.abc import Collection, Sequence
from typing import NamedTuple

from pytest_autoweb.llm.replies import literal, string_rule, strip_reasoning
from pytest_autoweb.page.frames import RefElement

MAX_LINES = 8
MAX_TEXT = 160

_TAKES_TEXT = frozenset({"fill", "press", "select_option"})
_STRING = string_rule(MAX_TEXT)


class Action(NamedTuple):
    """One line of a reply."""

    line: str
    """The line as the model wrote it."""
    code: str
    """The same in the step language."""
    pair: tuple[str, str] | None
    """Locator and method, by which a repetition is recognised."""


class Actions(NamedTuple):
    """The lines of a reply."""

    actions: tuple[Action, ...]
    problems: tuple[str, ...]
    """Problems with lines that are not in the dialect or name an element that is not listed."""
    done: bool
    """Whether the model says that nothing is left to do."""


def grammar(
    elements: Sequence[RefElement],
    *,
    banned: Collection[tuple[str, str]] = (),
    may_end: bool,
    may_answer: bool,
) -> str | None:
    """Return a GBNF of fitting actions on the listed elements; None if there are none."""
    acts = [
        _act_rule(element, action)
        for element in elements
        for action in element.actions
        if (element.locator, action) not in banned
    ]
    if may_answer:
        acts.append('"answer(" str ")"')
    if not acts:
        return None
    root = f'act ("\\n" act){{0,{MAX_LINES - 1}}}'
    if may_end:
        root = f'"done()" | {root}'
    return f"root ::= {root}\nact ::= {' | '.join(acts)}\n{_STRING}\n"


def _act_rule(element: RefElement, action: str) -> str:
    if action == "select_option" and element.options:
        quoted = (json.dumps(option, ensure_ascii=False) for option in element.options[:40])
        choices = " | ".join(literal(option) for option in quoted)
        return f"{literal(f'{element.ref}.select_option(')} ({choices}) {literal(')')}"
    if action in _TAKES_TEXT:
        return f"{literal(f'{element.ref}.{action}(')} str {literal(')')}"
    return literal(f"{element.ref}.{action}()")


def read_actions(reply: str, elements: Sequence[RefElement]) -> Actions:
    """Translate a reply; fences, comments and blank lines are skipped."""
    by_ref = {element.ref: element for element in elements}
    actions: list[Action] = []
    problems: list[str] = []
    done = False
    for raw in strip_reasoning(reply).splitlines():
        line = raw.strip().strip("`").strip().rstrip(";")
        if not line or line.lower() in ("python", "py") or line.startswith("#"):
            continue
        if line.rstrip(".") in ("done()", "done"):
            done = True
            break
        action = _translate(line, by_ref)
        if isinstance(action, str):
            problems.append(action)
        # Without a grammar nothing limits the length of a reply.
        elif len(actions) < MAX_LINES:
            actions.append(action)
    return Actions(tuple(actions), tuple(problems), done)


def _translate(line: str, by_ref: dict[str, RefElement]) -> Action | str:
    """Return the action of a line, or a sentence that says what is wrong with it."""
    shown = line if len(line) <= 80 else line[:79] + "…"
    try:
        call = ast.parse(line, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return f"not an action: {shown}"
    if not isinstance(call, ast.Call) or call.keywords or len(call.args) > 1:
        return f"not an action: {shown}"
    arguments = [arg.value for arg in call.args if isinstance(arg, ast.Constant)]
    if len(arguments) != len(call.args):
        return f"only plain values are allowed: {shown}"
    value = str(arguments[0])[:MAX_TEXT] if arguments else ""
    if isinstance(call.func, ast.Name) and call.func.id == "answer" and arguments:
        return Action(line, f"answer({arguments[0]!r})", None)
    if not (isinstance(call.func, ast.Attribute) and isinstance(call.func.value, ast.Name)):
        return f"not an action: {shown}"
    element = by_ref.get(call.func.value.id)
    if element is None:
        return f"no such element: {shown}"
    method = call.func.attr
    if method not in element.actions:
        allowed = ", ".join(element.actions)
        return f"{element.ref} ({element.role}) takes {allowed}: {shown}"
    if (method in _TAKES_TEXT) != bool(arguments):
        return f"{method} takes {'one text' if method in _TAKES_TEXT else 'nothing'}: {shown}"
    argument = json.dumps(value, ensure_ascii=False) if arguments else ""
    if method == "select_option":
        argument = f"label={argument}"
    return Action(line, f"{element.locator}.{method}({argument})", (element.locator, method))
