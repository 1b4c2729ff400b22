"""Decides, before generated code runs, whether it stays within the step language."""

import ast
import difflib
import re
import string
import warnings
from collections.abc import Iterator
from typing import NamedTuple, Optional
from urllib.parse import urlsplit

from pytest_autoweb.base.errors import first_line
from pytest_autoweb.results.records import LintFinding
from pytest_autoweb.sandbox import allowed_python, refusal_hints
from pytest_autoweb.sandbox.allowed_members import (
    CLAIMS_OF,
    CLASSES,
    FINDERS,
    FUNCTIONS,
    LOOKS,
    PAGE_FUNCTIONS,
    SCRIPT_METHODS,
    member_of,
)


class NodePlace(NamedTuple):
    """A node of the syntax tree with its position and its parent."""

    node: ast.AST
    parent: Optional["NodePlace"]
    line: int
    col: int

    def finding(self, code: str, message: str, hint: str = "") -> LintFinding:
        """Return a finding at this position."""
        return LintFinding(line=self.line, col=self.col, code=code, message=message, hint=hint)


class Names(NamedTuple):
    """The names that the code binds itself, and those that this cell offers."""

    bound: frozenset[str]
    offered: frozenset[str]
    fields: frozenset[str] = frozenset()
    """Fields and methods of the code's own dataclasses."""


def bound_names(places: list[NodePlace]) -> frozenset[str]:
    """Return every name that the code binds anywhere, because it hides a builtin of that name."""
    names: set[str] = set()
    for place in places:
        match place.node:
            case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name):
                names.add(name)
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                names.add(name)
            case ast.ExceptHandler(name=str(name)):
                names.add(name)
            case ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
                names.add(name)
            case ast.MatchMapping(rest=str(name)):
                names.add(name)
            case ast.alias(name=name, asname=asname):
                names.add(asname or name.partition(".")[0])
    return frozenset(names)


def own_fields(places: list[NodePlace]) -> frozenset[str]:
    """Return the names of the fields and methods of all dataclasses that the code defines."""
    names: set[str] = set()
    for place in places:
        if place.parent is not None and isinstance(place.parent.node, ast.ClassDef):
            match place.node:
                case ast.AnnAssign(target=ast.Name(id=name)) | ast.FunctionDef(name=name):
                    names.add(name)
    return frozenset(name for name in names if allowed_python.may_be_a_field(name))


def check_node(place: NodePlace, names: Names) -> Iterator[LintFinding]:
    """Yield the findings about one node; its children are checked separately."""
    node = place.node
    # The exact type, because a subclass could be a node that the policy does not know.
    if type(node) not in allowed_python.NODES:
        yield _refused_syntax(place)
        return
    match node:
        case ast.Import():
            for alias in node.names:
                yield from _check_module(place, alias.name)
        case ast.ImportFrom():
            yield from _check_from(place, node)
        case ast.Name():
            yield from _check_name(place, node, names)
        case ast.Attribute():
            if not _names_a_class(place, node, names.bound):
                yield from _check_attribute(place, node, names)
        case ast.FunctionDef():
            yield from _check_function(place, node)
        case ast.ClassDef():
            yield from _check_class(place, node)
        case ast.MatchClass(kwd_attrs=attributes):
            yield from _check_class_pattern(place, attributes, names.fields)
        case ast.While():
            yield from _check_while(place, node)
        case ast.Call(func=ast.Name(id="open")) if "open" not in names.bound:
            yield from _check_open(place, node)
        case ast.Call():
            yield from _check_call(place, node)
    yield from _check_other_names(place, node, names.offered)


def check_script(place: NodePlace) -> Iterator[LintFinding]:
    """Yield a finding if the node runs a script of its own in the page."""
    if isinstance(place.node, ast.Attribute) and place.node.attr in SCRIPT_METHODS:
        message = f"{place.node.attr}() runs a script in the page, which `strict` refuses"
        hint = "read with locators: inner_text(), get_attribute(), count()"
        yield place.finding("AW310", message, hint)


