"""Marks as text: for models without vision, and what no picture of a page shows.

Small models get a shorter form (`marking.listing`), which their recorded replies depend on.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import groupby
from typing import NamedTuple

from msgspec.structs import replace

from pytest_autoweb.browser.marks.marking import (
    LINE_CHARS,
    MARK_LIMIT,
    Mark,
    MarkedPage,
    PageBox,
    ScrolledBox,
    SelectOption,
    line_of,
    shortened,
)
from pytest_autoweb.browser.page.listing_notation import scrolled_told

_OPTIONS = 60
_OPTION_CHARS = 60
_PLACEHOLDER_CHARS = 60
_HELD_CHARS = 1_000
_SAME_ROW_PX = 10
"""Difference of upper edges up to which entries count as one row, as for the numbers of marks."""


_CLICKABLE = ("div", "span", "td", "th", "li", "p", "b", "i", "em", "strong", "a", "svg", "img")
_KINDS = {**dict.fromkeys(_CLICKABLE, "clickable"), "tr": "row"}
"""What elements without a role are called, by tag."""


class _Entry(NamedTuple):
    box: PageBox
    text: str
    mark: Mark | None = None


def full_line(mark: Mark, near: str = "") -> str:
    """Return one mark with all that is known: `[6] checkbox "Urgent" (checked, required)`.

    Args:
        mark: the mark.
        near: a text that tells it apart from marks with the same text.
    """
    kind = _KINDS.get(mark.tag, "") if not mark.role else mark.role
    parts = [line_of(_without_value(replace(mark, role=kind)), near)]
    if mark.held:
        held = "⏎".join(line.rstrip() for line in mark.held.splitlines())
        parts.append(f'holds "{shortened(held, _HELD_CHARS)}"')
    placeholder = mark.attributes.get("placeholder", "")
    if mark.name and placeholder not in ("", mark.name):
        parts.append(f'placeholder "{shortened(placeholder, _PLACEHOLDER_CHARS)}"')
    if mark.states:
        parts.append(f"({', '.join(mark.states)})")
    return " ".join([*parts, *_under_mouse(mark)])


def _without_value(mark: Mark) -> Mark:
    """Return a mark that only has its name, if it is a field that holds something."""
    if not mark.held:
        return mark
    flat = " ".join(mark.held.split())
    # Of a chosen file, browsers give a path that is none.
    texts = tuple(t for t in mark.texts if t != flat and not t.startswith("C:\\fakepath\\"))
    return replace(mark, text=mark.name, texts=texts)


def _under_mouse(mark: Mark) -> list[str]:
    shown = ", ".join(f'"{shortened(name, _OPTION_CHARS)}"' for name in mark.reveals)
    waits = ["(appears under the mouse)"] if mark.revealed else []
    return [*waits, *([f"(under the mouse: {shown})"] if shown else [])]


def waiting_lines(marks: Iterable[Mark], near: Mapping[int, str]) -> list[str]:
    """Return the marks of which a picture shows nothing until the mouse is there."""
    return [
        full_line(mark, near.get(mark.number, "") or next(iter(mark.near), ""))
        for mark in marks
        if mark.revealed or mark.reveals
    ]


def option_lines(marks: Iterable[Mark]) -> list[str]:
    """Return what each select box offers: `[4] options: "Red" | "Blue" (chosen)`."""
    return [_options(mark) for mark in marks if mark.options]


def _options(mark: Mark) -> str:
    parts = []
    for group, options in groupby(mark.options[:_OPTIONS], key=lambda option: option.group):
        offered = " | ".join(map(_option, options))
        parts.append(f"{shortened(group, _OPTION_CHARS)}: {offered}" if group else offered)
    left_out = len(mark.options) - _OPTIONS
    more = [f"… {left_out} more"] if left_out > 0 else []
    return f"[{mark.number}] options: {' | '.join([*parts, *more])}"


def _option(option: SelectOption) -> str:
    states = [name for name in ("chosen", "disabled") if getattr(option, name)]
    note = f" ({', '.join(states)})" if states else ""
    return f'"{shortened(option.text, _OPTION_CHARS)}"{note}'


def page_list(
    marked: MarkedPage,
    marks: Sequence[Mark],
    *,
    max_chars: int,
    before: Collection[str] | None = None,
    near: Mapping[int, str] | None = None,
) -> str:
    """Return the marks with the text between them, from the top, and then the rest of the text.

    Args:
        marked: the page, with its text.
        marks: those of its marks that may be chosen.
        max_chars: limit on the characters of the text.
        before: the lines of text at the previous look at the same page. Others are said to be new,
            because they are the page's response to the last action.
        near: texts that tell apart marks with the same text, see `disambiguate.ambiguous`.
    """
    known, room = near or {}, _Room(max_chars)
    listed = marks[:MARK_LIMIT]
    entries = [_Entry(mark.box, "", mark) for mark in listed]
    entries += [_Entry(line.box, line.text) for line in marked.lines if line.seen and line.text]
    boxes = sorted(marked.scrolled, key=lambda box: box.box.y)
    lines: list[str] = []
    for row in _rows(entries):
        # A box stands on a line of its own above what it shows.
        while boxes and boxes[0].box.y <= row[0].box.y + _SAME_ROW_PX:
            lines.append(_scrollable(boxes.pop(0)))
        for is_text, group in groupby(row, key=lambda entry: entry.mark is None):
            if is_text:
                lines += room.taken([entry.text for entry in group], before)
                continue
            for entry in group:
                assert entry.mark is not None, "entries without a mark are text"
                lines.append(full_line(entry.mark, known.get(entry.mark.number, "")))
                lines += option_lines([entry.mark])
    if len(marks) > len(listed):
        lines.append(f"({len(marks) - len(listed)} more elements are not listed)")
    beyond = [_Entry(line.box, line.text) for line in marked.lines if not line.seen and line.text]
    rest = [line for row in _rows(beyond) for line in room.taken([e.text for e in row], before)]
    return "\n".join([*lines, *(["(out of view)", *rest] if rest else [])])


def _scrollable(box: ScrolledBox) -> str:
    name = f' "{box.name}"' if box.name else ""
    return f"scrollable{name} ({scrolled_told(box.above, box.below, box.row)})"


def _rows(entries: Sequence[_Entry]) -> list[list[_Entry]]:
    rows: list[list[_Entry]] = []
    for entry in sorted(entries, key=lambda entry: (entry.box.y, entry.box.x)):
        if rows and entry.box.y - rows[-1][0].box.y <= _SAME_ROW_PX:
            rows[-1].append(entry)
        else:
            rows.append([entry])
    return [sorted(row, key=lambda entry: (entry.box.x, entry.box.y)) for row in rows]


class _Room:
    """The room that is left for text."""

    def __init__(self, chars: int) -> None:
        self._left, self._full = chars, False

    def taken(self, texts: Sequence[str], before: Collection[str] | None) -> list[str]:
        """Return texts that stand side by side as a line, which is new if any of them is."""
        if self._full or not texts:
            return []
        line = shortened(" | ".join(texts), LINE_CHARS)
        self._left -= len(line)
        if self._left < 0:
            self._full = True
            return ["text: …"]
        new = before is not None and any(text not in before for text in texts)
        return [f"new text: {line}" if new else f"text: {line}"]
