"""What a listing says can be acted on, read out of the notations of all tools that are compared."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass

FIELDS = frozenset(
    [
        *("textbox", "searchbox", "combobox", "spinbutton", "listbox", "slider", "input"),
        *("date", "datetime", "inputtime", "colorwell", "textfield", "select", "textarea"),
    ]
)
TOGGLES = frozenset(["checkbox", "radio", "switch", "menuitemcheckbox", "menuitemradio"])
PRESSED = frozenset(
    [
        *("button", "link", "tab", "menuitem", "option", "treeitem", "clickable", "file"),
        *("disclosuretriangle", "summary", "popupbutton", "togglebutton"),
    ]
)
ACTED_ON = FIELDS | TOGGLES | PRESSED
_SAID_LINES = 400
_MARK = re.compile(r"\bclickable\b|cursor[=:]pointer|\bonclick\b")
_NUMBER = re.compile(
    r"^(?:- )?(?:\*?\[(?P<a>\d[\w-]*|[a-z]\w*\d)\]|uid=(?P<b>\w+)|(?P<c>f?\d*e\d+)\b)\s*"
)
_OTHER_NAMES = re.compile(r'\b(?:title|label|placeholder) ("(?:[^"\\]|\\.)*")')
_PIECE = re.compile(
    r"^(?P<role>[A-Za-z][A-Za-z-]*)(?: row)?"
    r"""(?:,? (?P<name>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'))?(?P<rest>.*)$""",
    re.DOTALL,
)


@dataclass(slots=True)
class Entry:
    """Something that a listing says can be acted on."""

    role: str
    name: str
    head: str
    """What stands at the element itself, with its states."""
    said: str
    """The same with all below it, such as options."""
    number: str = ""
    frame: str = ""
    """The head of the frame that it is listed in."""
    quoted: bool = False
    """Its name stands in quotes."""
    others: tuple[str, ...] = ()
    """Its title or label, where it has that besides a name."""
    around: str = ""
    """What it stands in on the same line, such as a row that is selected."""

    @property
    def group(self) -> str:
        """Tell fields, toggles and what is pressed apart."""
        return group_of(self.role)


def group_of(role: str) -> str:
    """Return which kind of use a role has."""
    return "field" if role in FIELDS else "toggle" if role in TOGGLES else "press"


def unquoted(text: str) -> str:
    """Return a quoted name as it was."""
    if text.startswith('"'):
        try:
            return str(json.loads(text, strict=False))
        except ValueError:
            pass
    return text[1:-1].replace("\\'", "'").replace('\\"', '"')


_OUTSIDE_QUOTES = r'(?=(?:[^"]*"[^"]*")*[^"]*$)'
_BETWEEN = re.compile(
    rf" \| {_OUTSIDE_QUOTES}"
    rf"|, (?=(?:f?\d*e\d+ )?(?:{'|'.join(sorted(ACTED_ON))})(?: [\"\[.#|]|:|$|, )){_OUTSIDE_QUOTES}"
)
_BETWEEN_NAMES = re.compile(rf', (?=(?:f?\d*e\d+ )?"){_OUTSIDE_QUOTES}')


def pieces_of(line: str) -> list[str]:
    """Split a line of several parts, where what is between them does not stand in quotes."""
    if re.match(r"\[[\w-]+\] ", line):
        # Of the tools that write numbers so, a comma divides the facts of one element.
        return [line]
    parts = [piece for piece in _BETWEEN.split(line) if piece]
    return [
        piece
        for part in parts
        for piece in ([part] if ' options "' in part else _BETWEEN_NAMES.split(part))
    ]


def outline_entries(
    text: str, *, all_numbered: bool = False, bare_names: bool = False
) -> Iterator[Entry]:
    """Read a listing of one element a line, indented by depth: role, name, states.

    Args:
        text: the listing.
        all_numbered: whatever has a number can be acted on, whatever its role.
        bare_names: the name of a field stands behind a colon, where others write its value.
    """
    lines = text.split("\n")
    depths = [len(line) - len(line.lstrip()) for line in lines]
    frames: list[tuple[int, str]] = []
    for at, line in enumerate(lines):
        while frames and depths[at] <= frames[-1][0]:
            frames.pop()
        below = []
        for later in range(at + 1, min(len(lines), at + _SAID_LINES)):
            if lines[later].strip() and depths[later] <= depths[at]:
                break
            below.append(lines[later])
        frame = frames[-1][1] if frames else ""
        for entry in _of_line(line.strip(), "\n".join(below), frame, all_numbered):
            if entry.group != "press" and not bare_names and not entry.quoted:
                entry.name = ""
            yield entry
        if re.match(r"(?:- |\[\S+\] |uid=\S+ |e\d+ )*[Ii]frame\b", line.strip()):
            frames.append((depths[at], line.strip()))


def _of_line(line: str, below: str, frame: str, all_numbered: bool) -> Iterator[Entry]:
    plain_line = line.removeprefix("- ")
    if re.match(r"'[a-z]", plain_line):
        # YAML quotes a key that holds a colon.
        plain_line = re.sub(r"^'(.*)'(:?.*)$", r"\1\2", plain_line).replace("''", "'")
    pieces = pieces_of(plain_line)
    role = ""
    for index, whole in enumerate(pieces):
        around = ""
        for piece in _nested(whole):
            found = _NUMBER.match(piece)
            number = next(filter(None, found.groups()), "") if found else ""
            plain = piece[found.end() :] if found else piece
            number = number or (re.findall(r"\[ref=(\w+)\]", plain) or [""])[0]
            if role in ACTED_ON and plain.startswith('"'):
                # A role is said once for all of it that stand in a row.
                plain = f"{role} {plain}"
            parts = _PIECE.match(plain)
            if parts is None:
                continue
            role = parts["role"].casefold()
            around += f" {plain}" if role not in ACTED_ON else ""
            acts = role in ACTED_ON or _MARK.search(_head(parts["rest"]))
            if not acts and not (all_numbered and number):
                continue
            later = _until_next(pieces[index + 1 :], role)
            said = "\n".join(
                [plain, *later, below if index + len(later) + 1 == len(pieces) else ""]
            )
            name = unquoted(parts["name"]) if parts["name"] else _value(parts["rest"])
            if not name and role not in FIELDS | TOGGLES:
                name = _texts("\n".join([*pieces[index + 1 :], below]))[:300]
            elif not parts["name"] and role not in FIELDS | TOGGLES:
                name = " ".join([name, *map(_texts, pieces[index + 1 :])])[:300]
            others = tuple(map(unquoted, _OTHER_NAMES.findall(parts["rest"])))
            quoted = bool(parts["name"])
            if role == "combobox" and not quoted:
                # One that is drawn by the page is named after what it shows.
                others = (*others, _value(parts["rest"]))
            yield Entry(role, name, _head(plain), said, number, frame, quoted, others, around)


_OUTER = re.compile(
    r"^(?P<head>(?:- )?(?:f?\d*e\d+ |uid=\S+ |\[\S+\] )?[A-Za-z ]+"
    r'(?: "(?:[^"\\]|\\.)*")?(?: \[[^\]]*\])*): (?=\S)'
)


def _nested(piece: str) -> list[str]:
    """Return a part, and what it holds where that is one more element: `row: link "A"`."""
    found = _OUTER.match(piece)
    if not found:
        return [piece]
    inner = piece[found.end() :]
    opened = re.match(r"(?:f?\d*e\d+ )?([a-z]+)\b(?= |$|:)", inner)
    outer = re.sub(r"^(?:- )?(?:f?\d*e\d+ )?", "", found["head"]).split()[0]
    if not opened or opened[1] not in ACTED_ON | {"iframe"} or outer in FIELDS:
        return [piece]
    return [found["head"] + ":", *_nested(inner)]


def _until_next(pieces: list[str], role: str) -> list[str]:
    """Return the options that follow on the same line."""
    if role not in {"combobox", "listbox"}:
        return []
    found = []
    for piece in pieces:
        words = re.match(r"(?:f?\d*e\d+ )?([a-z]+)\b", piece)
        if words and words[1] in ACTED_ON - {"option"} and re.match(r".*\s[\"]", piece):
            break
        found.append(piece)
    return found


def _head(text: str) -> str:
    return text.partition("\n")[0]


def _value(rest: str) -> str:
    bare = re.sub(r"\[[^\]]*\]", "", rest)
    found = re.search(r"(?:^|\s|\w):\s+(.*)$", bare) or re.match(r"\s*:\s*(.*)$", bare)
    return (
        unquoted(found[1])
        if found and re.match(r"[\"'].*[\"']$", found[1])
        else (found[1] if found else "")
    )


_QUOTED_OR_MARK = re.compile(r'("(?:[^"\\]|\\.)*")|\[[^\]\n]*\]')


def _texts(below: str) -> str:
    """Return the texts and names of a part of a listing, without roles and marks."""
    words = []
    for line in below.split("\n"):
        bare = _NUMBER.sub("", line.strip().removeprefix("- "))
        bare = _QUOTED_OR_MARK.sub(lambda found: found[1] or "", bare)
        bare = re.sub(r"^(?:[A-Za-z]+(?: row)?)(?=\s*:| [\"']|\s*$)\s*:?", "", bare)
        words.append(bare.strip().strip("\"':").replace('\\"', '"'))
    return " ".join(filter(None, words))


_TAG = re.compile(
    r"^(?P<indent>\s*)(?:\|[^|]*\|)?\*?\[(?P<number>[\w-]+)\]<(?P<tag>[\w-]+)(?P<attrs>.*)$"
)
_ATTRIBUTE = re.compile(r"""([\w-]+)=("[^"]*"|'[^']*'|\([^)]*\)|.*?(?=\s[\w-]+=|\s*/?>|$))""")


def tag_entries(text: str) -> Iterator[Entry]:
    """Read a listing of tags with numbers, as browser-use writes it."""
    lines = text.split("\n")
    depth = [len(line) - len(line.lstrip("\t ")) for line in lines]
    for at, line in enumerate(lines):
        found = _TAG.match(line)
        if not found:
            continue
        below = []
        for later in range(at + 1, len(lines)):
            if depth[later] <= depth[at]:
                break
            below.append(lines[later])
        given = {key: value.strip("\"'") for key, value in _ATTRIBUTE.findall(found["attrs"])}
        role = given.get("role") or _role_of_tag(found["tag"], given)
        texts = " ".join(
            one.strip() for one in below if not one.strip().startswith(("[", "<", "*["))
        )
        inner = " ".join(_ATTRIBUTE.sub("", one) for one in below)
        name = texts or next(
            (
                given[key]
                for key in (
                    *(["value"] if role == "button" else []),
                    "aria-label",
                    "ax_name",
                    "placeholder",
                    "title",
                    "alt",
                    "name",
                )
                if given.get(key)
            ),
            "",
        )
        entry = Entry(role, name, line, f"{line}\n{inner}", found["number"])
        if entry.group != "press":
            # Its label stands above or below.
            around = (lines[one].strip() for one in (at - 1, at + 1) if 0 <= one < len(lines))
            entry.others = tuple(text for text in around if not _TAG.match(text))
        yield entry


def _role_of_tag(tag: str, given: dict[str, str]) -> str:
    if tag == "input":
        return {"checkbox": "checkbox", "radio": "radio", "file": "file", "submit": "button"}.get(
            given.get("type", ""), "textbox"
        )
    return {"a": "link", "select": "combobox", "textarea": "textbox", "button": "button"}.get(
        tag, "clickable"
    )
