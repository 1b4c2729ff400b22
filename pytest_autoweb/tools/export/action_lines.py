"""Which lines of a plain test act on the page, and which may replace them. Pure text.

Assertions stay unchanged, and so do lines that supply their values: such a line may only look for
its element elsewhere on the page.
"""

import ast
import textwrap
from collections.abc import Container, Iterator, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

from msgspec import Struct

from pytest_autoweb.base.python_source import NOT_PYTHON, read_python
from pytest_autoweb.browser.egress.request_policy import Origin, parse_origin
from pytest_autoweb.sandbox.allowed_members import CLASSES, words
from pytest_autoweb.sandbox.allowed_python import BUILTINS, PYTHON_ATTRIBUTES
from pytest_autoweb.sandbox.lint import lint_code
from pytest_autoweb.tools.export.plain_code import HANDY, lines_in_texts

MOST_LINES = 120
"""Maximum number of lines that may replace a block."""
_CHAINS = words(
    "locator get_by_role get_by_text get_by_label get_by_placeholder get_by_alt_text get_by_title "
    "get_by_test_id frame_locator filter nth and_ or_"
)
_LINKS = words("first last content_frame")
_ACTING = frozenset(
    name
    for kind in ("Page", "Frame", "Locator", "Keyboard", "Mouse", "APIRequestContext")
    for name, member in CLASSES[kind].items()
    if member.acting
)
_MAY = (
    _CHAINS
    | _LINKS
    | words(
        "all all_inner_texts all_text_contents blur bounding_box check clear click count dblclick "
        "down drag_and_drop drag_to expect_download expect_popup fill focus frame get_attribute "
        "go_back go_forward goto hover inner_text input_value insert_text is_checked is_disabled "
        "is_editable is_enabled is_hidden is_visible keyboard mouse move press press_sequentially "
        "reload scroll_into_view_if_needed select_option select_text set_checked tap text_content "
        "type uncheck up url value wait_for wait_for_load_state wait_for_timeout wait_for_url wheel"
    )
)
"""Permitted operations of new lines on a page: those of a person, and reading. No scripts, no
requests of their own, no files, nothing that changes the responses to the page."""
_CLAIMS = words("wait_for_url wait_for_function")
"""Methods by which exported tests assert."""
_CLAIM_NAMES = ("assert", "check_", "verify", "should", "ensure")


class NoActions(Exception):
    """Raised for a test whose actions cannot be separated from the rest; the message says why."""


class RefusedLines(Exception):
    """Raised for lines not allowed in a test; their author is shown the message too."""


class ActionBlock(NamedTuple):
    """Statements that act on the page, with nothing between them that must stay."""

    number: int
    """From 1."""
    first: int
    """Its first line in the file, from 1; comments above the first statement count."""
    last: int
    indent: str
    body: tuple[ast.stmt, ...]


