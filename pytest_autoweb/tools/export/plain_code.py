"""The code of an attempt as plain Playwright: no marks, no sight, no placeholders. Pure text."""

import ast
import copy
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple, TypeGuard

from msgspec import Struct, field

from pytest_autoweb.agents.attempt.script_blocks import split_blocks
from pytest_autoweb.base.python_source import read_python
from pytest_autoweb.results.records import Attempt
from pytest_autoweb.sandbox.allowed_members import FINDERS, FUNCTIONS, LOOKS, PAGE_FUNCTIONS
from pytest_autoweb.tools.export.recorded_locator import NoLocator, written_again

HANDY = ("re", "json", "math", "datetime")
"""Modules that the step language provides without an import."""
_HEAD = re.compile(r"^# Step (\d+)$", re.MULTILINE)
_HEADING = re.compile(r"^\s*#\s*Step\b", re.IGNORECASE)
_NOT_CARRIED_OUT = re.compile(r"^\s*#\|")
_TAKES_FILES = frozenset({"set_input_files", "set_files"})
_SHOWING = frozenset({*LOOKS, *PAGE_FUNCTIONS})
_ONLY_HERE = frozenset({*FUNCTIONS, *LOOKS, *PAGE_FUNCTIONS})


class NotExportable(Exception):
    """Raised when no plain test does the same; the message gives people the reason."""


def literal(text: str) -> str:
    """Return a text as a Python literal, in double quotes where that needs no escapes."""
    shown = repr(text)
    return f'"{shown[1:-1]}"' if shown.startswith("'") and '"' not in text else shown


class RuntimeTexts(Struct, frozen=True):
    """Texts known only when a test runs, and the names that represent them in it.

    Args:
        names: identifiers, by the texts that they represent: secrets, the server's address.
    """

    names: Mapping[str, str]

    def pieces(self, text: str) -> Iterator[tuple[str, bool]]:
        """Yield the parts of a text: literal parts, or names of run-time texts."""
        texts = sorted(filter(None, self.names), key=len, reverse=True)
        if not texts:
            yield text, False
            return
        # An address must not match inside one with a longer port.
        found = "|".join(re.escape(one) + (r"(?!\d)" if one[-1].isdigit() else "") for one in texts)
        for part in re.split(f"({found})", text):
            if part:
                yield (self.names[part], True) if part in self.names else (part, False)

    def inside(self, text: str) -> bool:
        """Return whether part of the text is known only when the test runs."""
        return any(named for _, named in self.pieces(text))

    def expression(self, value: object) -> str:
        """Return a JSON value as a Python expression."""
        if isinstance(value, str):
            return self._text(value)
        if isinstance(value, Mapping):
            pairs = (f"{self._text(str(k))}: {self.expression(v)}" for k, v in value.items())
            return "{" + ", ".join(pairs) + "}"
        if isinstance(value, list | tuple):
            return "[" + ", ".join(map(self.expression, value)) + "]"
        return repr(value)

    def _text(self, text: str) -> str:
        parts = list(self.pieces(text))
        if not any(named for _, named in parts):
            return literal(text)
        if len(parts) == 1:
            return parts[0][0]
        braced = (
            f"{{{part}}}" if named else part.replace("{", "{{").replace("}", "}}")
            for part, named in parts
        )
        return "f" + literal("".join(braced))


class Step(NamedTuple):
    """A step of an exported test."""

    heading: str
    lines: tuple[str, ...]
    """Without indentation; lines inside a multi-line text are marked in `fixed`."""
    fixed: frozenset[int] = frozenset()
    """Indexes of lines that must not be indented, because they belong to a text."""


class PlainCode(Struct):
    """An attempt's translated code."""

    steps: list[Step] = field(default_factory=list)
    imports: list[str] = field(default_factory=list)
    """Import statements with one name each, in the order of use."""
    answers: bool = False
    """Whether it calls `answer`."""
    names: frozenset[str] = frozenset()
    """All names that the code uses."""
    frames: bool = False
    """Whether a step works in a frame."""


