"""The languages that a grammar enforces on replies: `refs`, and that of a constrained retry.

In the `refs` dialect a line is one action on a numbered element. `e1.fill("ana")` becomes the step
language's own `page.get_by_label("User").fill("ana")`, so lint, sandbox, judge and report see plain
Playwright code. Small models get the few actions that they can distinguish (`read_actions`);
capable ones get all of them, and feedback on lines that could not be read (`read_lines`).

A constrained retry may only use elements found on the page, and no call that failed before. Both
are pure text.
"""

import ast
import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from pytest_autoweb.agents.choice.decision_json import ReplyProblem
from pytest_autoweb.agents.correction.retry_rules import last_run, may_pass
from pytest_autoweb.base.python_source import NOT_PYTHON, read_expression, read_python
from pytest_autoweb.browser.page.frames import RefElement
from pytest_autoweb.models.replies import literal, string_rule, strip_reasoning
from pytest_autoweb.models.reply_blocks import says_done, split_fences, without_marker
from pytest_autoweb.results.records import Attempt

MAX_LINES = 8
MAX_TEXT = 160

_TAKES_TEXT = frozenset({"fill", "press", "select_option"})
_STRING = string_rule(MAX_TEXT)

MAX_CALLS = 12
"""Limit on the calls of a script, so that a model cannot repeat a line endlessly."""
MAX_ELEMENTS = 80
"""Limit on the elements offered."""
_ANY = ("click", "fill", "check", "uncheck", "select_option", "press")
_BY_ROLE: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("button", "link", "tab", "menuitem", "option"), ("click",)),
    **dict.fromkeys(("textbox", "searchbox", "spinbutton"), ("fill", "press", "click")),
    **dict.fromkeys(("checkbox", "switch"), ("check", "uncheck")),
    "radio": ("check",),
}
_ALWAYS_ALLOWED = ('page.keyboard.press("Enter")', "page.go_back()")

Pair = tuple[str, str]
"""A locator in normal form, and a method."""


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


class OfferedCalls(NamedTuple):
    """The calls that a retry may make."""

    elements: Mapping[str, tuple[str, ...]]
    """The methods that may be called, by locator in the spelling that the script must use."""
    banned: frozenset[Pair] = frozenset()
    may_answer: bool = False


def offered_calls(
    here: Sequence[RefElement], attempts: Sequence[Attempt], *, may_answer: bool = False
) -> OfferedCalls:
    """Return calls on elements of the entry page, of successful calls, and of the failed pages.

    Args:
        here: the current elements of the entry page.
        attempts: the failed attempts, with the elements found on the page at the time.
        may_answer: whether the task asks for data.
    """
    banned = failed_pairs(attempts)
    # The latest attempt comes first; one that was refused before running has seen nothing.
    seen_then = [finding for each in reversed(attempts) for finding in each.findings]
    near = [f for f in seen_then if f.code in ("near", "ambiguous", "other_frame")]
    listed = [f for f in seen_then if f.code == "on_page"]
    blocked = _blocked(last_run(attempts))
    known = {normalized(each.locator): each.actions for each in here}
    worked = [
        call.target
        for each in reversed(attempts)
        for call in each.tool_calls
        if call.ok and call.acting
    ]
    # The order decides what the limit drops, so elements similar to the missing one come first.
    texts = [
        *(locator for finding in near for locator in finding.locators),
        *(each.locator for each in here),
        *worked,
        *(locator for finding in listed for locator in finding.locators),
    ]
    elements: dict[str, tuple[str, ...]] = {}
    seen: set[str] = set()
    for text in texts:
        form = normalized(text)
        if not form.startswith("page.") or form in seen or form in blocked:
            continue
        seen.add(form)
        actions = known.get(form) or _actions_of(form)
        if left := tuple(name for name in actions if (form, name) not in banned):
            elements[text] = left
    return OfferedCalls(dict(list(elements.items())[:MAX_ELEMENTS]), banned, may_answer)


def failed_pairs(attempts: Iterable[Attempt]) -> frozenset[Pair]:
    """Return the calls that failed; of a script that ran to its end, its only acting call.

    Transient failures are left out, because repeating the call may then help. So is a single call
    that another script made along with others: a different call may have been missing.
    """
    ran = [attempt for attempt in attempts if not may_pass(attempt)]
    together = [acted for attempt in ran if len(acted := acted_pairs(attempt)) > 1]
    return frozenset(pair for attempt in ran for pair in _failed_in(attempt, together))


def _failed_in(attempt: Attempt, together: Sequence[Collection[Pair]]) -> set[Pair]:
    if failed := {(normalized(c.target), c.method) for c in attempt.tool_calls if not c.ok}:
        return failed
    acted = acted_pairs(attempt)
    known = any(acted <= set(others) for others in together)
    return set() if known or len(acted) != 1 else acted


def acted_pairs(attempt: Attempt) -> set[Pair]:
    """Return the acting calls of an attempt that succeeded."""
    return {(normalized(c.target), c.method) for c in attempt.tool_calls if c.ok and c.acting}


def _blocked(attempt: Attempt) -> frozenset[str]:
    """Return the locators of elements that failed because they are missing, disabled or unfit.

    An element covered by a dialog is not blocked, because closing the dialog uncovers it.
    """
    codes = {finding.code for finding in attempt.findings}
    if not codes & {"missing", "disabled", "wrong_kind"}:
        return frozenset()
    return frozenset(normalized(call.target) for call in attempt.tool_calls if not call.ok)


def normalized(expression: str) -> str:
    """Return an expression in one spelling, so that quotes and spaces make no difference."""
    try:
        return ast.unparse(ast.parse(expression.strip(), mode="eval"))
    except NOT_PYTHON:
        return expression.strip()