class PlainTest(Struct, frozen=True, dict=True):
    r"""One test of a file, and its replaceable blocks.

    Args:
        text: the whole file, with `\n` at the end of each line.
        name: the name of the function.
    """

    text: str
    name: str

    @cached_property
    def function(self) -> ast.FunctionDef:
        """Return the test.

        Raises:
            NoActions: the file has no function of this name.
        """
        for node in self._tree.body:
            if isinstance(node, ast.FunctionDef) and node.name == self.name:
                return node
        raise NoActions("only functions of the file itself are mended, no methods and no `async`")

    @cached_property
    def _tree(self) -> ast.Module:
        tree = read_python(self.text)
        if tree is None:
            raise NoActions("the file is not Python that can be read")
        return tree

    @cached_property
    def _lines(self) -> list[str]:
        return self.text.split("\n")

    @cached_property
    def given(self) -> frozenset[str]:
        """Return the names that the test gets from outside: its fixtures, and those of the file."""
        names = {name for node in self._tree.body for name in _binds(node)}
        return _arguments(self.function) | names

    @cached_property
    def _of_the_file(self) -> frozenset[str]:
        """Return the file's functions without assertions, which may therefore act."""
        functions = (node for node in self._tree.body if isinstance(node, ast.FunctionDef))
        return frozenset(node.name for node in functions if not _asserts(node, helper=True))

    @cached_property
    def _own(self) -> frozenset[str]:
        return frozenset(name for node in self.function.body for name in _binds(node))

    def _opening(self) -> int:
        """Return the number of statements before the actions: up to the first address."""
        for index, statement in enumerate(self.function.body):
            called = _attributes(statement)
            if "goto" in called:
                return index + 1
            if called & _ACTING:
                break
        return 0

    def _may_change(self, statement: ast.stmt) -> bool:
        """Return whether a statement acts, asserts nothing and calls only functions known here."""
        if _asserts(statement) or not isinstance(statement, _STATEMENTS):
            return False
        roots = {_root(node.func) for node in ast.walk(statement) if isinstance(node, ast.Call)}
        known = {"page", "", *HANDY, *self._own, *BUILTINS, *self._of_the_file}
        return roots <= known

    @cached_property
    def _kept(self) -> frozenset[int]:
        """Return the positions of statements in the body that must stay unchanged."""
        body = self.function.body
        start = self._opening()
        kept = {index for index in range(len(body)) if index < start}
        kept |= {index for index, node in enumerate(body) if not self._may_change(node)}
        return frozenset(kept | self._fixed(self._deciding_by(kept)))

    def _fixed(self, deciding: frozenset[str]) -> set[int]:
        """Return the positions of fixed actions: those without a locator that could change.

        They supply an assertion's value, or do something new lines may not, such as run a script.
        """
        return {
            index
            for index, node in enumerate(self.function.body)
            if not any(map(_is_chain, ast.walk(node)))
            and (_names(node) & deciding or _attributes(node) & (_PLAYWRIGHT - _MAY))
        }

    @cached_property
    def deciding(self) -> frozenset[str]:
        """Return the test's names whose values its assertions depend on."""
        return self._deciding_by(self._kept)

    def _deciding_by(self, kept: "set[int] | frozenset[int]") -> frozenset[str]:
        body = self.function.body
        found = frozenset().union(*(_names(body[index]) for index in kept)) & self._own
        while True:
            touching = (_names(node) for node in body if _names(node) & found)
            more = found.union(*touching) & self._own
            if more == found:
                return found
            found = more

    @cached_property
    def blocks(self) -> tuple[ActionBlock, ...]:
        """Return the parts of the test that may be replaced.

        Raises:
            NoActions: there are none, or two statements share a line.
        """
        groups: list[list[ast.stmt]] = [[]]
        for index, node in enumerate(self.function.body):
            if index in self._kept:
                groups.append([])
            else:
                groups[-1].append(node)
        found = tuple(
            self._block(number, group) for number, group in enumerate(filter(None, groups), start=1)
        )
        if not any(_acts(node) for block in found for node in block.body):
            raise NoActions("it has no actions that could be mended")
        return found

    def _block(self, number: int, body: Sequence[ast.stmt]) -> ActionBlock:
        first, last = body[0].lineno, body[-1].end_lineno or body[-1].lineno
        lines = self._lines[first - 1 : last]
        outside = (node for node in self.function.body if node not in body)
        if any(first <= (node.end_lineno or 0) and node.lineno <= last for node in outside):
            raise NoActions(f"line {first} holds several statements")
        indent = lines[0][: body[0].col_offset]
        if indent.strip():
            raise NoActions(f"line {first} holds several statements")
        # The comment above the first statement describes it, so it belongs to the block.
        while self._lines[first - 2].startswith(f"{indent}#"):
            first -= 1
        return ActionBlock(number, first, last, indent, tuple(body))

    def shown(self) -> str:
        """Return the source of the test, with a line before and after each block."""
        lines = []
        starts = {block.first: block for block in self.blocks}
        ends = {block.last: block for block in self.blocks}
        for number in range(self.function.lineno, (self.function.end_lineno or 0) + 1):
            if block := starts.get(number):
                lines.append(f"{block.indent}#>>> block {block.number}")
            lines.append(self._lines[number - 1])
            if block := ends.get(number):
                lines.append(f"{block.indent}#<<< block {block.number}")
        return "\n".join(lines)

    def idle(self) -> str:
        """Return the file with the test's actions removed.

        Statements that only read a value for an assertion stay, because without them the assertion
        would fail for a meaningless reason.
        """
        actions = [node for block in self.blocks for node in block.body]
        gone = [node for node in actions if _acts(node) or not _binds(node) & self.deciding]
        # A call of a function that acts is an action as well.
        acting = {node.name for node in gone if isinstance(node, ast.FunctionDef)}
        gone += [node for node in self.function.body if _is_call_of(node, acting)]
        lines = list(self._lines)
        for node in gone:
            for number in range(node.lineno, (node.end_lineno or node.lineno) + 1):
                lines[number - 1] = ""
        return "\n".join(lines)

    def repaired(self, code: Mapping[int, str]) -> str:
        """Return the file with new lines in place of blocks, and everything else unchanged.

        Args:
            code: the new lines, by the numbers of their blocks.

        Raises:
            RefusedLines: the lines do something that is not allowed.
        """
        lines = list(self._lines)
        for block in reversed(self.blocks):
            if (new := code.get(block.number)) is None:
                continue
            new = textwrap.dedent(new).strip("\n")
            self._check(block, new)
            fixed = lines_in_texts(ast.parse(new))
            lines[block.first - 1 : block.last] = [
                line if number in fixed or not line.strip() else f"{block.indent}{line.rstrip()}"
                for number, line in enumerate(new.split("\n"), start=1)
            ]
        if unknown := code.keys() - {block.number for block in self.blocks}:
            raise RefusedLines(f"there is no block {min(unknown)}")
        text = "\n".join(lines)
        # The rules above should make this impossible, but a proof must not rest on them alone.
        if PlainTest(text, self.name)._stays() != self._stays():
            raise RefusedLines("they change more than actions")
        return text

    def _stays(self) -> list[str]:
        own = [ast.dump(self.function.body[index]) for index in sorted(self._kept)]
        rest = [ast.dump(node) for node in self._tree.body if node is not self.function]
        head = [ast.dump(self.function.args), *map(ast.dump, self.function.decorator_list)]
        return [*rest, *head, *own]

    def _check(self, block: ActionBlock, code: str) -> None:
        """Reject new lines that do more than act on the page, or that touch deciding values."""
        if len(code.split("\n")) > MOST_LINES:
            raise RefusedLines(f"they are more than {MOST_LINES} lines")
        if any(not char.isprintable() and char != "\n" for char in code):
            raise RefusedLines("they hold characters that nobody can see")
        try:
            body = ast.parse(code).body
        except NOT_PYTHON as error:
            raise RefusedLines(f"they are not Python: {str(error)[:100]}") from None
        if not body:
            raise RefusedLines("they hold no statement")
        before = [_dump(node, self.deciding) for node in block.body]
        after = [_dump(node, self.deciding) for node in body]
        # A line that does the same as an earlier one, perhaps elsewhere on the page, is allowed.
        new = [node for node, dump in zip(body, after, strict=True) if dump not in before]
        for node in new:
            self._check_new(node)
        if _touching(block.body, before, self.deciding) != _touching(body, after, self.deciding):
            used = frozenset().union(*map(_names, [*block.body, *body])) & self.deciding
            listed = ", ".join(sorted(used))
            raise RefusedLines(
                f"assertions rest on {listed}: lines that use such a name must stay as they are, "
                "except for where they look for their element"
            )
        self._check_names(block, body)
        for call in (call for node in new for call in _calls(node)):
            self._check_call(call)

    def _check_names(self, block: ActionBlock, body: Sequence[ast.stmt]) -> None:
        used = frozenset().union(*map(_names, (n for b in self.blocks for n in b.body)))
        known = (used | _arguments(self.function) | self._own) - {
            "page",
            "expect",
            *HANDY,
            *BUILTINS,
        }
        # The lint does not know fixtures, so a preceding line binds them.
        head = f"{' = '.join(sorted(known))} = 0\n" if known else "\n"
        if findings := lint_code(head + "\n".join(map(ast.unparse, body)), line_offset=-1):
            raise RefusedLines(f"they are not in the step language: {findings[0]}")
        bound = frozenset().union(*map(_binds, body))
        allowed = frozenset().union(*map(_binds, block.body))
        if wrong := (bound - allowed) & (self.given | self._own | BUILTINS | {"page", *HANDY}):
            raise RefusedLines(f"they give {min(wrong)!r} another meaning")
        names = {n.id for node in body for n in ast.walk(node) if isinstance(n, ast.Name)}
        if unknown := names - known - bound - BUILTINS - {"page", *HANDY}:
            raise RefusedLines(f"there is no {min(unknown)!r} for actions in this test")

    def _check_new(self, statement: ast.stmt) -> None:
        if _asserts(statement):
            raise RefusedLines("they assert something, and only actions are asked for")
        called = {id(node.func) for node in ast.walk(statement) if isinstance(node, ast.Call)}
        for node in ast.walk(statement):
            if not isinstance(node, _ACTIONS):
                raise RefusedLines(f"they hold a {type(node).__name__}, and may only act")
            if isinstance(node, ast.Attribute):
                _check_member(node, called=id(node) in called)
            if isinstance(node, ast.For | ast.comprehension):
                _check_rounds(node.iter)
            if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
                _check_number(node.value)

    def _check_call(self, call: ast.Call) -> None:
        """Reject a call that could leave the site, or whose effect cannot be checked here."""
        match call.func:
            case ast.Attribute(attr="goto"):
                self._check_address(call)
            case ast.Attribute():
                pass
            case ast.Name(id="range"):
                _check_range(call)
            case ast.Name(id=name) if name in BUILTINS or name in self._staying:
                pass
            case _ if ast.dump(call) not in self._calls:
                raise RefusedLines(
                    f"they call {ast.unparse(call.func)[:60]} in another way than the test did"
                )

    @cached_property
    def _staying(self) -> frozenset[str]:
        """Return the functions of the file and the test that do only what new lines may do."""
        found = [*self._tree.body, *self.function.body]
        functions = [node for node in found if isinstance(node, ast.FunctionDef)]
        return frozenset(
            node.name
            for node in functions
            if not _attributes(node) & ((_PLAYWRIGHT - _MAY) | {"goto"})
            and all(
                isinstance(n.func, ast.Attribute) or _root(n.func) in BUILTINS for n in _calls(node)
            )
        )

    @cached_property
    def _calls(self) -> frozenset[str]:
        """Return the calls in the blocks of the test as it stands."""
        body = (node for block in self.blocks for node in block.body)
        return frozenset(ast.dump(call) for node in body for call in _calls(node))

    def _check_address(self, call: ast.Call) -> None:
        match call.args:
            case [ast.Constant(value=str(url))] if _is_path(url):
                return
            case [ast.Constant(value=str(url))] if parse_origin(url) in self._origins:
                return
            case [
                ast.JoinedStr(
                    values=[
                        # Cut or quoted, an origin may be another one.
                        ast.FormattedValue(
                            value=ast.Name(id=name), conversion=-1, format_spec=None
                        ),
                        ast.Constant(value=rest),
                    ]
                )
            ] if name in self.given and _is_path(str(rest)):
                return
        raise RefusedLines("they open an address that is none of the test's own site")

    @cached_property
    def _origins(self) -> frozenset[Origin]:
        found = map(parse_origin, texts_of(self.text))
        return frozenset(origin for origin in found if origin)


