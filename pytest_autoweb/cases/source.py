"""A case as written, with its file's defaults and variables, and its conversion to `Case`."""

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct, field

from pytest_autoweb.base.documents.field_sentences import MISSING, Model, keys, validated
from pytest_autoweb.base.errors import CaseError, listed, near_miss
from pytest_autoweb.base.field_errors import FieldError, FieldErrors, FieldPath
from pytest_autoweb.base.redaction import SECRET
from pytest_autoweb.cases.case import Case
from pytest_autoweb.cases.case_document import CaseDocument
from pytest_autoweb.cases.expressions import Expressions
from pytest_autoweb.cases.webserver_spec import MAIL_PORT, Reset, ServerHandle, Webserver
from pytest_autoweb.judging.checks.check_type import CHECKS, Check


def holds_data(at: FieldPath) -> bool:
    """Return whether values at this place are compared with data, so that `1` is not `"1"`."""
    if at[:1] != ("expect",):
        return False
    below = at[2:]
    places = (place for check_type in CHECKS.values() for place in check_type.data_fields)
    return any(below[: len(place)] == place for place in places)


def code_behind(entry: Mapping[str, Any], path: Path | None) -> dict[str, str]:
    """Return the user's code that decides an entry of `expect`, for inclusion in checksums."""
    kind = next((CHECKS[key] for key in entry if key in CHECKS), Check)
    return kind.code_behind(entry, path)


def read_checks(entries: Any, at: FieldPath, path: Path | None) -> tuple[Check, ...]:
    """Read the checks of a case.

    Args:
        entries: the entries in the case file.
        at: its place in the file, for errors.
        path: the case file, next to which functions are searched for; None for inline cases.

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


_INSTEAD = {
    "title": """js: "() => document.title === 'Home'\"""",
    **dict.fromkeys(("contains", "content", "body", "page", "visible", "see"), "text: Welcome"),
    **dict.fromkeys(
        ("selector", "css", "xpath", "locator", "heading", "button", "link", "field", "exists"),
        "element: {role: button, name: Save}",
    ),
    **dict.fromkeys(("value", "checked", "count"), "element: {label: Name, value: Ana}"),
    **dict.fromkeys(("equals", "result", "output", "return", "returns"), "answer: {equals: 42}"),
    **dict.fromkeys(("cookie", "storage", "script", "javascript", "eval"), 'js: "() => ..."'),
    **dict.fromkeys(
        ("status", "response", "network", "xhr", "api"),
        'request: {method: POST, url: "**/orders", status: 201}',
    ),
    **dict.fromkeys(
        ("database", "db", "query", "rows"), "sql: {url: ..., query: ..., rows: [[1]]}"
    ),
    **dict.fromkeys(("address", "path", "location"), 'url: "**/account"'),
    **dict.fromkeys(("llm", "rubric", "model"), "judge: ..."),
    **dict.fromkeys(("function", "code", "assert"), 'python: "checks.py:holds"'),
}
"""What to write for a check that other tools have under this name."""


def _check(entry: Any, at: FieldPath) -> Check:
    if not isinstance(entry, Mapping):
        raise FieldError(at, f"must be a mapping such as 'text: Welcome', got {entry!r:.80}")
    kinds = [key for key in entry if key in CHECKS]
    beside = keys(CHECKS[kinds[0]] if kinds else Check)
    errors = FieldErrors()
    unknown = [key for key in entry if key not in CHECKS and key not in beside]
    known = [*CHECKS, *(name for name in beside if name not in CHECKS)]
    for key in unknown:
        instead = _INSTEAD.get(str(key).lower(), "")
        told = f"; write {instead} (allowed: {listed(known)})" if instead else near_miss(key, known)
        errors.add((*at, key), f"unknown check {key!r}{told}")
    if not kinds and not unknown:
        raise FieldError(at, f"names no check; a check is one of {listed(CHECKS)}")
    if len(kinds) > 1:
        errors.add(
            (*at, kinds[1]), f"an entry holds one check; write {listed(kinds)} as separate entries"
        )
    for kind in kinds:
        fields = {key: entry[key] for key in entry if key == kind or key in keys(CHECKS[kind])}
        with errors.kept():
            check = validated(CHECKS[kind], fields, at)
    errors.raise_any()
    return check


WEBSERVER: FieldPath = ("webserver",)
WEBSERVERS = "webservers"
MAIN = ""
"""The name of the `webserver` server among the names of servers."""

