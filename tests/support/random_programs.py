"""Programs nobody would write: of Python's whole grammar, of the step language, and mutants.

Everything is drawn from a `random.Random`, so that hypothesis can drive it (`st.randoms()`) and so
can a loop that runs for hours. The grammar is the one that Python itself keeps: each class of `ast`
has its fields in its docstring.
"""

import ast
import copy
import random
import re
from collections.abc import Callable, Sequence

from pytest_autoweb.sandbox import allowed_python
from pytest_autoweb.sandbox.allowed_members import CLASSES

DUNDERS = (
    *("__class__", "__bases__", "__mro__", "__subclasses__", "__globals__", "__builtins__"),
    *("__code__", "__closure__", "__dict__", "__init__", "__import__", "__getattribute__"),
    *("__reduce__", "__reduce_ex__", "__self__", "__func__", "__wrapped__", "__traceback__"),
    *("__context__", "__loader__", "__spec__", "__module__", "__call__", "__format__"),
)
_INNER = ("gi_frame", "tb_frame", "f_globals", "f_back", "cr_frame", "_border", "_root", "_chain")
_OUTER = (
    "open",
    "exec",
    "eval",
    "getattr",
    "setattr",
    "globals",
    "object",
    "os",
    "sys",
    "builtins",
)
_TEXTS = (
    *("", "a", "x y", "0", "{}", "{0}", "{0.__class__}", "{x[__class__]}", "%s", "%(a)s", "os"),
    *("__import__('os')", "../x", "file:///etc/hostname", "h1", "$p", "\u202e", "\U0001f600", "\n"),
    *DUNDERS[:6],
)
_ODD = ("\0", "\ud800", "((((", "é", "＿＿class＿＿", ".", "\\\n", "\t", "\f")
_NUMBERS = ("0", "1", "-1", "2", "3", "7", "0.5", "1e9", "True", "None", "...", "b'x'", "2j")
_METHODS = sorted(allowed_python.ATTRIBUTES)
_BUILTINS = sorted(allowed_python.BUILTINS | {"print"})
_LOCALS = tuple(f"v{n}" for n in range(6))
_OPERATORS = ("+", "-", "*", "%", "//", "|", "&", "^", "==", "<", "in", "is", "and", "or")


# -- the whole grammar -----------------------------------------------------------------------


def random_program(rng: random.Random, size: int = 60) -> str:
    """A program of any syntax that this Python knows, most of it far outside the policy."""
    for _ in range(20):
        grown = _Grammar(rng, size)
        body = [grown.node(ast.stmt) for _ in range(rng.randint(1, 3))]
        tree = ast.Module(body=body, type_ignores=[])  # type: ignore[arg-type]
        try:
            return ast.unparse(ast.fix_missing_locations(tree))
        except (ValueError, TypeError, AttributeError, IndexError):
            continue  # the grammar allows trees that are no program
    return "pass"


class _Grammar:
    """Grows nodes until they are used up, then closes with the smallest ones."""

    def __init__(self, rng: random.Random, size: int) -> None:
        self._rng, self._left = rng, size

    def node(self, base: type[ast.AST]) -> ast.AST:
        self._left -= 1
        kinds = [kind for kind in base.__subclasses__() if "(" in (kind.__doc__ or "")]
        if self._left < 0 or not kinds:
            kinds = list(_SMALLEST.get(base, ()) or kinds or [base])
        kind = self._rng.choice(kinds)
        if kind is ast.JoinedStr:
            return ast.JoinedStr([self._make(ast.FormattedValue)])  # type: ignore[list-item]
        return self._make(kind)

    def _make(self, kind: type[ast.AST]) -> ast.AST:
        fields = re.findall(r"(\w+)([*?]*) (\w+)", (kind.__doc__ or "").partition("(")[2])
        made = {name: self._field(what, many, name) for what, many, name in fields}
        return kind(**made)

    def _field(self, what: str, many: str, name: str) -> object:
        if "*" in many:
            return [self._one(what, name) for _ in range(self._count(name))]
        if "?" in many and self._rng.random() < 0.5:
            return None
        return self._one(what, name)

    def _count(self, name: str) -> int:
        least = 1 if name in _NEVER_EMPTY else 0
        return least if self._left < 0 else max(least, self._rng.choice((0, 1, 1, 2)))

    def _one(self, what: str, name: str) -> object:
        rng = self._rng
        match what:
            case "identifier":
                return rng.choice((*_LOCALS, *DUNDERS, *_INNER, *_OUTER, "page", "type"))
            case "string":
                return None
            case "expr" if name == "format_spec":
                return None
            case "constant":
                return rng.choice((None, True, 1, -2.5, 1j, "x", b"y", ..., rng.choice(_TEXTS)))
            case "int":
                return rng.choice((-1, 115, 114)) if name == "conversion" else rng.randint(0, 1)
            case "expr_context":
                return ast.Load()
        if name in {"target", "targets", "optional_vars"}:
            return ast.Name(rng.choice((*_LOCALS, *DUNDERS[:3])))
        base: type[ast.AST] = getattr(ast, what)
        if base.__subclasses__() and "(" not in (base.__subclasses__()[0].__doc__ or "("):
            return rng.choice(base.__subclasses__())()
        return self.node(base)