_STATEMENTS = (
    ast.Expr, ast.Assign, ast.AnnAssign, ast.AugAssign, ast.With, ast.For, ast.If, ast.FunctionDef,
    ast.Nonlocal,
)  # fmt: skip
_ACTIONS = (
    *(ast.Expr, ast.Assign, ast.AnnAssign, ast.AugAssign, ast.With, ast.withitem, ast.For, ast.If),
    *(ast.Pass, ast.Break, ast.Continue),
    *(ast.Name, ast.Load, ast.Store, ast.Attribute, ast.Call, ast.keyword, ast.Starred),
    *(ast.Constant, ast.JoinedStr, ast.FormattedValue, ast.Subscript, ast.Slice),
    *(ast.List, ast.Tuple, ast.Dict, ast.Set, ast.ListComp, ast.GeneratorExp, ast.comprehension),
    # No power and no product: a text or a number of any size is quickly written.
    *(ast.BinOp, ast.Add, ast.Sub, ast.BitOr, ast.UnaryOp, ast.USub, ast.Not, ast.IfExp),
    *(ast.BoolOp, ast.And, ast.Or, ast.Compare, ast.cmpop),
)
"""The syntax of new lines, within the lint's own rules."""
_PROPERTIES = _LINKS | words("keyboard mouse url value")
"""Members that are read; all others are called where they stand, and are never values."""
_MOST_ROUNDS = 100
_MOST = 1_000_000


