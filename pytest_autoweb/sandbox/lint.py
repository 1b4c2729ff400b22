"""The lint: decides before a run whether generated code stays inside the step language."""

import ast
import warnings

from pytest_autoweb.results import LintFinding
from pytest_autoweb.sandbox import policy
from pytest_autoweb.sandbox.lint_checks import (
    Names,
    NodePlace,
    bound_names,
    check_node,
    check_script,
)

MAX_FINDINGS = 50


def lint_code(
    code: str,
    *,
    line_offset: int = 0,
    scripts: bool = True,
    offered: frozenset[str] = frozenset(),
) -> tuple[LintFinding, ...]:
    """Return every reason why the code is refused; the result is empty if it may run.

    The world is closed: whatever `policy` and `members` do not list is a finding. Never raises.

    Args:
        code: Python source of one block or of a whole script.
        line_offset: added to each line number, for a block that is part of a longer text.
        scripts: whether the code may run scripts of its own in the page.
        offered: the names of `policy.OFFERED_WHEN` that this cell offers (`Border.offered`).
    """
    places = _read(code)
    if isinstance(places, LintFinding):
        return (_moved(places, line_offset),)
    names = Names(bound_names(places), offered)
    found = {str(f): f for place in places for f in check_node(place, names)}
    if not scripts:
        found |= {str(f): f for place in places for f in check_script(place)}
    if not found and (unfit := _uncompilable(code)):
        return (_moved(unfit, line_offset),)
    ordered = sorted(found.values(), key=lambda f: (f.line, f.col, f.code, f.message))
    return tuple(_moved(finding, line_offset) for finding in ordered[:MAX_FINDINGS])


class _TooMuchError(Exception):
    """Raised when the tree is larger or deeper than the policy allows."""


def _read(code: str) -> list[NodePlace] | LintFinding:
    if len(code) > policy.MAX_SOURCE_CHARS:
        return _too_much(f"the code has more than {policy.MAX_SOURCE_CHARS} characters")
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
        reason = (str(error).splitlines() or [type(error).__name__])[0][:200]
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
    message = str(error.msg or "invalid syntax").splitlines()[0]
    line, col = max(1, error.lineno or 1), max(1, error.offset or 1)
    return LintFinding(line=line, col=col, code="AW001", message=f"not Python: {message}")


def _places(tree: ast.AST) -> list[NodePlace]:
    """Return all nodes with their parents and positions, walking without recursion."""
    places: list[NodePlace] = []
    stack: list[tuple[NodePlace, int]] = [(NodePlace(tree, None, 1, 1), 1)]
    while stack:
        place, depth = stack.pop()
        places.append(place)
        if len(places) > policy.MAX_NODES:
            raise _TooMuchError(f"the code has more than {policy.MAX_NODES} parts")
        if depth > policy.MAX_DEPTH:
            raise _TooMuchError(f"the code is nested more than {policy.MAX_DEPTH} deep")
        for child in ast.iter_child_nodes(place.node):
            line = getattr(child, "lineno", place.line)
            col = getattr(child, "col_offset", place.col - 1) + 1
            stack.append((NodePlace(child, place, line, col), depth + 1))
    return places


def _too_much(message: str) -> LintFinding:
    return LintFinding(line=1, col=1, code="AW002", message=message, hint="write less code")


def _moved(finding: LintFinding, offset: int) -> LintFinding:
    return finding.model_copy(update={"line": finding.line + offset}) if offset else finding