_NEVER_EMPTY = frozenset(
    ("body", "names", "targets", "items", "generators", "cases", "handlers", "values")
)
_SMALLEST: dict[type[ast.AST], tuple[type[ast.AST], ...]] = {
    ast.expr: (ast.Name, ast.Constant),
    ast.stmt: (ast.Pass, ast.Break),
    ast.pattern: (ast.MatchAs,),
}


# -- the step language -----------------------------------------------------------------------


def step_language_program(rng: random.Random) -> str:
    """A program of the step language's own words, so that the lint lets most of it through.

    Each statement stands in a `try`, so that the next one runs, with the exception as a value.
    """
    return _StepLanguage(rng, daring=rng.choice((0.0, 0.0, 0.02))).program()


class _StepLanguage:
    def __init__(self, rng: random.Random, daring: float) -> None:
        self._rng, self._daring = rng, daring

    def program(self) -> str:
        lines = [f"{', '.join(_LOCALS)} = {', '.join(self._atom() for _ in _LOCALS)}"]
        for _ in range(self._rng.randint(2, 8)):
            local = self._rng.choice(_LOCALS)
            lines += ["try:", *(f"    {line}" for line in self._statement())]
            lines += ["except Exception as error:", f"    {local} = error"]
        return "\n".join(lines)

    def _statement(self) -> list[str]:
        rng, x = self._rng, self._expression
        local, other = rng.choice(_LOCALS), rng.choice(_LOCALS)
        module = rng.choice(sorted(allowed_python.MODULES))
        member = rng.choice(sorted(allowed_python.MODULES[module]))
        forms: tuple[Callable[[], list[str]], ...] = (
            lambda: [f"{local} = {x()}"],
            lambda: [f"{local} = {x(4)}"],
            lambda: [f"{local} {rng.choice('+-*|')}= {x()}"],
            lambda: [f"{local}: {x(1)} = {x()}"],
            lambda: [f"{local}, *{other} = {x()}"],
            lambda: [f"{local}[{x(1)}] = {x()}"],
            lambda: [f"for {local} in {x()}:", f"    {other} = {x()}", "    break"],
            lambda: [f"with {x()} as {local}:", f"    {other} = {x()}"],
            lambda: [
                f"def f({local}={x(1)}, *a, **k):",
                f"    return {x()}",
                f"{other} = f({x()})",
            ],
            lambda: [f"while {x(1)}:", f"    {local} = {x()}", "    break"],
            lambda: [f"if {x(1)}:", f"    {local} = {x()}", "else:", f"    {other} = {x()}"],
            lambda: [f"import {module} as {local}", f"{other} = {local}.{member}"],
            lambda: [f"from {module} import {member} as {local}", f"{other} = {local}({x(1)})"],
            lambda: [f"{local} = [{x(1)} for {other} in {x()} if {x(1)}]"],
            lambda: [f"raise {x()}"],
            lambda: [f"assert {x()}, {x(1)}"],
            lambda: [f"del {local}[{x(1)}]"],
        )
        return rng.choice(forms)()

    def _expression(self, depth: int = 2) -> str:
        if depth <= 0 or self._rng.random() < 0.15:
            return self._atom()
        rng = self._rng

        def x() -> str:
            return self._expression(depth - 1)

        forms: tuple[Callable[[], str], ...] = (
            lambda: f"{self._owner(depth)}.{self._attribute()}",
            lambda: f"{self._owner(depth)}.{self._attribute()}({self._arguments(depth)})",
            lambda: f"{self._owner(depth)}.{self._attribute()}({self._arguments(depth)})",
            lambda: f"{rng.choice(_BUILTINS)}({self._arguments(depth)})",
            lambda: f"{rng.choice(_BUILTINS)}({self._arguments(depth)})",
            lambda: f"{rng.choice(_LOCALS)}({self._arguments(depth)})",
            lambda: f"type({x()})({self._arguments(depth)})",
            lambda: f"({x()} {rng.choice(_OPERATORS)} {x()})",
            lambda: f"({x()})[{x()}]",
            lambda: f"({x()})[{x()}:]",
            lambda: f"(lambda *a, **k: {x()})",
            lambda: f"({x()} if {x()} else {x()})",
            lambda: f"[{x()}, *{x()}]",
            lambda: f"({x()}, {x()})",
            lambda: f"{{{x()}: {x()}, **{x()}}}",
            lambda: f"{{{x()}}}",
            lambda: f"[v for v in {x()}]",
            lambda: f"({x()} for v0 in {x()})",
            lambda: f"({rng.choice(_LOCALS)} := {x()})",
            lambda: f"f'{{{rng.choice(_LOCALS)}!r:>{rng.choice(('5', 'x', '{v1}'))}}}'",
            lambda: f"'{{}} {{0}}'.format({x()})",
            lambda: f"({rng.choice(_TEXTS)!r} % {x()})",
        )
        return rng.choice(forms)()

    def _owner(self, depth: int) -> str:
        return self._expression(depth - 1) if self._rng.random() < 0.6 else self._atom()

    def _arguments(self, depth: int) -> str:
        rng = self._rng
        shown = [self._expression(depth - 1) for _ in range(rng.choice((0, 1, 1, 2, 3)))]
        if rng.random() < 0.15:
            shown.append(f"*{self._expression(depth - 1)}")
        if rng.random() < 0.15:
            shown.append(f"{rng.choice(('key', 'default', 'name', 'timeout'))}={self._atom()}")
        return ", ".join(shown)

    def _atom(self) -> str:
        rng = self._rng
        if rng.random() < self._daring:
            return rng.choice((*_OUTER, *DUNDERS))
        return rng.choice(
            (
                rng.choice(_LOCALS),
                rng.choice(_LOCALS),
                rng.choice(_BUILTINS),
                rng.choice(("page", "expect", "re", "json", "math", "datetime", "log", "answer")),
                repr(rng.choice(_TEXTS)),
                f"({rng.choice(_NUMBERS)})",
                rng.choice(("[]", "{}", "()", "set()", "[1, 'a']", "{'a': 1}", "(1, 2)")),
            )
        )

    def _attribute(self) -> str:
        if self._rng.random() < self._daring:
            return self._rng.choice((*DUNDERS, *_INNER, "format", "format_map"))
        if self._rng.random() < 0.3:
            return self._rng.choice(sorted(CLASSES[self._rng.choice(sorted(CLASSES))]))
        return self._rng.choice(_METHODS)


