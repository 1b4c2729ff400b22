"""Reads case files, and turns pydantic's errors into sentences about the user's own fields.

YAML and JSON are read with the line of every field, and without their dangerous and surprising
features.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn, TypeVar, get_args

import yaml
from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from pytest_autoweb.base.errors import CaseError, joined_errors, near_miss
from pytest_autoweb.base.field_errors import FieldError, FieldPath
from pytest_autoweb.base.specs import pattern_sentence
from pytest_autoweb.cases.deployment import Deployment
from pytest_autoweb.cases.yaml_mistakes import mistake

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


def dotted(at: FieldPath) -> str:
    """Return a path as users write it, e.g. `cases[0].expect[1].url`."""
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in at)
    return text.removeprefix(".")


@dataclass(frozen=True, slots=True)
class Document:
    """The data of one case file, or of inline cases."""

    path: Path | None
    data: Any
    lines: Mapping[FieldPath, int]
    deployment: Deployment = field(default_factory=Deployment)
    """What its expressions and relative addresses take from outside."""

    @property
    def is_json(self) -> bool:
        """Return whether the file may be a bare list or one object, with cases that have no id."""
        return self.path is not None and self.path.suffix.lower() == ".json"

    def line(self, at: FieldPath) -> int | None:
        """Return the line of a field, or of the nearest field around it."""
        for length in range(len(at), -1, -1):
            if (line := self.lines.get(at[:length])) is not None:
                return line
        return None

    def error(
        self, error: FieldError, located: Callable[[FieldPath], FieldPath] = lambda at: at
    ) -> CaseError:
        """Return errors of fields as one error that names their file and lines.

        Args:
            error: the errors.
            located: returns the place in the file of a field that the error names.
        """
        return joined_errors(self._one(located(each.at), each.reason) for each in error.all())

    def _one(self, at: FieldPath, reason: str) -> CaseError:
        return CaseError(reason, path=self.path, line=self.line(at), field=dotted(at) or None)


def read_document(path: Path, deployment: Deployment | None = None) -> Document:
    """Read a YAML or JSON file without trusting it.

    Args:
        path: the file.
        deployment: what its expressions may name; by default what the environment says.

    Raises:
        CaseError: the file cannot be read, is too large, or is not plain YAML or JSON.
    """
    reader = READERS.get(path.suffix.lower())
    if reader is None:
        raise CaseError(f"a case file ends in {', '.join(READERS)}", path=path)
    try:
        data, lines = reader(_text(path))
    except Unreadable as error:
        raise CaseError(error.reason, path=path, line=error.line) from error
    return Document(path, data, lines, deployment or Deployment())


def _text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            raw = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise CaseError(f"cannot be read: {error.strerror}", path=path) from error
    except ValueError as error:
        raise CaseError(f"cannot be read: {error}", path=path) from error
    if len(raw) > MAX_BYTES:
        raise Unreadable(f"is larger than {MAX_BYTES // 1024} KB", 1)
    try:
        # Some editors on Windows begin a UTF-8 file with a byte order mark.
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw[: error.start].count(b"\n") + 1
        raise Unreadable("is not UTF-8 text", line) from error
    if not text.strip():
        raise Unreadable("is empty", 1)
    return text


Model = TypeVar("Model", bound=BaseModel)

MISSING = "is missing"

_KINDS = {
    "string": "text",
    "int": "a whole number",
    "float": "a number",
    "finite": "a finite number",
    "bool": "true or false",
    "list": "a list",
    "tuple": "a list",
    "dict": "a mapping",
    "model": "a mapping",
}
"""What a field must be, by the beginning of pydantic's error type."""

_SENTENCES: Mapping[str, Callable[[Mapping[str, Any]], str]] = {
    "greater_than": lambda ctx: f"must be greater than {ctx['gt']:g}",
    "greater_than_equal": lambda ctx: f"must be at least {ctx['ge']:g}",
    "less_than_equal": lambda ctx: f"must be at most {ctx['le']:g}",
    "string_too_short": lambda ctx: "must not be empty",
    "too_short": lambda ctx: "must not be empty",
    "literal_error": lambda ctx: f"must be {ctx['expected']}",
    "string_pattern_mismatch": lambda ctx: pattern_sentence(ctx["pattern"]),
    "value_error": lambda ctx: str(ctx["error"]),
}


