"""Trees written as indented lines within a budget of tokens."""

import math
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import NamedTuple

_CJK = re.compile(
    "[\u1100-\u11ff\u2e80-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\uff00-\uffef"
    "\U00020000-\U0003ffff]"
)


def estimate_tokens(text: str) -> int:
    """Estimate the tokens: one per four characters, and one per Chinese, Japanese, Korean one."""
    # Tokenisers have short tokens for these scripts and tokens of about four letters for others.
    wide = sum(1 for _ in _CJK.finditer(text))
    return wide + math.ceil((len(text) - wide) / 4)


def truncation_marker(shown: int, total: int) -> str:
    """Return the last line of a snapshot that was cut to its budget."""
    return f"...(truncated: {shown} of {total} elements shown)"


MARKER_TOKENS = 16
"""Tokens reserved for the marker."""


ALIKE_LIMIT = 20
"""Number of siblings of one kind that are kept when a tree has to be thinned."""

DEPTH_LIMIT = 120
"""Number of levels kept; deeper nodes move up. Only hostile pages are deeper."""


@dataclass(frozen=True, slots=True)
class Line:
    """One node of an outline."""

    text: str
    kind: str = ""
    """Property that similar siblings share, e.g. the role."""
    children: tuple["Line", ...] = field(default=())

    def count(self) -> int:
        """Return the number of nodes in this tree."""
        return sum(1 for _ in self.walk())

    def walk(self) -> Iterator["Line"]:
        """Yield this node and all nodes below it, in reading order."""
        # Not recursive, because a hostile page can be very deep.
        pending = [self]
        while pending:
            node = pending.pop()
            yield node
            pending.extend(reversed(node.children))


class Cut(NamedTuple):
    """A text that fits into its budget."""

    text: str
    truncated: bool


def parse_outline(text: str, read: Callable[[str], Line]) -> tuple[Line, ...]:
    """Parse an indented text (two spaces per level); `read` makes a node of each line."""
    roots: list[_Draft] = []
    open_drafts: list[_Draft] = []
    # Names may contain other line separators, so `splitlines` must not be used.
    for raw in text.split("\n"):
        if not raw.strip():
            continue
        depth = min((len(raw) - len(raw.lstrip(" "))) // 2, DEPTH_LIMIT)
        draft = _Draft(read(raw.strip()))
        del open_drafts[depth:]
        (open_drafts[-1].below if open_drafts else roots).append(draft)
        open_drafts.append(draft)
    return tuple(draft.freeze() for draft in roots)


@dataclass(slots=True)
class _Draft:
    line: Line
    below: list["_Draft"] = field(default_factory=list)

    def freeze(self) -> Line:
        return replace(self.line, children=tuple(draft.freeze() for draft in self.below))


def render_outline(roots: Iterable[Line]) -> str:
    """Return the trees as indented lines."""
    return "\n".join(_lines(roots))


def _lines(roots: Iterable[Line]) -> Iterator[str]:
    pending = [(root, 0) for root in reversed(tuple(roots))]
    while pending:
        node, depth = pending.pop()
        yield "  " * depth + node.text
        pending.extend((child, depth + 1) for child in reversed(node.children))


def fit_outline(roots: tuple[Line, ...], budget_tokens: int) -> Cut:
    """Fit the outline into the budget: first thin long runs of similar siblings, then cut."""
    whole = render_outline(roots)
    if estimate_tokens(whole) <= budget_tokens:
        return Cut(whole, truncated=False)
    total = sum(root.count() for root in roots)
    thinned = tuple(_thin(root) for root in roots)
    kept: list[str] = []
    left = budget_tokens - MARKER_TOKENS
    shown = 0
    for line, is_node in _marked_lines(thinned):
        left -= estimate_tokens(line + "\n")
        if left < 0:
            break
        kept.append(line)
        shown += is_node
    return Cut("\n".join([*kept, truncation_marker(shown, total)]), truncated=True)


_MORE = "more"


def _marked_lines(roots: tuple[Line, ...]) -> Iterator[tuple[str, bool]]:
    nodes = (node for root in roots for node in root.walk())
    for line, node in zip(_lines(roots), nodes, strict=True):
        yield line, node.kind != _MORE


def _thin(node: Line) -> Line:
    kept: list[Line] = []
    run = 0
    children = node.children
    for index, child in enumerate(children):
        alike = index > 0 and child.kind and child.kind == children[index - 1].kind
        if run > ALIKE_LIMIT and not alike:
            kept.append(Line(f"- text: ({run - ALIKE_LIMIT} more alike)", _MORE))
        run = run + 1 if alike else 1
        if run <= ALIKE_LIMIT:
            kept.append(_thin(child))
    if run > ALIKE_LIMIT:
        kept.append(Line(f"- text: ({run - ALIKE_LIMIT} more alike)", _MORE))
    return replace(node, children=tuple(kept))
