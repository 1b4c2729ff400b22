"""Playwright's aria snapshots, shortened and stripped of secrets."""

import json
import re
from collections.abc import Collection
from dataclasses import dataclass, replace

from pytest_autoweb.browser.outline import Line, parse_outline

HIDDEN = "<hidden>"
"""Placeholder for the value of a password field."""

_WORDS = re.compile(r"\S+")
_KEY = re.compile(
    r"(?P<role>/?[\w-]+)(?: (?P<name>\"(?:[^\"\\]|\\.)*\"|/(?:[^/\\]|\\.)*/))?"
    r"(?P<attrs>(?: \[[^\]]*\])*)(?P<tail>:(?: .*)?)?$",
    re.DOTALL,
)
# Refs and the focus change from one snapshot to the next and mean nothing to a model.
_NOISE = re.compile(r" \[(?:ref=[^\]]*|cursor=pointer|active)\]")
_REF = re.compile(r" \[(?:ref=[^\]]*|active)\]")
# For these roles, the attribute `cursor=pointer` adds no information.
_CLICKED_BY_NATURE = frozenset(
    _WORDS.findall(
        "button link tab menuitem menuitemcheckbox menuitemradio option checkbox radio switch "
        "combobox textbox searchbox slider spinbutton treeitem"
    )
)
_FIELDS = frozenset({"textbox", "searchbox", "combobox", "spinbutton"})


@dataclass(frozen=True, slots=True)
class _Parts:
    """The components of one line of a snapshot."""

    role: str
    name: str
    attrs: str
    value: str
    """Text after the colon; empty if there is none or if children follow."""
    has_colon: bool

    def text(self) -> str:
        key = self.role + (f" {self.name}" if self.name else "") + self.attrs
        if self.has_colon and self.value:
            return f"- {_yaml_key(key)}: {self.value}"
        return f"- {_yaml_key(key)}" + (":" if self.has_colon else "")


def aria_outline(snapshot: str, secrets: Collection[str]) -> tuple[Line, ...]:
    """Return the snapshot without refs, unnamed wrappers and the values of password fields."""
    hidden = {_collapse(secret) for secret in secrets if secret.strip()}
    roots = parse_outline(snapshot, lambda raw: _read(raw, hidden))
    return tuple(line for root in roots for line in _unwrap(root))


def _read(raw: str, hidden: Collection[str]) -> Line:
    parts = _take_apart(raw)
    if parts is None:
        return Line(raw, "")
    noise = _NOISE if parts.role in _CLICKED_BY_NATURE else _REF
    parts = replace(parts, attrs=noise.sub("", parts.attrs))
    if hidden:
        parts = _hide(parts, hidden)
    return Line(parts.text(), parts.role)


def _take_apart(raw: str) -> _Parts | None:
    if not raw.startswith("- "):
        return None
    entry = raw[2:]
    if entry.startswith("'"):
        # YAML quotes a key that contains a colon or similar characters.
        end = re.match(r"'((?:[^']|'')*)'", entry)
        if end is None:
            return None
        entry = end.group(1).replace("''", "'") + entry[end.end() :]
    if (match := _KEY.match(entry)) is None:
        return None
    tail = match["tail"] or ""
    return _Parts(match["role"], match["name"] or "", match["attrs"], tail[1:].strip(), bool(tail))


def _hide(parts: _Parts, hidden: Collection[str]) -> _Parts:
    if parts.role in _FIELDS and parts.value and _collapse(_decoded(parts.value)) in hidden:
        parts = replace(parts, value=HIDDEN)
    if parts.name.startswith('"'):
        name = _decoded(parts.name)
        for secret in hidden:
            # The accessible name of a label includes the value of a field inside it.
            name = re.sub(rf"(?<!\w){re.escape(secret)}(?!\w)", HIDDEN, name)
        parts = replace(parts, name=json.dumps(name, ensure_ascii=False))
    return parts


def _decoded(value: str) -> str:
    if value.startswith('"'):
        try:
            return str(json.loads(value))
        except ValueError:
            return value.strip('"')
    if value.startswith("'"):
        return value.strip("'").replace("''", "'")
    return value


def _collapse(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip()


def _yaml_key(key: str) -> str:
    plain = ": " not in key and " #" not in key and not key.endswith(":") and "\n" not in key
    return key if plain else "'" + key.replace("'", "''") + "'"


def _unwrap(line: Line) -> tuple[Line, ...]:
    """Replace wrappers that have no name, state or text by their children."""
    children = tuple(child for below in line.children for child in _unwrap(below))
    if line.text in {"- generic:", "- generic"}:
        return children
    text = line.text.removesuffix(":") if line.children and not children else line.text
    return (replace(line, text=text, children=children),)
