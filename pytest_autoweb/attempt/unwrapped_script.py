"""Takes a script out of the program around it that starts a browser of its own.

`playwright codegen`, tutorials and pytest-playwright all put a script into a function that gets a
browser or a page. Here the page is given, so only the body of that function is wanted.
"""

import ast
import textwrap
from collections.abc import Iterator, Sequence

_GIVEN = frozenset(("playwright", "p", "pw", "browser", "context", "page"))
"""The names under which such a function gets what starts or shows pages."""
_STARTS = _GIVEN - {"page"}
_NOT_OFFERED = frozenset(("sync_playwright", "Playwright", "Browser", "BrowserType"))
_WORDS = (*_NOT_OFFERED, "def ", "__main__")


def unwrapped_script(code: str) -> str:
    """Return the script that stands in a program; anything else as it is."""
    if not any(word in code for word in _WORDS):
        return code
    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return code
    program = _Program(code, tree)
    return "\n".join(program.lines()).strip("\n") + "\n" if program.wraps else code


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
        """Tell whether there is anything around the script."""
        imported = {
            name.name
            for node in self._body
            if isinstance(node, ast.ImportFrom)
            for name in node.names
        }
        return bool(self._scripts) or not imported.isdisjoint(_NOT_OFFERED)

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

    def _inner(self, node: ast.stmt) -> "ast.With | ast.If | ast.FunctionDef | None":
        """Return what holds the statements that stand in this one's place."""
        if isinstance(node, ast.With) and "sync_playwright" in ast.unparse(node.items[0]):
            return node
        if isinstance(node, ast.If) and "__main__" in ast.unparse(node.test) and not node.orelse:
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
