"""Whether two calls are the same, however they are written.

Records hold calls as Python, as a report shows them. Whoever asks about one may write it with other
quotes, as JSON, or with its arguments by name; so both sides are parsed, and never executed.
"""

import ast
import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import lru_cache
from typing import Any

from pytest_autoweb.base.python_source import NOT_PYTHON
from pytest_autoweb.base.redaction import REDACTED
from pytest_autoweb.store.table_rows import parameter

# Late imports: playwright is heavy, and needed only for the names of parameters.

_WORDS = {"true": True, "false": False, "null": None}
_KEPT = 10_000


def recorded_as(tool: str, params: Mapping[str, Any]) -> Callable[[str, str], bool]:
    """Return whether a recorded target and arguments are those in question; absent ones fit any.

    Args:
        tool: the name of the tool, which says what its arguments are called.
        params: `target`, as text, and `arguments`: a value, a list or mapping of them, or a text in
            Python or JSON.
    """
    target, given = params.get("target"), params.get("arguments")
    targets = set() if target is None else set(_targets(parameter(str(target))))
    arguments = set() if given is None else {parameter(each) for each in _readings(tool, given)}

    def of_call(recorded: str) -> str:
        return parameter(_call(tool, recorded) or recorded)

    fits_target = _among(targets, _expression)
    fits_arguments = _among(arguments, of_call)
    return lambda target, arguments: fits_target(target) and fits_arguments(arguments)


def _among(wanted: set[str], spell: Callable[[str], str]) -> Callable[[str], bool]:
    """Return whether a recorded text, or its one spelling, is wanted; without any, all are."""
    if not wanted:
        return lambda recorded: True
    constants = {None if _is_masked(text) else _constants(text) for text in wanted}

    def among(recorded: str) -> bool:
        if recorded in wanted:
            return True
        # Thousands of calls are compared, and parsing each would take seconds.
        own = _constants(recorded)
        if own is not None and None not in constants and own not in constants:
            return False
        return spell(recorded) in wanted

    return among


def _is_masked(text: str) -> bool:
    """Return whether a part of the text may have been hidden or cut off after it was spelt."""
    return REDACTED in text or text.endswith("…")


_QUOTED = re.compile(r"""(['"])(.*?)\1""")
_NUMBER = re.compile(r"(?<!\w)\d[\w.]*")
_PLAIN_NUMBER = re.compile(r"\d+(\.\d*)?")
_HARD = ("\\", "\r", "\n", "\0")
_HARD_AROUND_TEXTS = re.compile(r"""['"#]|\0\s*\0|\w\0|(?<!\d)\.\d""")
"""Comments, lone quotes, texts side by side or with a prefix, and numbers such as `.5`."""


def _constants(text: str) -> tuple[tuple[str, ...], tuple[float, ...]] | None:
    """Return the texts and numbers in an expression, which are the same in each spelling.

    None where only a parser can tell.
    """
    if any(sign in text for sign in _HARD):
        return None
    # The text around, a quotation mark and what it quotes, in turn.
    parts = _QUOTED.split(text)
    around = "\0".join(parts[::3])
    numbers = _NUMBER.findall(around)
    if _HARD_AROUND_TEXTS.search(around) or not all(map(_PLAIN_NUMBER.fullmatch, numbers)):
        return None
    return tuple(sorted(parts[2::3])), tuple(sorted(map(float, numbers)))


def _targets(text: str) -> Iterator[str]:
    yield text
    yield _expression(text)
    yield _expression(f"page.{text}")


@lru_cache(maxsize=_KEPT)
def _expression(text: str) -> str:
    try:
        return ast.unparse(_Spelling().visit(ast.parse(text.strip(), mode="eval")))
    except NOT_PYTHON:
        return text.strip()


def _readings(tool: str, given: Any) -> Iterator[str]:
    """Yield all calls that may be meant by arguments, each in one spelling."""
    written = [repr(given)]
    if isinstance(given, str):
        yield given
        if call := _call(tool, given):
            yield call
        # A list or a mapping may stand for all arguments, and a bare word for a text.
        with suppress(*NOT_PYTHON):
            given = ast.literal_eval(_expression(given))
        written.append(repr(given))
    if isinstance(given, list):
        written.append(", ".join(map(repr, given)))
    if isinstance(given, dict) and all(str(name).isidentifier() for name in given):
        written.append(", ".join(f"{name}={value!r}" for name, value in given.items()))
    yield from filter(None, (_call(tool, each) for each in written))


@lru_cache(maxsize=_KEPT)
def _call(tool: str, arguments: str) -> str:
    """Return the call of a tool with these arguments in one spelling; empty if they are none."""
    place, _, method = tool.rpartition(".")
    try:
        tree = ast.parse(f"{_MADE_UP}({arguments}\n)", mode="eval")
        call = tree.body
        if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Name)):
            return ""
        spelt = _Spelling().visit(call)
        return ast.unparse(_by_name(spelt, _parameters(method, place)))
    except NOT_PYTHON:
        return ""


_MADE_UP = "call"


class _Spelling(ast.NodeTransformer):
    """Gives constants, lists, mappings and the arguments of calls one form."""

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return ast.Constant(_WORDS[node.id]) if node.id in _WORDS else node

    def visit_Constant(self, node: ast.Constant) -> ast.expr:
        if isinstance(node.value, float) and node.value.is_integer():
            return ast.Constant(int(node.value))
        return ast.Constant(node.value)

    def visit_Tuple(self, node: ast.Tuple) -> ast.expr:
        self.generic_visit(node)
        return ast.List(node.elts, ast.Load())

    def visit_Dict(self, node: ast.Dict) -> ast.expr:
        self.generic_visit(node)
        pairs = zip(node.keys, node.values, strict=True)
        ordered = sorted(pairs, key=lambda pair: ast.unparse(pair[0]) if pair[0] else "")
        return ast.Dict([key for key, _ in ordered], [value for _, value in ordered])

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        method = node.func.attr if isinstance(node.func, ast.Attribute) else ""
        return _by_name(node, _parameters(method))


def _by_name(node: ast.Call, names: tuple[str, ...]) -> ast.Call:
    """Return the call with its arguments by name, in the order of these; `None` is left out."""
    plain = not any(isinstance(arg, ast.Starred) for arg in node.args)
    if plain and len(node.args) <= len(names) and all(word.arg for word in node.keywords):
        named = [ast.keyword(name, arg) for name, arg in zip(names, node.args, strict=False)]
        node = ast.Call(node.func, [], [*named, *node.keywords])
    given = [
        word
        for word in node.keywords
        if not (isinstance(word.value, ast.Constant) and word.value.value is None)
    ]
    return ast.Call(node.func, node.args, sorted(given, key=lambda word: word.arg or ""))


@lru_cache(maxsize=_KEPT)
def _parameters(method: str, place: str = "") -> tuple[str, ...]:
    """Return the names of a method's positional parameters; none if Playwright has no such one."""
    from playwright import sync_api

    # A tool is named after the class of its object, with a small letter.
    named = f"{place[:1].upper()}{place[1:]}"
    own = {"expect": "LocatorAssertions", "context": "BrowserContext"}.get(place, named)
    for kind in (own, "Locator", "Page", "FrameLocator", "Frame"):
        found = getattr(getattr(sync_api, kind, None), method, None)
        if method and callable(found):
            both = inspect.Parameter.POSITIONAL_OR_KEYWORD
            every = list(inspect.signature(found).parameters.values())[1:]
            return tuple(each.name for each in every if each.kind is both)
    return ()
