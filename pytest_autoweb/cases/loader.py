"""Case files to loaded cases."""

from dataclasses import dataclass, field
from pathlib import Path

from pytest_autoweb.cases.document import Document, read_document
from pytest_autoweb.cases.file_layout import sources
from pytest_autoweb.cases.inline import read_inline
from pytest_autoweb.cases.model import Case, Reset, ServerHandle, Webserver
from pytest_autoweb.cases.source import ECHO, CaseSource, names_of, stand_in
from pytest_autoweb.cases.strategy import StrategyName
from pytest_autoweb.checks.rubric_checks import JudgeCheck
from pytest_autoweb.specs import FieldError


@dataclass(frozen=True, slots=True)
class LoadedCase:
    """A case that was found good, waiting for its web server's address."""

    id: str
    path: Path | None
    """None for inline cases."""
    line: int
    tags: tuple[str, ...]
    entry_url_template: str
    """The entry URL; what only the running server knows still reads `{{ webserver.url }}`."""
    user_task_template: str
    """The task, likewise."""
    must_pass: bool
    strategy: StrategyName | None
    """None: the one of `--autoweb-strategy`."""
    webserver: Webserver | None
    """With its placeholders; an HTTP reset comes ready from `resolve_reset`."""
    checksum: str
    """SHA-256 of the case's content but its checks: variables, defaults, matrix values and web
    server included, other cases of the file not."""
    checks_checksum: str
    """SHA-256 of its checks."""
    check_checksums: tuple[str, ...]
    """SHA-256 of each check, in their order; its weight and message do not count."""
    has_expect: bool
    has_oracle: bool
    judge_models: tuple[str, ...]
    """Models that `judge` checks name."""
    _source: CaseSource = field(repr=False, compare=False)

    @property
    def has_secrets(self) -> bool:
        """Whether its pages are given secrets."""
        return bool(self._source.fields.get("secrets"))

    def resolve(self, server: ServerHandle | None) -> Case:
        """The case with the values of its running web server.

        Raises:
            CaseError: a value that depends on the server breaks the contract.
            ValueError: the case has a web server and none is given.
        """
        if self.webserver is not None and server is None:
            raise ValueError(f"case {self.id!r} needs its web server")
        try:
            return self._source.case(names_of(server))
        except FieldError as error:
            raise self._source.error(error) from error

    def resolve_reset(self, server: ServerHandle) -> Reset | None:
        """The request that resets the web server, or None when there is none.

        Raises:
            CaseError: a value that depends on the server breaks the contract.
        """
        try:
            return self._source.reset({"url": server.url, "data": str(server.data)})
        except FieldError as error:
            raise self._source.error(error) from error


def load_case_file(path: Path) -> tuple[LoadedCase, ...]:
    """The cases of a YAML or JSON file, in the file's order.

    Everything that can be known before a web server runs is checked here.

    Raises:
        CaseError: the file cannot be read or breaks the contract, with line and field.
    """
    return _loaded(read_document(path))


def load_inline(text: str) -> tuple[LoadedCase, ...]:
    """The cases of `url|||task;;url|||task`, numbered from 1.

    Raises:
        CaseError: a case lacks its URL or its task.
    """
    return tuple(
        _case(CaseSource(Document(None, None, {}), (index,), fields, literal=True))
        for index, fields in enumerate(read_inline(text))
    )


def _loaded(document: Document) -> tuple[LoadedCase, ...]:
    found: dict[str, LoadedCase] = {}
    try:
        for source in sources(document):
            case = _case(source)
            if (first := found.get(case.id)) is not None:
                raise source.error(
                    FieldError(("id",), f"{case.id!r} is taken by the case on line {first.line}")
                )
            found[case.id] = case
    except FieldError as error:
        raise document.error(error.at, error.reason) from error
    return tuple(found.values())


def _case(source: CaseSource) -> LoadedCase:
    try:
        webserver = source.server()
        server = stand_in(webserver)
        case = source.case(server)
        if server is not None:
            source.reset(server)
        return LoadedCase(
            id=case.id,
            path=source.document.path,
            line=source.document.line(source.at) or 1,
            tags=case.tags,
            entry_url_template=_shown(source, "entry_url", case.entry_url),
            user_task_template=_shown(source, "user_task", case.user_task),
            must_pass=case.must_pass,
            strategy=case.strategy,
            webserver=webserver,
            checksum=source.checksum(server),
            checks_checksum=source.checks_checksum(server),
            check_checksums=source.check_checksums(server),
            has_expect=bool(case.expect),
            has_oracle=bool(case.oracle),
            judge_models=_judge_models(case),
            _source=source,
        )
    except FieldError as error:
        raise source.error(error) from error


def _judge_models(case: Case) -> tuple[str, ...]:
    judged = (check.judge for check in case.expect if isinstance(check, JudgeCheck))
    return tuple(dict.fromkeys(query.model for query in judged if query.model))


def _shown(source: CaseSource, name: str, resolved: str) -> str:
    """A field with the server's values still named, for lists of cases."""
    if source.webserver is None:
        return resolved
    try:
        return str(source.rendered(ECHO)[name])
    except FieldError:
        # It computes with the server's address, so it can only be shown as written.
        return str(source.fields[name])
