"""JSON schemas, and whether a value fits one."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from pytest_autoweb.base.values.interruptible import TookTooLong, carry_out
from pytest_autoweb.base.values.linear_patterns import NotLinear, linear_search
from pytest_autoweb.base.values.patterns import SlowPattern

# Late imports: jsonschema is heavy, and few cases have a schema.

_MATCHING = frozenset({"pattern", "patternProperties"})


class SchemaProblem(NamedTuple):
    """What does not fit, and where."""

    message: str
    path: list[str | int]


def problem_with(schema: Mapping[str, Any], value: Any) -> SchemaProblem | None:
    """Return the first thing about a value that does not fit a schema.

    Raises:
        SlowPattern: the schema's regular expressions take too long on the value.
        WorkFailed: the schema cannot be applied, because it refers to another one, say.
    """
    if not _mentions_patterns(schema):
        return first_problem(schema, value)
    try:
        found = carry_out("first_problem", schema, value)
    except TookTooLong:
        raise SlowPattern("the patterns of the schema take too long on this answer") from None
    return SchemaProblem(*found) if found else None


def first_problem(schema: Mapping[str, Any], value: Any) -> SchemaProblem | None:
    """Do the same in this process, however long that takes."""
    import jsonschema
    from referencing import Registry

    kind = jsonschema.validators.validator_for(schema, jsonschema.Draft202012Validator)
    own = {"pattern": _pattern, "patternProperties": _pattern_properties}
    known = {name: how for name, how in own.items() if name in kind.VALIDATORS}
    # With an empty registry, a `$ref` to the network is an error and never a request.
    extend: Any = jsonschema.validators.extend
    validator = extend(kind, known)(schema, registry=Registry())
    error = next(iter(validator.iter_errors(value)), None)
    return None if error is None else SchemaProblem(error.message, list(error.absolute_path))


def refuse_invalid(schema: dict[str, Any]) -> None:
    """Reject what is no JSON schema.

    Raises:
        ValueError: with what is wrong about it.
    """
    import jsonschema

    kind = jsonschema.validators.validator_for(schema, jsonschema.Draft202012Validator)
    try:
        kind.check_schema(schema)
    except jsonschema.SchemaError as error:
        raise ValueError(error.message) from error


def _mentions_patterns(schema: Mapping[str, Any]) -> bool:
    waiting: list[Any] = [schema]
    while waiting:
        part = waiting.pop()
        if isinstance(part, Mapping):
            if _MATCHING & part.keys():
                return True
            waiting.extend(part.values())
        elif isinstance(part, list | tuple):
            waiting.extend(part)
    return False


def _pattern(validator: Any, pattern: str, value: Any, _schema: Any) -> Iterator[Any]:
    import jsonschema

    if validator.is_type(value, "string") and not _matches(pattern, value):
        yield jsonschema.ValidationError(f"{value!r} does not match {pattern!r}")


def _pattern_properties(
    validator: Any, patterns: Mapping[str, Any], value: Any, _schema: Any
) -> Iterator[Any]:
    if not validator.is_type(value, "object"):
        return
    for pattern, schema in patterns.items():
        for name, item in value.items():
            if _matches(pattern, name):
                yield from validator.descend(item, schema, path=name, schema_path=pattern)


def _matches(pattern: str, text: str) -> bool:
    try:
        return linear_search(pattern, text) is not None
    except NotLinear:
        return re.search(pattern, text) is not None
