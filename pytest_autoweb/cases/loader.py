"""Loads case files and inline cases."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pytest_autoweb.base.errors import CaseError, joined_errors
from pytest_autoweb.base.field_errors import FieldError, FieldErrors, FieldPath
from pytest_autoweb.base.variant_names import StrategyName
from pytest_autoweb.browser.traffic.traffic_rules import TrafficRules
from pytest_autoweb.cases.case import Case, SecretSource, secret_value, unfit_key
from pytest_autoweb.cases.case_document import CaseDocument, read_case_document
from pytest_autoweb.cases.collect_spec import CollectSpec
from pytest_autoweb.cases.deployment import Deployment
from pytest_autoweb.cases.file_layout import sources
from pytest_autoweb.cases.source import MAIN, STAND_IN, CaseSource, names_of, stand_in
from pytest_autoweb.cases.webserver_spec import Reset, ServerHandle, Webserver
from pytest_autoweb.judging.checks.delegated_checks import JudgeCheck, PythonCheck
from pytest_autoweb.settings.agent_command import AgentCommand

BETWEEN_CASES = ";;"
BETWEEN_PARTS = "|||"

_WHOLE_URL = re.compile(r"https?://\S+", re.IGNORECASE)
# A URL inside a sentence ends before quotes, brackets and CJK punctuation.
_URL_IN_TEXT = re.compile(r"https?://[^\s<>\"'`，。；、！？（）【】「」《》]+", re.IGNORECASE)
_END_OF_SENTENCE = ".,;:!?)]}"


def read_inline(text: str) -> list[dict[str, str]]:
    """Read the fields id, entry_url and user_task of each case; ids count from 1.

    Raises:
        CaseError: there is no case, or one lacks its URL or its task.
    """
    segments = [part.strip() for part in text.split(BETWEEN_CASES) if part.strip()]
    if not segments:
        raise CaseError(f"no case given; write url{BETWEEN_PARTS}task{BETWEEN_CASES}url…")
    cases = []
    for number, segment in enumerate(segments, start=1):
        url, task = _url_and_task(segment, f"case {number}")
        cases.append({"id": str(number), "entry_url": url, "user_task": task})
    return cases


def _url_and_task(segment: str, name: str) -> tuple[str, str]:
    parts = [part.strip() for part in segment.split(BETWEEN_PARTS)]
    if len(parts) > 2:
        raise CaseError(f"has more than one {BETWEEN_PARTS!r}: {segment!r}", field=name)
    if len(parts) == 1:
        url, task = _first_url(segment, name), segment
        rest = segment.replace(url, "")
    else:
        first, second = parts
        if _WHOLE_URL.fullmatch(first):
            url, task = first, second
        elif _WHOLE_URL.fullmatch(second):
            url, task = second, first
        else:
            raise CaseError(f"neither side is an http(s) URL: {segment!r}", field=name)
        rest = task
    if not re.search(r"\w", rest):
        raise CaseError(f"has no task: {segment!r}", field=name)
    return url, task


def _first_url(text: str, name: str) -> str:
    match = _URL_IN_TEXT.search(text)
    if match is None:
        raise CaseError(f"holds no http(s) URL: {text!r}", field=name)
    url = match.group()
    while url.endswith(tuple(_END_OF_SENTENCE)) and not _closes_a_bracket(url):
        url = url[:-1]
    return url


def _closes_a_bracket(url: str) -> bool:
    """Return whether the last bracket belongs to the URL, as in `…/Page_(disambiguation)`."""
    return url.endswith(")") and url.count("(") >= url.count(")")


@dataclass(frozen=True, slots=True)
class LoadedCase:
    """A case that was checked at collection and may still need its web server's address."""

    id: str
    path: Path | None
    """The case's file; None for inline cases."""
    line: int
    tags: tuple[str, ...]
    entry_url_template: str
    """The entry URL, with the web server's values still written as `{{ webserver.url }}`."""
    user_task_template: str
    """The task, with the web server's values still written as expressions."""
    must_pass: bool
    strategy: StrategyName | None
    """The case's own agent; None means the one of `--autoweb-agent`."""
    webserver: Webserver | None
    """The web server with its placeholders; `resolve_reset` gives its HTTP reset ready to be
    sent."""
    webservers: Mapping[str, Webserver]
    """All its web servers by name; `webserver` has the empty name."""
    checksum: str
    """SHA-256 of the case's content without its checks. It covers variables, defaults, matrix
    values and web server, but not the file's other cases."""
    checks_checksum: str
    """SHA-256 of all checks of the case."""
    check_checksums: tuple[str, ...]
    """SHA-256 of each check, in their order, without its points and message."""
    has_expect: bool
    has_points: bool
    """Whether any check says how many points it is worth."""
    has_oracle: bool
    judge_models: tuple[str, ...]
    """The models that `judge` checks name."""
    _source: CaseSource = field(repr=False, compare=False)
    _case: Case = field(repr=False, compare=False)
    """The case as rendered at collection. If it has a web server, a placeholder took that server's
    place, so this case only proves that the file is valid."""

    @property
    def shape(self) -> Case:
        """Return the case as far as it is known before its web server runs."""
        return self._case

    @property
    def has_secrets(self) -> bool:
        """Return whether its pages receive secrets."""
        return bool(self._case.secrets)

    @property
    def way(self) -> str:
        """Return how its agent writes scripts; empty if the case leaves that to the model."""
        return self._case.way

    @property
    def command(self) -> AgentCommand | None:
        return self._case.agent if isinstance(self._case.agent, AgentCommand) else None

    @property
    def secrets(self) -> Mapping[str, SecretSource]:
        return self._case.secrets

    @property
    def named_files(self) -> tuple[str, ...]:
        """Return the files that it names for uploads and for collecting, as written."""
        config = self.collects.config
        return (*self._case.files, *((config,) if config else ()))

    @property
    def storage_state(self) -> str | None:
        """Return the file with cookies and storage that it starts with."""
        return self._case.setup.storage_state

    @property
    def functions(self) -> tuple[str, ...]:
        """Return the functions in the user's own code that decide its verdict."""
        checks = (check for check in self._case.expect if isinstance(check, PythonCheck))
        return tuple(dict.fromkeys(check.python for check in checks))

    @property
    def traffic(self) -> TrafficRules:
        """Return its traffic settings, with placeholders for a web server's values."""
        return self._case.traffic

    @property
    def collects(self) -> CollectSpec:
        """Return its collecting settings, with placeholders for a web server's values."""
        return self._case.collect or CollectSpec()

    @property
    def variables(self) -> frozenset[str]:
        """Return the names of the environment variables that hold its secrets."""
        return frozenset(source.env for source in self._case.secrets.values() if source.env)

    def unmet(self, environ: Mapping[str, str], folder: Path) -> tuple[CaseError, ...]:
        """Return the case's missing requirements: files and values of secrets.

        Those that depend on its running web server are left out, as it may still create them.

        Args:
            environ: the environment variables.
            folder: the folder in which an inline case looks for files.
        """
        base = self.path.parent if self.path else folder
        errors = [
            FieldError(at, f"there is no file {base / name}")
            for at, name in self._files()
            if not (base / name).is_file()
        ]
        for name, source in self._case.secrets.items():
            value = secret_value(source, environ)
            if value is None:
                reason = f"needs the environment variable {source.env}, which is not set"
                errors.append(FieldError(("secrets", name, "env"), reason))
            elif why := unfit_key(source, value):
                errors.append(FieldError(("secrets", name), f"its value {why}"))
        return tuple(self._source.error(error) for error in errors)

    def _files(self) -> Iterator[tuple[FieldPath, str]]:
        """Yield the files that must exist before the run, with the fields that name them."""
        state = self._case.setup.storage_state
        if state is not None and not self._source.depends_on_server("setup"):
            yield ("setup", "storage_state"), state
        if self._case.files and not self._source.depends_on_server("files"):
            for index, name in enumerate(self._case.files):
                yield ("files", index), name

    def resolve(self, server: ServerHandle | None) -> Case:
        """Return the case with the values of its running web server.

        Raises:
            CaseError: a value that depends on the server breaks the contract.
            ValueError: the case has a web server and none is given.
        """
        if self.webservers and server is None:
            raise ValueError(f"case {self.id!r} needs its web server")
        if not self.webservers:
            return self._case
        try:
            return self._source.rendered(self._names(server)).case()
        except FieldError as error:
            raise self._source.error(error) from error

    def _names(self, server: ServerHandle | None) -> Mapping[str, Mapping[str, str]]:
        return names_of(server, main=self.webserver is not None)

    def resolve_reset(self, server: ServerHandle, name: str = MAIN) -> Reset | None:
        """Return the request that resets a web server, or None when there is none.

        Args:
            server: the running servers.
            name: its name in `webservers`; by default that of `webserver`.

        Raises:
            CaseError: a value that depends on the server breaks the contract.
        """
        try:
            return self._source.reset(name, self._names(server))
        except FieldError as error:
            raise self._source.error(error) from error


