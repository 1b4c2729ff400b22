"""The entries of `expect`: which check an entry is."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pytest_autoweb.cases.check_specs import CHECK_TYPES, AnswerCheck, CheckSpec, PythonCheck
from pytest_autoweb.cases.document import FieldError
from pytest_autoweb.cases.expectations import refuse_unclear
from pytest_autoweb.cases.explain import keys, validated
from pytest_autoweb.cases.functions import FunctionProblem, find_function
from pytest_autoweb.cases.reading import FieldPath
from pytest_autoweb.near_miss import listed, near_miss

_DATA_FIELDS = {
    ("answer", "equals"),
    ("answer", "contains"),
    ("answer", "schema"),
    ("answer", "records"),
    ("http", "json"),
    ("request", "json"),
    ("sql", "rows"),
}
_REPLY_JSON = ("request", "reply", "json")


def holds_data(at: FieldPath) -> bool:
    """Whether values at this place of a case are compared with data, so that `1` is not `"1"`."""
    if at[:1] != ("expect",):
        return False
    return at[2:3] == ("with",) or at[2:4] in _DATA_FIELDS or at[2:5] == _REPLY_JSON


def read_checks(entries: Any, at: FieldPath, path: Path | None) -> tuple[CheckSpec, ...]:
    """The checks of a case.

    Args:
        entries: what the case file holds.
        at: where it stands, for errors.
        path: the case file, beside which functions are looked for; None for inline cases.

    Raises:
        FieldError: an entry is not exactly one check of this version.
    """
    if not isinstance(entries, list):
        raise FieldError(at, "must be a list of checks, one '- ' each")
    checks = tuple(_check(entry, (*at, index)) for index, entry in enumerate(entries))
    for index, check in enumerate(checks):
        here: FieldPath = (*at, index)
        if isinstance(check, AnswerCheck):
            refuse_unclear(check.answer, (*here, "answer"))
        elif isinstance(check, PythonCheck):
            _refuse_unusable(check, (*here, "python"), path)
    return checks


def _refuse_unusable(check: PythonCheck, at: FieldPath, path: Path | None) -> None:
    try:
        find_function(check.python, check.arguments, path)
    except FunctionProblem as problem:
        raise FieldError(at, str(problem)) from problem


def _check(entry: Any, at: FieldPath) -> CheckSpec:
    if not isinstance(entry, Mapping):
        raise FieldError(at, f"must be a mapping such as 'text: Welcome', got {entry!r:.80}")
    kinds = [key for key in entry if key in CHECK_TYPES]
    beside = keys(CHECK_TYPES[kinds[0]] if kinds else CheckSpec)
    for key in entry:
        if key not in CHECK_TYPES and key not in beside:
            known = [*CHECK_TYPES, *(name for name in beside if name not in CHECK_TYPES)]
            raise FieldError((*at, key), f"unknown check {key!r}{near_miss(key, known)}")
    if not kinds:
        raise FieldError(at, f"names no check; a check is one of {listed(CHECK_TYPES)}")
    if len(kinds) > 1:
        raise FieldError(
            (*at, kinds[1]), f"an entry holds one check; write {listed(kinds)} as separate entries"
        )
    return validated(CHECK_TYPES[kinds[0]], dict(entry), at)
