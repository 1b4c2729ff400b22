"""A case as written, joined with its file's defaults and variables, and how it becomes a `Case`."""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pytest_autoweb.cases.case import Case, Reset, ServerHandle, Webserver
from pytest_autoweb.cases.expressions import Expressions
from pytest_autoweb.cases.validation import Document, keys, validated
from pytest_autoweb.checks.check_type import CHECKS, Check
from pytest_autoweb.errors import CaseError, listed, near_miss
from pytest_autoweb.specs import FieldError, FieldErrors, FieldPath


def holds_data(at: FieldPath) -> bool:
    """Tell whether values at this place are compared with data, so that `1` is not `"1"`."""
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
    """Read the checks of a case.

    Args:
        entries: what the case file holds.
        at: its place in the file, for errors.
        path: the case file, beside which functions are looked for; None for inline cases.

    Raises:
        FieldError: an entry is not exactly one check of this version.
    """
    if not isinstance(entries, list):
        raise FieldError(at, "must be a list of checks, one '- ' each")
    checks: list[Check] = []
    errors = FieldErrors()
    for index, entry in enumerate(entries):
        with errors.kept():
            check = _check(entry, (*at, index))
            with errors.kept((*at, index)):
                check.refuse_unusable(path)
            checks.append(check)
    errors.raise_any()
    return tuple(checks)


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


WEBSERVER: FieldPath = ("webserver",)

_NOT_DECISIVE = ("weight", "message")
"""The fields of a check that do not change whether it holds."""
_STATIC_FIELDS = ("id", "tags", "strategy", "must_pass")
"""Fields that must be known when cases are collected, before any web server runs."""

_SECRET = re.compile(r"<secret:([^<>]*)>")


@dataclass(frozen=True, slots=True)
class CaseSource:
    """Everything one case is made of, unrendered."""

    document: Document
    at: FieldPath
    """Where the case stands in the document."""
    fields: Mapping[str, Any]
    """The case's fields under the contract's own names, with defaults applied."""
    origins: Mapping[str, FieldPath] = field(default_factory=dict)
    """The place of each field: in the case under the user's name for it, or in `defaults`."""
    variables: Mapping[str, Any] = field(default_factory=dict)
    matrix: Mapping[str, Any] | None = None
    webserver: Mapping[str, Any] | None = None
    incomplete: bool = False
    """Whether fields that nobody knows were left out, so that it only serves to find other errors;
    one of them may be a misspelt field that now seems to be missing."""
    literal: bool = False
    """Whether texts are taken as they are; inline cases hold no expressions."""

    def error(self, error: FieldError) -> CaseError:
        """Return an error at a field of the case or its web server, with its file and line."""
        return self.document.error(error, self.located)

    def located(self, at: FieldPath) -> FieldPath:
        """Return the place in the document of a field of the case."""
        if at[:1] == WEBSERVER:
            return at
        if at and isinstance(at[0], str):
            return (*self.origins.get(at[0], (*self.at, at[0])), *at[1:])
        return self.at

    def _expressions(self, server: Mapping[str, str] | None) -> Expressions:
        secrets = self.fields.get("secrets")
        return Expressions(
            variables=self.variables,
            matrix=self.matrix,
            secrets=secrets if isinstance(secrets, Mapping) else {},
            webserver=server if self.webserver is not None else None,
        )

    def rendered(self, server: Mapping[str, str] | None) -> "RenderedCase":
        """Return the case with all expressions replaced, once for everything asked of it.

        Raises:
            FieldError: a name is unknown or an expression fails.
        """
        fields: dict[str, Any] = {}
        errors = FieldErrors()
        for name in self.fields:
            with errors.kept():
                fields[name] = self.field(name, server)
        errors.raise_any()
        return RenderedCase(self, fields)

    def field(self, name: str, server: Mapping[str, str] | None) -> Any:
        """Return one field with its expressions replaced."""
        value = self.fields[name]
        if self.literal:
            return value
        expressions = self._expressions(None if name in _STATIC_FIELDS else server)
        return expressions.tree(value, (name,), holds_data)

    def depends_on_server(self, name: str) -> bool:
        """Tell whether a field's value is known only when the web server runs."""
        if self.webserver is None or self.literal:
            return False
        try:
            return bool(self.field(name, ECHO) != self.field(name, _OTHER))
        except FieldError:
            # Its expression computes with the server's address.
            return True

    def server(self) -> Webserver | None:
        """Return the file's web server; its reset request is rendered only when it is sent."""
        if self.webserver is None:
            return None
        names = Expressions(variables=self.variables)
        fields = {
            key: value if key == "reset" else names.tree(value, (*WEBSERVER, key), lambda at: False)
            for key, value in self.webserver.items()
        }
        return validated(Webserver, fields, WEBSERVER)

    def reset(self, server: Mapping[str, str]) -> Reset | None:
        """Return the request that resets the server, ready to be sent."""
        raw = (self.webserver or {}).get("reset")
        if not isinstance(raw, Mapping):
            return None
        at: FieldPath = (*WEBSERVER, "reset")
        names = Expressions(variables=self.variables, matrix=self.matrix, webserver=server)
        reset = validated(Reset, names.tree(raw, at, lambda at: False), at)
        if not reset.url.startswith(("http://", "https://")):
            raise FieldError(
                (*at, "url"), f"must start with http:// or https://, got {reset.url!r}"
            )
        return reset


