"""Listings of pages read as a model reads them: from their text alone.

`read_listing` turns the listing of a prompt into items: controls and texts, each with its row and
the frame around it. It knows the notation and nothing of the page.
"""

import json
import re
from collections.abc import Iterator
from typing import NamedTuple

_CONTROLS = frozenset(
    [
        *("button", "link", "textbox", "searchbox", "combobox", "checkbox", "radio", "switch"),
        *("slider", "spinbutton", "tab", "menuitem", "menuitemcheckbox", "menuitemradio"),
        *("option", "treeitem", "listbox", "clickable", "hoverable"),
    ]
)
_OTHERS = frozenset(
    [
        *("iframe", "heading", "list", "listitem", "table", "grid", "row", "header", "cell"),
        *("dialog", "alertdialog", "navigation", "region", "form", "group", "figure", "img"),
        *("alert", "status", "progressbar", "meter", "tablist", "menu", "toolbar", "tree"),
        *("scrollable", "text", "columnheader"),
    ]
)
_HOLDERS = frozenset(
    ["clickable", "hoverable", "iframe", "row", "header", "cell", "listitem", "scrollable"]
)
"""Roles after whose colon there are further pieces, not a value."""
_OUT_OF_VIEW = "(out of view)\n"
_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"')
_PIECE = re.compile(
    rf"""(?:(?P<ref>e\d+)[ ]|\[(?P<mark>\d+)\][ ])?
    (?:(?P<role>(?(mark)[\w-]+|(?:{"|".join(sorted(_CONTROLS | _OTHERS))})(?=[ :]|$)))[ ]?)?
    (?:row\b[ ]?)?
    (?P<name>"(?:[^"\\]|\\.)*")?
    (?P<rest>(?:[ ]?(?:\[[^\]]*\]|\([^)]*\)|[.\#][\w-]+|[a-z]+[ ]"(?:[^"\\]|\\.)*"|->[ ]\S+))*)
    (?P<end>:[ ]?|$)""",
    re.VERBOSE,
)


class Lost(Exception):
    """The listing does not show what was looked for."""


class Item(NamedTuple):
    """A control or a text of a listing."""

    row: int
    role: str
    """Empty for a text."""
    name: str
    """Of a text, the text."""
    rest: str = ""
    """States and facts, as they are written."""
    value: str = ""
    number: str = ""
    """Its number, in listings that have some, as an action names it."""
    frame: str = ""
    """Name of the frame around it."""

    @property
    def is_control(self) -> bool:
        """Tell whether it can be acted on: by its role, or because it has a number."""
        return self.role in _CONTROLS or self.number.isdecimal()

    @property
    def hint(self) -> str:
        """Return its title or label, where what it shows is something else."""
        found = re.search(rf"\b(?:title|label) ({_QUOTED.pattern})", self.rest)
        return json.loads(found[1]) if found else ""

    @property
    def states(self) -> frozenset[str]:
        """Return the words in brackets."""
        found = re.findall(r"\[([^\]]*)\]|\(([^)]*)\)", self.rest)
        return frozenset(word.strip() for part in found for word in "".join(part).split(","))


