"""The dialect `refs`: each line of a reply is one action on a numbered element. Pure text.

`e1.fill("ana")` becomes the step language's own `page.get_by_label("User").fill("ana")`, so lint,
sandbox, judge and report see plain Playwright code. Small models get the few actions that they can
distinguish (`read_actions`), and a grammar that enforces them; capable ones get all of them, and
feedback on lines that could not be read (`read_lines`).
"""

import ast
import json
import re
from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

from pytest_autoweb.agents.choice.decision_json import ReplyProblem
from pytest_autoweb.base.python_source import NOT_PYTHON, read_expression
from pytest_autoweb.browser.page.frames import RefElement
from pytest_autoweb.models.replies import strip_reasoning
from pytest_autoweb.models.reply_blocks import says_done, split_fences, without_marker
from pytest_autoweb.models.reply_forms import literal, string_rule

MAX_LINES = 8
MAX_TEXT = 160

_STRING = string_rule(MAX_TEXT).text
_TAKES_TEXT = frozenset({"fill", "press", "select_option"})


class Action(NamedTuple):
    """One line of a reply."""

    line: str
    """The line as the model wrote it."""
    code: str
    """The same in the step language."""
    pair: tuple[str, str] | None
    """Locator and method, which identify a repetition."""
    elements: tuple[RefElement, ...] = ()
    """The elements that the line acts on, for models that get a log of actions by element."""

    @property
    def told(self) -> str:
        """The line with its elements' role and name, because numbers change with the page."""
        named = (f'{e.ref} is {e.role} "{e.name}"'.removesuffix(' ""') for e in self.elements)
        return f"{self.line}  # {', '.join(named)}" if self.elements else self.line


class Actions(NamedTuple):
    """The lines of a reply."""

    actions: tuple[Action, ...]
    problems: tuple[str, ...]
    """Problems with lines that are not in the dialect or name an element that is not listed."""
    done: bool
    """Whether the model reports that nothing is left to do."""
    unread: tuple[str, ...] = ()
    """Those of the problems that are about calls, which the model expects to have been made."""


def refs_grammar(
    elements: Sequence[RefElement],
    *,
    banned: Collection[tuple[str, str]] = (),
    may_end: bool,
    may_answer: bool,
) -> str | None:
    """Return a GBNF of suitable actions on the listed elements; None if there are none."""
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
    unread: list[str] = []
    done = False
    for raw in strip_reasoning(reply).splitlines():
        line = _unlisted(raw).strip().strip("`").strip().rstrip(";")
        if not line or line.lower() in ("python", "py") or line.startswith("#"):
            continue
        if says_done(line):
            # Nothing is done as long as a call was not read.
            done = not unread
            break
        action = _translate(line, by_ref)
        if isinstance(action, str):
            problems.append(action)
            unread += [action] if "(" in line else []
        # Without a grammar, nothing limits the length of a reply.
        elif len(actions) < MAX_LINES:
            actions.append(action)
    return Actions(tuple(actions), tuple(problems), done, tuple(unread))


def _translate(line: str, by_ref: dict[str, RefElement]) -> Action | str:
    """Return a line's action, or a sentence that describes the error."""
    shown = line if len(line) <= 80 else line[:79] + "…"
    call = read_expression(line)
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


_CALL = re.compile(r"(?:e\d+\.)?[a-z_]+\(|done\b", re.IGNORECASE)
_LED = re.compile(r"[^#(\"'`]*: +(`?e\d+\.\w.*)")
"""Words, and behind their colon a call of an element."""
_NAMES_CALL = re.compile(r"\(|\be\d+\b")
MAX_LINE_GROUP = 60
"""Maximum number of lines that one action may span, such as an answer written as an object."""
_ON_ANY = {
    "click": "click()",
    "double_click": "dblclick()",
    "right_click": 'click(button="right")',
    "hover": "hover()",
    "scroll_to": "scroll_into_view_if_needed()",
}
_WITH_TEXT = {
    "fill": "fill({})",
    "press": "press({})",
    "select_option": "select_option(label={})",
    "upload": "set_input_files({})",
}
_ALONE = {
    "back": "page.go_back()",
    "accept_dialog": 'page.once("dialog", lambda dialog: (log(dialog.message), dialog.accept()))',
}
_HOLD_VALUES = frozenset({"textbox", "searchbox", "spinbutton", "slider", "combobox"})
_JSON_WORDS = {"true": True, "false": False, "null": None}


class Lines(NamedTuple):
    """The lines of a capable model's reply."""

    actions: tuple[Action, ...]
    """The lines before the first one that could not be read."""
    problem: str = ""
    """The problem with the first line that could not be read."""
    left_out: tuple[str, ...] = ()
    """That line and all later ones, none of which is executed."""
    done: bool = False


def read_lines(reply: str, elements: Sequence[RefElement]) -> Lines:
    """Translate the fenced lines of a reply, or the whole reply if nothing in it is fenced.

    Reading ends at the first line that is not in the dialect, because later lines assume that it
    worked.
    """
    by_ref = {element.ref: element for element in elements}
    text = strip_reasoning(reply)
    lines, is_fenced = _written_lines(text), bool(split_fences(text).blocks)
    actions: list[Action] = []
    at = 0
    while at < len(lines):
        line = lines[at].strip()
        # Outside of a block, what names no element and calls nothing is words.
        is_words = not is_fenced and not _NAMES_CALL.search(line) and not says_done(line)
        if not line or line.startswith("#") or is_words:
            at += 1
            continue
        if says_done(line):
            return Lines(tuple(actions), done=True)
        taken, call = _call_at(lines, at)
        whole = " ".join(part.strip() for part in lines[at : at + taken])
        try:
            actions.append(_action(whole, call, by_ref))
        except ReplyProblem as wrong:
            left = tuple(rest.strip() for rest in lines[at:] if rest.strip())
            return Lines(tuple(actions), str(wrong), left)
        at += taken
    return Lines(tuple(actions))


