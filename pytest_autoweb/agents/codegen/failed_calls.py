"""The calls that failed in earlier attempts, which a retry must not make again. Pure text."""

import ast
from collections.abc import Collection, Iterable, Sequence

from pytest_autoweb.agents.correction.retry_decision import may_pass
from pytest_autoweb.base.python_source import NOT_PYTHON, read_python
from pytest_autoweb.results.records import Attempt

Pair = tuple[str, str]
"""A locator in normal form, and a method."""


def normalized(expression: str) -> str:
    """Return an expression in one spelling, so that quotes and spaces make no difference."""
    try:
        return ast.unparse(ast.parse(expression.strip(), mode="eval"))
    except NOT_PYTHON:
        return expression.strip()


def failed_pairs(attempts: Iterable[Attempt]) -> frozenset[Pair]:
    """Return the calls that failed; of a script that ran to its end, its only acting call.

    Transient failures are left out, because repeating the call may then help. So is a single call
    that another script made along with others: a different call may have been missing.
    """
    ran = [attempt for attempt in attempts if not may_pass(attempt)]
    together = [acted for attempt in ran if len(acted := acted_pairs(attempt)) > 1]
    return frozenset(pair for attempt in ran for pair in _failed_in(attempt, together))


def _failed_in(attempt: Attempt, together: Sequence[Collection[Pair]]) -> set[Pair]:
    if failed := {(normalized(c.target), c.method) for c in attempt.tool_calls if not c.ok}:
        return failed
    acted = acted_pairs(attempt)
    known = any(acted <= set(others) for others in together)
    return set() if known or len(acted) != 1 else acted


def acted_pairs(attempt: Attempt) -> set[Pair]:
    """Return the acting calls of an attempt that succeeded."""
    return {(normalized(c.target), c.method) for c in attempt.tool_calls if c.ok and c.acting}


def repeated_calls(code: str, attempts: Sequence[Attempt]) -> tuple[str, ...]:
    """Return a sentence for each call that failed in an attempt; empty if there are none.

    A call that failed but worked later in the same attempt, for example after a turn corrected it,
    may be made again. Other elements may be named, because turns can reach pages that no attempt
    has seen.
    """
    tree = read_python(code)
    if tree is None:
        return ()  # the lint reports syntax errors with their line
    banned = set(failed_pairs(attempts))
    for attempt in attempts:
        failed = {(normalized(c.target), c.method) for c in attempt.tool_calls if not c.ok}
        banned -= failed & acted_pairs(attempt)
    made = [(ast.unparse(f.value), f.attr) for f in map(_function, outermost_calls(tree))]
    return tuple(f"{on}.{what}() was tried and failed" for on, what in made if (on, what) in banned)


def _function(call: ast.Call) -> ast.Attribute:
    assert isinstance(call.func, ast.Attribute), "only calls of methods are looked at"
    return call.func


def outermost_calls(tree: ast.AST) -> Iterable[ast.Call]:
    """Yield the calls on `page` that are not the receiver of another call."""
    inner: set[int] = set()
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        below: ast.AST = node.func.value
        while isinstance(below, ast.Attribute | ast.Call):
            inner.add(id(below))
            below = below.value if isinstance(below, ast.Attribute) else below.func
        if id(node) not in inner and isinstance(below, ast.Name) and below.id == "page":
            yield node
