"""The forms of a model's reply and how they are read. Pure text.

A reply holds code, a decision, or a plan: headings of steps, in English and Chinese, and their
fields.
"""

import json
import re
import unicodedata
from collections.abc import Iterator
from itertools import pairwise
from typing import Any, NamedTuple

from pytest_autoweb.models.reply_blocks import unified_lines
from pytest_autoweb.results.records import PlanStep

PLAN_BLOCK = re.compile(r"PLAN_START(.*?)(?:PLAN_END|\Z)", re.DOTALL | re.IGNORECASE)


_PREFIX = r"^[\s/#*>•·\-]*"


_CHINESE_DIGITS = {c: i for i, c in enumerate("一二三四五六七八九十", start=1)}


HEADING = re.compile(
    _PREFIX
    + r"(?:(?:step|part|步骤)\s*[:#\-]?\s*(?P<n>\d{1,3})"
    + r"|步骤\s*(?P<bare>[一二三四五六七八九十])"
    + r"|第\s*(?P<cn>\d{1,3}|[一二三四五六七八九十])\s*步)"
    + r"(?!\d)\s*[:.#、)*\-]*\s*(?P<rest>.*)$",
    re.IGNORECASE,
)
"""Pattern of a step's heading on a folded line (see `fold_line`)."""


_NUMBERED = re.compile(r"^\s*(?P<n>\d{1,2})\s*[.)、]\s*(?P<rest>\S.*)$")


_FIELDS = {
    "description": r"description|描述|说明",
    "target_url": r"target\s*url|目标\s*url|目标地址|目标页面",
    "entry_action": r"entry(?:\s*point)?(?:\s*action)?|入口操作|入口动作|进入方式",
    "status": r"status|状态",
}


_FIELD = {
    name: re.compile(_PREFIX + rf"(?:{words})\s*\**\s*:\s*\**\s*(?P<value>.*)$", re.IGNORECASE)
    for name, words in _FIELDS.items()
}


_QUESTION = re.compile(
    _PREFIX + r"(?:questions?|提问|问题)\s*\d*\s*\**\s*:\s*\**\s*(?P<value>.*)$", re.IGNORECASE
)


_QUESTION_TITLE = re.compile(r"^[\s#]*(?:questions?|提问|问题)\s*$", re.IGNORECASE)


_NO_QUESTION = re.compile(r"^\W*(?:none|no|n/?a|nil|无|没有)\W*$", re.IGNORECASE)


_REASONING = re.compile(
    r"\A\s*<(think|thinking|reasoning|thought)\b[^>]*>.*?(?:</\1\s*>|\Z)", re.DOTALL | re.IGNORECASE
)
_CLOSE = re.compile(r"</(?:think|thinking|reasoning|thought)\s*>", re.IGNORECASE)
_FENCE_LINE = re.compile(r"^[ \t]*(?:`{3,}|~{3,})", re.MULTILINE)


def strip_reasoning(text: str) -> str:
    """Remove the reasoning that leads a reply, and unify its line ends.

    Reasoning that is never closed extends to the end. What looks like it further on, in code or in
    a JSON string, is what the model wants to write.
    """
    text = unified_lines(text)
    while leading := _REASONING.match(text):
        text = text[leading.end() :]
    return _without_lone_close(text).strip()


def _without_lone_close(text: str) -> str:
    """Remove reasoning whose opening tag the chat template wrote into the prompt.

    Its end is no end if it stands within a block or a string.
    """
    close = _CLOSE.search(text)
    if close is None:
        return text
    before = text[: close.start()]
    in_block = len(_FENCE_LINE.findall(before)) % 2
    in_text = before.count('"""') % 2 or before.count("'''") % 2
    line = before.rpartition("\n")[2]
    in_string = line.count('"') % 2 or _OPEN_QUOTE.search(line)
    return text if in_block or in_text or in_string else text[close.end() :]


_OPEN_QUOTE = re.compile(r"[(\[{,:=]\s*[bfru]{0,2}'[^']*$", re.IGNORECASE)
"""A string in single quotes that is still open; an apostrophe begins none."""


_MOST_BRACES = 500


def whole_lines(text: str) -> str:
    """Return a text that was cut off without its last line, whose end is missing."""
    return text.rpartition("\n")[0]


def closed_block(text: str) -> str:
    """Return a text that was cut off after its plan or its code was complete, else ""."""
    marks = len(_FENCE_LINE.findall(text))
    return text if "PLAN_END" in text.upper() or (marks and marks % 2 == 0) else ""


def whole_object(text: str) -> str:
    """Return a text that was cut off after a complete JSON object, else "".

    An object within one that was cut off is no reply.
    """
    begin = _OBJECT_BEGINS.search(text)
    if begin is None:
        return ""
    try:
        json.JSONDecoder().raw_decode(text, begin.start())
    except (ValueError, RecursionError):
        return ""
    return text


