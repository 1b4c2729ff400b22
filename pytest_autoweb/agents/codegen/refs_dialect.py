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
from pytest_autoweb.base.json_values import map_texts
from pytest_autoweb.base.python_source import NOT_PYTHON, read_expression
from pytest_autoweb.base.whole_characters import whole_text
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
    """The elements that the line acts on."""
    name: str = ""
    """The action's name, such as `fill`, where its code depends on what the page is like."""
    values: tuple[Any, ...] = ()
    """Its values, as the line gives them."""

    @property
    def told(self) -> str:
        """The line with its elements' role and name, because numbers change with the page."""
        named = ", ".join(map(_told_element, self.elements))
        return f"{self.line}  # {named}" if named else self.line


def _told_element(element: RefElement) -> str:
    name = f' "{element.name}"' if element.name else ""
    beside = f' beside "{element.near}"' if element.near else ""
    return f"{element.ref} is {element.role}{name}{beside}"


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
    pair = (element.locator, method)
    return Action(line, f"{element.locator}.{method}({argument})", pair, (element,))


_CALL = re.compile(r"(?:e\d+\.)?[a-z_]+\(|done\b", re.IGNORECASE)
_LED = re.compile(r"[^#(\"'`]*: +(`?e\d+\.\w.*)")
"""Words, and behind their colon a call of an element."""
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
    "forward": "page.go_forward()",
    "reload": "page.reload()",
    "close_tab": "page.close()",
    "read_download": "# read_download()",
    "show_page": "# show_page()",
}
_WITH_ONE_TEXT = {
    "goto": "page.goto({})",
    "open_tab": "tab = page.context.new_page()\ntab.goto({})",
    "press": "page.keyboard.press({})",
    "type": "page.keyboard.type({})",
    "wait_for": "page.get_by_text({}).first.wait_for()",
}
DIALOG_ACTIONS = frozenset({"accept_dialog", "dismiss_dialog"})
_WITH_NUMBERS = {"switch_tab": (1, 1), "show_more": (1, 2), "look": (0, 4)}
"""Actions whose values are whole numbers, with how many they take at least and at most."""
TOOL_ACTIONS = frozenset({"tool", "show_page"})
"""The actions of those who act by a page's own tools."""
PAGE_ACTIONS = frozenset(
    {
        "answer",
        "scroll",
        *(_ALONE.keys() - TOOL_ACTIONS),
        *_WITH_ONE_TEXT,
        *DIALOG_ACTIONS,
        *_WITH_NUMBERS,
    }
)
"""The actions that name no element."""
_FITTED = frozenset(
    {"fill", "type", "scroll", "goto", "open_tab", "close_tab", "switch_tab"}
    | {"read_download", "show_more", "show_page", *DIALOG_ACTIONS}
)
"""Actions whose code depends on the page, on its tabs or on what the turn did before."""
WAYS = {
    "down": (0, 1),
    "up": (0, -1),
    "right": (1, 0),
    "left": (-1, 0),
    "bottom": (0, 100),
    "top": (0, -100),
}
"""Directions of `scroll`, as numbers of views across and down."""
_VIEW_PX = 400
"""How far one view is, where the page does not say."""
_KNOWN_CALL = re.compile(rf"(?:e\d+\.\w+|{'|'.join(sorted(PAGE_ACTIONS))})\(")
_UNKNOWN_CALL = re.compile(r"[A-Za-z_][\w.]*\(")
_HOLD_VALUES = frozenset({"textbox", "searchbox", "spinbutton", "slider", "combobox"})
_JSON_WORDS = {"true": True, "false": False, "null": None}


_UNSEEN = (
    "{} is in a part of the page that the list leaves out; show_more(N) lists it, with the number "
    "that stands at what is left out"
)


class Lines(NamedTuple):
    """The lines of a capable model's reply."""

    actions: tuple[Action, ...]
    """The lines before the first one that could not be read."""
    problem: str = ""
    """The problem with the first line that could not be read."""
    left_out: tuple[str, ...] = ()
    """That line and all later ones, none of which is executed."""
    done: bool = False