def load_case_file(path: Path, deployment: Deployment | None = None) -> tuple[LoadedCase, ...]:
    """Load the cases of a YAML or JSON file, in the file's order.

    Everything that can be checked before a web server runs is checked here.

    Args:
        path: the file.
        deployment: the site under test, where a session knows it; by default what the environment
            says.

    Raises:
        CaseError: the file cannot be read or breaks the contract, with line and field.
    """
    return _loaded(read_case_document(path, deployment))


def load_inline(text: str) -> tuple[LoadedCase, ...]:
    """Load the cases of `url|||task;;url|||task`, numbered from 1.

    Raises:
        CaseError: a case lacks its URL or its task.
    """
    return tuple(
        _inline(CaseSource(CaseDocument(None, None, {}), (index,), fields, literal=True))
        for index, fields in enumerate(read_inline(text))
    )


def load_fields(fields: Mapping[str, Any]) -> LoadedCase:
    """Load a case that a program makes, whose texts hold no expressions.

    Raises:
        CaseError: a field breaks the contract.
    """
    return _inline(CaseSource(CaseDocument(None, None, {}), (0,), fields, literal=True))


def _inline(source: CaseSource) -> LoadedCase:
    try:
        return _case(source)
    except FieldError as error:
        raise source.error(error) from error


