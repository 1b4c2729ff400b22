"""Reads case files, and turns pydantic's errors into sentences about the user's own fields.

YAML and JSON are read with the line of every field, and without their dangerous and surprising
features.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar, get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from pytest_autoweb.base.errors import CaseError, joined_errors, near_miss
from pytest_autoweb.base.field_errors import FieldError, FieldPath
from pytest_autoweb.base.specs import pattern_sentence
from pytest_autoweb.cases.deployment import Deployment
from pytest_autoweb.cases.document_readers import MAX_BYTES, READERS, Unreadable


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
