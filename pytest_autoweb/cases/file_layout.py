"""The parts of a case file: its keys and their older names, its defaults, its matrix, its schema.

A `matrix` makes one case per combination, each with its own id. The JSON Schema is for completion
and checking in editors.
"""

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import reduce
from itertools import product
from math import prod
from operator import or_
from typing import Any, NamedTuple

from msgspec import Struct
from msgspec.structs import replace
from pydantic import TypeAdapter

from pytest_autoweb.base.documents.field_sentences import keys, unknown_key
from pytest_autoweb.base.errors import nearest
from pytest_autoweb.base.field_errors import FieldError, FieldErrors, FieldPath
from pytest_autoweb.base.installation import asset_dir
from pytest_autoweb.base.variant_names import STRATEGY_NAMES, agent_choices
from pytest_autoweb.cases.case import NAME_PATTERN, Case
from pytest_autoweb.cases.case_document import CaseDocument
from pytest_autoweb.cases.expressions import Expressions, syntax_error
from pytest_autoweb.cases.source import CaseSource, sifted, texts
from pytest_autoweb.cases.webserver_spec import Webserver
from pytest_autoweb.judging.checks.check_type import CHECKS
from pytest_autoweb.judging.checks.expected_values import AnswerSpec, Typed

MAX_COMBINATIONS = 1000
_MAX_LABEL = 40

VERSION = 1

ALIASES: dict[str, tuple[str, ...]] = {
    "id": ("caseId", "name"),
    "entry_url": ("entryUrl", "url", "entry", "entryURL"),
    "user_task": ("userTask", "task", "prompt"),
}
"""Aliases of fields."""

CASE_KEYS = (*keys(Case), "matrix")
FILE_KEYS = ("version", "webserver", "webservers", "vars", "defaults", "cases")

_FIELD_OF = {alias: name for name, aliases in ALIASES.items() for alias in aliases}

_REF = "#/$defs/{model}"
_EXPRESSION = {
    "type": "string",
    "pattern": r"\{\{",
    "description": "An expression, e.g. {{ vars.name }}.",
}
_PLAIN = ("integer", "number", "boolean", "array")

_AXIS = {
    "type": "array",
    "minItems": 1,
    "uniqueItems": True,
    "items": {"type": ["string", "number", "boolean"]},
}
_MATRIX = {
    "type": "object",
    "description": "Names and lists of values: one case per combination, each value available as "
    "{{ matrix.NAME }} and appended to the id.",
    "additionalProperties": {"anyOf": [_AXIS, _EXPRESSION]},
}


class Combination(NamedTuple):
    """One value for each axis."""

    values: dict[str, Any]
    suffix: str
    """What is appended to the case's id, e.g. `-a-1`; empty without a matrix."""


def combinations(matrix: Any, at: FieldPath) -> list[Combination]:
    """Return all combinations, the last axis changing fastest.

    Suffixes are unique and depend only on the matrix.

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
    """Return the part of the id for each value; a hash distinguishes values that look the same."""
    short = {_canonical(value): _label(value) for value in values}
    # Ids become folder names, and some file systems treat `A` and `a` as the same name.
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


class _Entry(Struct, frozen=True):
    """A case of the file, or its defaults: fields under the contract's names."""

    fields: Mapping[str, Any]
    origins: Mapping[str, FieldPath]
    guessed: frozenset[str] = frozenset()
    """Fields taken from misspelt keys, so that they are not reported as missing."""
    incomplete: bool = False
    """Whether it has keys that resemble no field's name."""


class _Outline(Struct, frozen=True):
    """The sections of a file; broken ones are empty."""

    cases: Sequence[Any]
    cases_at: FieldPath
    variables: Mapping[str, Any]
    defaults: _Entry
    webserver: Mapping[str, Any] | None
    webservers: Mapping[str, Any]
    offers_refusal: bool
    """Whether its tasks explain how to report that they are infeasible, because one of them is."""
    has_infeasible: bool
    """Whether a task of it cannot be done, whoever explains how to report that."""
    guessed: frozenset[str]
    unsure: tuple[str, ...]


