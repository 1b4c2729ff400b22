"""Which parts of a model's reply are code, and which are words. Pure text.

Fences are read as CommonMark reads them. Blocks that are labelled as Python count first, then those
without a label; what a reply shows beside its code (JSON, HTML, a shell) is not code.
"""

import ast
import re
import textwrap
from collections.abc import Callable
from typing import NamedTuple

PYTHON = frozenset(
    (
        *("python", "py", "python3", "py3", "python2", "pycon", "ipython", "jupyter"),
        *("playwright", "python-playwright", "tool_code", "tool-code", "code"),
    )
)
"""The labels with which models mark Python, in lower case."""

_OPEN = re.compile(r"^(?P<indent>[ \t]*)(?P<fence>`{3,}|~{3,})[ \t]*(?P<info>.*?)[ \t]*$")
_TAGGED = re.compile(
    r"<(?P<tag>code|python|execute|code_block)>[ \t]*\n?(?P<body>.*?)(?:</(?P=tag)>|\Z)",
    re.DOTALL | re.IGNORECASE,
)
_PROMPT = re.compile(r"^(?:>>>|\.\.\.)(?: |$)", re.MULTILINE)
_STATEMENT = re.compile(
    r"^(?:page\.|expect\(|answer\(|log\(|collect_urls\(|(?:for|with|if|while|try)\b.*:\s*(?:#.*)?$"
    r"|[A-Za-z_][\w, ]*=\s*\S|await\s+page\.)"
)
_CALLS = re.compile(r"\b(?:page|expect|answer|log|collect_urls)\s*[.(]")
_MAX_LINES = 2_000


class CodeBlock(NamedTuple):
    """A fenced block of a reply."""

    label: str
    """The first word of its info string, in lower case."""
    body: str


class FencedReply(NamedTuple):
    """A reply taken apart."""

    words: str
    """What stands outside all blocks."""
    blocks: tuple[CodeBlock, ...]