def _loaded(document: CaseDocument) -> tuple[LoadedCase, ...]:
    found: list[LoadedCase] = []
    lines: dict[str, int] = {}
    errors: list[CaseError] = []
    try:
        for source in sources(document):
            id_: str | None
            try:
                found.append(_case(source))
                id_ = found[-1].id
            except FieldError as error:
                errors += source.told(error)
                id_ = source.id()
            if id_ in lines:
                taken = f"{id_!r} is taken by the case on line {lines[id_]}"
                errors.append(source.error(FieldError(("id",), taken)))
            elif id_ is not None:
                lines[id_] = source.document.line(source.at) or 1
    except FieldError as error:
        errors.append(document.error(error))
    if errors:
        raise joined_errors(errors)
    return tuple(found)


def _case(source: CaseSource) -> LoadedCase:
    # Each part is tried even if another has failed, so that all errors in a case are reported
    # together.
    errors = FieldErrors()
    webservers: dict[str, Webserver] = {}
    servers = dict.fromkeys(source.server_names, STAND_IN)
    for name in source.server_names:
        with errors.kept():
            webservers[name] = source.server(name)
            servers[name] = stand_in(webservers[name], name)
    rendered = source.rendered(servers)
    with errors.kept():
        case = rendered.case()
    resets: dict[str, Reset | None] = {}
    for name in source.server_names:
        with errors.kept():
            resets[name] = source.reset(name, servers)
    errors.raise_any()
    _refuse_mail(case, webservers)
    checks_checksum, check_checksums = rendered.check_checksums()
    return LoadedCase(
        id=case.id,
        path=source.document.path,
        line=source.document.line(source.at) or 1,
        tags=case.tags,
        entry_url_template=_shown(source, "entry_url", case.entry_url),
        user_task_template=_shown(source, "user_task", case.user_task),
        must_pass=case.must_pass,
        strategy=case.driver,
        webserver=webservers.get(MAIN),
        webservers=webservers,
        checksum=rendered.checksum(webservers, resets),
        checks_checksum=checks_checksum,
        check_checksums=check_checksums,
        has_expect=bool(case.expect),
        has_points=any(check.own_points is not None for check in case.expect),
        has_oracle=bool(case.oracle),
        judge_models=_judge_models(case),
        _source=source,
        _case=case,
    )


def _refuse_mail(case: Case, webservers: Mapping[str, Webserver]) -> None:
    """Refuse what is said about mails that do not come, or that others may read.

    Raises:
        FieldError: at a place below `mail`.
    """
    senders = [server for server in webservers.values() if server.takes_mail]
    if case.mail is None:
        return
    if not senders:
        raise FieldError(("mail",), "no web server is handed {mail_port}, so no mail comes")
    if case.mail.address and any(server.reset is None for server in senders):
        raise FieldError(
            ("mail", "address"),
            "cells at the same time would read each other's mails: give the web server a reset, or "
            "leave it out and write {{ mail.address }} in the task",
        )


def _judge_models(case: Case) -> tuple[str, ...]:
    judged = (check.judge for check in case.expect if isinstance(check, JudgeCheck))
    return tuple(dict.fromkeys(name for query in judged for name in query.named))


def _shown(source: CaseSource, name: str, resolved: str) -> str:
    """Return a field with expressions for the server's values, for lists of cases."""
    if not source.server_names:
        return resolved
    try:
        return str(source.field(name, source.echo()))
    except FieldError:
        # Its expression computes with the server's address, so it can only be shown as written.
        return str(source.fields[name])
