"""Locators that a run recorded, read as data and written again as code.

A saved run may come from anyone, so nothing of it becomes code as it stands.
"""

import ast
from collections.abc import Callable

from pytest_autoweb.base.python_source import read_expression

CALLS = frozenset(
    {"locator", "frame_locator", "filter", "nth", "and_", "or_", "get_by_alt_text", "get_by_label"}
    | {"get_by_placeholder", "get_by_role", "get_by_test_id", "get_by_text", "get_by_title"}
)
"""The methods of Playwright that lead from one locator to the next, and do nothing else."""
LINKS = frozenset({"first", "last", "content_frame", "owner"})
"""The same, as properties."""
_LONGEST = 10_000
_DEEPEST = 60


class NoLocator(Exception):
    """Raised for a text that is anything else than a chain of locators with literals."""


def written_again(recorded: str, say: Callable[[object], str]) -> str:
    """Return a recorded locator as code of our own making.

    Args:
        recorded: an expression that begins at `page`.
        say: returns a literal value as an expression.

    Raises:
        NoLocator: the text is not such an expression.
    """
    if len(recorded) > _LONGEST:
        raise NoLocator
    tree = read_expression(recorded)
    if not isinstance(tree, ast.Call | ast.Attribute):
        raise NoLocator
    return _chain(tree, say, 0)


def _chain(node: ast.expr, say: Callable[[object], str], depth: int) -> str:
    match node:
        case _ if depth > _DEEPEST:
            raise NoLocator
        case ast.Name(id="page"):
            return "page"
        case ast.Attribute(value=before, attr=link) if link in LINKS:
            return f"{_chain(before, say, depth + 1)}.{link}"
        case ast.Call(func=ast.Attribute(value=before, attr=method)) if method in CALLS:
            start = _chain(before, say, depth + 1)
            given = [_argument(one, say, depth) for one in node.args]
            given += [_named(one, say, depth) for one in node.keywords]
            return f"{start}.{method}({', '.join(given)})"
    raise NoLocator


def _named(node: ast.keyword, say: Callable[[object], str], depth: int) -> str:
    if node.arg is None:
        raise NoLocator
    return f"{node.arg}={_argument(node.value, say, depth)}"


def _argument(node: ast.expr, say: Callable[[object], str], depth: int) -> str:
    """Return an argument: a literal, or another locator."""
    match node:
        case ast.Constant(value=str() | bool() | int() | None as value):
            return say(value)
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() as value)):
            return say(-value)
    return _chain(node, say, depth + 1)
