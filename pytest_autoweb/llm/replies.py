"""What a model's reply may look like, and what it means. Pure text."""

import json
import re
import unicodedata
from collections.abc import Iterator
from typing import Any


def literal(text: str) -> str:
    """Return the terminal that matches exactly this text."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def string_rule(max_chars: int) -> str:
    """Return the rule `str`: a quoted string on one line, without escapes."""
    return 'str ::= "\\"" [^"\\\\\\n]{0,' + str(max_chars) + '} "\\""'


_REASONING = re.compile(
    r"<(think|thinking|reasoning|thought)\b[^>]*>.*?(?:</\1\s*>|\Z)", re.DOTALL | re.IGNORECASE
)
# Some chat templates open the reasoning block in the prompt, so the reply contains only its end.
_LONE_CLOSE = re.compile(r"\A.*?</(?:think|thinking|reasoning|thought)\s*>", re.DOTALL | re.I)


def strip_reasoning(text: str) -> str:
    """Remove reasoning blocks; one that is never closed extends to the end."""
    without = _REASONING.sub("", text)
    return _LONE_CLOSE.sub("", without).strip()


_FENCE_LINE = re.compile(r"^[ \t]*(?:`{3,}|~{3,})", re.MULTILINE)
_MOST_BRACES = 500


def whole_lines(text: str) -> str:
    """Return a text that was cut off without its last line, whose end is missing."""
    return text.rpartition("\n")[0]


def closed_block(text: str) -> str:
    """Return a text that was cut off after its plan or its code was complete, else ""."""
    marks = len(_FENCE_LINE.findall(text))
    return text if "PLAN_END" in text.upper() or (marks and marks % 2 == 0) else ""


def whole_object(text: str) -> str:
    """Return a text that was cut off after a complete JSON object, else ""."""
    return text if next(objects_in(text), None) is not None else ""


def objects_in(text: str) -> Iterator[dict[str, Any]]:
    """Yield the outermost JSON objects of a text, whatever stands between them."""
    decoder, at = json.JSONDecoder(), text.find("{")
    # A text full of braces would take quadratic time.
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