def validated(model: type[Model], data: Any, at: FieldPath = ()) -> Model:
    """Return the model built from the data.

    Raises:
        FieldError: the errors, at the user's fields below `at`.
    """
    try:
        return model.model_validate(data)
    except ValidationError as error:
        first, *others = (
            FieldError((*at, *where), _sentence(model, where, details))
            for where, details in _telling(error.errors(include_url=False), data)
        )
        raise FieldError(first.at, first.reason, others) from error


def _telling(errors: list[ErrorDetails], data: Any) -> list[tuple[FieldPath, ErrorDetails]]:
    """Return the errors that are worth reporting, one for each place.

    An unknown key explains a missing one next to it; a union member that does not fit the value's
    shape explains nothing.
    """
    located = [(_located(error, data), error) for error in errors]
    inside = [pair for pair in located if not _is_wrong_member(pair, located)] or located
    # Unknown keys come first, because only the first error of each place is reported.
    inside.sort(key=lambda pair: pair[1]["type"] != "extra_forbidden")
    unknown = {where[:-1] for where, error in inside if error["type"] == "extra_forbidden"}
    told: dict[FieldPath, ErrorDetails] = {}
    for where, error in inside:
        if error["type"] != "missing" or where[:-1] not in unknown:
            told.setdefault(where, error)
    return list(told.items())


def _is_wrong_member(
    pair: tuple[FieldPath, ErrorDetails], located: list[tuple[FieldPath, ErrorDetails]]
) -> bool:
    where, error = pair
    return isinstance(error["input"], Mapping) and any(
        len(other) > len(where) and other[: len(where)] == where for other, _ in located
    )


def _located(error: ErrorDetails, data: Any) -> FieldPath:
    """Return the path in the user's data; pydantic also names union members and `[key]`."""
    where: list[str | int] = []
    for part in error["loc"]:
        is_key = isinstance(data, Mapping) and part in data
        is_position = isinstance(data, list) and isinstance(part, int) and part < len(data)
        if is_key or is_position:
            where.append(part)
            data = data[part]
    if error["type"] == "missing":
        where.append(error["loc"][-1])
    return tuple(where)


def _sentence(model: type[BaseModel], where: FieldPath, error: ErrorDetails) -> str:
    kind, value, context = error["type"], error["input"], error.get("ctx", {})
    if kind == "extra_forbidden":
        return unknown_key(str(where[-1]), _keys_at(model, where[:-1]))
    if kind == "missing":
        return MISSING
    if kind in _SENTENCES:
        return f"{_SENTENCES[kind](context)}{_got(value, kind)}"
    expected = _KINDS.get(kind.split("_")[0])
    if expected is None:
        return error["msg"].lower()
    quotes = "; put quotes around it" if expected == "text" and value is not None else ""
    return f"must be {expected}{_got(value, kind)}{quotes if _is_scalar(value) else ''}"


def unknown_key(key: str, allowed: Iterable[str], also: Iterable[str] = ()) -> str:
    """Return the sentence about an unknown key; `also` holds further names of allowed ones."""
    return f"unknown key {key!r}{near_miss(key, allowed, also)}"


def _got(value: Any, kind: str) -> str:
    if kind in ("value_error", "string_too_short", "too_short"):
        return ""
    shown = "a mapping" if isinstance(value, Mapping) else "a list"
    if _is_scalar(value):
        shown = "nothing (null)" if value is None else repr(value)[:80]
    return f", got {shown}"


def _is_scalar(value: Any) -> bool:
    return value is None or isinstance(value, str | int | float)


def _keys_at(model: type[BaseModel], where: FieldPath) -> list[str]:
    """Return the keys allowed at a place inside the model."""
    models = [model]
    for part in where:
        # A key of a free mapping, such as a secret's name, or a list position leads no further.
        nested = [inner for owner in models for inner in _models_behind(owner, part)]
        models = nested or models
    return [key for owner in models for key in keys(owner)]


def keys(model: type[BaseModel]) -> list[str]:
    """Return the keys a mapping for this model may have, as users write them."""
    return [field.alias or name for name, field in model.model_fields.items()]


def _models_behind(owner: type[BaseModel], key: str | int) -> Iterator[type[BaseModel]]:
    for name, info in owner.model_fields.items():
        if key in (name, info.alias):
            yield from _models_in(info.annotation)


def _models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for argument in get_args(annotation):
        yield from _models_in(argument)
