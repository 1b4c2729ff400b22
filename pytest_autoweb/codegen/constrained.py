"""The second try's language: calls on elements that were found, and none that failed. Pure text."""

import ast
import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from pytest_autoweb.codegen.refs_dialect import MAX_TEXT
from pytest_autoweb.correct.retry_rules import may_pass
from pytest_autoweb.llm.replies import literal, string_rule
from pytest_autoweb.page.frames import RefElement
from pytest_autoweb.results import Attempt

MAX_CALLS = 12
MAX_ELEMENTS = 80
"""Elements offered."""
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
"""Locator, in normal form, and method."""


class OfferedCalls(NamedTuple):
    """What may be said."""

    elements: Mapping[str, tuple[str, ...]]
    """Locator as it is to be written, and what may be done with it."""
    banned: frozenset[Pair] = frozenset()
    may_answer: bool = False


def offered_calls(
    here: Sequence[RefElement], attempts: Sequence[Attempt], *, may_answer: bool = False
) -> OfferedCalls:
    """Elements of the page where the task begins, of calls that worked, and of where it failed.

    Args:
        here: on the entry page, as it is now.
        attempts: that failed, with what was found on the page then.
        may_answer: the task asks for data.
    """
    banned = failed_pairs(attempts)
    failed = attempts[-1]
    near = [f for f in failed.findings if f.code in ("near", "ambiguous", "other_frame")]
    listed = [f for f in failed.findings if f.code == "on_page"]
    blocked = _blocked(failed)
    known = {normalized(each.locator): each.actions for each in here}
    worked = [call.target for call in failed.tool_calls if call.ok and call.acting]
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
    """The calls that failed; of a script that ran through, its only acting call.

    None where the failure may pass by itself: then the same call again is what helps.
    """
    return frozenset(
        pair for attempt in attempts if not may_pass(attempt) for pair in _failed_in(attempt)
    )


def _failed_in(attempt: Attempt) -> set[Pair]:
    failed = {(normalized(c.target), c.method) for c in attempt.tool_calls if not c.ok}
    acted = {(normalized(c.target), c.method) for c in attempt.tool_calls if c.ok and c.acting}
    return failed if failed or len(acted) != 1 else acted


def _blocked(attempt: Attempt) -> frozenset[str]:
    """Locators of elements that cannot be acted on as the page stands, when that is why it failed.

    What only lies behind a dialog is not blocked: closing the dialog opens it again.
    """
    codes = {finding.code for finding in attempt.findings}
    if not codes & {"missing", "disabled", "wrong_kind"}:
        return frozenset()
    return frozenset(normalized(call.target) for call in attempt.tool_calls if not call.ok)


def normalized(expression: str) -> str:
    """An expression in one spelling, so that quotes and spaces do not tell two apart."""
    try:
        return ast.unparse(ast.parse(expression.strip(), mode="eval"))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return expression.strip()


def grammar(offered: OfferedCalls) -> str | None:
    """GBNF of a fenced script that names only offered elements; None if there are none."""
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
    """JSON Schema of a list of calls on offered elements, for servers that know no grammar."""
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
    """The script of a reply in the schema's form; empty when it is none."""
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
    """What the code names beside the offer, a sentence each; empty when it keeps to it."""
    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ()  # the lint says it better
    allowed = {normalized(locator): actions for locator, actions in offered.elements.items()}
    free = {normalized(call) for call in _ALWAYS_ALLOWED}
    found = [_why_disallowed(node, allowed, offered.banned, free) for node in _outermost(tree)]
    return tuple(dict.fromkeys(sentence for sentence in found if sentence))


def _outermost(tree: ast.AST) -> Iterable[ast.Call]:
    """Calls on `page` that are not the receiver of another one."""
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
