"""A case's `matrix`: one case per combination, each with its own id."""

import hashlib
import json
import re
from collections import Counter
from collections.abc import Mapping
from itertools import product
from math import prod
from typing import Any, NamedTuple

from pytest_autoweb.specs import FieldError, FieldErrors, FieldPath

MAX_COMBINATIONS = 1000
_MAX_LABEL = 40


class Combination(NamedTuple):
    """One value for each axis."""

    values: dict[str, Any]
    suffix: str
    """What is appended to the case's id, e.g. `-a-1`; empty without a matrix."""


def combinations(matrix: Any, at: FieldPath) -> list[Combination]:
    """Return all combinations, the last axis changing fastest.

    Suffixes differ from each other and depend on nothing but the matrix.

    Raises:
        FieldError: an axis is not a list of different plain values, or there are too many.
    """
    if not isinstance(matrix, Mapping):
        raise FieldError(at, "must be a mapping of names to lists of values")
    errors = FieldErrors()
    for name, values in matrix.items():
        with errors.kept():
            _check_axis(name, values, (*at, name))
    errors.raise_any()
    count = prod(len(values) for values in matrix.values())
    if count > MAX_COMBINATIONS:
        raise FieldError(at, f"makes {count} cases; the limit is {MAX_COMBINATIONS}")
    rows = [dict(zip(matrix, row, strict=True)) for row in product(*matrix.values())]
    labels = {name: _labels(values) for name, values in matrix.items()}
    suffixes = [
        "".join(f"-{labels[name][_canonical(value)]}" for name, value in row.items())
        for row in rows
    ]
    seen = Counter(suffixes)
    return [
        Combination(row, suffix if seen[suffix] == 1 else f"{suffix}-{_digest(row)}")
        for row, suffix in zip(rows, suffixes, strict=True)
    ]


def _check_axis(name: str, values: Any, at: FieldPath) -> None:
    if re.fullmatch(r"[A-Za-z_]\w*", name) is None:
        raise FieldError(at, "the name of an axis holds only letters, digits and '_'")
    if not isinstance(values, list) or not values:
        raise FieldError(at, "must be a list with at least one value")
    seen: set[str] = set()
    for index, value in enumerate(values):
        if not isinstance(value, str | int | float):
            raise FieldError((*at, index), "must be a text, a number, true or false")
        if (canonical := _canonical(value)) in seen:
            raise FieldError((*at, index), f"the value {value!r} is given twice")
        seen.add(canonical)


def _labels(values: list[Any]) -> dict[str, str]:
    """Return the part of the id for each value; a hash tells apart what looks the same."""
    short = {_canonical(value): _label(value) for value in values}
    # Ids become names of folders, and to some file systems `A` and `a` are one name.
    seen = Counter(label.lower() for label in short.values())
    return {
        canonical: label
        if seen[label.lower()] == 1 and label
        else f"{label}-{_digest(json.loads(canonical))}".lstrip("-")
        for canonical, label in short.items()
    }


def _label(value: Any) -> str:
    text = value if isinstance(value, str) else _canonical(value)
    return re.sub(r"[^A-Za-z0-9._]+", "-", text).strip("-.")[:_MAX_LABEL]


def _canonical(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


def _digest(value: Any) -> str:
    return hashlib.sha256(_canonical(value).encode()).hexdigest()[:8]
