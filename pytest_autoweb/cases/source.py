"""A case as written, joined with its file's defaults and variables, and how it becomes a `Case`."""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from pytest_autoweb.cases.checks import code_behind, holds_data, read_checks
from pytest_autoweb.cases.document import Document
from pytest_autoweb.cases.explain import validated
from pytest_autoweb.cases.expressions import Expressions
from pytest_autoweb.cases.model import Case, Reset, ServerHandle, Webserver
from pytest_autoweb.errors import CaseError
from pytest_autoweb.near_miss import near_miss
from pytest_autoweb.specs import FieldError, FieldPath

WEBSERVER: FieldPath = ("webserver",)

_BESIDE_THE_POINT = ("weight", "message")
"""Fields of a check that change nothing about whether it holds."""
_STATIC_FIELDS = ("id", "tags", "strategy", "must_pass")
"""Known when cases are collected, so before any web server runs."""

_SECRET = re.compile(r"<secret:([^<>]*)>")


@dataclass(frozen=True, slots=True)
class CaseSource:
    """Everything one case is made of, unrendered."""

    document: Document
    at: FieldPath
    """Where the case stands in the document."""
    fields: Mapping[str, Any]
    """Under the contract's own names, defaults included."""
    origins: Mapping[str, FieldPath] = field(default_factory=dict)
    """Where each field stands: in the case under the user's name for it, or in `defaults`."""
    variables: Mapping[str, Any] = field(default_factory=dict)
    matrix: Mapping[str, Any] | None = None
    webserver: Mapping[str, Any] | None = None
    literal: bool = False
    """Inline cases hold no expressions."""

    def error(self, error: FieldError) -> CaseError:
        """The user's form of an error at a field of the case or of the web server."""
        return self.document.error(self.located(error.at), error.reason)

    def located(self, at: FieldPath) -> FieldPath:
        """The place in the document of a field of the case."""
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

    def rendered(self, server: Mapping[str, str] | None) -> dict[str, Any]:
        """All fields with their expressions replaced."""
        if self.literal:
            return dict(self.fields)
        with_server, static = self._expressions(server), self._expressions(None)
        return {
            key: (static if key in _STATIC_FIELDS else with_server).tree(value, (key,), holds_data)
            for key, value in self.fields.items()
        }

    def case(self, server: Mapping[str, str] | None) -> Case:
        """The case with the server's values in place.

        Raises:
            FieldError: a name is unknown or a value breaks the contract.
        """
        rendered = self.rendered(server)
        fields = dict(rendered)
        if "expect" in fields:
            fields["expect"] = read_checks(fields["expect"], ("expect",), self.document.path)
        case = validated(Case, fields)
        for at, text in texts(rendered, ()):
            for name in _SECRET.findall(text):
                if name not in case.secrets:
                    known = near_miss(name, case.secrets)
                    raise FieldError(at, f"unknown secret {name!r}{known}")
        return case

    def server(self) -> Webserver | None:
        """The file's web server; its reset request keeps its expressions until it is sent."""
        if self.webserver is None:
            return None
        names = Expressions(variables=self.variables)
        fields = {
            key: value if key == "reset" else names.tree(value, (*WEBSERVER, key), lambda at: False)
            for key, value in self.webserver.items()
        }
        return validated(Webserver, fields, WEBSERVER)

    def reset(self, server: Mapping[str, str]) -> Reset | None:
        """The request that resets the server, ready to be sent."""
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

    def checksum(self, server: Mapping[str, str] | None) -> str:
        """SHA-256 of all of this case but its checks, whatever else its file holds."""
        webserver = self.server()
        reset = self.reset(server) if server else None
        fields = {key: value for key, value in self.rendered(server).items() if key != "expect"}
        return _sum_of(
            {
                "case": fields,
                "webserver": webserver and webserver.model_dump(exclude={"reset"}),
                "reset": reset.model_dump() if reset else webserver and webserver.reset,
            }
        )

    def checks_checksum(self, server: Mapping[str, str] | None) -> str:
        """SHA-256 of all checks and of the user's functions they call."""
        return _sum_of(self._checks(server))

    def check_checksums(self, server: Mapping[str, str] | None) -> tuple[str, ...]:
        """SHA-256 of each check, in their order; its weight and message do not count."""
        return tuple(
            _sum_of({key: value for key, value in check.items() if key not in _BESIDE_THE_POINT})
            for check in self._checks(server)
        )

    def _checks(self, server: Mapping[str, str] | None) -> list[dict[str, Any]]:
        """The checks as written, each with the code of the function it names."""
        path = self.document.path
        entries = self.rendered(server).get("expect") or ()
        return [{**entry, **code_behind(entry, path)} for entry in entries]


def _sum_of(content: Any) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def names_of(server: ServerHandle | None) -> dict[str, str] | None:
    """A running server as expressions see it."""
    return None if server is None else {"url": server.url, "data": str(server.data)}


def stand_in(webserver: Webserver | None) -> dict[str, str] | None:
    """A server of the same shape that does not run, to check expressions with."""
    if webserver is None:
        return None
    url = webserver.url.replace("{port}", "65535").replace("{data}", "/data")
    if not url.startswith(("http://", "https://")):
        raise FieldError((*WEBSERVER, "url"), "must start with http:// or https://")
    return {"url": url, "data": "/data"}


ECHO = {"url": "{{ webserver.url }}", "data": "{{ webserver.data }}"}
"""A server whose values show as the expressions that ask for them."""


def texts(value: Any, at: FieldPath) -> Iterator[tuple[FieldPath, str]]:
    """Every string in a value, with its place."""
    if isinstance(value, str):
        yield at, value
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from texts(item, (*at, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from texts(item, (*at, index))
