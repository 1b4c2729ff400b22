"""Accessibility trees as indented lines: Playwright's ARIA snapshots and Chrome's full tree."""

import json
import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from pytest_autoweb.base.whole_characters import whole_json
from pytest_autoweb.browser.page.outline import Line, parse_outline

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
CLICKED_BY_NATURE = frozenset(
    _WORDS.findall(
        "button link tab menuitem menuitemcheckbox menuitemradio option checkbox radio switch "
        "combobox textbox searchbox slider spinbutton treeitem"
    )
)
_FIELDS = frozenset({"textbox", "searchbox", "combobox", "spinbutton"})


class Parts(Struct, frozen=True):
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
    parts = take_apart(raw)
    if parts is None:
        return Line(raw, "")
    noise = _NOISE if parts.role in CLICKED_BY_NATURE else _REF
    attrs = noise.sub("", parts.attrs) if parts.attrs else ""
    # `replace` takes several times as long, and pages have thousands of lines.
    parts = Parts(parts.role, _whole(parts.name), attrs, parts.value, parts.has_colon)
    if hidden:
        parts = _hide(parts, hidden)
    return Line(parts.text(), parts.role)


def _whole(name: str) -> str:
    # Playwright writes names as JSON, in which half of a surrogate pair is spelt out.
    return whole_json(name) if name.startswith('"') else name


def take_apart(raw: str) -> Parts | None:
    """Return the components of a line, or None if it is not one of a snapshot."""
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
    return Parts(match["role"], match["name"] or "", match["attrs"], tail[1:].strip(), bool(tail))


def _hide(parts: Parts, hidden: Collection[str]) -> Parts:
    if parts.role in _FIELDS and parts.value and _collapse(decoded(parts.value)) in hidden:
        parts = replace(parts, value=HIDDEN)
    if parts.name.startswith('"'):
        name = decoded(parts.name)
        for secret in hidden:
            # The accessible name of a label includes the value of a field inside it.
            name = re.sub(rf"(?<!\w){re.escape(secret)}(?!\w)", HIDDEN, name)
        parts = replace(parts, name=json.dumps(name, ensure_ascii=False))
    return parts


def decoded(value: str) -> str:
    """Return a name or value without the quotes of JSON or YAML."""
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


_WRAPPERS = frozenset({"- generic:", "- generic"})


def _unwrap(line: Line) -> tuple[Line, ...]:
    """Replace wrappers that have no name, state or text by their children."""
    children = tuple(child for below in line.children for child in _unwrap(below))
    if line.text in _WRAPPERS:
        return children
    if not line.children:
        return (line,)
    text = line.text if children else line.text.removesuffix(":")
    return (Line(text, line.kind, children),)


_TRANSPARENT = frozenset(
    {"generic", "none", "GenericContainer", "RootWebArea", "MenuListPopup", "Section", "LabelText"}
)
_DROPPED = frozenset({"InlineTextBox", "LineBreak"})
_STATES = (
    "checked",
    "selected",
    "expanded",
    "disabled",
    "required",
    "readonly",
    "pressed",
    "invalid",
    "level",
    "multiselectable",
    "focused",
)
# The reader recurses, so the depth of a hostile page has to be limited.
_DEPTH_LIMIT = 250
# Roles whose text is their value.
_AX_TREE_FIELDS = frozenset({"textbox", "searchbox", "spinbutton", "combobox"})
# Chromium replaces the characters of a password field by bullets.
_MASK = re.compile("[•●*]+")


def ax_outline(
    nodes: Sequence[Mapping[str, Any]],
    frames: Mapping[int, Sequence[Mapping[str, Any]]],
    secrets: Collection[str],
) -> tuple[Line, ...]:
    """Return lines for the nodes of `Accessibility.getFullAXTree`.

    Args:
        nodes: the main document's nodes.
        frames: the nodes of inner documents, by the backend node id of their frame element.
        secrets: values of password fields; they are left out.
    """
    hidden = frozenset(secret for secret in secrets if secret.strip())
    reader = _Reader(frames, hidden)
    return reader.document(nodes, 0)


class _Reader(Struct, frozen=True):
    frames: Mapping[int, Sequence[Mapping[str, Any]]]
    hidden: frozenset[str]

    def document(self, nodes: Sequence[Mapping[str, Any]], depth: int) -> tuple[Line, ...]:
        by_id = {str(node["nodeId"]): node for node in nodes}
        roots = (node for node in nodes if str(node.get("parentId", "")) not in by_id)
        return tuple(line for root in roots for line in self.lines(root, by_id, depth, ""))

    def lines(
        self,
        node: Mapping[str, Any],
        by_id: Mapping[str, Mapping[str, Any]],
        depth: int,
        parent_name: str,
    ) -> tuple[Line, ...]:
        role, name = _text(node, "role"), _text(node, "name")
        if role in _DROPPED or depth > _DEPTH_LIMIT:
            return ()
        skipped = bool(node.get("ignored")) or role == "RootWebArea"
        skipped = skipped or (role in _TRANSPARENT and not name)
        children: list[Line] = []
        for child_id in node.get("childIds", ()):
            if (child := by_id.get(str(child_id))) is not None:
                inner_name = parent_name if skipped else name
                children.extend(self.lines(child, by_id, depth + 1, inner_name))
        if inner := self.frames.get(int(node.get("backendDOMNodeId", -1))):
            children.extend(self.document(inner, depth + 1))
        if skipped:
            return tuple(children)
        if role in _AX_TREE_FIELDS:
            children = [line for line in children if line.kind != "text"]
        if role == "StaticText":
            # Chromium lists the text of a named element again as its child.
            repeats = name in parent_name or _MASK.fullmatch(name) or name in self.hidden
            if repeats:
                return ()
            return (Line(f"text {_quoted(name)}", "text"),)
        for secret in self.hidden:
            name = re.sub(rf"(?<!\w){re.escape(secret)}(?!\w)", HIDDEN, name)
        return (Line(self._described(node, role, name), role, tuple(children)),)

    def _value(self, node: Mapping[str, Any]) -> str:
        value = _text(node, "value")
        return HIDDEN if value and (_MASK.fullmatch(value) or value in self.hidden) else value

    def _described(self, node: Mapping[str, Any], role: str, name: str) -> str:
        parts = [role] + ([_quoted(name)] if name else [])
        if value := self._value(node):
            parts.append(f"value={value if value == HIDDEN else _quoted(value)}")
        parts += _states(node)
        if role == "link" and (url := _property(node, "url")):
            parts.append(f"url={url}")
        return " ".join(parts)


def _states(node: Mapping[str, Any]) -> list[str]:
    found = []
    for prop in node.get("properties", ()):
        state = prop.get("value", {}).get("value")
        if prop.get("name") in _STATES and state not in (False, "false", None, ""):
            tail = "" if state is True or state == "true" else f"={state}"
            found.append(f"[{prop['name']}{tail}]")
    return found


def _property(node: Mapping[str, Any], name: str) -> str:
    for prop in node.get("properties", ()):
        if prop.get("name") == name:
            return str(prop.get("value", {}).get("value", ""))
    return ""


def _text(node: Mapping[str, Any], key: str) -> str:
    value = node.get(key, {}).get("value", "")
    return re.sub(r"\s+", " ", str(value)).strip()


def _quoted(text: str) -> str:
    return '"' + text.replace('"', '\\"') + '"'