def sources(document: CaseDocument) -> Iterator[CaseSource]:
    """Yield a file's cases, one per combination of their matrix, in the file's order.

    Broken cases are yielded as far as they can be read, so that all errors in a file can be
    reported together.

    Raises:
        FieldError: the file's outline breaks the contract; raised after the last case.
    """
    wrong = FieldErrors()
    outline = _outline(document, wrong)
    for index, raw in enumerate(outline.cases):
        # Older JSON files may hold a single case without a list around it.
        is_list = isinstance(document.data, list) or outline.cases_at
        at = (*outline.cases_at, index) if is_list else ()
        with wrong.kept():
            entry = _entry(raw, at, wrong)
            if "id" not in entry.fields and document.is_json:
                entry = replace(entry, fields={**entry.fields, "id": str(index + 1)})
            yield from _expanded(_source(document, outline, entry, at), wrong)
    wrong.raise_any()


def _source(document: CaseDocument, outline: _Outline, own: _Entry, at: FieldPath) -> CaseSource:
    shared = outline.defaults
    fields = _infeasible({**shared.fields, **own.fields}, outline.offers_refusal)
    has_secrets = isinstance(fields.get("secrets", {}), Mapping)
    return CaseSource(
        document,
        at,
        fields,
        {**shared.origins, **own.origins},
        outline.variables,
        webserver=outline.webserver,
        webservers=outline.webservers,
        incomplete=shared.incomplete or own.incomplete,
        beside_infeasible=outline.has_infeasible,
        guessed=outline.guessed | own.guessed | (shared.guessed - set(own.fields)),
        unsure=outline.unsure if has_secrets else (*outline.unsure, "secrets"),
    )


def how_to_refuse() -> str:
    """Return the sentence that ends every task of a file in which one cannot be done."""
    return (asset_dir("templates") / "cases" / "infeasible.txt").read_text("utf-8").strip()


def _infeasible(fields: dict[str, Any], offered: bool) -> dict[str, Any]:
    """Return a case's fields with `infeasible` expanded.

    The sentence is added to every task of the file; otherwise it would reveal the infeasible ones.
    """
    task, marked = fields.get("user_task"), fields.get("infeasible")
    if offered and isinstance(task, str):
        fields["user_task"] = f"{task.rstrip()} {how_to_refuse()}"
    checks, tags = fields.get("expect") or [], fields.get("tags") or []
    if marked is True and isinstance(checks, list):
        fields["expect"] = checks if _refused(fields) else [*checks, {"infeasible": True}]
    if marked in (True, "own_checks") and isinstance(tags, list) and "infeasible" not in tags:
        fields["tags"] = [*tags, "infeasible"]
    return fields


def _refused(fields: Mapping[str, Any]) -> bool:
    """Return whether a check of a case, not yet read, is that the model refused the task."""
    checks = fields.get("expect")
    named = (
        (check for check in checks if isinstance(check, Mapping))
        if isinstance(checks, list)
        else ()
    )
    return any("infeasible" in check for check in named)


