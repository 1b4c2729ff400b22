"""Which parts of a model's reply are code, and which are words. Pure text.

Fences are read as CommonMark reads them. Blocks that are labelled as Python count first, then those
without a label; what a reply shows beside its code (JSON, HTML, a shell) is not code.
"""

import ast
import re
import textwrap
from collections.abc import Callable, Collection, Iterator
from keyword import iskeyword
from typing import NamedTuple

from pytest_autoweb.base.python_source import is_python, read_python

PYTHON = re.compile(
    r"(?:i?python[\d.]*|py\d?|pycon|jupyter|pytest|tool[_-]code|code)"
    r"(?:[-_]?(?:playwright|repl|console|script|code|interpreter|test))*"
    r"|(?:playwright|pytest)(?:[-_](?:python|py|test|script))*"
)
"""The labels with which models mark Python, in lower case."""

_OPEN = re.compile(
    r"^(?P<around>(?:[ \t]*(?:>|(?:[-*+]|\d{1,9}[.)])(?=[ \t])))*)(?P<indent>[ \t]*)"
    r"(?P<fence>`{3,}|~{3,})[ \t]*(?P<info>.*?)[ \t]*$"
)
"""The first line of a block, which may stand in a quotation or a list."""
_TAGGED = re.compile(
    r"<(?P<tag>code|python|execute|code_block)>[ \t]*\n?(?P<body>.*?)(?:</(?P=tag)>|\Z)",
    re.DOTALL | re.IGNORECASE,
)
_PROMPT = re.compile(r"^(?:>>>|\.\.\.)(?: |$)", re.MULTILINE)
_ROOTS = frozenset(("page", "expect", "answer", "log", "collect_urls"))
"""The names that scripts are given."""
_STATEMENT = re.compile(
    r"^(?:page\.|expect\(|answer\(|log\(|print\(|collect_urls\(|await\s+\w+[.(\[]"
    r"|(?:for|with|if|while|try|def|async\s+def)\b.*:(?:\s*(?:#.*)?$|.*\w\()"
    r"|import\s+\w[\w., ]*$|from\s+[\w.]+\s+import\s|[A-Za-z_][\w, ]*=\s*\S)"
)
_GOES_ON = re.compile(r"^(?:\s+\S|(?:else|elif|except|finally)\b.*:\s*(?:#.*)?$|[)\]}])")
"""A line that belongs to the compound statement above it."""
_CALL_LINE = re.compile(r"(?:await\s+)?(?:page\.|expect\(|answer\(|e\d+\.)\w*")
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


_INVISIBLE = "\ufeff\u200b\u2060"


def unified_lines(text: str) -> str:
    """Return the text with line feeds alone, whichever line ends and first marks a server sends."""
    return text.lstrip(_INVISIBLE).replace("\r\n", "\n").replace("\r", "\n")


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
        around, indent = opening["around"], len(opening["indent"])
        info, first = _code_beside(opening["info"])
        body = [first] if first else []
        indent += len(around) - around.count(">") if ">" not in around else 0
        for inner in lines:
            inner = _out_of_quotation(inner, around.count(">"))
            if closing.fullmatch(inner):
                break
            body.append(inner[min(indent, len(inner) - len(inner.lstrip())) :])
        label = re.split(r"[\s{},:]", info.lstrip("{."), maxsplit=1)[0].lower()
        blocks.append(CodeBlock(label, "\n".join(body)))
    return FencedReply("\n".join(words), tuple(blocks))


def _code_beside(info: str) -> tuple[str, str]:
    """Return an info string without the call that stands beside the fence, and the call."""
    call = re.search(rf"(?:^|\s)({_CALL_LINE.pattern}.*)$", info)
    return (info[: call.start()], call[1]) if call else (info, "")