def _check_member(node: ast.Attribute, *, called: bool) -> None:
    if not _may_use(node.attr):
        raise RefusedLines(f"they use .{node.attr}, and may only do what a person does with a page")
    is_flag = isinstance(node.value, ast.Name) and node.value.id in HANDY
    if not called and node.attr not in _PROPERTIES and not is_flag:
        raise RefusedLines(f"they use .{node.attr} without calling it")


def _check_rounds(source: ast.expr) -> None:
    """Reject a loop over what may have no end."""
    inner = (ast.Name, ast.List, ast.Tuple, ast.Dict, ast.Set, ast.ListComp, ast.Subscript)
    match source:
        case ast.Call(func=ast.Attribute() | ast.Name(id="range")):
            return
        case ast.Call(func=ast.Name(id="enumerate" | "reversed" | "sorted" | "zip"), args=each):
            for one in each:
                _check_rounds(one)
        case _ if not isinstance(source, (*inner, ast.Constant)):
            raise RefusedLines("a loop goes over a list, or over a `range` of numbers")


def _check_range(call: ast.Call) -> None:
    for number in call.args:
        match number:
            case ast.Constant(value=int(value)) if value <= _MOST_ROUNDS:
                continue
        raise RefusedLines(f"a `range` is of numbers up to {_MOST_ROUNDS}")


