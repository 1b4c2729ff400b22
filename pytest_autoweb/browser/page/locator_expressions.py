"""Locator expressions: reading and writing them, and which ones may find an element."""

import ast
import json
from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct
from msgspec.structs import replace
from playwright.sync_api import Frame, FrameLocator, Locator, Page

from pytest_autoweb.base.python_source import read_expression

_NAME_CHARS = 200
_BY_TEXT = frozenset(
    {"get_by_text", "get_by_label", "get_by_placeholder", "get_by_title", "get_by_alt_text"}
)
_METHODS = _BY_TEXT | {"get_by_role", "get_by_test_id", "locator", "nth"}


class Call(Struct, frozen=True):
    """One method call of a locator expression, or `content_frame`, which is a property."""

    method: str
    argument: str | int = ""
    name: str | None = None
    exact: bool = False

    def __str__(self) -> str:
        if self.method == "content_frame":
            return ".content_frame"
        if self.method == "filter":
            return f".filter(has_text={_literal(self.argument)})"
        parts = [_literal(self.argument)]
        if self.name is not None:
            parts.append(f"name={_literal(self.name)}")
        if self.exact:
            parts.append("exact=True")
        return f".{self.method}({', '.join(parts)})"

    def on(self, root: Any) -> Any:
        if self.method == "content_frame":
            return root.content_frame
        if self.method == "filter":
            return root.filter(has_text=self.argument)
        options: dict[str, Any] = {"exact": True} if self.exact else {}
        if self.name is not None:
            options["name"] = self.name
        return getattr(root, self.method)(self.argument, **options)

    def exactly(self, name: str = "") -> "Call":
        """Return the call for the whole of its text, or of `name`; itself if it takes none."""
        if self.method == "get_by_role" and self.name is not None:
            return replace(self, name=name or self.name, exact=True)
        return replace(self, exact=True) if self.method in _BY_TEXT else self


class Expression(Struct, frozen=True):
    """A locator expression: a chain of calls that starts at `page`."""

    calls: tuple[Call, ...]

    def __str__(self) -> str:
        return "page" + "".join(map(str, self.calls))

    def on(self, root: Page | Frame | FrameLocator) -> Locator:
        found: Any = root
        for call in self.calls:
            found = call.on(found)
        located: Locator = found
        return located

    def nth(self, index: int) -> "Expression":
        return Expression((*self.calls, Call("nth", index)))

    @property
    def is_placed(self) -> bool:
        """The place among others is a part of it."""
        css = (str(call.argument) for call in self.calls if call.method == "locator")
        return self.calls[-1].method == "nth" or any(":nth-" in one for one in css)

    def inside(self, frames: tuple[Call, ...]) -> "Expression":
        """Return this expression as seen from the page that contains the frames."""
        return Expression((*frames, *self.calls))

    def entered(self) -> tuple[Call, ...]:
        """Return the calls that lead into the frame which this expression finds."""
        *before, last = self.calls
        place = [last] if last.method == "nth" and before else []
        if place:
            *before, last = before
        if last.method != "locator":
            return (*self.calls, Call("content_frame"))
        return (*before, Call("frame_locator", last.argument), *place)


def parse_locator(code: str) -> Expression | None:
    """Return Playwright's own code of a locator, such as `get_by_text("Tea").nth(1)`.

    Returns:
        None if it has a part that an expression does not know, such as a regular expression.
    """
    node = read_expression(f"page.{code}")
    calls: list[Call] = []
    while node is not None and not isinstance(node, ast.Name):
        call, node = _read_call(node)
        if call is None:
            return None
        calls.append(call)
    whole = Expression(())
    for call in reversed(calls):
        enters = call.method == "content_frame" and whole.calls
        whole = Expression(whole.entered() if enters else (*whole.calls, call))
    return whole if whole.calls else None


def _read_call(node: ast.expr) -> tuple[Call | None, ast.expr | None]:
    """Return the last call of an expression, and the expression that it is called on."""
    match node:
        case ast.Attribute(value=before, attr="first"):
            return Call("nth", 0), before
        case ast.Attribute(value=before, attr="content_frame"):
            return Call("content_frame"), before
        case ast.Call(
            func=ast.Attribute(value=before, attr="filter"),
            args=[],
            keywords=[ast.keyword(arg="has_text", value=ast.Constant(value=str() as text))],
        ):
            return Call("filter", text), before
        case ast.Call(
            func=ast.Attribute(value=before, attr=method),
            args=[ast.Constant(value=str() | int() as argument)],
        ) if method in _METHODS:
            options = {word.arg: word.value for word in node.keywords}
            name, exact = options.pop("name", None), options.pop("exact", None)
            given = name.value if isinstance(name, ast.Constant) else None
            named = given if isinstance(given, str) else None
            if options or (name is not None and named is None):
                return None, None
            return Call(method, argument, named, exact is not None), before
    return None, None


def candidates(entry: Mapping[str, Any]) -> Iterator[Expression]:
    """Yield expressions that may find the element, the most descriptive first.

    The last one always matches the element; whether one is unique has to be tested on the page.
    """
    role, name, bare = entry["role"], entry["name"], entry.get("bare", False)
    short = bool(name) and len(name) <= _NAME_CHARS
    if not bare and short:
        yield Expression((Call("get_by_role", role, name=name, exact=True),))
    # A test id is unique by intention, but tells a model less than role and name do.
    if entry["testid"]:
        yield Expression((Call("get_by_test_id", entry["testid"]),))
    if entry["label"] and not bare:
        yield Expression((Call("get_by_label", entry["label"], exact=True),))
    if entry["placeholder"]:
        yield Expression((Call("get_by_placeholder", entry["placeholder"], exact=True),))
    if bare and short and role != "textbox":
        yield Expression((Call("get_by_text", name, exact=True),))
    for css in entry["css"]:
        yield Expression((Call("locator", css),))


def last_resort(entry: Mapping[str, Any]) -> Iterator[Expression]:
    """Yield expressions that match several similar elements, to be narrowed by position."""
    if not entry.get("bare", False):
        if entry["name"] and len(entry["name"]) <= _NAME_CHARS:
            yield Expression((Call("get_by_role", entry["role"], name=entry["name"], exact=True),))
        yield Expression((Call("get_by_role", entry["role"]),))
    elif entry["name"] and entry["role"] != "textbox":
        yield Expression((Call("get_by_text", entry["name"], exact=True),))
    yield Expression((Call("locator", entry["tag"]),))


def _literal(value: str | int) -> str:
    return json.dumps(value, ensure_ascii=False)