def _outline(document: CaseDocument, wrong: FieldErrors) -> _Outline:
    top, keys_of, cases_at = _top(document, wrong)
    cases = top.get("cases")
    if not isinstance(cases, list) or not cases:
        wrong.add(cases_at, "must be a list with at least one case")
        cases = []
    sections: dict[str, Mapping[str, Any]] = {}
    for name in ("vars", "defaults", "webserver", "webservers"):
        with wrong.kept():
            sections[name] = _mapping(top, name, keys_of.get(name, name))
    unsure = [name for name in ("vars", "webserver", "webservers") if name not in sections]
    servers = _named_servers(sections.get("webservers", {}), keys_of, wrong)
    variables = dict(sections.get("vars", {}))
    # Variables are rendered only where used, so a broken unused one must be found here.
    for at, text in texts(sections.get("vars", {}), (keys_of.get("vars", "vars"),)):
        if problem := syntax_error(text):
            wrong.add(at, problem)
            variables.pop(str(at[1]), None)
            unsure.append(f"vars.{at[1]}")
    defaults = _defaults(sections.get("defaults"), keys_of.get("defaults", "defaults"), wrong)
    described = [*(case for case in cases if isinstance(case, Mapping)), defaults.fields]
    marked = [fields.get("infeasible") for fields in described]
    return _Outline(
        cases,
        cases_at,
        variables,
        defaults,
        sections.get("webserver") if "webserver" in top else None,
        servers,
        any(mark is True for mark in marked),
        any(mark in (True, "own_checks") for mark in marked) or any(map(_refused, described)),
        frozenset(name for name, key in keys_of.items() if name != key),
        tuple(unsure),
    )


def _named_servers(
    section: Mapping[str, Any], keys_of: Mapping[str, str], wrong: FieldErrors
) -> dict[str, Any]:
    """Return the servers of `webservers` by name; anything else is recorded as an error."""
    key = keys_of.get("webservers", "webservers")
    servers = {}
    for name, server in section.items():
        if not re.fullmatch(NAME_PATTERN, str(name)):
            wrong.add((key, name), "must be a name of letters, digits and '_'")
        elif not isinstance(server, Mapping):
            wrong.add((key, name), "must be a mapping with command, static or running")
        else:
            servers[str(name)] = server
    return servers


def _top(
    document: CaseDocument, wrong: FieldErrors
) -> tuple[Mapping[str, Any], Mapping[str, str], FieldPath]:
    """Return the file's sections, the keys that hold them, and the place of its cases.

    Raises:
        FieldError: the file cannot be checked further, because it has no sections or another
            version.
    """
    data = document.data
    if document.is_json and isinstance(data, list):
        return {"cases": data}, {}, ()
    if not isinstance(data, Mapping):
        raise FieldError((), "must be a mapping with 'version: 1' and 'cases'")
    if document.is_json and not {"cases", "version"} & set(data):
        return {"cases": [data]}, {}, ()
    version = data.get("version", VERSION)
    # In Python, True equals 1.
    if version != VERSION or not isinstance(version, int) or isinstance(version, bool):
        raise FieldError(("version",), f"must be {VERSION}, the only version there is")
    if "version" not in data and not document.is_json:
        wrong.add((), f"'version: {VERSION}' is missing")
    keys_of: dict[str, str] = {name: name for name in FILE_KEYS if name in data}
    for key in data:
        if key not in (*FILE_KEYS, "$schema"):
            wrong.add((key,), unknown_key(key, FILE_KEYS))
            _guess(key, FILE_KEYS, keys_of)
    sections = {name: data[key] for name, key in keys_of.items()}
    return sections, keys_of, (keys_of.get("cases", "cases"),)


def _guess(key: str, known: Iterable[str], keys_of: dict[str, str]) -> str | None:
    """Note a misspelt key under the section or field that was probably meant.

    A misspelt key causes many apparent errors; read as intended, it leaves only those with other
    causes.
    """
    meant = nearest(key, known)
    name = meant and _FIELD_OF.get(meant, meant)
    if name is None or name in keys_of:
        return None
    keys_of[name] = key
    return name


def _mapping(top: Mapping[str, Any], name: str, key: str) -> Mapping[str, Any]:
    value = top.get(name)
    if value is None:
        value = {}
    if not isinstance(value, Mapping):
        raise FieldError((key,), "must be a mapping")
    return value