class TranslationInputs(NamedTuple):
    """The inputs of the translation besides the attempt."""

    runtime: RuntimeTexts
    files: Mapping[str, str]
    """Expressions for the files that the case may upload, by their names in the code."""
    answers: str = "answers"
    """The name of the list of answers."""
    frame: str = "frame"
    by_decisions: bool = False
    """The attempt consisted of decisions, each a separate block."""
    page: str = "page"
    """The expression for the page."""


def lines_in_texts(tree: ast.AST) -> frozenset[int]:
    """Return the lines that begin inside a multi-line text and so must not be indented."""
    return frozenset(
        line
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant | ast.JoinedStr)
        and not (isinstance(node, ast.Constant) and not isinstance(node.value, str | bytes))
        for line in range(node.lineno + 1, (node.end_lineno or node.lineno) + 1)
    )


def names_in(code: str) -> frozenset[str]:
    """Return all identifiers of a script; empty if it cannot be parsed."""
    tree = read_python(code)
    if tree is None:
        return frozenset()
    found = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    found |= {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
    found |= {
        (node.asname or node.name).partition(".")[0]
        for node in ast.walk(tree)
        if isinstance(node, ast.alias)
    }
    return frozenset(found | {n.name for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)})


def plain_code(attempt: Attempt, inputs: TranslationInputs) -> PlainCode:
    """Translate the code of an attempt that passed.

    Raises:
        NotExportable: a part of it has no equivalent in plain Playwright, or was not recorded.
    """
    made = PlainCode(names=names_in(attempt.code))
    hints = {step.index: step.description for step in attempt.plan_steps}
    hints |= {
        done.step_index: done.description for done in attempt.step_results if done.description
    }
    for index, context, code in _blocks(attempt, inputs.by_decisions):
        block = _Block(index, code, context, attempt, inputs)
        lines, fixed = block.translated()
        made.answers = made.answers or block.answers
        made.imports += [one for one in block.imports if one not in made.imports]
        if any(line.strip() and not line.lstrip().startswith("#") for line in lines):
            made.frames = made.frames or context != "page"
            hint = " ".join(hints.get(index, "").split())[:90]
            plain = "".join(char for char in hint if char.isprintable())
            heading = f"Step {len(made.steps) + 1}: {plain}".removesuffix(": ")
            made.steps.append(Step(heading, tuple(lines), fixed))
    bound = {bound_by(one) for one in made.imports}
    handy = [f"import {name}" for name in HANDY if name in made.names and name not in bound]
    made.imports = [*handy, *made.imports]
    return made


def _blocks(attempt: Attempt, by_decisions: bool) -> Iterator[tuple[int, str, str]]:
    """Yield number, context and code of each block that contributed to the success."""
    if not by_decisions:
        contexts = {result.step_index: result.context for result in attempt.step_results}
        for index, block in split_blocks(attempt.code).by_step.items():
            yield index, contexts.get(index, "page"), block.code
        return
    heads = list(_HEAD.finditer(attempt.code))
    if len(heads) != len(attempt.step_results):
        raise NotExportable("its decisions and their code do not fit together")
    ends = [head.start() for head in heads[1:]] + [len(attempt.code)]
    for head, end, result in zip(heads, ends, attempt.step_results, strict=True):
        # A decision that the browser could not perform had no effect.
        if result.ok:
            blank = "\n" * attempt.code.count("\n", 0, head.start())
            yield int(head[1]), "page", blank + attempt.code[head.start() : end]


def _only_shows(node: ast.AST) -> TypeGuard[ast.Expr]:
    """Tell whether a statement only asks for what the model's next turn is to show."""
    match node:
        case ast.Expr(value=ast.Call(func=ast.Attribute(attr=name))):
            return name in _SHOWING and not any(map(_is_finder, ast.walk(node)))
    return False


