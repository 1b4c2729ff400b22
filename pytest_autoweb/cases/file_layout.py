"""The parts of a case file: its keys and their older names, its defaults and its matrix."""

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import product
from math import prod
from typing import Any, NamedTuple

from pytest_autoweb.cases.case import Case
from pytest_autoweb.cases.expressions import Expressions, syntax_error
from pytest_autoweb.cases.source import CaseSource, texts
from pytest_autoweb.cases.validation import Document, dotted, keys, unknown_key
from pytest_autoweb.specs import FieldError, FieldPath

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
    for name, values in matrix.items():
        _check_axis(name, values, (*at, name))
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


VERSION = 1

ALIASES: dict[str, tuple[str, ...]] = {
    "id": ("caseId", "name"),
    "entry_url": ("entryUrl", "url", "entry", "entryURL"),
    "user_task": ("userTask", "task", "prompt"),
}
"""The other names that a field may have."""

CASE_KEYS = (*keys(Case), "matrix")
FILE_KEYS = ("version", "webserver", "vars", "defaults", "cases")

_FIELD_OF = {alias: name for name, aliases in ALIASES.items() for alias in aliases}


@dataclass(frozen=True, slots=True)
class _Entry:
    """A case of the file, or its defaults: fields under the contract's names."""

    at: FieldPath
    fields: Mapping[str, Any]
    origins: Mapping[str, FieldPath]


def sources(document: Document) -> Iterator[CaseSource]:
    """Yield the cases of a file, one for each combination of their matrix, in the file's order.

    Raises:
        FieldError: the file's outline breaks the contract.
    """
    top, cases_at = _top(document)
    cases = top.get("cases")
    if not isinstance(cases, list) or not cases:
        raise FieldError(cases_at, "must be a list with at least one case")
    variables = _mapping(top, "vars")
    # Variables are rendered only where they are used, so a broken unused one must be found here.
    for at, text in texts(variables, ("vars",)):
        if problem := syntax_error(text):
            raise FieldError(at, problem)
    defaults = _defaults(top)
    webserver = _mapping(top, "webserver") if "webserver" in top else None
    for index, raw in enumerate(cases):
        # Older JSON files may hold a single case without a list around it.
        at = (*cases_at, index) if isinstance(document.data, list) or cases_at else ()
        entry = _entry(raw, at)
        fields = {**defaults.fields, **entry.fields}
        if "id" not in fields and document.is_json:
            fields["id"] = str(index + 1)
        source = CaseSource(
            document,
            at,
            fields,
            origins={**defaults.origins, **entry.origins},
            variables=variables,
            webserver=webserver,
        )
        yield from _expanded(source)


def _top(document: Document) -> tuple[Mapping[str, Any], FieldPath]:
    """Return the file's sections, and where its cases stand."""
    data = document.data
    if document.is_json and isinstance(data, list):
        return {"cases": data}, ()
    if not isinstance(data, Mapping):
        raise FieldError((), "must be a mapping with 'version: 1' and 'cases'")
    if document.is_json and not {"cases", "version"} & set(data):
        return {"cases": [data]}, ()
    for key in data:
        if key not in (*FILE_KEYS, "$schema"):
            raise FieldError((key,), unknown_key(key, FILE_KEYS))
    version = data.get("version", VERSION if document.is_json else None)
    if "version" not in data and not document.is_json:
        raise FieldError((), f"'version: {VERSION}' is missing")
    if version != VERSION or not isinstance(version, int) or isinstance(version, bool):
        raise FieldError(("version",), f"must be {VERSION}, the only version there is")
    return data, ("cases",)


def _mapping(top: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    value = top.get(key)
    if value is None:
        value = {}
    if not isinstance(value, Mapping):
        raise FieldError((key,), "must be a mapping")
    return value


def _defaults(top: Mapping[str, Any]) -> _Entry:
    defaults = _entry(_mapping(top, "defaults"), ("defaults",))
    if "id" in defaults.fields:
        raise FieldError(defaults.origins["id"], "cannot have a default: every case has its own")
    return defaults


def _entry(raw: Any, at: FieldPath) -> _Entry:
    """Return a case's fields under the contract's names."""
    if not isinstance(raw, Mapping):
        raise FieldError(at, "must be a mapping with id, entry_url, user_task, …")
    fields: dict[str, Any] = {}
    origins: dict[str, FieldPath] = {}
    for key, value in raw.items():
        name = _FIELD_OF.get(key, key)
        if name not in CASE_KEYS:
            raise FieldError((*at, key), unknown_key(key, CASE_KEYS, _FIELD_OF))
        if name in fields:
            first = dotted(origins[name][-1:])
            raise FieldError((*at, key), f"is the same field as {first!r}; keep one of them")
        fields[name], origins[name] = value, (*at, key)
    if isinstance(fields.get("id"), int) and not isinstance(fields["id"], bool):
        fields["id"] = str(fields["id"])
    return _Entry(at, fields, origins)


def _expanded(source: CaseSource) -> Iterator[CaseSource]:
    fields = dict(source.fields)
    matrix = fields.pop("matrix", None)
    if not matrix:
        yield replace(source, fields=fields)
        return
    names = Expressions(variables=source.variables)
    try:
        rows = combinations(names.tree(matrix, ("matrix",), lambda at: True), ("matrix",))
    except FieldError as error:
        raise FieldError(source.located(error.at), error.reason) from error
    for values, suffix in rows:
        named = dict(fields)
        if isinstance(named.get("id"), str):
            named["id"] += suffix
        yield replace(source, fields=named, matrix=values)
