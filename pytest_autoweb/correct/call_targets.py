"""Reads the locator of a recorded call, and finds its element on the live page again."""

import ast
from collections.abc import Mapping
from typing import Any, NamedTuple

from playwright.sync_api import Frame, Locator, Page

from pytest_autoweb.results import ToolCall
from pytest_autoweb.sandbox.allowed_members import CLASSES, words

_BY_SELECTOR = words(
    "check click dblclick fill focus hover press select_option set_checked tap type uncheck "
    "inner_text text_content input_value get_attribute is_visible"
)
"""Methods of the page itself whose first argument is a selector."""
_NARROWING = frozenset(
    name
    for kind in ("Page", "Locator", "FrameLocator")
    for name, member in CLASSES[kind].items()
    if member.kind in ("chain", "link") and member.returns in ("Locator", "FrameLocator")
)


class Narrowing(NamedTuple):
    """One part of a locator: `get_by_role("button", name="Save")`, or the property `first`."""

    method: str
    args: tuple[Any, ...] = ()
    options: Mapping[str, Any] = {}
    called: bool = True


class CallTarget(NamedTuple):
    """A locator as data, without parts if it is the page itself."""

    parts: tuple[Narrowing, ...]

    @property
    def role(self) -> str:
        """Return the role that the locator asks for, or empty."""
        last = self._last("get_by_role")
        return str(last.args[0]) if last and last.args else ""

    @property
    def named(self) -> str:
        """Return the name, label or text that the locator asks for, or empty."""
        for part in reversed(self.parts):
            if part.method == "get_by_role":
                return str(part.options.get("name") or "")
            if part.method.startswith("get_by_") and part.args:
                return str(part.args[0])
            if part.options.get("has_text"):
                return str(part.options["has_text"])
        return ""

    def on(self, page: Page | Frame) -> Locator:
        """Return the locator on the live page or in one of its frames."""
        found: Any = page
        for part in self.parts:
            member = getattr(found, part.method)
            found = member(*part.args, **part.options) if part.called else member
        located: Locator = found
        return located

    def with_hidden(self) -> "CallTarget":
        """Return the same target, but including elements that assistive technology cannot see."""
        return CallTarget(
            tuple(
                part._replace(options={**part.options, "include_hidden": True})
                if part.method == "get_by_role"
                else part
                for part in self.parts
            )
        )

    def _last(self, method: str) -> Narrowing | None:
        return next((part for part in reversed(self.parts) if part.method == method), None)


def read_target(text: str) -> CallTarget | None:
    """Return the locator of an expression on `page`, without an `expect(...)` around it.

    The expression comes from a model, so it is only parsed and never executed.

    Returns:
        None if it is something else or contains more than plain values.
    """
    try:
        # Deep nesting ends the parser with RecursionError or MemoryError, and a null byte with
        # ValueError or SyntaxError, depending on the version of Python.
        node = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "expect":
        node = node.args[0] if node.args else node
    parts: list[Narrowing] = []
    while not (isinstance(node, ast.Name) and node.id == "page"):
        part, below = _part(node)
        if part is None or below is None:
            return None
        parts.append(part)
        node = below
    return CallTarget(tuple(reversed(parts)))


def target_of(call: ToolCall) -> CallTarget | None:
    """Return the target of a call; for `page.fill("#name", …)`, the locator of the selector."""
    target = read_target(call.target)
    if target is None or target.parts or call.method not in _BY_SELECTOR:
        return target
    arguments = _arguments(call.arguments)
    if not arguments or not isinstance(arguments[0], str):
        return target
    return CallTarget((Narrowing("locator", (arguments[0],)),))


def value_of(call: ToolCall) -> Any:
    """Return what a call fills in or selects, or None if it is not a plain value."""
    target = read_target(call.target)
    arguments = _arguments(call.arguments)
    # A method of the page itself takes a selector first: `page.fill("#name", "Ada")`.
    place = 1 if target is not None and not target.parts else 0
    if arguments is not None and len(arguments) > place:
        return arguments[place]
    try:
        tree = ast.parse(f"f({call.arguments})", mode="eval").body
    except (SyntaxError, ValueError):
        return None
    assert isinstance(tree, ast.Call)
    options = {word.arg: word.value for word in tree.keywords}
    for name in ("label", "value"):
        if isinstance(node := options.get(name), ast.Constant):
            return node.value
    return None


def _arguments(text: str) -> list[Any] | None:
    try:
        tree = ast.parse(f"f({text})", mode="eval").body
    except (SyntaxError, ValueError):
        return None
    if not isinstance(tree, ast.Call) or not all(isinstance(a, ast.Constant) for a in tree.args):
        return None
    return [arg.value for arg in tree.args if isinstance(arg, ast.Constant)]


def _part(node: ast.expr) -> tuple[Narrowing | None, ast.expr | None]:
    if isinstance(node, ast.Attribute) and node.attr in ("first", "last", "content_frame"):
        return Narrowing(node.attr, called=False), node.value
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
        return None, None
    method = node.func.attr
    values = [*node.args, *(word.value for word in node.keywords)]
    plain = all(map(_is_plain, values)) and all(word.arg for word in node.keywords)
    if method not in _NARROWING or not plain:
        return None, None
    args = tuple(ast.literal_eval(arg) for arg in node.args)
    options = {str(word.arg): ast.literal_eval(word.value) for word in node.keywords}
    return Narrowing(method, args, options), node.func.value


def _is_plain(node: ast.expr) -> bool:
    # A negative number is parsed as an operation on a positive one.
    negative = isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub)
    inner = node.operand if isinstance(node, ast.UnaryOp) and negative else node
    return isinstance(inner, ast.Constant) and isinstance(inner.value, str | int | float | None)