_OBJECT_BEGINS = re.compile(r"\{\s*[\"}]")


def objects_in(text: str) -> Iterator[dict[str, Any]]:
    """Yield the outermost JSON objects of a text, whatever stands between them."""
    decoder, at = json.JSONDecoder(), text.find("{")
    # Unbounded, a text full of braces would take quadratic time.
    for _ in range(_MOST_BRACES):
        if at < 0:
            return
        try:
            found, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            end = at + 1
        else:
            yield found
        at = text.find("{", end)


def fold_line(line: str) -> str:
    """Normalise full-width digits, letters and colons in a line, for matching only."""
    return unicodedata.normalize("NFKC", line).replace("：", ":").replace("**", "")


class PlanParse(NamedTuple):
    """A plan read from a reply."""

    text: str
    """The part of the reply that is the plan."""
    steps: tuple[PlanStep, ...]
    confirmed: bool
    """Whether there are steps, all of them say CONFIRMED, and the reply asks no question."""
    has_question: bool
    question: str


def heading_number(line: str) -> int | None:
    match = HEADING.match(fold_line(line))
    if not match:
        return None
    digits = match["n"] or match["cn"] or match["bare"]
    return int(digits) if digits.isdecimal() else _CHINESE_DIGITS[digits]


def parse_plan(reply: str) -> PlanParse:
    """Read a plan in any of its tolerated forms; questions are found anywhere in the reply."""
    text = strip_reasoning(reply)
    block = PLAN_BLOCK.search(text)
    # Some models write the plan inside a block comment.
    plan_text = (block[1] if block else text).strip().removesuffix("*/").strip()
    steps = _read_steps(plan_text.splitlines())
    if not steps:
        steps = _read_numbered(plan_text.splitlines())
    question = _find_question(text)
    confirmed = bool(steps) and not question and all(s.status == "CONFIRMED" for s in steps)
    return PlanParse(plan_text, tuple(steps), confirmed, bool(question), question)


def _find_question(text: str) -> str:
    """Return the first question: the text after the keyword, or the next non-empty line."""
    lines = [folded for line in text.splitlines() if (folded := fold_line(line)).strip()]
    for line, below in pairwise([*lines, ""]):
        match = _QUESTION.match(line)
        if not match and not _QUESTION_TITLE.match(line):
            continue
        asked = match["value"].strip() if match else ""
        if not asked and HEADING.match(below) is None and "plan_" not in below.casefold():
            asked = re.sub(r"^[\s>*•\-]+|^\s*\d+[.)]\s*", "", below).strip()
        if asked and not _NO_QUESTION.match(asked):
            return asked
    return ""


def _read_steps(lines: list[str]) -> list[PlanStep]:
    found: dict[int, dict[str, str]] = {}
    current: dict[str, str] | None = None
    for line in lines:
        folded = fold_line(line)
        heading = HEADING.match(folded)
        if heading:
            number = heading_number(line) or 0
            # A second block with the same number is a repetition, so the first one counts.
            current = {} if number in found else found.setdefault(number, {})
            if rest := heading["rest"].strip():
                current.setdefault("description", rest)
        elif current is not None:
            _read_field(folded, current)
    return [_plan_step(number, found[number]) for number in sorted(found)]


def _read_field(line: str, fields: dict[str, str]) -> None:
    for name, pattern in _FIELD.items():
        if match := pattern.match(line):
            value = match["value"].strip().strip("`").strip()
            # The text of the heading, if there is any, is the better description.
            if name == "description" and fields.get(name):
                return
            fields[name] = value
            return


def _plan_step(number: int, fields: dict[str, str]) -> PlanStep:
    # A missing or unusual status must not count as a confirmation.
    status = fields.get("status", "").upper()
    confirmed = "CONFIRMED" in status and "UNCONFIRMED" not in status and "UNKNOWN" not in status
    return PlanStep(
        index=number,
        description=fields.get("description", ""),
        target_url=fields.get("target_url", "").strip("<>\"' ") or "CURRENT_PAGE",
        entry_action=fields.get("entry_action", ""),
        status="CONFIRMED" if confirmed or "已确认" in status else "UNKNOWN",
    )


def _read_numbered(lines: list[str]) -> list[PlanStep]:
    """Read a `1. Click …` list, which weak models write instead of headings."""
    matches = [m for m in map(_NUMBERED.match, map(fold_line, lines)) if m]
    numbers = [int(m["n"]) for m in matches]
    if not matches or numbers != list(range(1, len(numbers) + 1)):
        return []
    return [PlanStep(index=int(m["n"]), description=m["rest"].strip()) for m in matches]