def _out_of_quotation(line: str, depth: int) -> str:
    for _ in range(depth):
        line = re.sub(r"^[ \t]*>", "", line, count=1)
    return line


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
    found = _blocks_of_code(text, is_headed=is_headed, is_plan=is_plan)
    if "```" not in text or _is_script(found.code):
        return found
    loose = _blocks_of_code(_unglued(text), is_headed=is_headed, is_plan=is_plan)
    return loose if _is_script(loose.code) else found


_ON_ONE_LINE = re.compile(r"(?m)^(.*?)```(\w*[ \t]+|)([^`\n]+?)[ \t]*```(?!`)(.*)$")
_GLUED = re.compile(r"(?m)(?:(?<=[^\s`~>])[ \t]*|(?<=\|>))(```\w*)[ \t]*$")
_GOES_ON_BEHIND = re.compile(r"(?m)^(```)[ \t]+(?=\W*(?:DONE|已?完成)\W*$)", re.IGNORECASE)


def _unglued(text: str) -> str:
    """Return a reply with fences on lines of their own, where they stand beside words or code."""
    text = _ON_ONE_LINE.sub(r"\1\n```\2\n\3\n```\n\4", unified_lines(text))
    return _GOES_ON_BEHIND.sub(r"\1\n", _GLUED.sub(r"\n\1", text))


def _is_script(code: str) -> bool:
    """Tell whether a text is Python that calls anything that scripts are given."""
    return bool(_CALLS.search(code)) and any(
        isinstance(node, ast.Call) and _root(node) in _ROOTS for node in _nodes(code)
    )


def _is_shown(body: str) -> bool:
    """Tell whether a block without a label is something that a page says, and no code."""
    does = (ast.Call, ast.Assign, ast.AugAssign, ast.AnnAssign, ast.FunctionDef, ast.Import)
    calls = _CALLS.search(body) or _PROMPT.search(body)
    return not calls and not any(isinstance(node, does) for node in _nodes(body))


def _nodes(code: str) -> Iterator[ast.AST]:
    tree = read_python(code)
    return iter(()) if tree is None else ast.walk(tree)


def _root(node: ast.AST) -> str:
    """Return the name at the beginning of a chain of calls and attributes."""
    while isinstance(node, ast.Call | ast.Attribute | ast.Subscript | ast.Await):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else ""


def _blocks_of_code(
    text: str, *, is_headed: Callable[[str], bool], is_plan: Callable[[str], object]
) -> CodeOf:
    reply = split_fences(text)
    blocks = [block for block in reply.blocks if block.body.strip() and not is_plan(block.body)]
    labelled = [block.body for block in blocks if PYTHON.fullmatch(block.label)]
    plain = [block.body for block in blocks if not block.label and not _is_shown(block.body)]
    words, left_out = reply.words, list[str]()
    if labelled:
        unsaid = (body for body in plain if _CALLS.search(body))
        left_out += (_not_run(body, "it is not labelled as Python") for body in unsaid)
    chosen = labelled or plain
    if not reply.blocks:
        tagged = [found for found in _TAGGED.finditer(text) if not _is_shown(found["body"])]
        chosen = [found["body"] for found in tagged]
        words = _TAGGED.sub(lambda found: found[0] if _is_shown(found["body"]) else "", text)
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
    text = unified_lines(text)
    unmarked = "\n".join(map(_unmarked, text.split("\n")))
    for whole in (text, unmarked):
        if _is_script(whole) and not _is_signed(whole):
            return CodeOf(whole, "")
    lines = unmarked.split("\n")[:_MAX_LINES]
    code, words = list[str](), list[str]()
    known, at = set(_ROOTS), 0
    while at < len(lines):
        taken = _statement_at(lines, at, known)
        if taken:
            while words and words[-1].lstrip().startswith("#"):
                code.append(words.pop().strip())
            statement = textwrap.dedent("\n".join(lines[at : at + taken]))
            known |= _names_set(statement)
            code.append(statement)
        else:
            words.append(lines[at])
        at += taken or 1
    found = "\n".join(code)
    return CodeOf(found, "\n".join(words)) if _is_script(found) else CodeOf("", text)