def _check_number(number: float) -> None:
    if number > _MOST:
        raise RefusedLines(f"their numbers are at most {_MOST:,}")


def _is_path(url: str) -> bool:
    """Tell whether a browser takes a text for a path on the site where it is."""
    # It drops line breaks and tabs wherever they are, and reads a backslash as a slash.
    return url.startswith("/") and url.isprintable() and url[1:2] not in ("/", "\\")


def _calls(node: ast.AST) -> Iterator[ast.Call]:
    return (one for one in ast.walk(node) if isinstance(one, ast.Call))


def _arguments(function: ast.FunctionDef) -> frozenset[str]:
    return frozenset(n.arg for n in ast.walk(function.args) if isinstance(n, ast.arg))


def _may_use(name: str) -> bool:
    return name in _MAY or (name in PYTHON_ATTRIBUTES and name not in _PLAYWRIGHT)


_PLAYWRIGHT = frozenset(name for members in CLASSES.values() for name in members)


def _root(node: ast.expr) -> str:
    """Return the name at the start of a chain of calls; "" for values such as texts."""
    while True:
        match node:
            case ast.Call(func=inner) | ast.Attribute(value=inner) | ast.Subscript(value=inner):
                node = inner
            case ast.Name(id=name):
                return name
            case _:
                return ""


def _names(node: ast.AST) -> frozenset[str]:
    return frozenset(one.id for one in ast.walk(node) if isinstance(one, ast.Name)) | _binds(node)


def _binds(node: ast.AST) -> frozenset[str]:
    found: set[str] = set()
    for one in ast.walk(node):
        match one:
            case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
                found.add(name)
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                found.add(name)
            case ast.ExceptHandler(name=str(name)):
                found.add(name)
            case ast.Nonlocal(names=names) | ast.Global(names=names):
                found.update(names)
            case ast.alias(name=name, asname=other):
                found.add((other or name).partition(".")[0])
    return frozenset(found)


def _attributes(node: ast.AST) -> frozenset[str]:
    return frozenset(one.attr for one in ast.walk(node) if isinstance(one, ast.Attribute))