def _refused_syntax(place: NodePlace) -> LintFinding:
    node = place.node
    for kind, (code, message, hint) in refusal_hints.REFUSED_NODES.items():
        if isinstance(node, kind):
            return place.finding(code, f"{message} is not available", hint)
    return place.finding("AW205", f"{type(node).__name__} is not available")


def _check_module(place: NodePlace, name: str) -> Iterator[LintFinding]:
    if name in allowed_python.MODULES:
        return
    for known in (name, name.partition(".")[0]):
        if known in refusal_hints.REFUSED_MODULES:
            code, hint = refusal_hints.REFUSED_MODULES[known]
            yield place.finding(code, f"the module {_quoted(name)} is not available", hint)
            return
    near = _near(name, allowed_python.MODULES)
    hint = (
        f"did you mean {near!r}?"
        if near
        else f"available: {', '.join(sorted(allowed_python.MODULES))}"
    )
    yield place.finding("AW101", f"the module {_quoted(name)} is not available", hint)


def _check_from(place: NodePlace, node: ast.ImportFrom) -> Iterator[LintFinding]:
    if node.level or node.module is None:
        yield place.finding("AW103", "relative imports are not available")
        return
    findings = list(_check_module(place, node.module))
    if findings:
        yield from findings
        return
    allowed = allowed_python.MODULES[node.module]
    for alias in node.names:
        if alias.name == "*":
            hint = f"name what you need: from {node.module} import …"
            yield place.finding("AW103", "`import *` is not available", hint)
        elif alias.name in refusal_hints.BOILERPLATE_NAMES:
            hint = refusal_hints.BOILERPLATE_NAMES[alias.name]
            yield place.finding("AW104", f"{alias.name!r} is not available", hint)
        elif alias.name not in allowed:
            near = _near(alias.name, allowed)
            hint = f"did you mean {near!r}?" if near else f"it has: {', '.join(sorted(allowed))}"
            message = f"{node.module} has no {_quoted(alias.name)} here"
            yield place.finding("AW102", message, hint)


def _check_name(place: NodePlace, node: ast.Name, names: Names) -> Iterator[LintFinding]:
    name = node.id
    yield from _check_spelling(place, name)
    if not isinstance(node.ctx, ast.Load):
        yield from _check_binding(place, name, names.offered)
    elif name in names.bound or (name in FUNCTIONS and name in names.offered):
        return
    elif name in refusal_hints.OFFERED_WHEN:
        yield _not_offered(place, name)
    elif name == "property" and place.parent is not None and _is_property(place.parent):
        return
    elif name in refusal_hints.BOILERPLATE_NAMES:
        hint = refusal_hints.BOILERPLATE_NAMES[name]
        yield place.finding("AW104", f"{name!r} is not available", hint)
    elif name in refusal_hints.REFUSED_BUILTINS:
        hint = refusal_hints.REFUSED_BUILTINS[name]
        yield place.finding("AW301", f"{name!r} is not available", hint)


def _check_spelling(place: NodePlace, name: str) -> Iterator[LintFinding]:
    if name.startswith("__"):
        hint = "call the code directly" if name == "__name__" else ""
        yield place.finding("AW302", f"the name {_quoted(name)} is not available", hint)


def _not_offered(place: NodePlace, name: str) -> LintFinding:
    message = f"{name!r} is not available in this cell"
    return place.finding("AW309", message, refusal_hints.OFFERED_WHEN[name])


def _check_binding(place: NodePlace, name: str, offered: frozenset[str]) -> Iterator[LintFinding]:
    if name in allowed_python.GIVEN_NAMES or (name in FUNCTIONS and name in offered):
        message = f"{name!r} is provided and may not be rebound"
        yield place.finding("AW303", message, "use another name, e.g. popup or result")


