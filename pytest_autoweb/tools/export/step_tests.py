"""Tests with `autoweb_step` as plain tests: each call gives way to the lines that carried it out.

The rest of the file stays as it is.
"""

import ast
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple
from urllib.parse import urlsplit

from msgspec import Struct

from pytest_autoweb.base.python_source import read_python
from pytest_autoweb.results.records import CellResult
from pytest_autoweb.sandbox.allowed_members import FINDERS, FUNCTIONS, LOOKS, PAGE_FUNCTIONS
from pytest_autoweb.sandbox.lint import lint_code
from pytest_autoweb.tools.export.plain_code import (
    NotExportable,
    PlainCode,
    RuntimeTexts,
    TranslationInputs,
    literal,
    plain_code,
)

STEP = "autoweb_step"
_OFFERED = frozenset({*FINDERS, *FUNCTIONS, *LOOKS, *PAGE_FUNCTIONS})
_SECRET = re.compile(r"<secret:([A-Za-z_]\w*)>")
_QUOTE = re.compile(r"“([^”]*)”")
_Function = ast.FunctionDef


class _Edit(NamedTuple):
    """Lines of the file, from 1, and those that take their place."""

    first: int
    last: int
    lines: tuple[str, ...]


class StepTest(Struct, frozen=True):
    """A test whose calls of `autoweb_step` have plain lines instead."""

    name: str
    """As in pytest's ids: `TestCart::test_adds`."""
    edits: tuple[_Edit, ...]
    idle: tuple[_Edit, ...]
    """The same without actions."""
    imports: tuple[str, ...]


def step_test(text: str, cells: Sequence[CellResult]) -> StepTest:
    """Translate the calls of one test.

    Args:
        text: the test's file.
        cells: the calls of one run of the test, all of which passed.

    Raises:
        NotExportable: a call has no like in plain Playwright.
    """
    name = cells[0].nodeid.partition("::")[2].partition("[")[0]
    function = _function(ast.parse(text), name.split("::"))
    lines = text.split("\n")
    taken = _names_outside(function)
    edits, idle, imports = [], [], []
    calls = {(call.lineno, kind): statement for statement, call, kind in _calls(function)}
    left = set(calls)
    for cell in cells:
        at = cell.step_call
        assert at is not None
        statement = calls.get((at.line, at.kind))
        if statement is None or (at.line, at.kind) not in left:
            where = "in a loop" if statement is not None else "not in a line of its own"
            raise NotExportable(f"the call on line {at.line} stands {where}")
        left.discard((at.line, at.kind))
        if isinstance(statement, ast.Call):
            edit = _inline(statement, _reading(cell, statement), lines)
            edits.append(edit)
            idle.append(edit)
            imports.append("import re")
            continue
        made, needed = _plain(cell, statement, taken)
        indent = " " * statement.col_offset
        comment = f"{indent}# {' '.join(cell.user_task.split())}"
        place = (statement.lineno, statement.end_lineno or statement.lineno)
        edits.append(_Edit(*place, (comment, *_indented(made, indent))))
        done = made if at.kind == "check" else [("pass", False)]
        idle.append(_Edit(*place, (comment, *_indented(done, indent))))
        imports += needed
    if left:
        raise NotExportable(f"the call on line {min(left)[0]} was not carried out in this run")
    head = _head(function, lines)
    return StepTest(name, (head, *edits), (head, *idle), tuple(dict.fromkeys(imports)))


def variables_of(cells: Iterable[CellResult]) -> frozenset[str]:
    """Return the environment variables whose values the calls of a test type."""
    return frozenset(name for cell in cells for name in _SECRET.findall(cell.user_task))


