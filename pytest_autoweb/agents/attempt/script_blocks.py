"""Scripts in the step language, cut into one block per step."""

from typing import NamedTuple

from pytest_autoweb.base.python_source import read_python
from pytest_autoweb.models.replies import fold_line, heading_number


class Block(NamedTuple):
    """The code of one step, with the line numbers that it has in the whole script."""

    code: str


class Blocks(NamedTuple):
    """A script cut at its headings."""

    by_step: dict[int, Block]
    notes: tuple[str, ...]


def split_blocks(code: str) -> Blocks:
    """Cut a script at its step headings.

    A heading is a comment between top-level statements; one inside a string or a compound
    statement does not count. Blocks keep their line numbers: lines of other blocks are blank.
    Text before the first heading belongs to the first block; blocks with the same number are
    joined; without headings the whole script is step 1.
    """
    lines = code.split("\n")
    inside = _inner_lines(code)
    heads: list[tuple[int, int]] = []
    for number, line in enumerate(lines, start=1):
        if number in inside or not line.lstrip().startswith("#"):
            continue
        if (step := heading_number(fold_line(line))) is not None:
            heads.append((number, step))
    if not heads:
        return Blocks({1: Block(code)}, ())
    spans: dict[int, list[range]] = {}
    notes: list[str] = []
    ends = [line for line, _ in heads[1:]] + [len(lines) + 1]
    for position, ((start, step), end) in enumerate(zip(heads, ends, strict=True)):
        if step in spans:
            notes.append(f"Step {step} has two blocks (line {start}); they were joined.")
        first = 1 if position == 0 else start
        spans.setdefault(step, []).append(range(first, end))
    blocks = {step: Block(_lines_within(lines, ranges)) for step, ranges in sorted(spans.items())}
    return Blocks(blocks, tuple(notes))


def _lines_within(lines: list[str], keep: list[range]) -> str:
    kept = [line if any(n in r for r in keep) else "" for n, line in enumerate(lines, start=1)]
    return "\n".join(kept).rstrip("\n") + "\n"


def _inner_lines(code: str) -> set[int]:
    """Return the lines inside top-level statements, at which no block may start."""
    tree = read_python(code)
    if tree is None:
        return set()
    return {
        line
        for statement in tree.body
        for line in range(statement.lineno + 1, (statement.end_lineno or statement.lineno) + 1)
    }