def read_lines(
    reply: str,
    elements: Sequence[RefElement],
    *,
    sees: bool = False,
    left_out: Collection[str] = (),
    calls: bool = False,
) -> Lines:
    """Translate the fenced lines of a reply, or the whole reply if nothing in it is fenced.

    Reading ends at the first line that is not in the dialect, because later lines assume that it
    worked.

    Args:
        reply: the model's reply.
        elements: those of the list that it was shown.
        sees: whether it may ask for pictures (`look`).
        left_out: numbers of elements that the list is too long to show.
        calls: whether it may call the page's own tools (`tool`).
    """
    by_ref = {element.ref: element for element in elements}
    lines = _written_lines(strip_reasoning(reply))
    actions: list[Action] = []
    at = 0
    while at < len(lines):
        line = lines[at].strip()
        if not line or line.startswith("#"):
            at += 1
            continue
        if says_done(line):
            return Lines(tuple(actions), done=True)
        taken, call = _call_at(lines, at)
        whole = " ".join(part.strip() for part in lines[at : at + taken])
        try:
            if (not sees and _name_of(call) == "look") or (
                not calls and _name_of(call) in TOOL_ACTIONS
            ):
                raise ReplyProblem("it is not one of the actions")
            if unseen := _named(call) & set(left_out):
                raise ReplyProblem(_UNSEEN.format(min(unseen)))
            waits = any(action.name in DIALOG_ACTIONS for action in actions)
            actions.append(_action(whole, call, by_ref, queued=waits))
        except ReplyProblem as wrong:
            left = tuple(rest.strip() for rest in lines[at:] if rest.strip())
            return Lines(tuple(actions), str(wrong), left)
        at += taken
    return Lines(tuple(actions))


def _name_of(call: ast.Call | None) -> str:
    """Return the name of the called function or method."""
    match call:
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)):
            return name
    return ""


def _named(call: ast.Call | None) -> set[str]:
    """Return the names that a call uses, such as `e5`."""
    return {one.id for one in ast.walk(call) if isinstance(one, ast.Name)} if call else set()


def _written_lines(text: str) -> list[str]:
    """Return the lines of all fenced blocks or, without any, the calls and what ends the reply."""
    if blocks := split_fences(text).blocks:
        return [_unlisted(line) for block in blocks for line in block.body.split("\n")]
    lines = [_unlisted(line).strip("` ") for line in text.split("\n")]
    written: list[str] = []
    at = 0
    while at < len(lines):
        taken = _call_at(lines, at)[0] if _is_call(lines[at]) else 1
        # Any other line is words, even where it reads like an action in brackets.
        if _is_call(lines[at]) or says_done(lines[at]):
            written += lines[at : at + taken]
        at += taken
    # What is called done before further calls are written is not the task.
    *before, last = written or [""]
    return [*(line for line in before if not says_done(line)), last]


def _is_call(line: str) -> bool:
    """Tell whether an unfenced line is a call: of a known action, or plainly of something else."""
    if _KNOWN_CALL.match(line):
        return True
    is_other = _UNKNOWN_CALL.match(line) is not None and not says_done(line)
    return is_other and isinstance(read_expression(line.rstrip(";.")), ast.Call)


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


def _action(
    line: str, call: ast.Call | None, by_ref: dict[str, RefElement], *, queued: bool
) -> Action:
    """Return the action of a line.

    Args:
        line: the line, for the model's log.
        call: the call that stands there, if it is one.
        by_ref: the listed elements.
        queued: whether an earlier line of the reply waits for a dialog.

    Raises:
        ReplyProblem: the line is not in the dialect, or does not fit its element.
    """
    if call is not None and isinstance(call.func, ast.Name) and call.func.id == "tool":
        return _tool_call(line, call)
    if call is None or call.keywords:
        raise ReplyProblem("it is not one of the actions")
    function, values = call.func, [_value_of(each, by_ref) for each in call.args]
    if (name := _page_action(function)) is not None:
        is_dialog = name in DIALOG_ACTIONS
        code = _reply_code(name, values, queued) if is_dialog else _on_the_page(name, values)
        shown = name if name in _FITTED else ""
        return Action(line, code, None, name=shown, values=tuple(values))
    if not (isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name)):
        raise ReplyProblem("it is not one of the actions")
    element, method = by_ref.get(function.value.id), function.attr
    if element is None:
        raise ReplyProblem(f"{function.value.id} is not on the list")
    if element.disabled and method not in ("read", "hover", "scroll_to", "scroll", "look"):
        raise ReplyProblem(f"{element.ref} is disabled")
    code = _on_an_element(element, method, values)
    others = tuple(value for value in values if isinstance(value, RefElement))
    plain = tuple(value for value in values if not isinstance(value, RefElement))
    shown = method if method in _FITTED else ""
    return Action(line, code, (element.locator, method), (element, *others), shown, plain)


