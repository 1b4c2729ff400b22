"""The entries of `expect`: which check an entry is, and which checks there are not (yet)."""

from collections.abc import Mapping
from typing import Any

from pytest_autoweb.cases.document import FieldError
from pytest_autoweb.cases.explain import keys, validated
from pytest_autoweb.cases.model import CHECK_TYPES, AnswerSpec, CheckSpec
from pytest_autoweb.cases.reading import FieldPath
from pytest_autoweb.near_miss import listed, near_miss

UNAVAILABLE_CHECKS = ("request", "download", "python", "judge")
UNAVAILABLE_ANSWERS = ("records", "urls")
UNAVAILABLE_STRATEGIES = ("act", "collect")
STRATEGIES = ("codegen",)

_DATA_FIELDS = {
    ("answer", "equals"),
    ("answer", "contains"),
    ("answer", "schema"),
    ("http", "json"),
    ("sql", "rows"),
}


def holds_data(at: FieldPath) -> bool:
    """Whether values at this place of a case are compared with data, so that `1` is not `"1"`."""
    return len(at) >= 4 and at[0] == "expect" and at[2:4] in _DATA_FIELDS


def read_checks(entries: Any, at: FieldPath) -> tuple[CheckSpec, ...]:
    """The checks of a case.

    Raises:
        FieldError: an entry is not exactly one check of this version.
    """
    if not isinstance(entries, list):
        raise FieldError(at, "must be a list of checks, one '- ' each")
    return tuple(_check(entry, (*at, index)) for index, entry in enumerate(entries))


def _check(entry: Any, at: FieldPath) -> CheckSpec:
    if not isinstance(entry, Mapping):
        raise FieldError(at, f"must be a mapping such as 'text: Welcome', got {entry!r:.80}")
    for key in entry:
        if key in UNAVAILABLE_CHECKS:
            raise _unavailable((*at, key), "check", key, CHECK_TYPES)
        if key not in CHECK_TYPES and key not in keys(CheckSpec):
            known = [*CHECK_TYPES, *keys(CheckSpec)]
            raise FieldError((*at, key), f"unknown check {key!r}{near_miss(key, known)}")
    kinds = [key for key in entry if key in CHECK_TYPES]
    if not kinds:
        raise FieldError(at, f"names no check; a check is one of {listed(CHECK_TYPES)}")
    if len(kinds) > 1:
        raise FieldError(
            (*at, kinds[1]), f"an entry holds one check; write {listed(kinds)} as separate entries"
        )
    answer = entry.get("answer")
    for key in UNAVAILABLE_ANSWERS:
        if isinstance(answer, Mapping) and key in answer:
            raise _unavailable((*at, "answer", key), "answer check", key, keys(AnswerSpec))
    return validated(CHECK_TYPES[kinds[0]], dict(entry), at)


def refuse_strategy(strategy: Any, at: FieldPath) -> None:
    """Refuse the strategies of the contract that do not exist yet by their name."""
    if strategy in UNAVAILABLE_STRATEGIES:
        raise _unavailable(at, "strategy", strategy, STRATEGIES)


def _unavailable(at: FieldPath, what: str, name: str, there: Any) -> FieldError:
    reason = f"{what} {name!r} is not available in this version; available: {listed(there)}"
    return FieldError(at, reason)
