"""Turns pydantic's errors into sentences about the fields that the user wrote."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeVar, get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from pytest_autoweb.base.errors import near_miss
from pytest_autoweb.base.field_errors import FieldError, FieldPath
from pytest_autoweb.base.specs import pattern_sentence

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
