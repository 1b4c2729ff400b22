"""The script of a constrained retry, which names only elements that were found. Pure text.

A server enforces it by a grammar of scripts, or by a JSON schema of calls; the script of any other
model is checked before it runs.
"""

import ast
import json
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from pytest_autoweb.agents.codegen.failed_calls import (
    Pair,
    failed_pairs,
    normalized,
    outermost_calls,
)
from pytest_autoweb.agents.correction.retry_decision import last_run
from pytest_autoweb.base.python_source import read_python
from pytest_autoweb.browser.page.frames import RefElement
from pytest_autoweb.models.reply_forms import (
    Items,
    Kind,
    OneOf,
    ReplyForm,
    Text,
    literal,
    schema_of,
    string_rule,
)
from pytest_autoweb.results.records import Attempt

MAX_TEXT = 160
"""Maximum length of a text that a call writes, in characters."""
MAX_CALLS = 12
"""Limit on the calls of a script, so that a model cannot repeat a line endlessly."""
MAX_ELEMENTS = 80
"""Limit on the elements offered."""
_STRING = string_rule(MAX_TEXT).text
_TAKES_TEXT = frozenset({"fill", "press", "select_option"})
_ANY = ("click", "fill", "check", "uncheck", "select_option", "press")
_BY_ROLE: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("button", "link", "tab", "menuitem", "option"), ("click",)),
    **dict.fromkeys(("textbox", "searchbox", "spinbutton"), ("fill", "press", "click")),
    **dict.fromkeys(("checkbox", "switch"), ("check", "uncheck")),
    "radio": ("check",),
}
_ALWAYS_ALLOWED = ('page.keyboard.press("Enter")', "page.go_back()")


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


def _blocked(attempt: Attempt) -> frozenset[str]:
    """Return the locators of elements that failed because they are missing, disabled or unfit.

    An element covered by a dialog is not blocked, because closing the dialog uncovers it.
    """
    codes = {finding.code for finding in attempt.findings}
    if not codes & {"missing", "disabled", "wrong_kind"}:
        return frozenset()
    return frozenset(normalized(call.target) for call in attempt.tool_calls if not call.ok)


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
    call = ReplyForm(
        {
            "element": OneOf(tuple(offered.elements)),
            "action": OneOf(tuple(actions)),
            "value": Text(max_chars=MAX_TEXT),
        }
    )
    calls = Items((call,), most=MAX_CALLS, limits_in_schema=True)
    answer: dict[str, Kind] = {"answer": Text()} if offered.may_answer else {}
    return schema_of(ReplyForm({"calls": calls, **answer}))


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
    found = [_why_disallowed(node, allowed, offered.banned, free) for node in outermost_calls(tree)]
    return tuple(dict.fromkeys(sentence for sentence in found if sentence))


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
