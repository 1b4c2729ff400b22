"""Writes texts into XPath."""

import re

_PIECES = re.compile(r"'|>+|[^'>]+")


def xpath_literal(text: str) -> str:
    """Return the text as an XPath 1.0 string, a syntax without escapes.

    `>>` is always split, because Playwright would take it for the separator of two selectors.
    """
    if ">>" not in text:
        if "'" not in text:
            return f"'{text}'"
        if '"' not in text:
            return f'"{text}"'
    pieces: list[str] = []
    for piece in _PIECES.findall(text):
        if piece == "'":
            pieces.append('"\'"')
        elif piece.startswith(">"):
            pieces += ["'>'"] * len(piece)
        else:
            pieces.append(f"'{piece}'")
    return f"concat({', '.join(pieces)})" if len(pieces) > 1 else pieces[0]
