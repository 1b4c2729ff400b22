"""Readers of YAML and JSON that tell on which line each value stands."""

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any, NoReturn

import yaml

from pytest_autoweb.base.documents.yaml_mistakes import mistake
from pytest_autoweb.base.field_errors import FieldPath

Lines = dict[FieldPath, int]
"""The 1-based line of every key and list item."""

ReadResult = tuple[Any, Lines]

MAX_BYTES = 256 * 1024
MAX_DEPTH = 20
MAX_EVENTS = 20_000


class Unreadable(Exception):
    """Raised by a reader when a text is not the plain YAML or JSON that case files must be."""

    def __init__(self, reason: str, line: int) -> None:
        self.reason, self.line = reason, line
        super().__init__(reason)


def too_deep(line: int) -> Unreadable:
    """Return the error for more nesting than a case file needs."""
    return Unreadable(f"is nested deeper than {MAX_DEPTH} levels", line)


def too_long(line: int) -> Unreadable:
    """Return the error for more content than a case file needs."""
    return Unreadable(f"holds more than {MAX_EVENTS} keys, values and brackets", line)


def duplicate_key(key: str, line: int, first_line: int) -> Unreadable:
    """Return the error for a duplicate key in a mapping, which would lose one value."""
    return Unreadable(f"duplicate key {key!r}; the first one is on line {first_line}", line)


def finite(text: str, line: int) -> float:
    """Read a decimal number; reject one that does not fit a float."""
    number = float(text)
    if number in (float("inf"), float("-inf")):
        raise Unreadable(f"the number {text[:40]} is too large", line)
    return number


def whole(text: str, line: int, base: int = 10) -> int:
    """Read a whole number; reject one of unreasonable length."""
    if len(text) > 100:
        raise Unreadable(f"the number {text[:20]}... is too large", line)
    return int(text, base)


class WrittenNumber(int):
    """A whole number that is printed as it was written, such as the id `007` or `0x10`."""

    written: str

    def __str__(self) -> str:
        return self.written


def as_written(number: int, text: str) -> int:
    """Return the number, which knows its text if that is not how numbers are printed."""
    if str(number) == text:
        return number
    known = WrittenNumber(number)
    known.written = text
    return known


