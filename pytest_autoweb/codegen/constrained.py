"""The language of a constrained retry: calls on found elements, none that failed. Pure text."""

import ast
import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from pytest_autoweb.codegen.refs_dialect import MAX_TEXT
from pytest_autoweb.correct.retry_rules import last_run, may_pass
from pytest_autoweb.llm.replies import literal, string_rule
from pytest_autoweb.page.frames import RefElement
from pytest_autoweb.results import Attempt

MAX_CALLS = 12
"""Limit on the calls of a script, so that a model cannot repeat a line without end."""
MAX_ELEMENTS = 80
"""Limit on the elements that are offered."""
_ANY = ("click", "fill", "check", "uncheck", "select_option", "press")
_TAKES_TEXT = frozenset({"fill", "press", "select_option"})
_BY_ROLE: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("button", "link", "tab", "menuitem", "option"), ("click",)),
    **dict.fromkeys(("textbox", "searchbox", "spinbutton"), ("fill", "press", "click")),
    **dict.fromkeys(("checkbox", "switch"), ("check", "uncheck")),
    "radio": ("check",),
}
_STRING = string_rule(MAX_TEXT)
_ALWAYS_ALLOWED = ('page.keyboard.press("Enter")', "page.go_back()")

Pair = tuple[str, str]
"""A locator in normal form, and a method."""


class OfferedCalls(NamedTuple):
    """The calls that a retry may make."""

    elements: Mapping[str, tuple[str, ...]]
    """The methods that may be called, by locator as the script has to spell it."""
    banned: frozenset[Pair] = frozenset()
    may_answer: bool = False


def offered_calls(
    here: Sequence[RefElement], attempts: Sequence[Attempt], *, may_answer: bool = False
) -> OfferedCalls:
    """Return calls on elements of the entry page, of calls that worked, and of the failed pages.

    Args:
        here: the elements of the entry page as it is now.
        attempts: the failed attempts, with what was found on the page at the time.
        may_answer: whether the task asks for data.
    """
    banned = failed_pairs(attempts)
    # The latest attempt comes first; one that was refused before it ran has seen nothing.
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
    # The order decides what is dropped at the limit, so elements like the missing one come first.
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

    Failures that may pass by themselves are left out, because repeating the call may help then. So
    is an only call that another script made beside others: what they lacked may be another call.
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
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return expression.strip()


def grammar(offered: OfferedCalls) -> str | None:
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
    """Return the JSON Schema of a list of offered calls, for servers that know no grammar."""
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
    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ()  # the lint reports syntax errors with their line
    allowed = {normalized(locator): actions for locator, actions in offered.elements.items()}
    free = {normalized(call) for call in _ALWAYS_ALLOWED}
    found = [_why_disallowed(node, allowed, offered.banned, free) for node in _outermost(tree)]
    return tuple(dict.fromkeys(sentence for sentence in found if sentence))


def repeated_calls(code: str, attempts: Sequence[Attempt]) -> tuple[str, ...]:
    """Return a sentence for each call that failed in an attempt; empty if there is none.

    A call that failed and worked later in the same attempt, as one that a turn corrected, may be
    made again. Other elements may be named: by turns, pages come that no attempt has seen.
    """
    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
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