def _acts(node: ast.AST) -> bool:
    """Return whether a statement may change the page."""
    return bool(_attributes(node) & _ACTING)


def _is_call_of(node: ast.stmt, functions: Container[str]) -> bool:
    match node:
        case ast.Expr(value=ast.Call(func=ast.Name(id=name))):
            return name in functions
    return False


def _asserts(node: ast.AST, *, helper: bool = False) -> bool:
    """Return whether a statement asserts something; helpers may also raise their own errors."""
    for one in ast.walk(node):
        match one:
            case ast.Assert():
                return True
            case ast.Raise() if not helper:
                return True
            case ast.Call(func=ast.Name(id=name)):
                if name in ("expect", "eventually") or name.startswith(_CLAIM_NAMES):
                    return True
            case ast.Call(func=ast.Attribute(value=owner, attr=name)):
                claims = name in _CLAIMS and not helper
                if claims or name.startswith(_CLAIM_NAMES) or _root(owner) == "pytest":
                    return True
    return False


def _is_chain(node: ast.AST) -> bool:
    match node:
        case ast.Call(func=ast.Attribute(attr=name)):
            return name in _CHAINS
        case ast.Attribute(attr=name):
            return name in _LINKS
    return False


class _Elsewhere(ast.NodeTransformer):
    """Replaces each chain of locators by a marker, so that only the rest is compared."""

    def __init__(self, deciding: frozenset[str]) -> None:
        self._deciding = deciding

    def visit(self, node: ast.AST) -> ast.AST:
        """Return the node, or the marker."""
        if not _is_chain(node):
            return self.generic_visit(node)
        inner: ast.AST = node
        given: list[ast.AST] = []
        while _is_chain(inner):
            if isinstance(inner, ast.Call):
                given += [*inner.args, *(word.value for word in inner.keywords)]
                inner = inner.func
            assert isinstance(inner, ast.Attribute)
            inner = inner.value
        if not isinstance(inner, ast.Name) or not all(map(self._plain, given)):
            return self.generic_visit(node)
        return ast.Name(id=f"located by {inner.id}", ctx=ast.Load())

    def _plain(self, argument: ast.AST) -> bool:
        """Return whether an argument only describes what to look for."""
        allowed = (
            ast.Constant, ast.Name, ast.Load, ast.JoinedStr, ast.FormattedValue, ast.Call,
            ast.Attribute, ast.UnaryOp, ast.USub, ast.BinOp, ast.Add, ast.BitOr, ast.keyword,
        )  # fmt: skip
        return all(
            isinstance(one, allowed)
            and not (isinstance(one, ast.Name) and one.id in self._deciding)
            and (not isinstance(one, ast.Call) or _is_chain(one) or _root(one) == "re")
            for one in ast.walk(argument)
        )


def _dump(node: ast.stmt, deciding: frozenset[str]) -> str:
    """Return a statement as text, without the locators of its elements."""
    return ast.dump(_Elsewhere(deciding).visit(ast.parse(ast.unparse(node))))


def _touching(
    body: Sequence[ast.stmt], dumps: Sequence[str], deciding: frozenset[str]
) -> list[str]:
    pairs = zip(body, dumps, strict=True)
    return [dump for node, dump in pairs if _names(node) & deciding]


def texts_of(text: str) -> Iterator[str]:
    """Yield all texts in a file of Python."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def environment_names(text: str) -> Iterator[str]:
    """Yield the environment variables that a file reads by a literal name."""
    for node in ast.walk(ast.parse(text)):
        match node:
            case (
                ast.Subscript(
                    value=ast.Attribute(attr="environ"), slice=ast.Constant(value=str(name))
                )
                | ast.Call(
                    func=ast.Attribute(value=ast.Attribute(attr="environ"), attr="get"),
                    args=[ast.Constant(value=str(name)), *_],
                )
                | ast.Call(
                    func=ast.Attribute(attr="getenv") | ast.Name(id="getenv"),
                    args=[ast.Constant(value=str(name)), *_],
                )
            ):
                yield name