def _written_lines(text: str) -> list[str]:
    """Return the lines of all fenced blocks or, without any, the text from its first call on."""
    if blocks := split_fences(text).blocks:
        return [_unlisted(line) for block in blocks for line in block.body.split("\n")]
    lines = [_unlisted(line) for line in text.split("\n")]
    calls = (at for at, line in enumerate(lines) if _CALL.match(line.strip("` ")))
    first = next(calls, None)
    return [] if first is None else [line.strip("`") for line in lines[first:]]


def _unlisted(line: str) -> str:
    """Return a line without its number, its bullet or the words that lead to its call."""
    bare = without_marker(line).removeprefix("await ")
    if led := _LED.match(bare):
        bare = led[1].strip("` \t")
    return bare if _CALL.match(bare) else line


def _call_at(lines: Sequence[str], start: int) -> tuple[int, ast.Call | None]:
    """Return the number of lines that a call starting in a line spans, and the call."""
    for count in range(1, min(MAX_LINE_GROUP, len(lines) - start) + 1):
        text = "\n".join(lines[start : start + count]).strip().rstrip(";")
        tree = read_expression(text)
        if tree is None:
            if "(" not in lines[start]:
                break
            continue
        return count, tree if isinstance(tree, ast.Call) else None
    return 1, None


def _action(line: str, call: ast.Call | None, by_ref: dict[str, RefElement]) -> Action:
    """Return the action of a line.

    Raises:
        ReplyProblem: the line is not in the dialect, or does not fit its element.
    """
    if call is None or call.keywords:
        raise ReplyProblem("it is not one of the actions")
    function, values = call.func, [_value_of(each, by_ref) for each in call.args]
    if isinstance(function, ast.Name):
        return Action(line, _on_the_page(function.id, values), None)
    if not (isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name)):
        raise ReplyProblem("it is not one of the actions")
    element, method = by_ref.get(function.value.id), function.attr
    if element is None:
        raise ReplyProblem(f"{function.value.id} is not on the list")
    if element.disabled and method not in ("read", "hover", "scroll_to"):
        raise ReplyProblem(f"{element.ref} is disabled")
    code = f"{element.locator}.{_on_an_element(element, method, values)}"
    if method == "read":
        code = f"log({code})"
    others = tuple(value for value in values if isinstance(value, RefElement))
    return Action(line, code, (element.locator, method), (element, *others))


def _on_the_page(name: str, values: Sequence[Any]) -> str:
    if name == "answer" and len(values) == 1 and not isinstance(values[0], RefElement):
        return f"answer({values[0]!r})"
    if name in _ALONE and not values:
        return _ALONE[name]
    forms = {
        "goto": "page.goto({})",
        "press": "page.keyboard.press({})",
        "wait_for": "page.get_by_text({}).first.wait_for()",
    }
    if name not in forms:
        raise ReplyProblem("it is not one of the actions")
    return forms[name].format(_quoted(name, values))


def _on_an_element(element: RefElement, method: str, values: Sequence[Any]) -> str:
    """Return the call on the element, in the step language."""
    if method not in _fitting(element):
        listed = ", ".join(_fitting(element))
        raise ReplyProblem(f"{element.ref} ({element.role}) takes {listed}")
    if method == "drag_to":
        if len(values) != 1 or not isinstance(values[0], RefElement):
            raise ReplyProblem("drag_to takes one element")
        return f"drag_to({values[0].locator})"
    if method == "select_option" and len(values) == 1 and isinstance(values[0], list):
        return f"select_option(label=[{', '.join(_quoted(method, [v]) for v in values[0])}])"
    if form := _WITH_TEXT.get(method):
        return form.format(_quoted(method, values))
    if values:
        raise ReplyProblem(f"{method} takes nothing")
    if method == "read":
        holds = element.role in _HOLD_VALUES and "fill" in element.actions
        return "input_value()" if holds else "inner_text()"
    return _ON_ANY.get(method, f"{method}()")


def _fitting(element: RefElement) -> tuple[str, ...]:
    """Return the actions that a capable model may choose from."""
    own = ("upload",) if element.takes_files else element.actions
    return tuple(dict.fromkeys((*own, *_ON_ANY, "press", "drag_to", "read")))


def _quoted(method: str, values: Sequence[Any]) -> str:
    """Return a method's only argument as a string literal."""
    texts = [value for value in values if isinstance(value, str | int | float)]
    if len(values) != 1 or len(texts) != 1 or isinstance(texts[0], bool):
        raise ReplyProblem(f"{method} takes one text")
    return json.dumps(str(texts[0]), ensure_ascii=False)


class _JsonWords(ast.NodeTransformer):
    """Replaces `true`, `false` and `null` by Python's words."""

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return ast.Constant(_JSON_WORDS[node.id]) if node.id in _JSON_WORDS else node


def _value_of(argument: ast.expr, by_ref: dict[str, RefElement]) -> Any:
    """Return a plain Python or JSON value, or the named element.

    Raises:
        ReplyProblem: it is neither.
    """
    if isinstance(argument, ast.Name) and argument.id in by_ref:
        return by_ref[argument.id]
    try:
        return ast.literal_eval(_JsonWords().visit(argument))
    except (TypeError, *NOT_PYTHON):
        shown = "only plain values are allowed: texts, numbers, lists and objects of such"
        raise ReplyProblem(shown) from None