def _is_signed(code: str) -> bool:
    """Tell whether a text is Python only because its list bullet reads as a minus or plus sign."""
    tree = ast.parse(code)
    return any(
        isinstance(node, ast.Expr) and isinstance(node.value, ast.UnaryOp | ast.Starred)
        for node in tree.body
    )


def _unmarked(line: str) -> str:
    """Return a line of code without the marks of a list or the backticks around it.

    What leads to it on the same line, up to a colon, goes as well.
    """
    bare = without_marker(line)
    if _CALL_LINE.match(bare) and is_python(bare):
        return bare if bare != line.strip() else line
    led = _LED.match(line)
    if led is None or iskeyword(led["first"]) or not is_python(led["call"]):
        return line
    return led["call"]


_LED = re.compile(
    r"\s*(?P<first>\w+)[^#=(\"'`]*: +`?(?P<call>" + _CALL_LINE.pattern + r".*?)[` \t]*$"
)
"""Words, and behind their colon a call."""


_LONGEST_STATEMENT = 60


def _statement_at(lines: list[str], at: int, known: Collection[str]) -> int:
    """Return how many lines the statement that begins on a line takes; 0 if none does."""
    first = lines[at].strip()
    if not _STATEMENT.match(first) and not _uses(first, known):
        return 0
    taken = 0
    for count in range(1, min(_LONGEST_STATEMENT, len(lines) - at) + 1):
        if is_python(textwrap.dedent("\n".join(lines[at : at + count]))):
            taken = count
            # A compound statement continues while lines are indented or begin a further clause.
            if not first.endswith(":") or not _goes_on(lines, at, at + count):
                break
    return taken


def _uses(line: str, known: Collection[str]) -> bool:
    """Tell whether a line begins with the use of a name that an earlier line has set."""
    name = re.match(r"([A-Za-z_]\w*)\s*[.(\[]", line)
    return name is not None and name[1] in known


def _goes_on(lines: list[str], first: int, at: int) -> bool:
    """Tell whether what follows a compound statement, blank lines left out, belongs to it."""
    indent = len(lines[first]) - len(lines[first].lstrip())
    below = next((line for line in lines[at:] if line.strip()), "")
    return bool(_GOES_ON.match(below[min(indent, len(below) - len(below.lstrip())) :]))


def _names_set(code: str) -> set[str]:
    names = set[str]()
    for node in _nodes(code):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        elif isinstance(node, ast.FunctionDef):
            names.add(node.name)
    return names


_MARKER = re.compile(
    r"^\s*(?:\*{0,2}(?:(?:step|步骤)\s*)?\d{1,3}[.):、：]\*{0,2}\s*|[①-⑳]\s*|(?:[-*•+>→]|[-=]>)\s*)?",
    re.IGNORECASE,
)
_DONE = re.compile(r"[^\w\n]*(?:done|已?完成)[^\w\n]*", re.IGNORECASE)


def without_marker(line: str) -> str:
    """Return a line without the number or the bullet of a list, and without backticks around it."""
    return _MARKER.sub("", line).strip("` \t")


def says_done(line: str) -> bool:
    """Tell whether a line says nothing but that the task is done."""
    return bool(_DONE.fullmatch(without_marker(line)))


def holds_calls(text: str) -> bool:
    """Tell whether a line of a text begins like a call of a script, so that code stands unread."""
    return any(_CALL_LINE.match(without_marker(line)) for line in text.split("\n"))


_MENTION = re.compile(r"\b(?:page\.\w[\w.]*|expect|answer|e\d+\.\w+)\(")


def mentions_calls(text: str) -> bool:
    """Tell whether a call of a script stands anywhere in a text, be it meant or only told."""
    return bool(_MENTION.search(text))
