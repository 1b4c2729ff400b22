"""A marked page as text, for models without vision, and what no picture shows."""

from collections.abc import Mapping, Sequence

from playwright.sync_api import Error, Locator

from pytest_autoweb.marks.marking import Mark, MarkedPage

LISTED = 60
_NEW = 20
_NAME_CHARS, _VALUE_CHARS, _NEAR_CHARS, _LINE_CHARS = 80, 60, 50, 200
_FORMATS = {
    "date": "date, YYYY-MM-DD",
    "time": "time, HH:MM",
    "datetime-local": "YYYY-MM-DDTHH:MM",
    "month": "month, YYYY-MM",
    "password": "password",
    "file": "file",
}
_HOLDS = frozenset({"input", "textarea", "select"})


def listing(
    marks: Sequence[Mark],
    text: str,
    *,
    max_chars: int,
    before: str | None = None,
    near: Mapping[int, str] | None = None,
) -> str:
    """Return the marks, one per line, and the page's other text.

    Args:
        marks: the marks in order.
        text: the page's visible text, one line per block; lines that repeat a mark are dropped.
        max_chars: limit on the characters of the text.
        before: the text at the previous look at the same page. New lines come last, because they
            are the page's answer to what was done.
        near: texts that tell apart marks with the same text, see `disambiguate.ambiguous`.
    """
    known_near = near or {}
    lines = [line_of(mark, known_near.get(mark.number, "")) for mark in marks[:LISTED]]
    if len(marks) > LISTED:
        lines.append(f"({len(marks) - LISTED} more elements are not listed)")
    known = {" ".join(mark.text.split()) for mark in marks}
    kept = [line for line in _lines(text) if line not in known]
    old = kept if before is None else [line for line in kept if line in _lines(before)]
    new = [line for line in kept if line not in old]
    # New text has priority: it says whether the last action had an effect.
    room = max_chars - sum(min(len(line), _LINE_CHARS) for line in new)
    for line in old:
        room -= min(len(line), _LINE_CHARS)
        if room < 0:
            lines.append("text: …")
            break
        lines.append(f"text: {line[:_LINE_CHARS]}")
    return "\n".join([*lines, *(f"new text: {line[:_LINE_CHARS]}" for line in new[:_NEW])])


_OPTIONS = 30
_OPTION_CHARS = 60


def option_lines(marked: MarkedPage, marks: Sequence[Mark]) -> list[str]:
    """Return what each select box offers, one line for each: `[4] options: Red, Blue`.

    Args:
        marked: the page with its marks.
        marks: those that may be chosen.
    """
    lines = []
    for mark in marks:
        located = marked.locator(mark.number) if mark.tag == "select" else None
        if located is not None:
            offered = [_short(text, _OPTION_CHARS) for text in _offered(located)]
            more = ", …" if len(offered) > _OPTIONS else ""
            lines.append(f"[{mark.number}] options: {', '.join(offered[:_OPTIONS])}{more}")
    return lines


def _offered(located: Locator) -> list[str]:
    try:
        return located.locator("option").all_inner_texts()
    except Error:
        return []  # The page has replaced the box in the meantime.


def _lines(text: str) -> dict[str, None]:
    """Return the distinct lines of a text in order."""
    plain = (" ".join(line.split()) for line in text.splitlines())
    return dict.fromkeys(line for line in plain if line)


def line_of(mark: Mark, near: str = "") -> str:
    """Return one mark: `[5] textbox "User" holds "ana"`, or `[6] button "Edit" near "Ben"`."""
    holds = mark.texts[-1] if mark.tag in _HOLDS and mark.texts else ""
    name = _first_of(mark)
    parts = [f"[{mark.number}]", mark.role or mark.tag, f'"{_short(name, _NAME_CHARS)}"']
    # What is only read aloud may tell apart what reads alike: `Read more` about which article.
    if mark.name != name and (label_of(mark) == mark.name or mark.hidden):
        parts.append(f"({_short(mark.name, _NAME_CHARS)})")
    if shape := _FORMATS.get(mark.attributes.get("type", "")):
        parts.append(f"({shape})")
    if holds and holds not in (name, mark.attributes.get("placeholder"), mark.name):
        parts.append(f'holds "{_short(holds, _VALUE_CHARS)}"')
    if near:
        parts.append(f'near "{_short(near, _NEAR_CHARS)}"')
    return " ".join(parts)


def label_of(mark: Mark) -> str:
    """Return what names a mark in its line: its text, or its name if the text is only a sign."""
    name = _first_of(mark)
    return name if any(map(str.isalnum, name)) else mark.name or name


def _first_of(mark: Mark) -> str:
    if mark.tag not in _HOLDS:
        return mark.text
    return mark.name or mark.attributes.get("placeholder", "")


def _short(text: str, limit: int) -> str:
    plain = " ".join(text.split())
    return plain if len(plain) <= limit else plain[: limit - 1] + "…"
