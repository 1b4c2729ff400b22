"""Compares expected and actual values; pure."""

import json
import math
import re
from typing import Any

from pytest_autoweb.values.text import normalise

_NUMBER = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?")
_NUMBER_CHARS = 300


def equal(expected: Any, actual: Any) -> bool:
    """Whether two JSON values are the same to a reader.

    Texts compare normalised, case-sensitively. Numbers compare by value, also when one side is
    their text: 42, 42.0 and "42" are equal. True is not 1. Lists compare in order, objects by
    their keys.
    """
    if isinstance(expected, dict) and isinstance(actual, dict):
        return expected.keys() == actual.keys() and all(
            equal(value, actual[key]) for key, value in expected.items()
        )
    if isinstance(expected, list | tuple) and isinstance(actual, list | tuple):
        return len(expected) == len(actual) and all(map(equal, expected, actual))
    return _equal_scalars(expected, actual)


def _equal_scalars(expected: Any, actual: Any) -> bool:
    if isinstance(expected, str) and isinstance(actual, str):
        # Two texts: "042" and "42" may be different article numbers.
        return normalise(expected) == normalise(actual)
    if isinstance(expected, bool) or isinstance(actual, bool):
        return expected is actual
    if expected is None or actual is None:
        return expected is actual
    first, second = _number(expected), _number(actual)
    return first is not None and second is not None and first == second


def _number(value: Any) -> int | float | None:
    if isinstance(value, int | float):
        return value if not isinstance(value, float) or math.isfinite(value) else None
    if not isinstance(value, str) or len(value) > _NUMBER_CHARS:
        return None
    if _NUMBER.fullmatch(text := normalise(value)):
        return int(text) if re.fullmatch(r"[+-]?\d+", text) else float(text)
    return None


def contains(wanted: Any, actual: Any) -> bool:
    """Whether a list holds an item equal to `wanted`, or a text holds it as a part."""
    if isinstance(actual, list | tuple):
        return any(equal(wanted, item) for item in actual)
    if isinstance(actual, dict):
        return isinstance(wanted, dict) and is_subset(wanted, actual)
    return normalise(as_text(wanted)) in normalise(as_text(actual))


def is_subset(expected: Any, actual: Any) -> bool:
    """Whether each key named in `expected` is in `actual` with an equal value.

    Lists must have the same length; their items are compared in order, as subsets again.
    """
    if isinstance(expected, dict):
        return isinstance(actual, dict) and all(
            key in actual and is_subset(value, actual[key]) for key, value in expected.items()
        )
    if isinstance(expected, list | tuple):
        return (
            isinstance(actual, list | tuple)
            and len(expected) == len(actual)
            and all(map(is_subset, expected, actual))
        )
    return equal(expected, actual)


def as_text(value: Any) -> str:
    """A value as people write it: texts as they are, all else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
