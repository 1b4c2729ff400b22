"""Plain asserts on what was read from a page, as Playwright's own assertions."""

import ast
import re
from collections.abc import Mapping, Sequence
from typing import Any

OF_UNITTEST = (
    "assertEqual", "assertFalse", "assertGreater", "assertGreaterEqual", "assertIn",
    "assertNotIn", "assertTrue",
)  # fmt: skip
"""Methods of `unittest.TestCase` that can say what was read from a page."""
_TEXTS = {"inner_text": ", use_inner_text=True", "text_content": ""}
_STATES = {
    "is_visible": ("to_be_visible()", "not_to_be_visible()"),
    "is_hidden": ("not_to_be_visible()", "to_be_visible()"),
    "is_checked": ("to_be_checked()", "not_to_be_checked()"),
    "is_enabled": ("to_be_enabled()", "not_to_be_enabled()"),
    "is_disabled": ("to_be_disabled()", "not_to_be_disabled()"),
    "is_editable": ("to_be_editable()", "not_to_be_editable()"),
}


def claims_of(statement: str, reads: list[dict[str, Any]]) -> list[str]:
    """Return what a plain `assert` that held says of what was read, as calls of `expect`.

    Args:
        statement: the code of its condition.
        reads: what was read from the page since the last one, oldest first.
    """
    try:
        tree = ast.parse(statement.strip(), mode="eval").body
    except SyntaxError:
        return []
    parts = tree.values if isinstance(tree, ast.BoolOp) and isinstance(tree.op, ast.And) else [tree]
    return [said for part in parts if (said := _claim_of(part, list(reads)))]


def condition_of(method: str, args: Sequence[Any], reads: list[dict[str, Any]]) -> str:
    """Return what a method of `unittest.TestCase` asserts as the condition of a plain `assert`.

    Its arguments are values already, so what was read is only called `read`; empty if the method
    says nothing of the kind.
    """
    last = reads[-1]["value"] if reads else None
    match method, args:
        case (("assertTrue" | "assertFalse"), [bool() as given, *_]):
            return ("read" if given else "not read") if isinstance(last, bool) else ""
        case "assertEqual", [bool(), bool(), *_]:
            return ""
        case "assertEqual", [str() | int() as given, str() | int(), *_]:
            return f"read == {given!r}"
        case (("assertIn" | "assertNotIn"), [str() as part, str(), *_]):
            return f"{part!r} {'in' if method == 'assertIn' else 'not in'} read"
        case (("assertGreater" | "assertGreaterEqual"), [int(), int() as least, *_]):
            return f"read {'>' if method == 'assertGreater' else '>='} {least!r}"
    return ""


def _claim_of(node: ast.expr, reads: list[dict[str, Any]]) -> str:
    read, literal = _meant(node, reads), _literal(node)
    if read is None or isinstance(node, ast.BoolOp):
        return ""
    value = read["value"]
    if read["name"] in _STATES:
        return f"expect({read['base']}).{_STATES[read['name']][0 if value else 1]}"
    match node:
        case ast.Compare(ops=[ast.Eq()]):
            return _equals(read)
        case ast.Compare() if read["name"] == "count" and value and _is_any(node):
            return f"expect({read['base']}).not_to_have_count(0)"
        case ast.Name() | ast.Attribute() | ast.Call() | ast.Await() if value:
            said = {"count": "not_to_have_count(0)", **dict.fromkeys(_TEXTS, "not_to_be_empty()")}
            return f"expect({read['base']}).{said[read['name']]}" if read["name"] in said else ""
        case ast.Compare(ops=[ast.In() | ast.NotIn() as operator]) if isinstance(value, str):
            inside = isinstance(operator, ast.In)
            if isinstance(literal, str) and (literal in value) == inside:
                return _contains(read, literal, negated=not inside)
    return ""


def _is_any(node: ast.Compare) -> bool:
    """Tell whether a comparison of a number says that there is at least one."""
    match node.ops, node.comparators:
        case [ast.Gt() | ast.NotEq()], [ast.Constant(value=0)]:
            return True
        case [ast.GtE()], [ast.Constant(value=1)]:
            return True
    return False


def _literal(node: ast.expr) -> object:
    """Return the plain value that a condition compares with; None if there is none."""
    sides = [node.left, *node.comparators] if isinstance(node, ast.Compare) else []
    return next((one.value for one in sides if isinstance(one, ast.Constant)), None)


def _meant(node: ast.expr, reads: list[dict[str, Any]]) -> dict[str, Any] | None:
    """Return the one thing that was read for a condition; None if that is not certain.

    Where the condition names variables or a page object's attributes alone, it must be what was
    read last, or the text that it names must have been read.
    """
    names = [one.attr for one in ast.walk(node) if isinstance(one, ast.Attribute)]
    own = [read for read in reads if read["name"] in names]
    if len({read["name"] for read in own}) > 1:
        return None
    if own or not reads:
        return own[-1] if own else None
    last, literal = reads[-1], _literal(node)
    texts = [read for read in reads if isinstance(read["value"], str)]
    match node:
        case ast.Compare(ops=[ast.Eq()]):
            equal = [read for read in texts if literal and read["value"] == literal]
            if equal:
                return equal[-1]
            fits = literal is not None and literal == last["value"]
        case ast.Compare(ops=[ast.In()]) if isinstance(literal, str):
            holding = [read for read in texts if literal in read["value"]]
            return holding[-1] if holding else None
        case ast.Compare() if last["name"] == "count":
            fits = _is_any(node)
        case ast.Compare():
            fits = isinstance(literal, str) and last in texts
        case ast.UnaryOp(op=ast.Not()):
            fits = last["value"] is False and not last.get("told")
        case _:
            fits = bool(last["value"]) and not last.get("told")
    return last if fits else None


def _equals(read: Mapping[str, Any]) -> str:
    name, value, base = read["name"], read["value"], read["base"]
    if name in _TEXTS and isinstance(value, str):
        return f"expect({base}).to_have_text({value!r}{_TEXTS[name]})"
    if name in ("all_inner_texts", "all_text_contents"):
        inner = ", use_inner_text=True" if name == "all_inner_texts" else ""
        return f"expect({base}).to_have_text({value!r}{inner})"
    if name == "get_attribute" and read["args"] and isinstance(value, str):
        return f"expect({base}).to_have_attribute({read['args'][0]!r}, {value!r})"
    simple = {"count": "to_have_count", "input_value": "to_have_value"}
    of_page = {"title": "to_have_title", "url": "to_have_url"}
    method = simple.get(name) or of_page.get(name)
    return f"expect({base}).{method}({value!r})" if method else ""


def _contains(read: Mapping[str, Any], literal: str, *, negated: bool) -> str:
    name, base, no = read["name"], read["base"], "not_" if negated else ""
    if name in _TEXTS:
        return f"expect({base}).{no}to_contain_text({literal!r}{_TEXTS[name]})"
    if name == "content":
        return f"expect(page.locator('body')).{no}to_contain_text({literal!r})"
    method = {"title": "to_have_title", "url": "to_have_url"}.get(name)
    return f"expect({base}).{no}{method}(re.compile({re.escape(literal)!r}))" if method else ""