def _tool_call(line: str, call: ast.Call) -> Action:
    """Return the action that calls one of the page's own tools.

    Its arguments are an object, or are named in Python's way.

    Raises:
        ReplyProblem: there is no name, or the arguments are something else.
    """
    values = [_value_of(each, {}) for each in call.args]
    named = {str(each.arg): _value_of(each.value, {}) for each in call.keywords}
    name, given = values[0] if values else None, values[1] if len(values) == 2 else {}
    if not isinstance(name, str) or not isinstance(given, dict) or len(values) > 2:
        raise ReplyProblem('tool takes a name and an object of arguments: tool("find", {"q": "x"})')
    code = f"log(page.call_tool({name!r}, { ({**given, **named})!r}))"
    return Action(line, code, None, name="tool", values=(name,))


def _page_action(function: ast.expr) -> str | None:
    """Return the name of a called function; None if it is a method of something."""
    match function:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=ast.Name(id="page"), attr="show_more" | "look" as method):
            # Listings of the other dialect name these so.
            return method
    return None


_FIRST_REPLY = """\
replies = [{reply}]

def reply_to(dialog):
    reply = replies.pop(0)
    if replies:
        dialog.page.once("dialog", reply_to)
    reply(dialog)

page.once("dialog", reply_to)"""
_NEXT_REPLY = """\
replies.append({reply})
if len(replies) == 1:
    page.once("dialog", reply_to)"""
NO_MORE_REPLIES = '{tab}.remove_listener("dialog", reply_to)\n'
"""Code that takes back the replies that no dialog has used."""


def _reply_code(name: str, values: Sequence[Any], queued: bool) -> str:
    """Return code that replies to one dialog, after those that earlier lines reply to.

    Listeners of Playwright all get the same dialog, so several replies need a queue. Its listener
    goes when the queue is empty, so that later dialogs are dismissed as usual.
    """
    if name == "dismiss_dialog" and not values:
        reply = "dialog.dismiss()"
    elif name == "accept_dialog":
        # Playwright leaves an accepted prompt empty, where a person leaves its text as it is.
        text = _quoted(name, values, "nothing or one text") if values else "dialog.default_value"
        reply = f"dialog.accept({text})"
    else:
        raise ReplyProblem(f"{name} takes nothing")
    form = _NEXT_REPLY if queued else _FIRST_REPLY
    return form.replace("{reply}", f"lambda dialog: {reply}")


def _on_the_page(name: str, values: Sequence[Any]) -> str:
    """Return the code of an action that names no element."""
    if name == "answer" and len(values) == 1 and not isinstance(values[0], RefElement):
        return f"answer({values[0]!r})"
    if name in _WITH_ONE_TEXT:
        return _WITH_ONE_TEXT[name].format(_quoted(name, values))
    if name == "scroll":
        across, down = WAYS[_way(values)]
        return scroll_code("page.mouse.move(640, 360)", across * _VIEW_PX, down * _VIEW_PX)
    if name in _WITH_NUMBERS:
        return _with_numbers(name, values)
    if name not in _ALONE:
        raise ReplyProblem("it is not one of the actions")
    if values:
        raise ReplyProblem(f"{name} takes nothing")
    return _ALONE[name]