def _check_other_names(
    place: NodePlace, node: ast.AST, offered: frozenset[str]
) -> Iterator[LintFinding]:
    """Check names that the tree holds as plain strings."""
    match node:
        case (
            ast.FunctionDef(name=name)
            | ast.ClassDef(name=name)
            | ast.ExceptHandler(name=str(name))
            | ast.MatchAs(name=str(name))
            | ast.MatchStar(name=str(name))
            | ast.MatchMapping(rest=str(name))
        ):
            yield from _check_spelling(place, name)
            yield from _check_binding(place, name, offered)
        case ast.alias(asname=str(name)):
            yield from _check_spelling(place, name)
            # `from playwright.sync_api import expect` binds the given name to itself.
            yield from _check_binding(place, name, offered)
        case ast.alias(name=name):
            if name in allowed_python.GIVEN_NAMES and name != "expect":
                yield from _check_binding(place, name, offered)
        case ast.arg(arg=name) | ast.keyword(arg=str(name)):
            # A parameter may be called `page`, because it hides the given name only inside its
            # function.
            yield from _check_spelling(place, name)
        case ast.Global(names=names) | ast.Nonlocal(names=names):
            for name in names:
                yield from _check_spelling(place, name)
                yield from _check_binding(place, name, offered)


def _check_attribute(place: NodePlace, node: ast.Attribute, names: Names) -> Iterator[LintFinding]:
    name, kind, offered = node.attr, _kind_of(node.value), names.offered
    known = allowed_python.ATTRIBUTES if kind is None else CLASSES[kind].keys()
    if not isinstance(node.ctx, ast.Load):
        message = f"the attribute {_quoted(name)} is assigned or deleted"
        yield place.finding("AW305", message, "keep values in variables or a dict")
    elif name == "format" and kind is None:
        yield from _check_format(place, node)
    elif name in known or (name in offered and _has_finder(kind, name)):
        return
    elif name in refusal_hints.OFFERED_WHEN and name not in offered:
        yield _not_offered(place, name)
    elif name in names.fields and kind is None:
        return
    elif hint := refusal_hints.REFUSED_MEMBERS.get(name) or refusal_hints.REFUSED_OF.get(
        (kind, name)
    ):
        yield place.finding("AW308", f"{name!r} may not be used by generated code", hint)
    else:
        subject = "no object here has an" if kind is None else f"{kind} has no"
        hint = _attribute_hint(name, kind)
        yield place.finding("AW304", f"{subject} attribute {_quoted(name)}", hint)


def _names_a_class(place: NodePlace, node: ast.Attribute, bound: frozenset[str]) -> bool:
    """Tell whether this is a part of `type(x).__name__` or `x.__class__.__name__`.

    Both give a text. The class itself never reaches the code, which can read nothing but its name.
    """
    if not isinstance(node.ctx, ast.Load):
        return False
    parent = place.parent.node if place.parent else None
    match node:
        case ast.Attribute(value=ast.Attribute(attr="__class__"), attr="__name__"):
            return True
        case ast.Attribute(
            value=ast.Call(func=ast.Name(id="type"), args=[argument], keywords=[]), attr="__name__"
        ):
            # A `type` of the code's own could return anything.
            return "type" not in bound and not isinstance(argument, ast.Starred)
        case ast.Attribute(attr="__class__"):
            # Assignments to the name are refused as well.
            return (
                isinstance(parent, ast.Attribute)
                and parent.attr == "__name__"
                and isinstance(parent.ctx, ast.Load)
            )
    return False


def _has_finder(kind: str | None, name: str) -> bool:
    own = name in FINDERS or name in PAGE_FUNCTIONS or name in LOOKS
    return own and (kind is None or member_of(kind, name) is not None)


def _kind_of(node: ast.AST) -> str | None:
    """Return the Playwright class of an expression if the code alone reveals it."""
    match node:
        case ast.Name(id="page"):
            return "Page"
        case ast.Call(func=ast.Name(id="expect"), args=[actual, *_]):
            return CLAIMS_OF.get(_kind_of(actual) or "")
        case ast.Attribute(value=owner, attr=name):
            member = CLASSES.get(_kind_of(owner) or "", {}).get(name)
            return member.returns if member and member.kind == "link" else None
        case ast.Call(func=ast.Attribute(value=owner, attr=name)):
            member = member_of(_kind_of(owner) or "", name)
            return member.returns if member and member.kind in {"chain", "find"} else None
    return None


