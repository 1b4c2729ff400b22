"""JSON with the line of every field, and the same limits as YAML.

`json.loads` decides what is valid; the walk over the tokens afterwards finds the lines, duplicate
keys and numbers that do not fit, none of which the standard library tells.
"""

import json
import re
from typing import Any, NoReturn

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

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]{}:,]|[^\s\[\]{}:,"]+')


def read_json(text: str) -> ReadResult:
    """The data of a JSON text and the line of each field.

    Raises:
        Unreadable: the text is not JSON, or is larger than case files may be.
    """
    tokens = _tokens(text)
    try:
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
            next(self._tokens)  # the colon
            entries[key] = self._value(*next(self._tokens), here)
        return entries