@dataclass(frozen=True, slots=True)
class RenderedCase:
    """A case with its expressions replaced, for one web server or for none."""

    source: CaseSource
    fields: Mapping[str, Any]

    def case(self) -> Case:
        """Return the case as the contract has it.

        Raises:
            FieldError: a value breaks the contract, or a secret is not declared.
        """
        fields = dict(self.fields)
        errors = FieldErrors()
        if "expect" in fields:
            path, entries = self.source.document.path, fields.pop("expect")
            with errors.kept():
                fields["expect"] = read_checks(entries, ("expect",), path)
        with errors.kept():
            case = validated(Case, fields)
            self._check_secrets(case)
        errors.raise_any()
        return case

    def _check_secrets(self, case: Case) -> None:
        errors = FieldErrors()
        for at, text in texts(self.fields, ()):
            for name in _SECRET.findall(text):
                if name not in case.secrets:
                    known = near_miss(name, case.secrets)
                    with errors.kept():
                        raise FieldError(at, f"unknown secret {name!r}{known}")
        errors.raise_any()

    def checksum(self, webserver: Webserver | None, reset: Reset | None) -> str:
        """Return the SHA-256 of all of this case but its checks, whatever else its file holds."""
        fields = {key: value for key, value in self.fields.items() if key != "expect"}
        return _sum_of(
            {
                "case": fields,
                "webserver": webserver and webserver.model_dump(exclude={"reset"}),
                "reset": reset.model_dump() if reset else webserver and webserver.reset,
            }
        )

    def check_checksums(self) -> tuple[str, tuple[str, ...]]:
        """Return the SHA-256 of all checks and of each, in their order.

        The code of the user's functions that they call counts. Of a single check its weight and
        message do not.
        """
        path = self.source.document.path
        entries = self.fields.get("expect") or ()
        checks = [{**entry, **code_behind(entry, path)} for entry in entries]
        return _sum_of(checks), tuple(
            _sum_of({key: value for key, value in check.items() if key not in _NOT_DECISIVE})
            for check in checks
        )


def _sum_of(content: Any) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def names_of(server: ServerHandle | None) -> dict[str, str] | None:
    """Return a running server as expressions see it."""
    return None if server is None else {"url": server.url, "data": str(server.data)}


def stand_in(webserver: Webserver | None) -> dict[str, str] | None:
    """Return a server of the same shape that does not run, to check expressions with."""
    if webserver is None:
        return None
    url = webserver.url.replace("{port}", "65535").replace("{data}", "/data")
    if not url.startswith(("http://", "https://")):
        raise FieldError((*WEBSERVER, "url"), "must start with http:// or https://")
    return {"url": url, "data": "/data"}


ECHO = {"url": "{{ webserver.url }}", "data": "{{ webserver.data }}"}
"""A server whose values are the expressions that ask for them, so that rendering keeps these."""
_OTHER = {"url": "http://other.invalid/", "data": "/other"}


def texts(value: Any, at: FieldPath) -> Iterator[tuple[FieldPath, str]]:
    """Yield every string in a value, with its place."""
    if isinstance(value, str):
        yield at, value
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from texts(item, (*at, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from texts(item, (*at, index))
