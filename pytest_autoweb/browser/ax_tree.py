"""Chromium's full accessibility tree as indented lines."""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pytest_autoweb.browser.outline import Line

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
_DEPTH_LIMIT = 250
# Roles whose text is their value.
_FIELDS = frozenset({"textbox", "searchbox", "spinbutton", "combobox"})
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
    reader = _Reader(frames, frozenset(secret for secret in secrets if secret.strip()))
    return reader.document(nodes, 0)


@dataclass(frozen=True, slots=True)
class _Reader:
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
        if role in _FIELDS:
            children = [line for line in children if line.kind != "text"]
        if role == "StaticText":
            # Chromium lists the text of a named element again as its child.
            repeats = name in parent_name or _MASK.fullmatch(name) or name in self.hidden
            return () if repeats else (Line(f"text {_quoted(name)}", "text"),)
        return (Line(_described(node, role, name, self.hidden), role, tuple(children)),)


def _described(node: Mapping[str, Any], role: str, name: str, hidden: frozenset[str]) -> str:
    for secret in hidden:
        name = re.sub(rf"(?<!\w){re.escape(secret)}(?!\w)", "<hidden>", name)
    parts = [role] + ([_quoted(name)] if name else [])
    value = _text(node, "value")
    if value and (_MASK.fullmatch(value) or value in hidden):
        parts.append("value=<hidden>")
    elif value:
        parts.append(f"value={_quoted(value)}")
    for prop in node.get("properties", ()):
        state = prop.get("value", {}).get("value")
        if prop.get("name") in _STATES and state not in (False, "false", None, ""):
            tail = "" if state is True or state == "true" else f"={state}"
            parts.append(f"[{prop['name']}{tail}]")
    if role == "link" and (url := _property(node, "url")):
        parts.append(f"url={url}")
    return " ".join(parts)


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