def _with_numbers(name: str, values: Sequence[Any]) -> str:
    least, most = _WITH_NUMBERS[name]
    whole = all(type(value) is int for value in values)
    if name == "look":
        if not whole or len(values) not in (least, most):
            raise ReplyProblem("look takes nothing, or x, y, width and height")
        return f"page.look({', '.join(map(str, values))})"
    if not whole or not least <= len(values) <= most:
        takes = "a tab" if name == "switch_tab" else "a list, and a row to begin at"
        raise ReplyProblem(f"{name} takes the number of {takes}")
    if name == "switch_tab":
        return f"page.context.pages[{values[0] - 1}].bring_to_front()"
    return f"# {name}({', '.join(map(str, values))})"


def _way(values: Sequence[Any]) -> str:
    way = values[0] if len(values) == 1 and isinstance(values[0], str) else ""
    if way not in WAYS:
        raise ReplyProblem(f"scroll takes one of {', '.join(json.dumps(one) for one in WAYS)}")
    return way


def scroll_code(at: str, across: float, down: float) -> str:
    """Return code that turns the wheel over a place; `at` is the code that moves the mouse there.

    The wheel scrolls the innermost box under the mouse that can be scrolled.
    """
    return f"{at}\npage.mouse.wheel({across:.0f}, {down:.0f})"


def _on_an_element(element: RefElement, method: str, values: Sequence[Any]) -> str:
    """Return the code of an action on an element."""
    call = _call_on(element, method, values)
    if method == "read":
        return f"log({element.locator}.{call})"
    if method == "type":
        # The cursor would stand before what the field holds.
        return f'{element.locator}.press("Control+End")\n{element.locator}.{call}'
    if method == "scroll":
        across, down = WAYS[_way(values)]
        at = f"{element.locator}.hover()"
        return scroll_code(at, across * _VIEW_PX, down * _VIEW_PX)
    return f"{element.locator}.{call}"


def _call_on(element: RefElement, method: str, values: Sequence[Any]) -> str:
    """Return the call on the element, in the step language."""
    if method not in (*_fitting(element), "look"):
        listed = ", ".join(_fitting(element))
        raise ReplyProblem(f"{element.ref} ({element.role}) takes {listed}")
    if method == "drag_to":
        if len(values) != 1 or not isinstance(values[0], RefElement):
            raise ReplyProblem("drag_to takes one element")
        return f"drag_to({values[0].locator})"
    if method == "select_option" and len(values) == 1 and isinstance(values[0], list):
        return f"select_option(label=[{', '.join(_quoted(method, [v]) for v in values[0])}])"
    if method == "type":
        return f"press_sequentially({_quoted(method, values)})"
    if form := _WITH_TEXT.get(method):
        return form.format(_quoted(method, values))
    if method == "scroll":
        return _way(values)
    if values:
        raise ReplyProblem(f"{method} takes nothing")
    if method == "read":
        holds = element.role in _HOLD_VALUES and "fill" in element.actions
        return "input_value()" if holds else "inner_text()"
    return _ON_ANY.get(method, f"{method}()")


def _fitting(element: RefElement) -> tuple[str, ...]:
    """Return the actions that a capable model may choose from."""
    own = ("upload",) if element.takes_files else element.actions
    typing = ("type",) if "fill" in own else ()
    always = (*_ON_ANY, "press", "drag_to", "scroll", "read")
    return tuple(dict.fromkeys((*own, *always, *typing)))


def _quoted(method: str, values: Sequence[Any], takes: str = "one text") -> str:
    """Return a method's only argument as a string literal."""
    texts = [value for value in values if isinstance(value, str | int | float)]
    if len(values) != 1 or len(texts) != 1 or isinstance(texts[0], bool):
        raise ReplyProblem(f"{method} takes {takes}")
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
        value = ast.literal_eval(_JsonWords().visit(argument))
    except (TypeError, *NOT_PYTHON):
        shown = "only plain values are allowed: texts, numbers, lists and objects of such"
        raise ReplyProblem(shown) from None
    # JSON spells characters beyond the basic plane in two halves.
    return map_texts(value, whole_text, keys=True)
