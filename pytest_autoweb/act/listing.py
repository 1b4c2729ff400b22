"""A marked page as text, for models that cannot see. Pure."""

from collections.abc import Sequence

from pytest_autoweb.browser.marks import Mark

LISTED = 60
_NAME_CHARS, _VALUE_CHARS, _LINE_CHARS = 80, 60, 200
_FORMATS = {
    "date": "date, YYYY-MM-DD",
    "time": "time, HH:MM",
    "datetime-local": "YYYY-MM-DDTHH:MM",
    "month": "month, YYYY-MM",
    "password": "password",
    "file": "file",
}
_HOLDS = frozenset({"input", "textarea", "select"})


def listing(marks: Sequence[Mark], text: str, *, max_chars: int) -> str:
    """The marks, one a line, and what else the page reads.

    Args:
        marks: in their order.
        text: the page's visible text, one line a block; lines that only repeat a mark are dropped.
        max_chars: of the text.
    """
    lines = [line_of(mark) for mark in marks[:LISTED]]
    if len(marks) > LISTED:
        lines.append(f"({len(marks) - LISTED} more elements are not listed)")
    known = {" ".join(mark.text.split()) for mark in marks}
    rest = [" ".join(line.split()) for line in text.splitlines()]
    kept = dict.fromkeys(line for line in rest if line and line not in known)
    size = 0
    for line in kept:
        size += min(len(line), _LINE_CHARS)
        if size > max_chars:
            lines.append("text: …")
            break
        lines.append(f"text: {line[:_LINE_CHARS]}")
    return "\n".join(lines)


def line_of(mark: Mark) -> str:
    """One mark: `[5] textbox "User" holds "ana"`."""
    holds = mark.texts[-1] if mark.tag in _HOLDS and mark.texts else ""
    name = mark.name or mark.attributes.get("placeholder", "") if mark.tag in _HOLDS else mark.text
    parts = [f"[{mark.number}]", mark.role or mark.tag, f'"{_short(name, _NAME_CHARS)}"']
    if shape := _FORMATS.get(mark.attributes.get("type", "")):
        parts.append(f"({shape})")
    if holds and holds not in (name, mark.attributes.get("placeholder"), mark.name):
        parts.append(f'holds "{_short(holds, _VALUE_CHARS)}"')
    return " ".join(parts)


def _short(text: str, limit: int) -> str:
    plain = " ".join(text.split())
    return plain if len(plain) <= limit else plain[: limit - 1] + "…"