def _attribute_hint(name: str, kind: str | None) -> str:
    if name in ("__class__", "__name__"):
        return "only the name of a value's class can be read: type(error).__name__"
    if name.startswith("__"):
        return "names with two underscores are out of reach"
    near = _near_attribute(name, kind)
    if near:
        return f"did you mean {near!r}?"
    owners = [owner for owner, members in CLASSES.items() if name in members]
    return f"it belongs to {' and '.join(owners[:3])}" if owners else ""


def _check_format(place: NodePlace, node: ast.Attribute) -> Iterator[LintFinding]:
    """Refuse `.format` unless it is called on a literal with plain fields.

    A format string can read attributes of its arguments (`{0.__class__}`), which would bypass
    the lint.
    """
    parent = place.parent.node if place.parent else None
    called = isinstance(parent, ast.Call) and parent.func is node
    text = node.value.value if isinstance(node.value, ast.Constant) else None
    if called and isinstance(text, str) and _plain_fields(text):
        return
    yield place.finding(
        "AW306", "`.format` needs a literal with plain {} fields", "use an f-string"
    )


def _plain_fields(text: str) -> bool:
    try:
        fields = [(name, spec) for _, name, spec, _ in string.Formatter().parse(text)]
    except ValueError:
        return False
    return all(
        (name is None or re.fullmatch(r"\w*", name)) and "{" not in (spec or "")
        for name, spec in fields
    )


def _is_property(place: NodePlace) -> bool:
    """Tell whether this is a method of a class with the decorator `@property` alone."""
    decorators = getattr(place.node, "decorator_list", [])
    in_class = place.parent is not None and isinstance(place.parent.node, ast.ClassDef)
    return in_class and [getattr(one, "id", "") for one in decorators] == ["property"]


def _check_class(place: NodePlace, node: ast.ClassDef) -> Iterator[LintFinding]:
    """Refuse all classes except dataclasses without bases that have only fields and methods."""
    if node.bases or node.keywords or not _is_dataclass(node):
        hint = "write @dataclass above it and no bases, or use functions and dicts"
        yield place.finding("AW201", "a class that is not a plain dataclass is not available", hint)
    for part in node.body:
        at = NodePlace(part, place, part.lineno, part.col_offset + 1)
        match part:
            case ast.AnnAssign(target=ast.Name(id=name)) | ast.FunctionDef(name=name):
                if not allowed_python.may_be_a_field(name):
                    message = f"nothing in a dataclass may be called {_quoted(name)}"
                    hint = "take a name without underscores in front that Python does not use"
                    yield at.finding("AW201", message, hint)
            case ast.Pass() | ast.Expr(value=ast.Constant()):
                pass
            case _:
                hint = "give it fields, such as name: str = '', and methods"
                yield at.finding("AW201", "a dataclass holds fields and methods only", hint)


def _is_dataclass(node: ast.ClassDef) -> bool:
    match node.decorator_list:
        case [ast.Call(func=decorator, args=[])] | [decorator]:
            return ast.unparse(decorator) in {"dataclass", "dataclasses.dataclass"}
    return False


def _check_class_pattern(
    place: NodePlace, attributes: list[str], fields: frozenset[str]
) -> Iterator[LintFinding]:
    """Check the attributes that a pattern such as `case Page(url=u)` reads."""
    for name in attributes:
        if name not in allowed_python.ATTRIBUTES and name not in fields:
            yield place.finding("AW304", f"no object here has an attribute {_quoted(name)}")


def _check_function(place: NodePlace, node: ast.FunctionDef) -> Iterator[LintFinding]:
    if node.decorator_list and not _is_property(place):
        yield place.finding("AW202", "decorators are not available", "call the function instead")


def _check_while(place: NodePlace, node: ast.While) -> Iterator[LintFinding]:
    endless = isinstance(node.test, ast.Constant) and bool(node.test.value)
    if endless and not _leaves(node):
        hint = "give it a condition or a break: for _ in range(20): …"
        yield place.finding("AW307", "the loop never ends", hint)


