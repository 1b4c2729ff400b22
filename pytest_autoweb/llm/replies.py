"""What a model's reply may look like, and what it means. Pure text."""

import re
import unicodedata


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


def fold_line(line: str) -> str:
    """Normalise full-width digits, letters and colons in a line, for matching only."""
    return unicodedata.normalize("NFKC", line).replace("：", ":").replace("**", "")