def _defaults(section: Mapping[str, Any] | None, key: str, wrong: FieldErrors) -> _Entry:
    if section is None:
        return _Entry({}, {}, incomplete=True)
    defaults = _entry(section, (key,), wrong)
    if "id" not in defaults.fields:
        return defaults
    wrong.add(defaults.origins["id"], "cannot have a default: every case has its own")
    kept = {name: value for name, value in defaults.fields.items() if name != "id"}
    return replace(defaults, fields=kept, guessed=defaults.guessed - {"id"})


def _entry(raw: Any, at: FieldPath, wrong: FieldErrors) -> _Entry:
    """Return a case's fields under the contract's names; record unknown ones as errors.

    Raises:
        FieldError: it is not a mapping.
    """
    if not isinstance(raw, Mapping):
        raise FieldError(at, "must be a mapping with id, entry_url, user_task, …")
    keys_of: dict[str, str] = {}
    unknown = []
    for key in raw:
        name = _FIELD_OF.get(key, key)
        if name not in CASE_KEYS:
            wrong.add((*at, key), unknown_key(key, CASE_KEYS, _FIELD_OF))
            unknown.append(key)
        elif name in keys_of:
            first = keys_of[name]
            wrong.add((*at, key), f"is the same field as {first!r}; keep one of them")
        else:
            keys_of[name] = key
    guessed = [_guess(key, (*CASE_KEYS, *_FIELD_OF), keys_of) for key in unknown]
    fields = {name: raw[key] for name, key in keys_of.items()}
    if isinstance(fields.get("id"), int) and not isinstance(fields["id"], bool):
        fields["id"] = str(fields["id"])
    return _Entry(
        fields,
        {name: (*at, key) for name, key in keys_of.items()},
        frozenset(name for name in guessed if name),
        incomplete=None in guessed,
    )


def _expanded(source: CaseSource, wrong: FieldErrors) -> Iterator[CaseSource]:
    fields = dict(source.fields)
    matrix = fields.pop("matrix", None)
    if not matrix:
        yield replace(source, fields=fields)
        return
    names = Expressions(variables=source.variables, deployment=source.document.deployment)
    broken, errors = FieldErrors(), FieldErrors()
    axes = names.tree(matrix, ("matrix",), lambda at: True, broken)
    with errors.kept():
        rows = combinations(axes, ("matrix",))
    if told := sifted(errors, broken.all()).all():
        for one in told if "matrix" not in source.guessed else ():
            wrong.add(source.located(one.at), one.reason)
        yield replace(source, fields=fields, unsure=(*source.unsure, "matrix"))
        return
    for values, suffix in rows:
        named = dict(fields)
        if isinstance(named.get("id"), str):
            named["id"] += suffix
        yield replace(source, fields=named, matrix=values)


def case_json_schema() -> dict[str, Any]:
    """Return the schema (draft 2020-12) of a case file; it leaves out bare JSON lists of cases."""
    case, webserver, checks = _schema_of(Case), _schema_of(Webserver), _schema_of_checks()
    case["properties"]["expect"]["items"] = {"anyOf": checks["anyOf"]}
    # Case files never use the base class itself; the registered check types replace it.
    del case["$defs"]["Check"]
    definitions = {
        **case.pop("$defs"),
        **checks["$defs"],
        **webserver.pop("$defs"),
        "Webserver": webserver,
    }
    written = {**case["properties"], "matrix": _MATRIX}
    drivers = {
        "strategy": _driver_field(written["strategy"], STRATEGY_NAMES),
        "agent": _driver_field(written["agent"], agent_choices()),
    }
    fields = _with_aliases({**written, **drivers})
    # A field may come from `defaults`, so only the id is required of the case itself.
    id_names = ("id", *ALIASES["id"])
    definitions["Case"] = {
        **_closed(case["description"], fields),
        "anyOf": [{"required": [name]} for name in id_names],
    }
    definitions["Defaults"] = _closed(
        "Fields for every case that does not set them itself.",
        {name: schema for name, schema in fields.items() if name not in id_names},
    )
    for definition in definitions.values():
        _accept_expressions(definition)
    kinds = [name for name in keys(AnswerSpec) if name not in keys(Typed)]
    _exactly_one(definitions["AnswerSpec"], kinds)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "pytest-autoweb case file",
        **_closed("Web tasks in plain words, with checks that decide success.", _file_fields()),
        "required": ["version", "cases"],
        "$defs": definitions,
    }