def _leaves(loop: ast.While) -> bool:
    """Tell whether the loop's own body contains a `break`, `return` or `raise`."""
    stack: list[tuple[ast.AST, bool]] = [(child, False) for child in loop.body]
    while stack:
        node, inner = stack.pop()
        if isinstance(node, ast.FunctionDef | ast.Lambda):
            continue
        if isinstance(node, ast.Return | ast.Raise) or (isinstance(node, ast.Break) and not inner):
            return True
        if isinstance(node, ast.For | ast.While):
            stack.extend((child, True) for child in node.body)
            stack.extend((child, inner) for child in node.orelse)
        else:
            stack.extend((child, inner) for child in ast.iter_child_nodes(node))
    return False


def _check_call(place: NodePlace, node: ast.Call) -> Iterator[LintFinding]:
    """Check file names and addresses that are literals; the border checks all of them again."""
    if not isinstance(node.func, ast.Attribute):
        return
    method = node.func.attr
    values = [*node.args, *(k.value for k in node.keywords if k.arg in {"path", "files", "url"})]
    texts = [
        leaf.value
        for value in values
        for leaf in (value.elts if isinstance(value, ast.List | ast.Tuple) else [value])
        if isinstance(leaf, ast.Constant) and isinstance(leaf.value, str)
    ]
    if method == "goto":
        for text in texts[:1]:
            if scheme_of(text) not in {"", "http", "https", "about"}:
                yield place.finding("AW402", f"goto({_quoted(text)}) is not http or https")
    elif method in {"screenshot", "save_as", "set_files"} or (
        method == "set_input_files" and len(node.args) < 2
    ):
        for text in texts:
            yield from _check_file_name(place, text)


def _check_file_name(place: NodePlace, text: str) -> Iterator[LintFinding]:
    if "/" in text or "\\" in text or text in {".", ".."}:
        hint = "give a bare name such as 'report.csv'"
        yield place.finding("AW401", f"the file name {_quoted(text)} names a folder", hint)


def _check_open(place: NodePlace, node: ast.Call) -> Iterator[LintFinding]:
    """Check the name and the mode of `open(…)` where they are literals."""
    if node.args and isinstance(node.args[0], ast.Constant):
        yield from _check_file_name(place, str(node.args[0].value))
    modes = [*node.args[1:2], *(word.value for word in node.keywords if word.arg == "mode")]
    for mode in modes:
        if isinstance(mode, ast.Constant) and set(str(mode.value)) & set("wax+"):
            hint = "return data with answer(data)"
            yield place.finding("AW301", "open() reads files and writes none", hint)


def scheme_of(url: str) -> str:
    """Return the scheme of a URL, or an empty text if it has none or cannot be parsed."""
    try:
        return urlsplit(url.strip()).scheme.lower()
    except ValueError:
        return ""


def _quoted(text: str) -> str:
    return repr(text if len(text) <= 60 else text[:59] + "…")


def _near(name: str, candidates: "frozenset[str] | dict[str, frozenset[str]]") -> str | None:
    # Comparing takes quadratic time, so hostile names are cut.
    close = difflib.get_close_matches(name[:60], candidates, n=1, cutoff=0.75)
    return close[0] if close else None


def _near_attribute(name: str, kind: str | None) -> str | None:
    offered = allowed_python.PLAYWRIGHT_ATTRIBUTES if kind is None else CLASSES[kind].keys()
    snake = re.sub(r"(?<=[a-z0-9])([A-Z])", r"_\1", name).lower()
    for known in (snake, refusal_hints.SYNONYMS.get(snake, "")):
        if known in offered:
            return known
    if name.startswith("_"):
        return None
    close = difflib.get_close_matches(snake[:60], offered, 1, 0.7)
    if close or kind is not None:
        return close[0] if close else None
    return _near(snake, allowed_python.PYTHON_ATTRIBUTES)


MAX_FINDINGS = 50