# -- mutants ---------------------------------------------------------------------------------


def mutant(rng: random.Random, corpus: Sequence[str]) -> str:
    """A real program with some parts of another one, other names, or broken characters."""
    text = rng.choice(corpus)
    if rng.random() < 0.2:
        return _broken(rng, text)
    trees = []
    for source in (text, rng.choice(corpus)):
        try:
            trees.append(ast.parse(source))
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return _broken(rng, text)
    for _ in range(rng.randint(1, 4)):
        _graft(rng, *trees)
    try:
        return ast.unparse(ast.fix_missing_locations(trees[0]))
    except (ValueError, TypeError, AttributeError, RecursionError):
        return _broken(rng, text)


def _graft(rng: random.Random, tree: ast.AST, other: ast.AST) -> None:
    """Change one name or attribute, or put an expression of the other program into this one."""
    nodes = [node for node in ast.walk(tree) if isinstance(node, ast.expr)]
    if not nodes:
        return
    chosen = rng.choice(nodes)
    if isinstance(chosen, ast.Attribute) and rng.random() < 0.5:
        chosen.attr = rng.choice((rng.choice(_METHODS), rng.choice(DUNDERS), rng.choice(_INNER)))
        return
    if isinstance(chosen, ast.Name) and rng.random() < 0.5:
        chosen.id = rng.choice((rng.choice(_BUILTINS), rng.choice(_OUTER), rng.choice(_LOCALS)))
        return
    grafts = [node for node in ast.walk(other) if isinstance(node, ast.expr)]
    for parent in ast.walk(tree):
        for name, value in ast.iter_fields(parent):
            if value is chosen and grafts:
                # A copy: a part that came to hold itself would never end.
                setattr(parent, name, copy.deepcopy(rng.choice(grafts)))
                return


def _broken(rng: random.Random, text: str) -> str:
    place = rng.randint(0, len(text))
    piece = rng.choice(
        (*_TEXTS, "\0", "\ud800", "((((", "é", "＿＿class＿＿", ".", "\\\n", "\t", "\f")
    )
    return text[:place] + piece * rng.choice((1, 1, 1, 200)) + text[place + rng.randint(0, 3) :]