class _Edit(NamedTuple):
    start: int
    end: int
    text: str


class _Block:
    """The translation of one block."""

    def __init__(
        self, index: int, code: str, context: str, attempt: Attempt, inputs: TranslationInputs
    ) -> None:
        self._code, self._inputs = code, inputs
        self._frame = "" if context == "page" else context
        self._located = [
            call.located
            for call in attempt.tool_calls
            if call.step_index == index and call.method in FINDERS and call.ok
        ]
        self._index = index
        self.answers = False
        self.imports: list[str] = []

    def translated(self) -> tuple[list[str], frozenset[int]]:
        """Return the lines, and the indexes of those that must keep their indentation."""
        tree = read_python(self._code)
        if tree is None:
            raise NotExportable(f"step {self._index} is not valid Python")
        finders = sum(_is_finder(node) for node in ast.walk(tree))
        if finders != len(self._located):
            raise NotExportable(
                f"step {self._index} looks elements up {len(self._located)} times in {finders} "
                "places, so that no one locator can stand there"
            )
        edits = [edit for node in tree.body for edit in self._edits(node)]
        code = self._code
        for edit in sorted(edits, reverse=True):
            code = code[: edit.start] + edit.text + code[edit.end :]
        return self._lines(code)

    def _lines(self, code: str) -> tuple[list[str], frozenset[int]]:
        tree = read_python(code)
        if tree is None:
            raise NotExportable(f"step {self._index} cannot be written as plain Python")
        inside = lines_in_texts(tree)
        lines: list[str] = []
        fixed: set[int] = set()
        for number, line in enumerate(code.split("\n"), start=1):
            if number not in inside:
                if _NOT_CARRIED_OUT.match(line) or (not lines and _is_nothing(line)):
                    continue
                line = line.rstrip()
            else:
                fixed.add(len(lines))
            lines.append(line)
        while lines and not lines[-1]:
            lines.pop()
        if self._frame and lines:
            frame, said = self._inputs.frame, self._inputs.runtime.expression(self._frame)
            lines.insert(0, f"{frame} = frame_of(page, {said})")
            fixed = {index + 1 for index in fixed}
        return lines, frozenset(fixed)

    def _edits(self, node: ast.AST, *, in_function: bool = False) -> Iterator[_Edit]:
        if isinstance(node, ast.Global):
            # Names global to the steps are local to the test.
            yield self._edit(node, f"nonlocal {', '.join(node.names)}" if in_function else "")
        elif isinstance(node, ast.Import | ast.ImportFrom) and node.col_offset == 0:
            self.imports += _one_by_one(node)
            yield self._edit(node, "")
        elif _only_shows(node):
            # What a model was shown of the page has no effect on it.
            yield self._edit(node, "pass" if node.col_offset else "")
        elif (text := self._replacement(node)) is not None:
            yield self._edit(node, text)
        else:
            inside = in_function or isinstance(node, ast.FunctionDef)
            for child in ast.iter_child_nodes(node):
                yield from self._edits(child, in_function=inside)

    def _replacement(self, node: ast.AST) -> str | None:
        """Return the replacement of an expression; None if it stays unchanged."""
        inputs = self._inputs
        match node:
            case ast.Constant(value=str(text)) if inputs.runtime.inside(text):
                return inputs.runtime.expression(text)
            case ast.JoinedStr():
                return self._joined(node)
            case ast.Name(id="log"):
                return "print"
            case ast.Name(id="answer"):
                self.answers = True
                return f"{inputs.answers}.append"
            case ast.Name(id="page") if self._frame:
                return inputs.frame
            case ast.Name(id="page") if inputs.page != "page":
                return inputs.page
            case ast.Call() if _is_finder(node):
                return self._next_located(node)
            case ast.Call(func=ast.Attribute(attr=name)) if name in _TAKES_FILES:
                return self._with_files(node)
            case ast.Name(id=name) | ast.Attribute(attr=name) if name in _ONLY_HERE:
                raise NotExportable(f"step {self._index} calls {name}(), which only cells can do")
        return None

    def _joined(self, node: ast.JoinedStr) -> str | None:
        """Return an f-string with its parts replaced; None if no part needs it."""
        parts: list[ast.expr] = []
        for part in node.values:
            if isinstance(part, ast.Constant):
                for text, named in self._inputs.runtime.pieces(str(part.value)):
                    name = ast.FormattedValue(value=ast.Name(id=text), conversion=-1)
                    parts.append(name if named else ast.Constant(text))
            else:
                parts.append(_Changed(self._replacement).visit(copy.deepcopy(part)))
        changed = ast.unparse(ast.JoinedStr(values=parts))
        return None if changed == ast.unparse(node) else changed

    def _next_located(self, node: ast.Call) -> str:
        # An element searched for inside another one is found after that one.
        count = sum(map(_is_finder, ast.walk(node)))
        *_, located = self._located[:count]
        del self._located[:count]
        if located in ("", "?"):
            shown = ast.unparse(node)[:80]
            raise NotExportable(f"step {self._index}: no locator was recorded for {shown}")
        try:
            locator = written_again(located, self._inputs.runtime.expression)
            return re.sub(r"^page\b", lambda _: self._inputs.page, locator)
        except NoLocator:
            shown = ascii(located[:80])
            raise NotExportable(
                f"step {self._index}: what was recorded as a locator is none: {shown}"
            ) from None

    def _with_files(self, node: ast.Call) -> str | None:
        """Return a call with its files named by their paths relative to the case file."""
        files = self._inputs.files

        def place(inner: ast.AST) -> str | None:
            match inner:
                case ast.Constant(value=str(name)) if name in files:
                    return files[name]
            return self._replacement(inner)

        if not any(isinstance(n, ast.Constant) and n.value in files for n in ast.walk(node)):
            return None
        changed = copy.deepcopy(node)
        changed.func = _Changed(self._replacement).visit(changed.func)
        changed.args = [_Changed(place).visit(arg) for arg in changed.args]
        return ast.unparse(changed)

    def _edit(self, node: ast.AST, text: str) -> _Edit:
        assert isinstance(node, ast.expr | ast.stmt)
        return _Edit(
            _offset(self._code, node.lineno, node.col_offset),
            _offset(self._code, node.end_lineno or 1, node.end_col_offset or 0),
            text,
        )


