"""How an actual value compares with an expected one: as JSON, or as dates, money or durations."""

import json
import math
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from pytest_autoweb.base.values.compare_values import (
    Meanings,
    ValueFormat,
    at_least,
    describe_meanings,
    same,
)
from pytest_autoweb.base.values.normal_forms import normalise
from pytest_autoweb.judging.checks.check_type import found_by
from pytest_autoweb.judging.checks.expected_values import AS_NUMBER, Condition, Typed, format_of

_NUMBER = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?")
_NUMBER_CHARS = 300


def equal(expected: Any, actual: Any) -> bool:
    """Return whether two JSON values are the same to a reader.

    Texts compare normalised and case-sensitively. Numbers compare by value, even if one side is
    text: 42, 42.0 and "42" are equal. True is not 1. Lists compare in order, objects by their keys.
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
        # Two texts are not compared as numbers: "042" and "42" may be different item numbers.
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
    """Return whether a list holds an item equal to `wanted`, or a text contains it."""
    if isinstance(actual, list | tuple):
        return any(equal(wanted, item) for item in actual)
    if isinstance(actual, dict):
        return isinstance(wanted, dict) and is_subset(wanted, actual)
    return normalise(as_text(wanted)) in normalise(as_text(actual))


def is_subset(expected: Any, actual: Any) -> bool:
    """Return whether each key named in `expected` is in `actual` with an equal value.

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


def difference(expected: Any, actual: Any, at: str = "") -> str:
    """Describe where `is_subset` first fails, e.g. `items[0].name is "Tea"`; empty if it holds."""
    if isinstance(expected, dict) and isinstance(actual, dict):
        for key, value in expected.items():
            here = f"{at}.{key}".removeprefix(".")
            if key not in actual:
                return f"there is no {here}"
            if found := difference(value, actual[key], here):
                return found
        return ""
    if isinstance(expected, list | tuple) and isinstance(actual, list | tuple):
        if len(expected) != len(actual):
            return f"{at or 'the list'} has {len(actual)} items instead of {len(expected)}"
        pairs = enumerate(zip(expected, actual, strict=True))
        places = (difference(one, other, f"{at}[{index}]") for index, (one, other) in pairs)
        return next(filter(None, places), "")
    if is_subset(expected, actual):
        return ""
    return f"{at or 'it'} is {json.dumps(actual, ensure_ascii=False, default=str)}"


class Answer(NamedTuple):
    """Whether a condition holds, with an explanation."""

    holds: bool | None
    """Whether it holds; None if that depends on how a value is read."""
    note: str = ""
    """The value as read, or why nothing can be decided."""


def all_of(answers: Iterable[Answer]) -> Answer:
    """Combine by "all": one that does not hold decides; otherwise an undecided one does."""
    found = list(answers)
    for wanted in (False, None):
        for answer in found:
            if answer.holds is wanted:
                return answer
    notes = dict.fromkeys(answer.note for answer in found if answer.note)
    return Answer(True, "; ".join(notes))


def any_of(answers: Iterable[Answer]) -> Answer:
    """Combine by "any": one that holds decides; otherwise an undecided one does."""
    found = list(answers)
    for wanted in (True, None):
        for answer in found:
            if answer.holds is wanted:
                return answer
    return Answer(False)


def compare(expected: Any, actual: Any, how: Typed, name: str | None = None) -> Answer:
    """Compare two JSON values, reading their parts as the types given by `how`.

    Values in lists and objects are compared place by place, as in `equal`. A single type applies to
    all values that are neither lists nor objects; a type by name applies to fields of that name at
    any depth, and to everything inside them.

    Args:
        expected: the case's expectation.
        actual: the returned value.
        how: the types, with locale and currency.
        name: the field that holds both values.
    """
    if isinstance(expected, Mapping):
        if not isinstance(actual, Mapping) or expected.keys() != actual.keys():
            return Answer(False)
        return all_of(
            compare(value, actual[key], how, _inner(how, name, key))
            for key, value in expected.items()
        )
    if isinstance(expected, list | tuple):
        if not isinstance(actual, list | tuple) or len(expected) != len(actual):
            return Answer(False)
        pairs = zip(expected, actual, strict=True)
        return all_of(compare(one, other, how, name) for one, other in pairs)
    manner = format_of(how, name)
    if manner is None or expected is None or actual is None:
        return Answer(equal(expected, actual))
    return _related(manner, expected, actual, same)


def _inner(how: Typed, outer: str | None, key: str) -> str | None:
    """Return the name that determines a field's type: its own, else the enclosing object's."""
    return outer if format_of(how, key) is None else key


def holds_part(wanted: Any, actual: Any, how: Typed) -> Answer:
    """Return whether a list holds an item that equals `wanted`, or a text contains it."""
    if how.type is None:
        return Answer(contains(wanted, actual))
    if not isinstance(actual, list | tuple):
        return compare(wanted, actual, how)
    return any_of(compare(wanted, item, how) for item in actual)


def meets(condition: Condition, actual: Any, how: Typed, name: str) -> Answer:
    own = condition if condition.type is not None else how
    tests: dict[str, Callable[[], Answer]] = {
        "equals": lambda: compare(condition.equals, actual, own, name),
        "contains": lambda: Answer(contains(condition.contains, actual)),
        "matches": lambda: Answer(found_by(condition.matches or "", as_text(actual)) is not None),
        "one_of": lambda: any_of(
            compare(choice, actual, own, name) for choice in condition.one_of or []
        ),
        "min": lambda: _ordered(condition.min, actual, own, name, downwards=False),
        "max": lambda: _ordered(condition.max, actual, own, name, downwards=True),
    }
    return all_of(test() for key, test in tests.items() if key in condition.model_fields_set)


def _ordered(bound: Any, actual: Any, how: Typed, name: str, *, downwards: bool) -> Answer:
    manner = format_of(how, name) or AS_NUMBER
    if downwards:
        return _related(manner, bound, actual, lambda most, value: at_least(value, most))
    return _related(manner, bound, actual, at_least)


def _related(
    manner: ValueFormat,
    expected: Any,
    actual: Any,
    relation: Callable[[Meanings, Meanings], bool | None],
) -> Answer:
    wanted, seen = manner.read(expected), manner.read(actual)
    text = as_text(actual)
    if not wanted:
        return Answer(None, f"{as_text(expected)!r} of the case cannot be read as {manner.type}")
    if not seen:
        return Answer(False, f"{text!r:.80} cannot be read as {manner.type}")
    holds = relation(wanted, seen)
    if holds is None:
        return Answer(None, _open_question(manner, text, wanted, seen))
    read_as = describe_meanings(seen)
    return Answer(holds, "" if text == read_as else f"{text!r:.80} read as {read_as}")


def _open_question(manner: ValueFormat, text: str, wanted: Meanings, seen: Meanings) -> str:
    if len(seen) > 1:
        missing = [
            *(["a locale"] if not manner.locale else []),
            *(["a currency"] if manner.type == "money" and not manner.currency else []),
        ]
        advice = f"; give the check {' or '.join(missing)}" if missing else ""
        return f"{text!r:.80} may be {describe_meanings(seen)}{advice}"
    if manner.type == "money":
        return f"{text!r:.80} names no currency, or none is expected; give the check a currency"
    if manner.type == "datetime":
        return f"only one of {describe_meanings(wanted)} and {text!r:.80} names a time zone"
    return f"{describe_meanings(wanted)} and {text!r:.80} do not compare"


def as_text(value: Any) -> str:
    """Return a value as people write it: texts unchanged, everything else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
