"""A script in the step language: its normal form, and its blocks per step. Pure text."""

import ast
import difflib
import re
import textwrap
from typing import NamedTuple

from pytest_autoweb.llm.replies import fold_line, heading_number

_SLASH_COMMENT = re.compile(r"^(\s*)//+\s?(.*)$")
_STRAY = re.compile(r"^\s*(?:PLAN|THINK|QUESTION|MODE|NOTE)(?:_\w+)?\s*[:：]?", re.IGNORECASE)
_BOILERPLATE = re.compile(
    r"""^\s*(?:
        from\s+playwright\.sync_api\s+import\s+.*\bsync_playwright\b.*
      | import\s+playwright\b.*
      | (?:browser|context|page)\s*=\s*\w+(?:\.\w+)*\.(?:launch|new_context|new_page)\(.*
      | (?:browser|context|playwright|p)\.(?:close|stop)\(\)
    )\s*$""",
    re.VERBOSE,
)
_WRAPPER = re.compile(r"^(\s*)with\s+sync_playwright\(\)\s+as\s+\w+\s*:\s*$")
_AWAIT = re.compile(r"\bawait\s+(?=page\b|expect\b|frame\b|locator\b|\w+\.)")


class Block(NamedTuple):
    """The code of one step, at the line numbers it has in the whole script."""

    code: str


class Blocks(NamedTuple):
    """A script cut at its headings."""

    by_step: dict[int, Block]
    notes: tuple[str, ...]


def normal_form(code: str) -> str:
    """The script with the slips of models mended; the caller uses it only if it lints clean.

    Slash comments and bare headings become comments, `await` and the launch boilerplate around
    the given `page` go.
    """
    lines: list[str] = []
    for line in _unwrap(code.replace("\r\n", "\n").expandtabs(4).split("\n")):
        if slash := _SLASH_COMMENT.match(line):
            line = f"{slash[1]}# {slash[2]}"
        elif _is_bare_heading(line) or (_STRAY.match(line) and not _parses(line.strip())):
            line = "# " + line.strip().lstrip("*").strip()
        elif _BOILERPLATE.match(line):
            continue
        lines.append(_AWAIT.sub("", line))
    return "\n".join(lines).strip("\n") + "\n"


def _is_bare_heading(line: str) -> bool:
    stripped = line.strip()
    return bool(stripped) and not stripped.startswith("#") and heading_number(stripped) is not None


def _parses(line: str) -> bool:
    try:
        ast.parse(line)
    except (SyntaxError, ValueError):
        return False
    return True


def _unwrap(lines: list[str]) -> list[str]:
    """Dedent the body of `with sync_playwright() as p:`."""
    for number, line in enumerate(lines):
        if wrapper := _WRAPPER.match(line):
            depth = len(wrapper[1])
            end = number + 1
            while end < len(lines) and (
                not lines[end].strip() or len(lines[end]) - len(lines[end].lstrip()) > depth
            ):
                end += 1
            body = textwrap.dedent("\n".join(lines[number + 1 : end])).split("\n")
            return [*lines[:number], *body, *lines[end:]]
    return lines


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
    blocks = {step: Block(_only(lines, ranges)) for step, ranges in sorted(spans.items())}
    return Blocks(blocks, tuple(notes))


def _only(lines: list[str], keep: list[range]) -> str:
    kept = [line if any(n in r for r in keep) else "" for n, line in enumerate(lines, start=1)]
    return "\n".join(kept).rstrip("\n") + "\n"


def _inner_lines(code: str) -> set[int]:
    """Lines that belong to a top-level statement after its first: no block may start there."""
    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return set()
    return {
        line
        for statement in tree.body
        for line in range(statement.lineno + 1, (statement.end_lineno or statement.lineno) + 1)
    }


def unified_diff(before: str, after: str, attempt: int) -> str:
    """What a repair changed, in unified form."""
    return "".join(
        difflib.unified_diff(
            before.splitlines(keepends=True),
            after.splitlines(keepends=True),
            fromfile=f"attempt {attempt - 1}",
            tofile=f"attempt {attempt}",
        )
    )
