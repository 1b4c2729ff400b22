"""The parts of a case file: its keys and their older names, its defaults and its matrix."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from pytest_autoweb.cases.case import Case
from pytest_autoweb.cases.expressions import Expressions, syntax_error
from pytest_autoweb.cases.matrix import combinations
from pytest_autoweb.cases.source import CaseSource, texts
from pytest_autoweb.cases.validation import Document, dotted, keys, unknown_key
from pytest_autoweb.specs import FieldError, FieldErrors, FieldPath

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
    errors = FieldErrors()
    for at, text in texts(variables, ("vars",)):
        if problem := syntax_error(text):
            with errors.kept():
                raise FieldError(at, problem)
    errors.raise_any()
    defaults = _defaults(top)
    webserver = _mapping(top, "webserver") if "webserver" in top else None
    for index, raw in enumerate(cases):
        # Older JSON files may hold a single case without a list around it.
        at = (*cases_at, index) if isinstance(document.data, list) or cases_at else ()
        found: list[CaseSource] = []
        with errors.kept():
            wrong = FieldErrors()
            entry = _entry(raw, at, wrong)
            fields = {**defaults.fields, **entry.fields}
            if "id" not in fields and document.is_json:
                fields["id"] = str(index + 1)
            origins = {**defaults.origins, **entry.origins}
            source = CaseSource(document, at, fields, origins, variables, webserver=webserver)
            found = list(_expanded(replace(source, incomplete=bool(wrong))))
            wrong.raise_any()
        yield from found
    errors.raise_any()


def _top(document: Document) -> tuple[Mapping[str, Any], FieldPath]:
    """Return the file's sections, and where its cases stand."""
    data = document.data
    if document.is_json and isinstance(data, list):
        return {"cases": data}, ()
    if not isinstance(data, Mapping):
        raise FieldError((), "must be a mapping with 'version: 1' and 'cases'")
    if document.is_json and not {"cases", "version"} & set(data):
        return {"cases": [data]}, ()
    errors = FieldErrors()
    for key in data:
        with errors.kept():
            if key not in (*FILE_KEYS, "$schema"):
                raise FieldError((key,), unknown_key(key, FILE_KEYS))
    errors.raise_any()
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
    wrong = FieldErrors()
    defaults = _entry(_mapping(top, "defaults"), ("defaults",), wrong)
    wrong.raise_any()
    if "id" in defaults.fields:
        raise FieldError(defaults.origins["id"], "cannot have a default: every case has its own")
    return defaults


def _entry(raw: Any, at: FieldPath, wrong: FieldErrors) -> _Entry:
    """Return a case's fields under the contract's names; what is not one is kept as an error."""
    if not isinstance(raw, Mapping):
        raise FieldError(at, "must be a mapping with id, entry_url, user_task, …")
    fields: dict[str, Any] = {}
    origins: dict[str, FieldPath] = {}
    for key, value in raw.items():
        name = _FIELD_OF.get(key, key)
        with wrong.kept():
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
        others = [FieldError(source.located(one.at), one.reason) for one in error.also]
        raise FieldError(source.located(error.at), error.reason, others) from error
    for values, suffix in rows:
        named = dict(fields)
        if isinstance(named.get("id"), str):
            named["id"] += suffix
        yield replace(source, fields=named, matrix=values)