class _Changed(ast.NodeTransformer):
    """Replaces each expression by a function's result for it, unless that is None."""

    def __init__(self, replacement: Callable[[ast.AST], str | None]) -> None:
        self._replacement = replacement

    def visit(self, node: ast.AST) -> Any:
        """Return the node, or its replacement."""
        text = self._replacement(node) if isinstance(node, ast.expr) else None
        if text is None:
            return self.generic_visit(node)
        return ast.parse(text, mode="eval").body


def _is_finder(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in FINDERS
    )


def _one_by_one(node: ast.Import | ast.ImportFrom) -> list[str]:
    """Return an import of several names as one import each."""
    head = f"from {node.module} import" if isinstance(node, ast.ImportFrom) else "import"
    return [f"{head} {ast.unparse(alias)}" for alias in node.names]


def bound_by(statement: str) -> str:
    """Return the name that an import of one name binds."""
    return statement.split()[-1].partition(".")[0]


def _is_nothing(line: str) -> bool:
    return not line.strip() or _HEADING.match(line) is not None


def _offset(code: str, line: int, column: int) -> int:
    """Return the index of a position that Python gives as a line and a UTF-8 byte offset."""
    lines = code.split("\n")
    before = lines[line - 1].encode()[:column].decode()
    return sum(len(one) + 1 for one in lines[: line - 1]) + len(before)