def rewritten(text: str, tests: Iterable[StepTest], *, idle: str = "") -> str:
    """Return the file with these tests in plain lines; the test named `idle` does not act."""
    tests = list(tests)
    lines = text.split("\n")
    edits = [edit for test in tests for edit in (test.idle if test.name == idle else test.edits)]
    for edit in sorted(edits, reverse=True):
        lines[edit.first - 1 : edit.last] = edit.lines
    tree = ast.parse(text)
    statements = [one for one in tree.body if isinstance(one, ast.Import | ast.ImportFrom)]
    known = set(map(ast.unparse, statements))
    needed = {one for test in tests for one in test.imports} - known
    new = sorted(needed, key=lambda one: (one.startswith("from"), one))
    at = _after_docstring(tree)
    lines[at:at] = [*new, ""] if new and at == 0 else new
    return "\n".join(lines)


def _function(tree: ast.Module, path: Sequence[str]) -> _Function:
    body: list[ast.stmt] = tree.body
    for name in path[:-1]:
        body = next((n.body for n in body if isinstance(n, ast.ClassDef) and n.name == name), [])
    for node in body:
        if isinstance(node, _Function) and node.name == path[-1]:
            return node
    raise NotExportable(f"its file has no test {'::'.join(path)} any more")


def _calls(function: _Function) -> Iterator[tuple[ast.Expr | ast.Call, ast.Call, str]]:
    """Yield the calls of a test with their kinds; before each, the statement if it is all of it."""
    for node in ast.walk(function):
        match node:
            case ast.Expr(value=ast.Call(func=ast.Name(id="autoweb_step")) as call):
                yield node, call, "do"
            case ast.Expr(
                value=ast.Call(
                    func=ast.Attribute(value=ast.Name(id="autoweb_step"), attr="check")
                ) as call
            ):
                yield node, call, "check"
            case ast.Call(func=ast.Attribute(value=ast.Name(id="autoweb_step"), attr="read")):
                yield node, node, "read"


def _reading(cell: CellResult, call: ast.Call) -> str:
    """Return the expression that reads a value again."""
    code = cell.attempts[-1].code
    tree = read_python(code)
    if tree is None or lint_code(code, offered=_OFFERED):
        raise NotExportable(f"line {call.lineno} reads a value by code that would be refused today")
    match tree.body:
        case [ast.Expr(value=ast.Call(func=ast.Name(id="answer"), args=[value]))]:
            if (page := _page_of(call)) == "page":
                return ast.get_source_segment(code, value) or ast.unparse(value)
            for node in ast.walk(value):
                if isinstance(node, ast.Name) and node.id == "page":
                    node.id = page
            return ast.unparse(value)
    raise NotExportable(
        f"line {call.lineno} reads a value that stands in no element with a name of its own: write "
        "a locator there"
    )


def _inline(call: ast.Call, expression: str, lines: Sequence[str]) -> _Edit:
    last = call.end_lineno or call.lineno
    before = lines[call.lineno - 1].encode()[: call.col_offset].decode()
    after = lines[last - 1].encode()[call.end_col_offset or 0 :].decode()
    return _Edit(call.lineno, last, (f"{before}{expression}{after}",))


def _names_outside(function: _Function) -> frozenset[str]:
    """Return the names that a test's own lines use."""
    found = {node.id for node in ast.walk(function) if isinstance(node, ast.Name)}
    return frozenset(found | {arg.arg for arg in function.args.args}) - {STEP}


