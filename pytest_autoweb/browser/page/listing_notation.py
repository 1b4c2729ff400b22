"""How the elements and texts of a listing are written.

Text of the page that looks like this notation stands in quotes, so that no page can fake it.
"""

import json
import re
from collections.abc import Sequence
from typing import NamedTuple

from pytest_autoweb.browser.page.page_tree import ListedOption, Node

CONTROLS = frozenset(
    [
        *("button", "link", "textbox", "searchbox", "combobox", "checkbox", "radio", "switch"),
        *("slider", "spinbutton", "tab", "menuitem", "menuitemcheckbox", "menuitemradio"),
        *("option", "treeitem", "listbox", "iframe", "clickable", "hoverable"),
    ]
)
"""Roles of what can be acted on."""
FIELDS = frozenset({"textbox", "searchbox", "combobox", "spinbutton", "slider", "listbox"})
_OTHERS = [
    "heading",
    "list",
    "listitem",
    "table",
    "grid",
    "row",
    "header",
    "cell",
    "dialog",
    "alertdialog",
    "navigation",
    "region",
    "form",
    "group",
    "figure",
    "img",
    "alert",
    "status",
    "progressbar",
    "meter",
    "tablist",
    "menu",
    "toolbar",
    "tree",
    "text",
    "scrollable",
]
_ROLE = rf"(?:(?:clickable|header) )?(?:{'|'.join([*sorted(CONTROLS), *_OTHERS])})"
_NOTATION = re.compile(rf'[|"\[\]⏎]|^\(|^\.\.\.|^e\d+ |^{_ROLE}(?= ?[:(.#]| ->|$)')
_FORMATS = {
    "date": "YYYY-MM-DD",
    "time": "HH:MM",
    "datetime-local": "YYYY-MM-DDTHH:MM",
    "month": "YYYY-MM",
    "week": "YYYY-Www",
    "color": "#rrggbb",
    "file": "file",
}
_SUGGESTIONS = 30


class Piece(NamedTuple):
    """An element or a text as a part of a line."""

    role: str
    """Empty for a text."""
    rest: str
    """Name, states and facts."""
    value: str = ""
    number: int = 0
    beside: str = ""
    """What tells it from others of its name."""

    @property
    def size(self) -> int:
        """Characters, about."""
        return len(self.role) + len(self.rest) + len(self.value) + 3

    def text(self, *, after: str = "") -> str:
        """Return the piece, without its role after another one of that role."""
        number = f"e{self.number} " if self.number else ""
        repeats = after and self.role == after and self.rest.startswith('"')
        said = self.rest if repeats else f"{self.role} {self.rest}".strip()
        return f"{number}{said}{self.value}"


def joined(pieces: Sequence[Piece]) -> str:
    """Return pieces as a line.

    A role is said once for those of it that follow each other, and what tells elements from others
    of their name only where nothing else on the line does.
    """
    alone = all(piece.beside for piece in pieces)
    same = len({piece.beside for piece in pieces}) == 1
    said: list[str] = []
    before = ""
    for index, piece in enumerate(pieces):
        last = index == len(pieces) - 1
        note = f" (beside {quoted(piece.beside)})" if alone and (last or not same) else ""
        said.append(piece.text(after=before) + note)
        before = piece.role
    return " | ".join(said)


def plain(text: str) -> str:
    """Return a text of the page as it stands in a listing."""
    return f"text {quoted(text)}" if _NOTATION.search(text) else text


def quoted(text: str) -> str:
    """Return a text in quotes."""
    return json.dumps(text, ensure_ascii=False)


def valued(text: str) -> str:
    """Return what a field holds; its line breaks are shown."""
    if "⏎" in text:
        return quoted(text)
    lines = "⏎".join(line.rstrip() for line in text.split("\n"))
    return quoted(lines) if re.search(r'[|"\[\]]|^\(', lines) else lines


def head(node: Node, *, role: str = "") -> Piece:
    """Return role, name, states and facts of an element, and its value."""
    parts = [quoted(node.name)] if node.name else []
    if node.label and node.label != node.name:
        parts.append(f"label {quoted(node.label)}")
    if node.title and node.title != node.name:
        parts.append(f"title {quoted(node.title)}")
    unnamed = not (node.name or node.label or node.title or node.placeholder or node.number)
    if unnamed and node.handle and not node.url:
        parts.append(node.handle)
    parts += [f"[{state}]" for state in node.states]
    if node.bold:
        parts.append("[bold]")
    if note := scrolled_told(*node.scroll):
        parts.append(f"[scrolls: {note}]")
    if node.placeholder and node.placeholder != node.name:
        parts.append(f"placeholder {quoted(node.placeholder)}")
    if facts := _facts(node):
        parts.append(f"({'; '.join(facts)})")
    if node.role == "link" and node.url:
        parts.append(f"-> {node.url}")
    rest = " ".join(parts)
    value = _value(node)
    value = f": {value}" if value else ""
    return Piece(role or node.role, rest, value, node.number, node.beside)


def _facts(node: Node) -> list[str]:
    facts = [_FORMATS[node.kind]] if node.kind in _FORMATS else []
    if node.kind == "password" and not node.name:
        facts.append("password")
    low, high, step = node.limits
    if low or high:
        facts.append(f"{low or '…'} to {high or '…'}")
    if step and step not in {"1", "any"}:
        facts.append(f"step {step}")
    if node.options and node.kind not in {"select", "multiple"}:
        shown = ", ".join(_option(one) for one in node.options[:_SUGGESTIONS])
        more = f", {len(node.options) - _SUGGESTIONS} more"
        facts.append(f"suggests {shown}" + (more if len(node.options) > _SUGGESTIONS else ""))
    return facts


def _value(node: Node) -> str:
    if node.role == "iframe":
        return ""
    if node.options and node.kind in {"select", "multiple"}:
        return options_text(node.options)
    return valued(node.value) if node.value else ""


def options_text(options: Sequence[ListedOption]) -> str:
    """Return the options of a select box."""
    said: list[str] = []
    group = ""
    for one in options:
        begins = f"({one.group}) " if one.group and one.group != group else ""
        group = one.group
        states = " [selected]" * one.chosen + " [disabled]" * one.disabled
        said.append(f"{begins}{_option(one)}{states}")
    return "; ".join(said)


def _option(one: ListedOption) -> str:
    text = one.label or one.value
    if not text:
        return '""'
    return quoted(text) if re.search(r'[|"\[\];,]|^\(', text) else text


def scrolled_told(above: int, below: int, row: int) -> str:
    """Return how much of a box is out of view, such as `52 rows below`; empty if nothing is.

    Args:
        above: pixels above what it shows.
        below: pixels below it.
        row: height of one of its rows, or 0 if it has none.
    """

    def size(pixels: int) -> str:
        if row and pixels >= row / 2:
            count = max(1, round(pixels / row))
            return f"{count} row{'s' if count > 1 else ''}"
        return f"{pixels} px"

    said = [f"{size(above)} above"] if above else []
    said += [f"{size(below)} below"] if below else []
    return ", ".join(said)
