"""YAML without its dangerous and surprising parts, with the line of every field.

Values follow YAML 1.2's core schema: `no`, `12:30` and `2025-05-06` are texts, as a reader expects.
Anchors, aliases and tags are refused, and limits hold before anything is built.
"""

import re
from collections.abc import Iterator
from typing import Any

import yaml

from pytest_autoweb.cases.reading import (
    MAX_DEPTH,
    MAX_EVENTS,
    Lines,
    ReadResult,
    Unreadable,
    duplicate_key,
    encodable,
    finite,
    too_deep,
    too_long,
    whole,
)
from pytest_autoweb.specs import FieldPath

_CONSTANTS: dict[str, bool | None] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_DECIMAL = re.compile(r"[-+]?[0-9]+")
_OCTAL = re.compile(r"0o[0-7]+")
_HEX = re.compile(r"0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")


def read_yaml(text: str) -> ReadResult:
    """The data of one YAML document and the line of each field.

    Raises:
        Unreadable: the text is not YAML, or uses what case files may not use.
    """
    try:
        return _Builder(_checked(text)).document()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        reason = f"is not valid YAML: {error.problem or error.context}"
        raise Unreadable(reason, mark.line + 1 if mark else 1) from error
    except yaml.reader.ReaderError as error:
        line = text[: int(error.position)].count("\n") + 1
        raise Unreadable("is not valid YAML: it holds a control character", line) from error
    except (ValueError, OverflowError) as error:
        # PyYAML lets chr() of an impossible \\U escape through.
        raise Unreadable(f"is not valid YAML: {error}", 1) from error


def _checked(text: str) -> Iterator[yaml.Event]:
    depth = 0
    for count, event in enumerate(yaml.parse(text, Loader=yaml.SafeLoader)):
        line = _line(event)
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None) is not None:
            raise Unreadable("anchors and aliases (& and *) are not allowed; use vars", line)
        if (tag := getattr(event, "tag", None)) is not None:
            raise Unreadable(f"tags (here {tag!r}) are not allowed", line)
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if depth > MAX_DEPTH:
            raise too_deep(line)
        if count > MAX_EVENTS:
            raise too_long(line)
        yield event


def _line(event: yaml.Event) -> int:
    return event.start_mark.line + 1 if event.start_mark else 1


class _Builder:
    """Turns parser events into data, noting lines."""

    def __init__(self, events: Iterator[yaml.Event]) -> None:
        self._events = events
        self._lines: Lines = {}

    def document(self) -> ReadResult:
        for event in self._events:
            if isinstance(event, yaml.NodeEvent):
                self._lines[()] = _line(event)
                data = self._node(event, ())
                break
        else:
            raise Unreadable("is empty", 1)
        for event in self._events:
            if isinstance(event, yaml.DocumentStartEvent):
                raise Unreadable("holds more than one YAML document", _line(event))
        return data, self._lines

    def _node(self, event: yaml.Event, at: FieldPath) -> Any:
        if isinstance(event, yaml.SequenceStartEvent):
            return self._sequence(at)
        if isinstance(event, yaml.MappingStartEvent):
            return self._mapping(at)
        assert isinstance(event, yaml.ScalarEvent)
        text = encodable(event.value, _line(event))
        return _scalar(text, _line(event)) if event.implicit[0] else text

    def _sequence(self, at: FieldPath) -> list[Any]:
        items: list[Any] = []
        while not isinstance(event := next(self._events), yaml.SequenceEndEvent):
            here = (*at, len(items))
            self._lines[here] = _line(event)
            items.append(self._node(event, here))
        return items

    def _mapping(self, at: FieldPath) -> dict[str, Any]:
        entries: dict[str, Any] = {}
        while not isinstance(event := next(self._events), yaml.MappingEndEvent):
            line = _line(event)
            if not isinstance(event, yaml.ScalarEvent):
                raise Unreadable(
                    'a key must be plain text; write expressions in quotes: "{{ vars.name }}"', line
                )
            key = encodable(event.value, line)
            here = (*at, key)
            if key in entries:
                raise duplicate_key(key, line, self._lines[here])
            self._lines[here] = line
            entries[key] = self._node(next(self._events), here)
        return entries


def _scalar(text: str, line: int) -> Any:
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    if _DECIMAL.fullmatch(text):
        return whole(text, line)
    if _OCTAL.fullmatch(text):
        return whole(text[2:], line, 8)
    if _HEX.fullmatch(text):
        return whole(text[2:], line, 16)
    return finite(text, line) if _FLOAT.fullmatch(text) else text