def _file_fields() -> dict[str, Any]:
    return {
        "$schema": {"type": "string", "description": "This schema, for editors."},
        "version": {"const": VERSION, "description": "The version of the file format."},
        "webserver": {"$ref": _REF.format(model="Webserver")},
        "webservers": {
            "type": "object",
            "description": "Several web servers by name, for tasks over several sites: "
            "{{ webservers.NAME.url }}.",
            "additionalProperties": {"$ref": _REF.format(model="Webserver")},
        },
        "vars": {
            "type": ["object", "null"],
            "description": "Values for expressions: {{ vars.NAME }}.",
        },
        "defaults": {"$ref": _REF.format(model="Defaults")},
        "cases": {
            "type": "array",
            "minItems": 1,
            "items": {"$ref": _REF.format(model="Case")},
            "description": "The tasks, in the order they are reported.",
        },
    }


def _driver_field(field: dict[str, Any], names: Iterable[str]) -> dict[str, Any]:
    """Return the schema of a field that names an agent, with the names that there are."""
    others = [kind for kind in field["anyOf"] if kind.get("type") != "string"]
    return {
        **field,
        "description": f"{field['description']}\n{STRATEGY_NAMES.summaries()}",
        "anyOf": [{"enum": list(names), "type": "string"}, *others],
    }


def _schema_of(model: type[Case] | type[Webserver]) -> dict[str, Any]:
    return model.model_json_schema(by_alias=True, ref_template=_REF)


def _schema_of_checks() -> dict[str, Any]:
    """Return a schema that fits any registered check type, including the user's own."""
    any_of: Any = reduce(or_, CHECKS.values())
    return TypeAdapter(any_of).json_schema(by_alias=True, ref_template=_REF)


def _closed(description: str, properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "description": description,
        "properties": properties,
        "additionalProperties": False,
    }


def _with_aliases(fields: dict[str, Any]) -> dict[str, Any]:
    """Return the fields under all their names; `id` may be a number."""
    fields = {**fields, "id": {**fields["id"], "type": ["string", "integer"]}}
    named = dict(fields)
    for name, aliases in ALIASES.items():
        named |= {alias: {**fields[name], "title": f"Same as {name}"} for alias in aliases}
    return named


def _accept_expressions(schema: dict[str, Any]) -> None:
    """Allow an expression wherever a value is not free text anyway."""
    for name, field in schema.get("properties", {}).items():
        # Pydantic states the form of keys as `patternProperties`, which alone would let any other
        # key pass unchecked.
        if "patternProperties" in field:
            field["additionalProperties"] = False
        schema["properties"][name] = _or_expression(field)


def _or_expression(field: dict[str, Any]) -> dict[str, Any]:
    if "anyOf" in field:
        if any(option.get("type") in _PLAIN or "enum" in option for option in field["anyOf"]):
            return {**field, "anyOf": [*field["anyOf"], _EXPRESSION]}
        return field
    if "enum" in field.get("items", {}):
        field = {**field, "items": {"anyOf": [field["items"], _EXPRESSION]}}
    if field.get("type") in _PLAIN or "const" in field or "pattern" in field:
        about: dict[str, Any] = {
            key: field[key] for key in ("title", "description", "default") if key in field
        }
        rest = {key: value for key, value in field.items() if key not in about}
        return {**about, "anyOf": [rest, _EXPRESSION]}
    return field


def _exactly_one(definition: dict[str, Any], names: Iterable[str]) -> None:
    definition["oneOf"] = [{"required": [name]} for name in names]
