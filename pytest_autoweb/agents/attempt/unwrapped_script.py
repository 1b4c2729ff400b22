"""Takes a script out of the program around it that starts a browser of its own.

`playwright codegen`, tutorials and pytest-playwright all put a script into a function that gets a
browser or a page, which may be a coroutine. Here the page is given and stays open, so only the body
of that function is wanted, without what starts or closes something.
"""

import ast
import io
import textwrap
import tokenize
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise, takewhile
from typing import TypeGuard

from pytest_autoweb.base.python_source import NOT_PYTHON

_GIVEN = frozenset(("playwright", "p", "pw", "browser", "context", "page"))
"""The names under which such a function gets what starts or shows pages."""
_STARTS = _GIVEN - {"page"}
_NOT_OFFERED = frozenset(("sync_playwright", "Playwright", "Browser", "BrowserType"))
_OPENING = frozenset(("start", "launch", "launch_persistent_context", "new_context", "new_page"))
_CLOSING = frozenset(("close", "stop"))
_NOT_NEEDED = frozenset(("asyncio", "pytest"))
_WORDS = (*_NOT_OFFERED, "def ", "__main__", ".launch(", ".close()", ".stop()", "async_playwright")


def unwrapped_script(code: str) -> str:
    """Return the script that stands in a program; anything else as it is."""
    if not any(word in code for word in _WORDS):
        return code
    try:
        plain = _without_async(code) if "async" in code else code
        program = _Program(plain, ast.parse(plain))
        if not program.wraps:
            return _without_statements(code, _closings_at_end)
        script = "\n".join(program.lines()).strip("\n") + "\n"
        return _without_statements(script, _around)
    except NOT_PYTHON:
        return code


def _without_async(code: str) -> str:
    """Return a program for Playwright's asynchronous interface as one for the other."""
    lines = code.split("\n")
    tokens = list(tokenize.generate_tokens(io.StringIO(code).readline))
    for token, following in reversed(list(pairwise(tokens))):
        (row, begin), (_, end) = token.start, token.end
        if token.type != tokenize.NAME:
            continue
        if token.string in ("async", "await") and following.start[0] == row:
            new, end = "", following.start[1]
        elif token.string in ("async_playwright", "async_api"):
            new = token.string.replace("async", "sync")
        else:
            continue
        lines[row - 1] = lines[row - 1][:begin] + new + lines[row - 1][end:]
    return "\n".join(lines)


def _without_statements(code: str, chosen: Callable[[ast.Module], list[ast.stmt]]) -> str:
    """Return the code without some of its statements; as it is if nothing would be left."""
    tree = ast.parse(code)
    left_out = set(chosen(tree))
    if not left_out or len(left_out) == len(tree.body):
        return code
    used = {
        node.id
        for statement in tree.body
        if statement not in left_out
        for node in ast.walk(statement)
        if isinstance(node, ast.Name)
    }
    lines: list[str | None] = list(code.split("\n"))
    for node in left_out:
        first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", ()))])
        end = node.end_lineno or node.lineno
        lines[first - 1 : end] = [None] * (end - first + 1)
        if _opened(node) == "context" and "context" in used:
            # A second tab is opened in the one that is given.
            lines[first - 1] = "context = page.context"
    return "\n".join(line for line in lines if line is not None).strip("\n") + "\n"


def _closings_at_end(tree: ast.Module) -> list[ast.stmt]:
    return list(takewhile(_closes, reversed(tree.body)))


def _around(tree: ast.Module) -> list[ast.stmt]:
    """Return what starts or closes a browser, or is there for another program only."""
    at_end = takewhile(lambda node: _closes(node) or _is_around(node), reversed(tree.body))
    return [*at_end, *filter(_is_around, tree.body)]


def _is_around(node: ast.stmt) -> bool:
    if isinstance(node, ast.Import):
        return {one.name for one in node.names} <= _NOT_NEEDED
    if isinstance(node, ast.FunctionDef):
        return any("fixture" in ast.unparse(one) for one in node.decorator_list)
    closes = _closes(node) and _receiver(node) != "page"
    stores = ast.unparse(node).startswith("context.storage_state(path=")
    return closes or stores or bool(_opened(node))


def _opened(node: ast.stmt) -> str:
    """Return the name under which a statement opens what is given here; empty for any other one."""
    if not (isinstance(node, ast.Assign) and isinstance(node.value, ast.Call)):
        return ""
    function, [target, *more] = node.value.func, node.targets
    opens = isinstance(function, ast.Attribute) and function.attr in _OPENING
    return target.id if opens and not more and _is_given(target) else ""