def constrained_grammar(offered: OfferedCalls) -> str | None:
    """Return the GBNF of a fenced script of offered calls; None if there are no elements."""
    acts = [
        _rule(locator, action)
        for locator, actions in offered.elements.items()
        for action in actions
    ]
    if not acts:
        return None
    acts += [literal(call) for call in _ALWAYS_ALLOWED]
    if offered.may_answer:
        acts.append('"answer(" str ")"')
    body = f'act "\\n" (act "\\n"){{0,{MAX_CALLS - 1}}}'
    return f'root ::= "```python\\n" {body} "```"\nact ::= {" | ".join(acts)}\n{_STRING}\n'


def schema(offered: OfferedCalls) -> dict[str, Any]:
    """Return the JSON Schema of a list of offered calls, for servers without grammar support."""
    actions = sorted({name for names in offered.elements.values() for name in names})
    call = {
        "type": "object",
        "additionalProperties": False,
        "required": ["element", "action", "value"],
        "properties": {
            "element": {"enum": list(offered.elements)},
            "action": {"enum": actions},
            "value": {"type": "string", "maxLength": MAX_TEXT},
        },
    }
    properties: dict[str, Any] = {
        "calls": {"type": "array", "minItems": 1, "maxItems": MAX_CALLS, "items": call}
    }
    if offered.may_answer:
        properties["answer"] = {"type": "string"}
    return {
        "type": "object",
        "additionalProperties": False,
        "required": list(properties),
        "properties": properties,
    }


def code_of_calls(reply: str) -> str:
    """Return the script of a reply that follows the schema; empty if the reply does not."""
    try:
        said = json.loads(reply)
        lines = [
            _call(str(each["element"]), str(each["action"]), str(each.get("value", "")))
            for each in said["calls"]
        ]
    except (ValueError, TypeError, KeyError, RecursionError):
        return ""
    if said.get("answer"):
        lines.append(f"answer({said['answer']!r})")
    return "\n".join(lines)


def disallowed_calls(code: str, offered: OfferedCalls) -> tuple[str, ...]:
    """Return a sentence for each call that was not offered; empty if there is none."""
    tree = read_python(code)
    if tree is None:
        return ()  # the lint reports syntax errors with their line
    allowed = {normalized(locator): actions for locator, actions in offered.elements.items()}
    free = {normalized(call) for call in _ALWAYS_ALLOWED}
    found = [_why_disallowed(node, allowed, offered.banned, free) for node in _outermost(tree)]
    return tuple(dict.fromkeys(sentence for sentence in found if sentence))


def repeated_calls(code: str, attempts: Sequence[Attempt]) -> tuple[str, ...]:
    """Return a sentence for each call that failed in an attempt; empty if there are none.

    A call that failed but worked later in the same attempt, for example after a turn corrected it,
    may be made again. Other elements may be named, because turns can reach pages that no attempt
    has seen.
    """
    tree = read_python(code)
    if tree is None:
        return ()  # the lint reports syntax errors with their line
    banned = set(failed_pairs(attempts))
    for attempt in attempts:
        failed = {(normalized(c.target), c.method) for c in attempt.tool_calls if not c.ok}
        banned -= failed & acted_pairs(attempt)
    made = [(ast.unparse(f.value), f.attr) for f in map(_function, _outermost(tree))]
    return tuple(f"{on}.{what}() was tried and failed" for on, what in made if (on, what) in banned)


def _function(call: ast.Call) -> ast.Attribute:
    assert isinstance(call.func, ast.Attribute), "only calls of methods are looked at"
    return call.func


def _outermost(tree: ast.AST) -> Iterable[ast.Call]:
    """Yield the calls on `page` that are not the receiver of another call."""
    inner: set[int] = set()
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        below: ast.AST = node.func.value
        while isinstance(below, ast.Attribute | ast.Call):
            inner.add(id(below))
            below = below.value if isinstance(below, ast.Attribute) else below.func
        if id(node) not in inner and isinstance(below, ast.Name) and below.id == "page":
            yield node


def _why_disallowed(
    node: ast.Call,
    allowed: Mapping[str, tuple[str, ...]],
    banned: Collection[Pair],
    free: Collection[str],
) -> str:
    assert isinstance(node.func, ast.Attribute)
    receiver, method = ast.unparse(node.func.value), node.func.attr
    if ast.unparse(node) in free:
        return ""
    if (receiver, method) in banned:
        return f"{receiver}.{method}() was tried and failed"
    if receiver not in allowed:
        return f"{receiver} is not among the elements that were found"
    if method in _ANY and method not in allowed[receiver]:
        return f"{receiver} does not take {method}()"
    return ""


def _actions_of(locator: str) -> tuple[str, ...]:
    if locator.startswith("page.get_by_role("):
        role = locator.removeprefix("page.get_by_role(").split(",")[0].strip("'\")")
        return _BY_ROLE.get(role, _ANY)
    return ("fill", "press", "click") if ".get_by_placeholder(" in locator else _ANY


def _call(locator: str, action: str, value: str) -> str:
    if action == "select_option":
        return f"{locator}.select_option(label={json.dumps(value, ensure_ascii=False)})"
    argument = json.dumps(value, ensure_ascii=False) if action in _TAKES_TEXT else ""
    return f"{locator}.{action}({argument})"


def _rule(locator: str, action: str) -> str:
    if action == "select_option":
        return f"{literal(f'{locator}.select_option(label=')} str {literal(')')}"
    if action in _TAKES_TEXT:
        return f"{literal(f'{locator}.{action}(')} str {literal(')')}"
    return literal(f"{locator}.{action}()")