def unified_lines(text: str) -> str:
    """Return the text with line feeds alone, whichever line ends a server sends."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def split_fences(text: str) -> FencedReply:
    """Take a reply apart at its fences; a block that is never closed extends to the end."""
    words: list[str] = []
    blocks: list[CodeBlock] = []
    lines = iter(unified_lines(text).split("\n"))
    for line in lines:
        opening = _OPEN.match(line)
        # An info string with backticks belongs to code within a line.
        if opening is None or (opening["fence"][0] == "`" and "`" in opening["info"]):
            words.append(line)
            continue
        closing = re.compile(rf"[ \t]*{opening['fence'][0]}{{{len(opening['fence'])},}}[ \t]*")
        indent, body = len(opening["indent"]), list[str]()
        for inner in lines:
            if closing.fullmatch(inner):
                break
            body.append(inner[min(indent, len(inner) - len(inner.lstrip())) :])
        label = re.split(r"[\s{},:]", opening["info"].lstrip("{."), maxsplit=1)[0].lower()
        blocks.append(CodeBlock(label, "\n".join(body)))
    return FencedReply("\n".join(words), tuple(blocks))


class CodeOf(NamedTuple):
    """The code of a reply."""

    code: str
    words: str
    """The rest of the reply, without its blocks."""
    left_out: tuple[str, ...] = ()
    """What looks like code and is not run, each as a sentence for the model."""


def blocks_of_code(
    text: str, *, is_headed: Callable[[str], bool], is_plan: Callable[[str], object]
) -> CodeOf:
    """Return the code of a reply that stands in fences or tags; none if there are neither.

    Several blocks are one script in pieces, in their order. Beside blocks with step headings those
    without are examples, and one whose lines all stand in another is a draft of it.

    Args:
        text: the reply, without reasoning.
        is_headed: tells whether a block has step headings.
        is_plan: tells whether a block is a plan.
    """
    reply = split_fences(text)
    blocks = [block for block in reply.blocks if block.body.strip() and not is_plan(block.body)]
    labelled = [block.body for block in blocks if block.label in PYTHON]
    plain = [block.body for block in blocks if not block.label]
    words, left_out = reply.words, list[str]()
    if labelled:
        unsaid = (body for body in plain if _CALLS.search(body))
        left_out += (_not_run(body, "it is not labelled as Python") for body in unsaid)
    chosen = labelled or plain
    if not reply.blocks:
        chosen = [found["body"] for found in _TAGGED.finditer(text)]
        words = _TAGGED.sub("", text)
    if not chosen:
        return CodeOf("", text)
    bodies = [_typed(body).strip("\n").rstrip() for body in chosen if body.strip()]
    if headed := [body for body in bodies if is_headed(body)]:
        beside = (body for body in bodies if body not in headed)
        left_out += (_not_run(body, "other blocks have step headings") for body in beside)
        bodies = headed
    pieces, drafts = _pieces(bodies)
    return CodeOf("\n\n".join(pieces), words, (*left_out, *drafts))


def _typed(body: str) -> str:
    """Return a block without the prompts of an interactive session, and without its output."""
    if not _PROMPT.search(body):
        return body
    typed = (line for line in body.split("\n") if _PROMPT.match(line))
    return "\n".join(_PROMPT.sub("", line) for line in typed)


def _pieces(bodies: list[str]) -> tuple[list[str], tuple[str, ...]]:
    """Return the blocks to run, and a sentence about each that another one repeats."""
    kept: list[str] = []
    drafts: list[str] = []
    for at, body in enumerate(bodies):
        lines = _lines(body)
        others = [other for place, other in enumerate(bodies) if place != at]
        repeated = any(
            lines < (them := _lines(other)) or (lines == them and other in kept) for other in others
        )
        if repeated:
            drafts.append(_not_run(body, "another block repeats it"))
        else:
            kept.append(body)
    return kept, tuple(drafts)


def _lines(body: str) -> frozenset[str]:
    return frozenset(line.strip() for line in body.split("\n") if line.strip())


def _not_run(body: str, why: str) -> str:
    first = next((line.strip() for line in body.split("\n") if line.strip()), "")
    return f"the block that begins {first[:80]!r} was not run: {why}"


def bare_code(text: str) -> CodeOf:
    """Return the lines of a reply without any fence that are statements of a script."""
    if parses(text) and _CALLS.search(text):
        return CodeOf(text, "")
    lines = [_unquoted(line) for line in unified_lines(text).split("\n")[:_MAX_LINES]]
    code: list[str] = []
    words: list[str] = []
    at = 0
    while at < len(lines):
        taken = _statement_at(lines, at)
        if taken:
            code += lines[at : at + taken]
        else:
            words.append(lines[at])
        at += taken or 1
    found = textwrap.dedent("\n".join(code))
    if not _CALLS.search(found):
        return CodeOf("", text)
    return CodeOf(found, "\n".join(words))


def _unquoted(line: str) -> str:
    """Return a line of code that stands in backticks without them."""
    bare = line.strip()
    return bare.strip("`") if len(bare) > 2 and bare[0] == bare[-1] == "`" else line


_LONGEST_STATEMENT = 60


def _statement_at(lines: list[str], at: int) -> int:
    """Return how many lines the statement that begins on a line takes; 0 if none does."""
    if not _STATEMENT.match(lines[at].strip()):
        return 0
    taken = 0
    for count in range(1, min(_LONGEST_STATEMENT, len(lines) - at) + 1):
        text = textwrap.dedent("\n".join(lines[at : at + count]))
        if parses(text):
            taken = count
            # A compound statement goes on as long as the lines are indented.
            if not lines[at].rstrip().endswith(":") or not _is_indented(lines, at + count):
                break
    return taken


def _is_indented(lines: list[str], at: int) -> bool:
    return at < len(lines) and lines[at][:1] in (" ", "\t")


def parses(text: str) -> bool:
    """Tell whether a text is valid Python."""
    try:
        ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


_MARKER = re.compile(r"^\s*(?:(?:\d{1,3}[.)]|[-*•+>])\s+)?")


def without_marker(line: str) -> str:
    """Return a line without the number or the bullet of a list, and without backticks around it."""
    return _MARKER.sub("", line).strip("` \t")


_CALL_LINE = re.compile(r"(?:await\s+)?(?:page\.|expect\(|answer\(|e\d+\.)\w")


def holds_calls(text: str) -> bool:
    """Tell whether a line of a text begins like a call of a script, so that code stands unread."""
    return any(_CALL_LINE.match(without_marker(line)) for line in text.split("\n"))
