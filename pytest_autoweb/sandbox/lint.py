"""Decides, before it runs, whether generated code stays inside the step language."""

import ast
import warnings

from pytest_autoweb.results import LintFinding
from pytest_autoweb.sandbox import policy
from pytest_autoweb.sandbox.lint_checks import Names, Place, bound_names, check_node, check_script

MAX_FINDINGS = 50


def lint_code(
    code: str,
    *,
    line_offset: int = 0,
    scripts: bool = True,
    offered: frozenset[str] = frozenset(),
) -> tuple[LintFinding, ...]:
    """Every reason why the code is refused; empty when it may run.

    Closed world: what `policy` and `members` do not list is a finding. Never raises.

    Args:
        code: Python source of one block or of a whole script.
        line_offset: added to each line, for a block cut out of a longer text.
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
    """The tree is larger or deeper than the policy allows."""


def _read(code: str) -> list[Place] | LintFinding:
    if len(code) > policy.MAX_SOURCE_CHARS:
        return _too_much(f"the code has more than {policy.MAX_SOURCE_CHARS} characters")
    try:
        with warnings.catch_warnings():
            # An odd escape in a string is worth a warning, not a refusal.
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
    """What only compiling tells, such as `return` outside a function.

    The worker would be ended for it: Python looks for the line of such an error in a file.
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


def _places(tree: ast.AST) -> list[Place]:
    """All nodes with their parents and positions, walked without recursion."""
    places: list[Place] = []
    stack: list[tuple[Place, int]] = [(Place(tree, None, 1, 1), 1)]
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
            stack.append((Place(child, place, line, col), depth + 1))
    return places


def _too_much(message: str) -> LintFinding:
    return LintFinding(line=1, col=1, code="AW002", message=message, hint="write less code")


def _moved(finding: LintFinding, offset: int) -> LintFinding:
    return finding.model_copy(update={"line": finding.line + offset}) if offset else finding