def _is_given(node: ast.AST) -> TypeGuard[ast.Name]:
    return isinstance(node, ast.Name) and node.id in _GIVEN


def _closes(node: ast.stmt) -> bool:
    return bool(_receiver(node))


def _receiver(node: ast.stmt) -> str:
    """Return the name of what a statement closes; empty for any other one."""
    call = node.value if isinstance(node, ast.Expr) else None
    if isinstance(call, ast.Await):
        call = call.value
    if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute)):
        return ""
    owner = call.func.value
    return owner.id if call.func.attr in _CLOSING and _is_given(owner) else ""


class _Program:
    """A program, with the functions that are scripts.

    A function is one if it is called once with what starts browsers, or never called and gets a
    page as a test does.
    """

    def __init__(self, code: str, tree: ast.Module) -> None:
        self._lines = code.split("\n")
        self._body = tree.body
        calls = [name for node in ast.walk(tree) if (name := _called(node))]
        functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
        self._scripts = {
            function.name: function
            for function in functions
            if _is_script(function, calls.count(function.name))
        }
        self._never_called = {name for name in self._scripts if name not in calls}

    @property
    def wraps(self) -> bool:
        imported = {
            name.name
            for node in self._body
            if isinstance(node, ast.ImportFrom)
            for name in node.names
        }
        opened = any(map(_opened, self._body)) and "launch" in "".join(self._lines)
        return bool(self._scripts) or opened or not imported.isdisjoint(_NOT_OFFERED)

    def lines(self) -> Iterator[str]:
        """Yield the lines of the script, with the comments before each statement."""
        yield from self._written(self._body, 0)

    def _written(self, body: Sequence[ast.stmt], since: int) -> Iterator[str]:
        for node in body:
            first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", ()))])
            yield from self._dedented(since, first - 1)
            since = node.end_lineno or node.lineno
            inner = self._inner(node)
            if inner is not None:
                yield from self._written(inner.body, inner.body[0].lineno - 1)
            elif not self._is_left_out(node):
                yield from self._kept(node, first - 1, since)

    def _inner(self, node: ast.stmt) -> "ast.With | ast.If | ast.Try | ast.FunctionDef | None":
        """Return what holds the statements that stand in this one's place."""
        if isinstance(node, ast.With) and "sync_playwright" in ast.unparse(node.items[0]):
            return node
        if isinstance(node, ast.If) and "__main__" in ast.unparse(node.test) and not node.orelse:
            return node
        if isinstance(node, ast.Try) and not node.handlers and all(map(_closes, node.finalbody)):
            return node
        if isinstance(node, ast.FunctionDef) and node.name in self._never_called:
            return node
        name = _called(node)
        return self._scripts.get(name) if name else None

    def _is_left_out(self, node: ast.stmt) -> bool:
        return isinstance(node, ast.FunctionDef) and node.name in self._scripts

    def _kept(self, node: ast.stmt, start: int, end: int) -> Iterator[str]:
        if isinstance(node, ast.ImportFrom) and node.module == "playwright.sync_api":
            names = [name for name in node.names if name.name not in _NOT_OFFERED]
            if len(names) < len(node.names):
                if names:
                    yield ast.unparse(ast.ImportFrom(node.module, names, 0))
                return
        yield from self._dedented(start, end)

    def _dedented(self, start: int, end: int) -> Iterator[str]:
        yield from textwrap.dedent("\n".join(self._lines[start:end])).split("\n")[: end - start]


def _called(node: ast.AST) -> str:
    """Return the function that a statement calls with nothing but what starts or shows pages."""
    call = node.value if isinstance(node, ast.Expr) else None
    if isinstance(call, ast.Call) and ast.unparse(call.func) == "asyncio.run" and call.args:
        call = call.args[0]
    if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Name)) or call.keywords:
        return ""
    given = all(isinstance(arg, ast.Name) and arg.id in _GIVEN for arg in call.args)
    return call.func.id if given else ""


def _is_script(function: ast.FunctionDef, calls: int) -> bool:
    arguments = [argument.arg for argument in function.args.args]
    if not set(arguments) <= _GIVEN or any(isinstance(n, ast.Return) for n in ast.walk(function)):
        return False
    if calls == 1:
        return bool(set(arguments) & _STARTS) or function.name in ("run", "main")
    return calls == 0 and bool(arguments) and function.name.startswith(("test", "run", "main"))