_NOT_DECISIVE = ("points", "weight", "message")
"""The fields of a check that do not affect whether it holds."""
Servers = Mapping[str, Mapping[str, str]]
"""Address and data folder of each server, by its name, and the cell's own address for mails."""
_MAIL = "mail"
MAILED = "mail_code"
"""The name of the secret that `{{ mail.code }}` stands for."""
LINKED = "mail_link"
"""The name of the secret that `{{ mail.link }}` stands for."""
_OF_MAILS: Mapping[str, bool | str] = {MAILED: True, LINKED: "link"}
"""What the secrets say that need not be declared."""
_NOBODY = "somebody@example.com"
"""Stands for an address before there is an attempt that has it."""
NO_SERVER: Servers = {}

_BEFORE_OR_AFTER = ("setup", "expect")
"""Fields that are used before and after the task is done."""
_NOT_ASKED = ("expect", "pictures")
"""The fields of a case that do not change what a model is asked."""
_STATIC_FIELDS = ("id", "tags", "strategy", "agent", "must_pass")
"""Fields that must be known when cases are collected, before any web server runs."""

_WITHOUT_SECRETS = ("entry_url", "allowed_origins", "files")
"""Fields in which secrets are not substituted, because addresses and names appear in logs and
reports."""


class CaseSource(Struct, frozen=True):
    """Everything one case is made of, unrendered."""

    document: CaseDocument
    at: FieldPath
    """The place of the case in the document."""
    fields: Mapping[str, Any]
    """The case's fields under the contract's own names, with defaults applied."""
    origins: Mapping[str, FieldPath] = field(default_factory=dict)
    """The place of each field: in the case under the user's name for it, or in `defaults`."""
    variables: Mapping[str, Any] = field(default_factory=dict)
    matrix: Mapping[str, Any] | None = None
    webserver: Mapping[str, Any] | None = None
    webservers: Mapping[str, Any] = field(default_factory=dict)
    """The servers of `webservers`, by name."""
    incomplete: bool = False
    """Whether unknown fields were left out, one of which may be a misspelling of a field that now
    seems to be missing. The case then only serves to find other errors."""
    guessed: frozenset[str | int] = frozenset()
    """The fields taken from misspelt keys; errors in their values are not reported."""
    unsure: tuple[str, ...] = ()
    """Names in expressions, such as `vars.a`, that are unknown because of an error already
    reported."""
    beside_infeasible: bool = False
    """Whether a task of the file cannot be done; see `Case.may_answer`."""
    literal: bool = False
    """Whether texts are taken literally; inline cases hold no expressions."""

    def error(self, error: FieldError) -> CaseError:
        """Return an error at a field of the case or its web server, with its file and line."""
        return self.document.error(error, self.located)

    def told(self, error: FieldError) -> list[CaseError]:
        """Return the errors that are not just consequences of others, with file and line."""
        return [self.error(one) for one in error.all() if not self._follows(one)]

    def _follows(self, error: FieldError) -> bool:
        unsure = "|".join(map(re.escape, self.unsure))
        return (
            (self.incomplete and error.reason == MISSING)
            or bool(error.at and error.at[0] in self.guessed)
            or bool(unsure and re.match(rf"unknown name '({unsure})['.[]", error.reason))
        )

    def located(self, at: FieldPath) -> FieldPath:
        if at[:1] == WEBSERVER or at[:1] == (WEBSERVERS,):
            return at
        if at and isinstance(at[0], str):
            return (*self.origins.get(at[0], (*self.at, at[0])), *at[1:])
        return self.at

    def _expressions(self, servers: Servers) -> Expressions:
        secrets = self.fields.get("secrets")
        mail = next((values[_MAIL] for values in servers.values()), "") if self.takes_mail else ""
        own = self.fields.get("mail")
        if mail and isinstance(own, Mapping) and isinstance(own.get("address"), str):
            mail = own["address"]
        return Expressions(
            variables=self.variables,
            matrix=self.matrix,
            secrets=secrets if isinstance(secrets, Mapping) else {},
            mail=_of_mail(mail) if mail else None,
            deployment=self.document.deployment,
            **_scopes(servers),
        )

    @property
    def takes_mail(self) -> bool:
        """Return whether one of its web servers has a server for its mails."""
        sections = [self._section(name)[0] for name in self.server_names]
        return any(MAIL_PORT in text for _, text in texts(sections, ()))

    def rendered(self, server: Servers) -> "RenderedCase":
        """Return the case with all expressions replaced, rendered once for all uses.

        A failing expression stays as written; only `RenderedCase.case` raises its error.
        """
        wrong = FieldErrors()
        fields = {name: self._field(name, server, wrong) for name in self.fields}
        return RenderedCase(self, fields, wrong.all())

    def field(self, name: str, server: Servers) -> Any:
        """Return one field with its expressions replaced.

        Raises:
            FieldError: a name is unknown or an expression fails.
        """
        wrong = FieldErrors()
        value = self._field(name, server, wrong)
        wrong.raise_any()
        return value

    def _field(self, name: str, server: Servers, wrong: FieldErrors) -> Any:
        value = self.fields[name]
        if self.literal:
            return value
        expressions = self._expressions(NO_SERVER if name in _STATIC_FIELDS else server)
        return expressions.tree(value, (name,), holds_data, wrong)

    def id(self) -> str | None:
        """Return the case's id, or None if it has none that is comparable with others."""
        try:
            value = self.field("id", NO_SERVER)
        except (FieldError, KeyError):
            return None
        return value if isinstance(value, str) and "id" not in self.guessed else None

    def depends_on_server(self, name: str) -> bool:
        """Return whether a field's value is known only when the web server runs."""
        if not self.server_names or self.literal:
            return False
        try:
            return bool(self.field(name, self.echo()) != self.field(name, self._alike(_OTHER)))
        except FieldError:
            # Its expression computes with the server's address.
            return True

    @property
    def server_names(self) -> tuple[str, ...]:
        """Return the names of its servers, in written order."""
        return (*((MAIN,) if self.webserver is not None else ()), *self.webservers)

    def _section(self, name: str) -> tuple[Mapping[str, Any], FieldPath]:
        """Return the file's section about a server, and its place."""
        if name == MAIN:
            return self.webserver or {}, WEBSERVER
        return self.webservers[name], (WEBSERVERS, name)

    def echo(self) -> "Servers":
        """Return servers whose values are the expressions that refer to them."""
        return {
            name: {
                key: f"{{{{ {f'{WEBSERVERS}.{name}' if name else 'webserver'}.{key} }}}}"
                for key in ("url", "data")
            }
            | {_MAIL: "{{ mail.address }}"}
            for name in self.server_names
        }

    def _alike(self, values: Mapping[str, str]) -> "Servers":
        return dict.fromkeys(self.server_names, values)

    def server(self, name: str) -> Webserver:
        """Return a server of the file; its reset request is rendered only when it is sent."""
        section, at = self._section(name)
        wrong = FieldErrors()
        names = Expressions(variables=self.variables, deployment=self.document.deployment)
        fields = {
            key: value if key == "reset" else names.tree(value, (*at, key), lambda at: False, wrong)
            for key, value in section.items()
        }
        return _read(Webserver, fields, at, wrong)

    def reset(self, name: str, servers: "Servers") -> Reset | None:
        """Return the request that resets a server, ready to be sent."""
        section, where = self._section(name)
        raw = section.get("reset")
        if not isinstance(raw, Mapping):
            return None
        at: FieldPath = (*where, "reset")
        wrong = FieldErrors()
        names = Expressions(
            variables=self.variables,
            matrix=self.matrix,
            deployment=self.document.deployment,
            **_scopes(servers),
        )
        reset = _read(Reset, names.tree(raw, at, lambda at: False, wrong), at, wrong)
        if not reset.url.startswith(("http://", "https://")):
            raise FieldError(
                (*at, "url"), f"must start with http:// or https://, got {reset.url!r}"
            )
        return reset