def encodable(text: str, line: int) -> str:
    """Return the text; reject it if an escape left a lone surrogate, which UTF-8 cannot hold."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise Unreadable("holds half of a surrogate pair", line) from error
    return text


_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]{}:,]|[^\s\[\]{}:,"]+')


def read_json(text: str) -> ReadResult:
    """Read a JSON text, and return its data with the line of each field.

    Raises:
        Unreadable: the text is not JSON, or is larger than case files may be.
    """
    tokens = _tokens(text)
    try:
        # Whole numbers as text, because Python rejects those of thousands of digits without giving
        # their place; `whole` does.
        json.loads(text, parse_constant=_no_constant, parse_int=str)
    except json.JSONDecodeError as error:
        raise Unreadable(f"is not valid JSON: {error.msg}", error.lineno) from error
    except ValueError as error:
        raise Unreadable(f"is not valid JSON: {error}", 1) from error
    return _Walk(tokens).document()


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")


def _tokens(text: str) -> list[tuple[str, int]]:
    tokens: list[tuple[str, int]] = []
    line, seen, depth = 1, 0, 0
    for match in _TOKEN.finditer(text):
        line += text.count("\n", seen, match.start())
        seen = match.start()
        token = match.group()
        depth += (token in "[{") - (token in "]}")
        if depth > MAX_DEPTH:
            raise too_deep(line)
        tokens.append((token, line))
        # Commas and colons are tokens here but not events of a YAML parser.
        if len(tokens) > 2 * MAX_EVENTS:
            raise too_long(line)
    return tokens


class _Walk:
    """Rebuilds the data from the tokens of a text that is known to be valid."""

    def __init__(self, tokens: list[tuple[str, int]]) -> None:
        self._tokens = iter(tokens)
        self._lines: Lines = {}

    def document(self) -> ReadResult:
        token, line = next(self._tokens)
        self._lines[()] = line
        return self._value(token, line, ()), self._lines

    def _value(self, token: str, line: int, at: FieldPath) -> Any:
        if token == "{":
            return self._object(at)
        if token == "[":
            return self._array(at)
        if token[0] == '"':
            return encodable(json.loads(token), line)
        if token in ("true", "false", "null"):
            return json.loads(token)
        return whole(token, line) if token.lstrip("-").isdigit() else finite(token, line)

    def _array(self, at: FieldPath) -> list[Any]:
        items: list[Any] = []
        while (step := next(self._tokens))[0] != "]":
            if step[0] == ",":
                step = next(self._tokens)
            here = (*at, len(items))
            self._lines[here] = step[1]
            items.append(self._value(*step, here))
        return items

    def _object(self, at: FieldPath) -> dict[str, Any]:
        entries: dict[str, Any] = {}
        while (step := next(self._tokens))[0] != "}":
            if step[0] == ",":
                step = next(self._tokens)
            line = step[1]
            key = encodable(json.loads(step[0]), line)
            here = (*at, key)
            if key in entries:
                raise duplicate_key(key, line, self._lines[here])
            self._lines[here] = line
            next(self._tokens)  # Skips the colon.
            entries[key] = self._value(*next(self._tokens), here)
        return entries


# As in YAML 1.2. In YAML 1.1, which PyYAML follows, `no` would be false, 12:30:45 the number 45045
# and 2025-05-06 a date.
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
    """Read one YAML document, and return its data with the line of each field.

    Raises:
        Unreadable: the text is not YAML, or uses features not allowed in case files.
    """
    breaks = _stand_ins(text)
    if breaks:
        text = text.translate({ord(sign): other for sign, other in breaks.items()})
    signs = {ord(other): sign for sign, other in breaks.items()}
    if _FAST is not None:
        # libyaml is ten times as fast, but words errors differently, so PyYAML reports them.
        with suppress(yaml.YAMLError, ValueError, OverflowError):
            return _Builder(_checked(text, _FAST), signs).document()
    try:
        return _Builder(_checked(text, yaml.SafeLoader), signs).document()
    except yaml.MarkedYAMLError as error:
        sentence, line = mistake(text, error)
        raise Unreadable(f"is not valid YAML: {sentence.translate(signs)}", line) from error
    except yaml.reader.ReaderError as error:
        line = text[: int(error.position)].count("\n") + 1
        raise Unreadable("is not valid YAML: it holds a control character", line) from error
    except (ValueError, OverflowError) as error:
        # PyYAML does not catch the error of chr() for an impossible \\U escape.
        raise Unreadable(f"is not valid YAML: {error}", 1) from error


_FAST: Any = getattr(yaml, "CSafeLoader", None)

_FORMER_BREAKS = "\x85\u2028\u2029"
"""Line breaks of YAML 1.1. In YAML 1.2 and in every editor they are characters of a line."""


def _stand_ins(text: str) -> dict[str, str]:
    """Return, for each former line break in a text, a private character that it does not hold."""
    found = [sign for sign in _FORMER_BREAKS if sign in text]
    if not found:
        return {}
    free = (chr(code) for code in range(0xE000, 0xF900) if chr(code) not in text)
    return dict(zip(found, free, strict=False))


def _checked(text: str, loader: Any) -> Iterator[yaml.Event]:
    depth = 0
    # Checked event by event before anything is built, as a few aliases can expand to gigabytes.
    for count, event in enumerate(yaml.parse(text, Loader=loader)):
        line = _line(event)
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None) is not None:
            raise Unreadable(
                "anchors and aliases (& and *) are not allowed; use vars, and put a text that "
                "begins with & or * in quotes",
                line,
            )
        if (tag := getattr(event, "tag", None)) is not None:
            raise Unreadable(
                f"tags (here {tag!r}) are not allowed; put a text that begins with ! in quotes",
                line,
            )
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

    def __init__(self, events: Iterator[yaml.Event], signs: Mapping[int, str]) -> None:
        self._events = events
        self._signs = signs
        """What stands for the line breaks of YAML 1.1 in the text, with each of them."""
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
        text = encodable(event.value.translate(self._signs), _line(event))
        # Quoted values are always text.
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
            key = encodable(event.value.translate(self._signs), line)
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
        return as_written(whole(text, line), text)
    if _OCTAL.fullmatch(text):
        return as_written(whole(text[2:], line, 8), text)
    if _HEX.fullmatch(text):
        return as_written(whole(text[2:], line, 16), text)
    return finite(text, line) if _FLOAT.fullmatch(text) else text


READERS = {".yaml": read_yaml, ".yml": read_yaml, ".json": read_json}