class Listing(NamedTuple):
    """What a listing shows."""

    items: tuple[Item, ...]
    text: str

    def shows(self, text: str) -> bool:
        """Tell whether some text or name of the page is, or has, this text."""
        return any(text in item.name or text in item.value for item in self.items)

    def find(self, name: str, *, beside: str = "") -> Item:
        """Return the only control with this name, in the row that has another text.

        Raises:
            Lost: there is none, or several.
        """
        found = [item for item in self.items if item.is_control and name in (item.name, item.hint)]
        found = found or [item for item in self._regions() if self._says(item.row, name)]
        if beside:
            found = [item for item in found if self._is_beside(item, beside)]
            found = found or [
                i for i in self.items if i.is_control and name in i.name and beside in i.name
            ]
        if len(found) != 1:
            where = f" in the row with {beside!r}" if beside else ""
            raise Lost(f"{len(found)} controls are called {name!r}{where}")
        return found[0]

    def field_holding(self, text: str) -> Item:
        """Return the only field whose value has this text.

        Raises:
            Lost: there is none, or several.
        """
        found = [item for item in self.items if item.is_control and text in item.value]
        found = found or [
            i for i in self.items if i.is_control and "⏎" in i.name and text in i.name
        ]
        if len(found) != 1:
            raise Lost(f"{len(found)} fields hold {text!r}")
        return found[0]

    def row(self, text: str) -> Item:
        """Return the only item that is, or begins with, this text.

        Raises:
            Lost: there is none, or several.
        """
        regions = [item for item in self._regions() if self._says(item.row, text)]
        named = [item for item in self.items if item.number and item.name.startswith(f"{text} ")]
        said = [item for item in self.items if item.name == text]
        hovered = [
            item
            for item in self.items
            if "more on hover" in item.states and self._says(item.row, text)
        ]
        for found in (hovered, regions, named, said):
            if len(found) == 1:
                return found[0]
        raise Lost(f"{len(said)} items say {text!r}")

    def scrollable(self) -> Item:
        """Return the only box with more in it than it shows.

        Raises:
            Lost: there is none, or several.
        """
        found = [item for item in self.items if item.role == "scrollable"]
        if not found and _OUT_OF_VIEW in self.text:
            # Such a list only says that there is more, not in which box.
            found = [item for item in self.items if item.is_control][-1:]
        if len(found) != 1:
            raise Lost(f"{len(found)} boxes can be scrolled")
        return found[0]

    def first_inside(self, box: Item) -> Item:
        """Return the first control that is listed after a box.

        Raises:
            Lost: there is none.
        """
        later = self.items[self.items.index(box) + 1 :]
        for item in later:
            if item.is_control:
                return item
        raise Lost("nothing in the box has a number")

    def place(self, item: Item) -> int:
        """Return how many with the same role, name and frame come before it."""
        key = (item.role, item.name, item.frame)
        same = [one for one in self.items if (one.role, one.name, one.frame) == key]
        return same.index(item) if len(same) > 1 else -1

    def texts_beside(self, item: Item) -> tuple[str, ...]:
        """Return the texts of its row."""
        return tuple(one.name for one in self.items if one.row == item.row and not one.role)

    def _regions(self) -> Iterator[Item]:
        return (item for item in self.items if item.role == "clickable" and not item.name)

    def _is_beside(self, item: Item, text: str) -> bool:
        """Tell whether a text is in the item's row, or named as what is near it."""
        return self._says(item.row, text) or json.dumps(text, ensure_ascii=False) in item.rest

    def _says(self, row: int, text: str) -> bool:
        here = (item for item in self.items if item.row == row)
        return any(text in (item.name, item.hint) for item in here)


def read_listing(text: str) -> Listing:
    """Return what a listing shows, row by row."""
    items: list[Item] = []
    frames: list[tuple[int, str]] = []
    for row, line in _rows(text.partition(_OUT_OF_VIEW)[0]):
        indent = len(line) - len(line.lstrip(" "))
        frames = [(depth, name) for depth, name in frames if depth < indent]
        frame = frames[-1][1] if frames else ""
        role = ""
        for piece in _pieces(line.strip().removeprefix("new ")):
            for item in _items(piece, row, role):
                items.append(item._replace(frame=frame))
                role = item.role
                if role == "iframe":
                    frame = item.name
                    frames.append((indent, frame))
    return Listing(tuple(items), text)


def _rows(text: str) -> Iterator[tuple[int, str]]:
    """Yield each line with the number of its row.

    Where each mark has a line of its own, a row is some texts and the marks after them.
    """
    marks = re.search(r"^\[\d+\] ", text, re.MULTILINE)
    row, before = 0, ""
    for line in text.split("\n"):
        row += not marks or (before.startswith("[") and not line.startswith("["))
        yield row, line
        before = line


def _pieces(line: str) -> Iterator[str]:
    """Split at bars outside of quotes."""
    covered = _QUOTED.sub(lambda found: "x" * len(found[0]), line)
    start = 0
    for bar in re.finditer(r" \| ", covered):
        yield line[start : bar.start()]
        start = bar.end()
    yield line[start:]


def _items(piece: str, row: int, before: str) -> Iterator[Item]:
    found = _PIECE.match(piece)
    if (
        not found
        or not (found["role"] or found["name"])
        or (found["name"] and not found["end"] and found.end() < len(piece))
    ):
        if piece:
            yield Item(row, "", piece)
        return
    role = found["role"] or before
    name = json.loads(found["name"]) if found["name"] else ""
    number = found["ref"] or found["mark"] or ""
    left = piece[found.end() :]
    if role == "text" and re.fullmatch(rf"img {_QUOTED.pattern}", left):
        yield from _items(left, row, "")
    elif role == "text":
        yield Item(row, "", name or left)
    elif found["end"] and (role in _HOLDERS or re.match(r"(?:e\d+ )?option\b", left)):
        yield Item(row, role, name, found["rest"], "", number)
        yield from _items(left, row, "")
    else:
        holds = re.search(rf"\bholds ({_QUOTED.pattern})", found["rest"])
        value = json.loads(holds[1]) if holds else _unquoted(left)
        yield Item(row, role, name, found["rest"], value, number)


def _unquoted(value: str) -> str:
    return json.loads(value) if _QUOTED.fullmatch(value) else value