class RenderedCase(Struct, frozen=True):
    """A case with its expressions replaced, for a given web server or none."""

    source: CaseSource
    fields: Mapping[str, Any]
    broken: tuple[FieldError, ...]
    """The expressions that failed; their places hold them as written."""

    def case(self) -> Case:
        """Return the validated case.

        Raises:
            FieldError: an expression failed, a value breaks the contract, or a secret is not
                declared.
        """
        fields = dict(self.fields)
        if self._implied:
            fields["secrets"] = {**fields.get("secrets", {}), **self._implied}
        errors = FieldErrors()
        if "expect" in fields:
            path, entries = self.source.document.path, fields.pop("expect")
            with errors.kept():
                fields["expect"] = read_checks(entries, ("expect",), path)
        if isinstance(url := fields.get("entry_url"), str):
            fields["entry_url"] = self.source.document.deployment.absolute(url)
        with errors.kept():
            case = validated(Case, fields)
            with errors.kept(("setup",)):
                case.setup.refuse_foreign_credentials(case.entry_url, case.allowed_origins)
        told = sifted(errors, self.broken)
        self._check_secrets(told)
        told.raise_any()
        return case.beside_infeasible() if self.source.beside_infeasible else case

    @property
    def _implied(self) -> dict[str, Any]:
        """Return the secrets that need not be declared: what comes by mail, if used."""
        declared = self.fields.get("secrets", {})
        if not self.source.takes_mail or not isinstance(declared, Mapping):
            return {}
        used = {name for _, text in texts(self.fields, ()) for name in SECRET.findall(text)}
        return {
            name: {"mail": mail}
            for name, mail in _OF_MAILS.items()
            if name in used and name not in declared
        }

    def _check_secrets(self, errors: FieldErrors) -> None:
        declared = self.fields.get("secrets", {})
        if not isinstance(declared, Mapping):
            return
        declared = {**declared, **self._implied}
        mailed = {name for name, source in declared.items() if _is_mailed(source)}
        for name in mailed if not self.source.takes_mail else ():
            errors.add(("secrets", name), "no web server is handed {mail_port}, so no mail comes")
        for at, text in texts(self.fields, ()):
            for name in SECRET.findall(text):
                if name in mailed and at[0] in _BEFORE_OR_AFTER:
                    errors.add(at, "what comes by mail is there only while the task is done")
                if at[0] in _WITHOUT_SECRETS or at[:2] == ("setup", "storage_state"):
                    errors.add(at, f"a secret cannot stand here: it would stay <secret:{name}>")
                elif name not in declared:
                    errors.add(at, f"unknown secret {name!r}{near_miss(name, declared)}")

    def checksum(self, servers: Mapping[str, Webserver], resets: Mapping[str, Reset | None]) -> str:
        """Return the SHA-256 of this case without its checks or the rest of its file."""
        fields = {key: value for key, value in self.fields.items() if key not in _NOT_ASKED}
        told = {name: _told(server, resets.get(name)) for name, server in servers.items()}
        main = told.pop(MAIN, {"webserver": None, "reset": None})
        return _sum_of({"case": fields, **main, **({"webservers": told} if told else {})})

    def check_checksums(self) -> tuple[str, tuple[str, ...]]:
        """Return the SHA-256 of all checks and of each, in their order.

        The checksums cover the code of the user's functions that they call. Those of single checks
        leave out points and message.
        """
        path = self.source.document.path
        entries = self.fields.get("expect") or ()
        checks = [{**entry, **code_behind(entry, path)} for entry in entries]
        return _sum_of(checks), tuple(
            _sum_of({key: value for key, value in check.items() if key not in _NOT_DECISIVE})
            for check in checks
        )


