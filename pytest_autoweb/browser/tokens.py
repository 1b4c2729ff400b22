"""Estimates of token counts, and the line that marks a shortened text."""

import math
import re

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
