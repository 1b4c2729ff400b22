"""How large a text is for a model, and the line that says something was cut."""

import math
import re

_CJK = re.compile(
    "[\u1100-\u11ff\u2e80-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\uff00-\uffef"
    "\U00020000-\U0003ffff]"
)


def estimate_tokens(text: str) -> int:
    """Four characters a token, one token for each Chinese, Japanese or Korean character."""
    wide = sum(1 for _ in _CJK.finditer(text))
    return wide + math.ceil((len(text) - wide) / 4)


def truncation_marker(shown: int, total: int) -> str:
    """The last line of a snapshot that was cut to its budget."""
    return f"...(truncated: {shown} of {total} elements shown)"


MARKER_TOKENS = 16
"""Room kept for the marker."""