def _is_mailed(source: object) -> bool:
    return isinstance(source, Mapping) and source.get("mail") in (True, "link")


def _of_mail(address: str) -> dict[str, str]:
    """Return what expressions know of mails."""
    return {"address": address, "code": f"<secret:{MAILED}>", "link": f"<secret:{LINKED}>"}


def sifted(errors: FieldErrors, broken: Iterable[FieldError]) -> FieldErrors:
    """Return failed expressions, and those other errors that do not concern their places."""
    sifted = FieldErrors()
    places = {one.at for one in broken}
    for one in broken:
        sifted.add(one.at, one.reason)
    for one in errors.all():
        if not any(one.at[:length] in places for length in range(1, len(one.at) + 1)):
            sifted.add(one.at, one.reason)
    return sifted


def _read(model: type[Model], data: Any, at: FieldPath, broken: FieldErrors) -> Model:
    """Return the model built from rendered data, or raise all its errors."""
    errors = FieldErrors()
    with errors.kept():
        made = validated(model, data, at)
    sifted(errors, broken.all()).raise_any()
    return made


def _told(server: Webserver, reset: Reset | None) -> dict[str, Any]:
    # Unset fields are left out, so that a new field does not change the checksums of older files.
    unsaid = {"reset"} if server.running else {"reset", "running"}
    return {
        "webserver": server.model_dump(exclude=unsaid),
        "reset": reset.model_dump() if reset else server.reset,
    }


def _sum_of(content: Any) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _scopes(servers: "Servers") -> dict[str, Any]:
    """Return the names under which expressions see servers."""
    shown = {
        name: {key: value for key, value in values.items() if key != _MAIL}
        for name, values in servers.items()
    }
    return {"webserver": shown.pop(MAIN, None), "webservers": shown}


def names_of(server: ServerHandle | None, *, main: bool) -> "Servers":
    """Return running servers as expressions see them.

    Args:
        server: the servers; None if there is none.
        main: whether the file has a server of `webserver`.
    """
    if server is None:
        return NO_SERVER
    handles = {**({MAIN: server} if main else {}), **server.named}
    mail = server.address or _NOBODY
    return {
        name: {"url": one.url, "data": str(one.data), _MAIL: mail} for name, one in handles.items()
    }


STAND_IN = {"url": "http://127.0.0.1:65535", "data": "/data", _MAIL: _NOBODY}
"""The stand-in for a web server whose own fields are broken."""


def stand_in(webserver: Webserver, name: str) -> dict[str, str]:
    """Return a server of the same shape that does not run, to check expressions with."""
    at = (WEBSERVERS, name) if name else WEBSERVER
    url = webserver.url.replace("{port}", "65535").replace("{data}", "/data")
    if not url.startswith(("http://", "https://")):
        raise FieldError((*at, "url"), "must start with http:// or https://")
    return {"url": url, "data": "/data", _MAIL: _NOBODY}


_OTHER = {"url": "http://other.invalid/", "data": "/other", _MAIL: "other@example.com"}


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
