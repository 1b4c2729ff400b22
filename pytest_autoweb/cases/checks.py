"""The entries of `expect`: which check an entry is."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pytest_autoweb.cases.explain import keys, validated
from pytest_autoweb.checks.check_type import CHECKS, Check
from pytest_autoweb.near_miss import listed, near_miss
from pytest_autoweb.specs import FieldError, FieldPath


def holds_data(at: FieldPath) -> bool:
    """Whether values at this place of a case are compared with data, so that `1` is not `"1"`."""
    if at[:1] != ("expect",):
        return False
    below = at[2:]
    places = (place for check_type in CHECKS.values() for place in check_type.data_fields)
    return any(below[: len(place)] == place for place in places)


def code_behind(entry: Mapping[str, Any], path: Path | None) -> dict[str, str]:
    """Return the user's code that decides an entry of `expect`, so that checksums follow it."""
    kind = next((CHECKS[key] for key in entry if key in CHECKS), Check)
    return kind.code_behind(entry, path)


def read_checks(entries: Any, at: FieldPath, path: Path | None) -> tuple[Check, ...]:
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
        try:
            check.refuse_unusable(path)
        except FieldError as error:
            raise FieldError((*at, index, *error.at), error.reason) from error
    return checks


def _check(entry: Any, at: FieldPath) -> Check:
    if not isinstance(entry, Mapping):
        raise FieldError(at, f"must be a mapping such as 'text: Welcome', got {entry!r:.80}")
    kinds = [key for key in entry if key in CHECKS]
    beside = keys(CHECKS[kinds[0]] if kinds else Check)
    for key in entry:
        if key not in CHECKS and key not in beside:
            known = [*CHECKS, *(name for name in beside if name not in CHECKS)]
            raise FieldError((*at, key), f"unknown check {key!r}{near_miss(key, known)}")
    if not kinds:
        raise FieldError(at, f"names no check; a check is one of {listed(CHECKS)}")
    if len(kinds) > 1:
        raise FieldError(
            (*at, kinds[1]), f"an entry holds one check; write {listed(kinds)} as separate entries"
        )
    return validated(CHECKS[kinds[0]], dict(entry), at)