def _plain(
    cell: CellResult, statement: ast.Expr, taken: frozenset[str]
) -> tuple[list[tuple[str, bool]], list[str]]:
    """Return the lines for a call, each with whether it must not be indented, and its imports."""
    page = _page_of(statement)
    assert cell.step_call is not None
    if cell.step_call.kind == "check":
        return _assertions(cell, page), ["from playwright.sync_api import expect"]
    attempt = cell.attempts[-1]
    if findings := lint_code(attempt.code, offered=_OFFERED):
        raise NotExportable(f"its code would be refused today: {findings[0]}")
    ran = urlsplit(attempt.entry_url_used)
    origin = f"{ran.scheme}://{ran.netloc}"
    secrets = {name: f"secret_{name.lower()}" for name in _SECRET.findall(attempt.code)}
    runtime = RuntimeTexts({origin: "origin", **{f"<secret:{n}>": v for n, v in secrets.items()}})
    code = plain_code(
        attempt, TranslationInputs(runtime, {}, by_decisions=cell.strategy == "act", page=page)
    )
    _refuse_unlike(code, taken)
    lines = [(f'{name} = os.environ["{key}"]', False) for key, name in secrets.items()]
    if origin in attempt.code:
        lines.append((f'origin = "/".join({page}.url.split("/")[:3])', False))
    for step in code.steps:
        lines += [(line, at in step.fixed) for at, line in enumerate(step.lines)]
    if not code.steps:
        raise NotExportable("nothing was done on the page")
    return lines, [*code.imports, *(["import os"] if secrets else [])]


def _refuse_unlike(code: PlainCode, taken: frozenset[str]) -> None:
    if code.frames:
        raise NotExportable("a step works in a frame")
    if code.answers:
        raise NotExportable("its code returns an answer")
    texts = ("\n".join(step.lines) for step in code.steps)
    bound = {name for text in texts for name in _bound_in(ast.parse(text))}
    if clash := bound & taken:
        raise NotExportable(f"its code and the test both use the name {min(clash)!r}")


def _bound_in(tree: ast.AST) -> set[str]:
    """Return the names to which something is assigned."""
    return {
        node.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }


def _assertions(cell: CellResult, page: str) -> list[tuple[str, bool]]:
    """Return an assertion for each passage that the judge quoted."""
    check = cell.attempts[-1].checks[0]
    quotes = _QUOTE.findall(check.actual.rpartition("[")[2])
    if not quotes:
        raise NotExportable("its judge quoted nothing of the page")
    return [
        (
            f'expect({page}.locator("body")).to_contain_text({literal(quote)}, '
            "use_inner_text=True)",
            False,
        )
        for quote in quotes
    ]


def _page_of(called: ast.Expr | ast.Call) -> str:
    call = called.value if isinstance(called, ast.Expr) else called
    assert isinstance(call, ast.Call)
    given = next((k.value for k in call.keywords if k.arg == "page"), None)
    return ast.unparse(given) if given is not None else "page"


def _indented(lines: Iterable[tuple[str, bool]], indent: str) -> list[str]:
    return [line if fixed or not line else f"{indent}{line}" for line, fixed in lines]


def _head(function: _Function, lines: Sequence[str]) -> _Edit:
    """Return the edit that takes `autoweb_step` from the arguments, and adds `page` if needed."""
    args = [arg.arg for arg in function.args.args]
    arg = next((one for one in function.args.args if one.arg == STEP), None)
    if arg is None:
        raise NotExportable(f"it does not take {STEP} as an argument of its own")
    line = lines[arg.lineno - 1]
    start, end = arg.col_offset, arg.end_col_offset or arg.col_offset
    if arg.annotation is not None:
        end = arg.annotation.end_col_offset or end
    given = any(_page_of(statement) == "page" for statement, _, _ in _calls(function))
    if given and "page" not in args and "page" not in _bound_in(function):
        changed = f"{line[:start]}page{line[end:]}"
    elif line[:start].rstrip().endswith(","):
        changed = f"{line[:start].rstrip()[:-1]}{line[end:]}"
    else:
        changed = line[:start] + re.sub(r"^\s*,\s*", "", line[end:])
    return _Edit(arg.lineno, arg.lineno, (changed,))


def _after_docstring(tree: ast.Module) -> int:
    """Return the number of lines before which imports may not stand."""
    last = 0
    for node in tree.body:
        docstring = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        future = isinstance(node, ast.ImportFrom) and node.module == "__future__"
        if not (docstring or future):
            break
        last = node.end_lineno or node.lineno
    return last