def lint_code(
    code: str,
    *,
    line_offset: int = 0,
    scripts: bool = True,
    offered: frozenset[str] = frozenset(),
    fields: frozenset[str] = frozenset(),
) -> tuple[LintFinding, ...]:
    """Return every reason why the code is refused; the result is empty if it may run.

    Whatever `allowed_python` and `allowed_members` do not list is a finding. Never raises.

    Args:
        code: Python source of one block or of a whole script.
        line_offset: added to each line number, for a block that is part of a longer text.
        scripts: whether the code may run scripts of its own in the page.
        offered: the names of `OFFERED_WHEN` that this cell offers (`SandboxBorder.offered`).
        fields: names of fields and methods of dataclasses in earlier code (`fields_in`).
    """
    places = _read(code)
    if isinstance(places, LintFinding):
        return (_moved(places, line_offset),)
    names = Names(bound_names(places), offered, own_fields(places) | fields)
    found = {str(f): f for place in places for f in check_node(place, names)}
    if not scripts:
        found |= {str(f): f for place in places for f in check_script(place)}
    if not found and (unfit := _uncompilable(code)):
        return (_moved(unfit, line_offset),)
    ordered = sorted(found.values(), key=lambda f: (f.line, f.col, f.code, f.message))
    return tuple(_moved(finding, line_offset) for finding in ordered[:MAX_FINDINGS])


def fields_in(code: str) -> frozenset[str]:
    """Return the names of the fields and methods of dataclasses that earlier code defined."""
    places = _read(code)
    return frozenset() if isinstance(places, LintFinding) else own_fields(places)


class _TooMuchError(Exception):
    """Raised when the tree is larger or deeper than the policy allows."""


def _read(code: str) -> list[NodePlace] | LintFinding:
    if len(code) > allowed_python.MAX_SOURCE_CHARS:
        return _too_much(f"the code has more than {allowed_python.MAX_SOURCE_CHARS} characters")
    try:
        with warnings.catch_warnings():
            # An invalid escape in a string deserves a warning, not a refusal.
            warnings.simplefilter("ignore")
            return _places(ast.parse(code))
    except SyntaxError as error:
        return _not_python(error)
    except _TooMuchError as error:
        return _too_much(str(error))
    except (RecursionError, MemoryError):
        return _too_much("the code is nested too deeply to be read")
    except ValueError as error:
        reason = first_line(error)[:200]
        return LintFinding(line=1, col=1, code="AW001", message=f"not readable: {reason}")


def _uncompilable(code: str) -> LintFinding | None:
    """Find errors that only compilation reveals, such as `return` outside a function.

    In the worker such code would trip the audit hook, because Python opens a file to look up the
    line of such an error.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(code, "<step>", "exec", dont_inherit=True)
    except SyntaxError as error:
        return _not_python(error)
    except (RecursionError, MemoryError):
        return _too_much("the code is nested too deeply to be read")
    return None


def _not_python(error: SyntaxError) -> LintFinding:
    message = first_line(error.msg or "invalid syntax")
    line, col = max(1, error.lineno or 1), max(1, error.offset or 1)
    return LintFinding(line=line, col=col, code="AW001", message=f"not Python: {message}")


def _places(tree: ast.AST) -> list[NodePlace]:
    """Return all nodes with their parents and positions, walking without recursion."""
    places: list[NodePlace] = []
    stack: list[tuple[NodePlace, int]] = [(NodePlace(tree, None, 1, 1), 1)]
    while stack:
        place, depth = stack.pop()
        places.append(place)
        if len(places) > allowed_python.MAX_NODES:
            raise _TooMuchError(f"the code has more than {allowed_python.MAX_NODES} parts")
        if depth > allowed_python.MAX_DEPTH:
            raise _TooMuchError(f"the code is nested more than {allowed_python.MAX_DEPTH} deep")
        for child in ast.iter_child_nodes(place.node):
            line = getattr(child, "lineno", place.line)
            col = getattr(child, "col_offset", place.col - 1) + 1
            stack.append((NodePlace(child, place, line, col), depth + 1))
    return places


def _too_much(message: str) -> LintFinding:
    return LintFinding(line=1, col=1, code="AW002", message=message, hint="write less code")


def _moved(finding: LintFinding, offset: int) -> LintFinding:
    return finding.model_copy(update={"line": finding.line + offset})
