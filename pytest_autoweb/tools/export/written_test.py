"""Pytest-playwright tests as text: the file, its fixtures, and each of its tests."""

import ast
import os
import re
import shlex
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template
from msgspec import Struct
from msgspec.structs import replace

from pytest_autoweb.base.installation import asset_dir
from pytest_autoweb.base.mails import CODE, HIDDEN, HREF, LINK, TAG, YEAR
from pytest_autoweb.cases.case import Case, MailRules
from pytest_autoweb.cases.loader import LoadedCase
from pytest_autoweb.cases.webserver_spec import MAIL_PORT, Reset, ServerHandle, Webserver
from pytest_autoweb.cell.mailbox import address_of
from pytest_autoweb.results.records import Attempt, CellResult
from pytest_autoweb.sandbox.allowed_members import FINDERS, FUNCTIONS, LOOKS, PAGE_FUNCTIONS
from pytest_autoweb.sandbox.lint import lint_code
from pytest_autoweb.tools.export.assertions import (
    Assertion,
    AssertionInputs,
    as_script,
    assertion,
    described,
)
from pytest_autoweb.tools.export.plain_code import (
    NotExportable,
    PlainCode,
    RuntimeTexts,
    TranslationInputs,
    bound_by,
    literal,
    names_in,
    plain_code,
)

_ORIGIN = "http://server.autoweb.invalid"
"""Placeholder for the server's address in a case, later replaced by the name of a fixture."""
_DATA = "/server.autoweb.invalid/data"
_MAILS = "sent_mails"
"""The name of the fixture with the mails that the server sent."""
_MAIL_PATTERNS = {
    "hidden": HIDDEN,
    "tag": TAG,
    "alone": CODE,
    "year": YEAR,
    "link": LINK,
    "href": HREF,
}
_LEAST_SECRET = 8
_QUIET = '    page.wait_for_load_state("networkidle")'
_FUNCTIONS = ("Mailbox", "add_passkey", "eventually", "holds", "frame_of")
"""What the file defines where a test needs it."""
_OFFERED = frozenset({*FINDERS, *FUNCTIONS, *LOOKS, *PAGE_FUNCTIONS})
_KNOWN = {
    **{name: f"import {name}" for name in ("base64", "hashlib", "hmac", "json", "os", "re")},
    **{name: f"import {name}" for name in ("socket", "sqlite3")},
    **{name: f"import {name}" for name in ("subprocess", "sys", "time", "pytest")},
    **dict.fromkeys(("Callable", "Iterator"), "from collections.abc import"),
    **dict.fromkeys(("SimpleHTTPRequestHandler", "ThreadingHTTPServer"), "from http.server import"),
    "Any": "from typing import",
    "Path": "from pathlib import",
    "Thread": "from threading import",
    "closing": "from contextlib import",
    "dataclass": "from dataclasses import",
    "find_spec": "from importlib.util import",
    "partial": "from functools import",
    "unquote_plus": "from urllib.parse import",
    "urllib": "import urllib.error\nimport urllib.request",
    **dict.fromkeys(
        ("BrowserContext", "Download", "Frame", "Page", "Playwright", "Request", "Response"),
        "from playwright.sync_api import",
    ),
    "expect": "from playwright.sync_api import",
    "Controller": "from aiosmtpd.controller import",
    **dict.fromkeys(("AuthResult", "Envelope", "SMTP", "Session"), "from aiosmtpd.smtp import"),
    "BytesParser": "from email.parser import",
    "EmailMessage": "from email.message import",
    "EmailPolicy": "from email.policy import",
    "unescape": "from html import",
    **dict.fromkeys(("parse_qsl", "urlsplit"), "from urllib.parse import"),
}
"""The imports of the names that the written file may use."""
_FOREIGN = ("aiosmtpd", "playwright", "pytest")
"""The packages among them that are not Python's own."""


class Secret(NamedTuple):
    """A secret used by the written tests."""

    fixture: str
    variable: str
    """The environment variable that holds it."""
    totp: bool = False
    """Whether that is the key of one-time codes."""

    @property
    def expression(self) -> str:
        """Return what is typed, as a Python expression: a code is made when it is needed."""
        return f"{self.fixture}()" if self.totp else self.fixture

    @property
    def quoted(self) -> str:
        """Return the variable's name as a Python literal."""
        return literal(self.variable)

    @property
    def missing(self) -> str:
        """Return the message for an unset variable, as a Python literal."""
        return literal(f"set the environment variable {self.variable}")


class Source(NamedTuple):
    """A passed cell and its case."""

    cell: CellResult
    case: LoadedCase

    @property
    def attempt(self) -> Attempt:
        return self.cell.attempts[-1]


class WrittenTest(Struct, frozen=True):
    """One test, ready to be inserted into the file."""

    name: str
    title: str
    code: PlainCode
    assertions: tuple[tuple[str, Assertion], ...]
    """Each check on one line, with its assertion."""
    left_out: tuple[str, ...]
    """Each check without an assertion, with the reason."""
    opening: tuple[str, ...]
    marks: tuple[str, ...]
    answers: str
    secrets: tuple[Secret, ...]
    arguments: Mapping[str, str]
    """Types of the fixtures that it may use, by name."""
    waits: bool = False
    """Whether it waits before each step until the page's requests have completed."""

    def waiting(self) -> "WrittenTest":
        """Return the test with waits between its steps."""
        return replace(self, waits=True)


def write_test(source: Source, taken: Sequence[WrittenTest] = ()) -> WrittenTest:
    """Translate a passed cell.

    Args:
        source: the cell and its case.
        taken: the tests before it in the file.

    Raises:
        NotExportable: no plain test does the same.
    """
    cell, attempt = source.cell, source.attempt
    if cell.strategy not in ("codegen", "act"):
        raise NotExportable(f"the strategy {cell.strategy!r} has no like in plain Playwright")
    if findings := lint_code(attempt.code, offered=_OFFERED):
        raise NotExportable(f"its code would be refused today: {findings[0]}")
    if any(source.case.webservers) or any(s.running for s in source.case.webservers.values()):
        raise NotExportable("its web servers are several, or started by others")
    address = address_of(cell.case_id, cell.nodeid)
    case = source.case.resolve(stand_in(source.case.webserver, address))
    used = names_in(attempt.code)
    secrets = [
        _secret(name, case, taken, used) for name, one in case.secrets.items() if not one.mail
    ]
    mailbox = "mailbox" if "mailbox" not in used else "own_mailbox"
    runtime = _runtime_texts(case, attempt, _typed(case, secrets, mailbox), used)
    answers = "answers" if "answers" not in used else "given_answers"
    files = {name: f"FOLDER / {literal(name)}" for name in case.files}
    inputs = TranslationInputs(runtime, files, answers, by_decisions=cell.strategy == "act")
    code = plain_code(attempt, inputs)
    if not code.steps:
        raise NotExportable("nothing was done on the page")
    written, left_out = _assertions(case, attempt, runtime, answers)
    if not written:
        raise NotExportable(f"no check can be written as an assertion: {'; '.join(left_out)}")
    return WrittenTest(
        name=_unique(f"test_{_identifier(case.id)}", {test.name for test in taken}),
        title=case.user_task,
        code=code,
        assertions=written,
        left_out=left_out,
        opening=tuple(_opening(case, runtime, _mailbox(mailbox, case, address))),
        marks=tuple(_marks(case, runtime)),
        answers=answers,
        secrets=tuple(secrets),
        arguments={
            runtime.names.get(_ORIGIN, "server"): "str",
            runtime.names.get(_DATA, "data"): "Path",
            **{secret.fixture: "Callable[[], str]" if secret.totp else "str" for secret in secrets},
            _MAILS: "list[Mail]",
            "playwright": "Playwright",
            "new_context": "Callable[..., BrowserContext]",
        },
    )


def stand_in(webserver: Webserver | None, address: str = "") -> ServerHandle | None:
    """Return a server that does not run, but whose address and data are recognisable in a case.

    Args:
        webserver: the file's server.
        address: the one that its mails go to.
    """
    if webserver is None:
        return None
    path = urlsplit(webserver.url.replace("{port}", "1")).path
    return ServerHandle(url=f"{_ORIGIN}{path or '/'}", data=Path(_DATA), address=address)


def _typed(case: Case, secrets: Sequence[Secret], mailbox: str) -> dict[str, str]:
    """Return the expression of what is typed for each secret, by its name.

    Args:
        case: the resolved case.
        secrets: those of environment variables, in the order of the case.
        mailbox: the name of what reads mails.
    """
    own = iter(secrets)
    return {
        name: f"{mailbox}.{'link' if one.mail == 'link' else 'code'}()"
        if one.mail
        else next(own).expression
        for name, one in case.secrets.items()
    }


def _mailbox(name: str, case: Case, address: str) -> str:
    """Return the line of a test that begins to read its mails; "" if it needs none."""
    if not any(one.mail for one in case.secrets.values()):
        return ""
    rules = case.mail or MailRules()
    said = [literal(rules.address or address)]
    said += [f"pattern={literal(rules.code)}"] if rules.code else []
    said += [f"link_pattern={literal(rules.link)}"] if rules.link else []
    said += [f"seconds={rules.within:g}"] if rules.within != MailRules().within else []
    return f"{name} = Mailbox(page, {_MAILS}, {', '.join(said)})"


def _runtime_texts(
    case: Case, attempt: Attempt, secrets: Mapping[str, str], used: frozenset[str]
) -> RuntimeTexts:
    """Return what is known only when the test runs.

    Args:
        case: the resolved case.
        attempt: what is translated.
        secrets: the expression of each secret.
        used: the names in the code of the attempt.
    """
    if _MAILS in used:
        raise NotExportable(f"its code uses the name {_MAILS!r} itself")
    names = {f"<secret:{name}>": expression for name, expression in secrets.items()}
    server, data = "server", "data"
    names |= {_ORIGIN: server, _DATA: data}
    if case.entry_url.startswith(_ORIGIN) and attempt.entry_url_used:
        ran = urlsplit(attempt.entry_url_used)
        names[f"{ran.scheme}://{ran.netloc}"] = server
    if clash := used & {server, data}:
        # A fixture has the same name in the whole file, so names in the code would have to change.
        needed = {_ORIGIN: server, _DATA: data}
        said = case.model_dump_json()
        if any(token in said and name in clash for token, name in needed.items()):
            raise NotExportable(f"its code uses the name {min(clash)!r} itself")
    return RuntimeTexts(names)


def _secret(name: str, case: Case, taken: Sequence[WrittenTest], used: frozenset[str]) -> Secret:
    source = case.secrets[name]
    variable = source.env or name.upper()
    known = {secret.fixture: secret for test in taken for secret in test.secrets}
    fixture = f"secret_{name}"
    secret = Secret(fixture, variable, source.totp)
    while secret.fixture in used or known.get(secret.fixture, secret) != secret:
        secret = secret._replace(fixture=f"{secret.fixture}_")
    return secret


def _identifier(text: str) -> str:
    return re.sub(r"\W", "_", text, flags=re.ASCII)


def _unique(name: str, taken: set[str]) -> str:
    number, first = 1, name
    while name in taken:
        number += 1
        name = f"{first}_{number}"
    return name


def _assertions(
    case: Case, attempt: Attempt, runtime: RuntimeTexts, answers: str
) -> tuple[tuple[tuple[str, Assertion], ...], tuple[str, ...]]:
    written, left_out = [], []
    results = {result.index: result for result in attempt.checks}
    for index, check in enumerate(case.expect):
        said = described(check, runtime)
        inputs = AssertionInputs(runtime, results.get(index), attempt.answer, answers)
        try:
            written.append((said, assertion(check, inputs)))
        except NotExportable as why:
            left_out.append(f"{said} ({why})")
    return tuple(written), tuple(left_out)


def _marks(case: Case, runtime: RuntimeTexts) -> list[str]:
    said = case.setup.of_browser()
    names = ("viewport", "locale", "timezone_id", "geolocation", "permissions", "color_scheme")
    args: dict[str, str] = {name: runtime.expression(said[name]) for name in names if name in said}
    if case.setup.storage_state is not None:
        args["storage_state"] = f"str(FOLDER / {literal(case.setup.storage_state)})"
    listed = ", ".join(f"{name}={value}" for name, value in args.items())
    return [f"@pytest.mark.browser_context_args({listed})"] if args else []


def _opening(case: Case, runtime: RuntimeTexts, mailbox: str) -> list[str]:
    setup, say = case.setup, runtime.expression
    lines = []
    if (login := setup.http_credentials) is not None:
        origin = urlsplit(login.origin or case.entry_url)
        known = {
            "username": login.username,
            "password": login.password,
            "origin": f"{origin.scheme}://{origin.netloc}",
        }
        lines.append(f"page = new_context(http_credentials={say(known)}).new_page()")
    if setup.passkeys is not None:
        lines.append("page.context.credentials.install()")
        lines += [f"add_passkey(page, {say(passkey)})" for passkey in setup.passkeys]
    if setup.clock is not None:
        call = "set_fixed_time(" if setup.clock.fixed else "install(time="
        lines.append(f"page.clock.{call}{say(setup.clock.time)})")
    cookies = []
    for cookie in setup.cookies:
        fields = cookie.model_dump(exclude_none=True)
        if cookie.domain is None and cookie.url is None:
            fields = {"name": cookie.name, "value": cookie.value, "url": case.entry_url}
        elif cookie.domain is not None:
            fields.setdefault("path", "/")
        cookies.append(fields)
    if cookies:
        lines.append(f"page.context.add_cookies({say(cookies)})")
    if mailbox:
        lines.append(mailbox)
    lines.append(f"page.goto({say(case.entry_url)})")
    if setup.js:
        lines.append(f"page.evaluate({as_script(setup.js, runtime)})")
    return lines


def _body(test: WrittenTest, *, actions: bool) -> list[str]:
    """Return the lines of a test below its docstring, with its actions or without them."""
    lines = list(test.opening)
    before = [line for _, one in test.assertions for line in one.before]
    if test.code.answers:
        lines.append(f"{test.answers}: list[Any] = []")
    lines += dict.fromkeys(before)
    indented = [f"    {line}" for line in lines]
    for step in test.code.steps if actions else ():
        indented += ["", f"    # {step.heading}", *([_QUIET] if test.waits else [])]
        indented += [
            line if number in step.fixed or not line else f"    {line}"
            for number, line in enumerate(step.lines)
        ]
    for said, one in test.assertions:
        indented += ["", f"    # {said}", *(f"    {line}" if line else "" for line in one.lines)]
    indented += [f"    # Not checked here: {said}" for said in test.left_out]
    return indented


def write_file(
    tests: Sequence[WrittenTest],
    sources: Sequence[Source],
    out: Path,
    *,
    actions: bool = True,
) -> str:
    """Return the text of a file with these tests.

    Args:
        tests: the tests, all from one case file.
        sources: the cell of each test.
        out: the folder of the file.
        actions: whether the tests act; without actions they show what their assertions detect.

    Raises:
        NotExportable: the web server cannot be started by the file.
    """
    first = sources[0].case
    shown, inner = _imports_of(tests)
    rendered = []
    for test, source in zip(tests, sources, strict=True):
        lines = [*(f"    {one}" for one in inner[test.name]), *_body(test, actions=actions)]
        used = names_in(_parsable(lines))
        arguments = {name: kind for name, kind in test.arguments.items() if name in used}
        page = {} if "new_context" in arguments else {"page": "Page"}
        listed = ", ".join(f"{name}: {kind}" for name, kind in {**page, **arguments}.items())
        rendered.append(
            {
                "name": test.name,
                "title": _in_docstring(test.title),
                "cell": _in_docstring(f"{source.cell.case_id} on {source.cell.model}"),
                "marks": test.marks,
                "arguments": listed,
                "lines": lines,
            }
        )
    words = {name for test in rendered for name in names_in(_parsable(test["lines"]))}
    values: dict[str, Any] = {
        "title": _in_docstring(f"The cases of {first.path.name if first.path else 'the run'}."),
        "tests": rendered,
        "secrets": list(dict.fromkeys(s for t in tests for s in t.secrets if s.fixture in words)),
        "uses": {name for name in _FUNCTIONS if name in words},
        "server": _server(first, out),
        "reset": _reset(first),
        "data_used": any("data: Path" in test["arguments"] for test in rendered),
        "folder": literal(_folder_of(first, out)),
        "mail_patterns": {name: _raw(one.pattern) for name, one in _MAIL_PATTERNS.items()},
        "imports": (),
    }
    bare = _template().render(**{**values, "folder": ""})
    if "FOLDER" not in set(re.findall(r"\w+", bare)):
        values["folder"] = ""
    imports = _import_lines(_template().render(**values), shown)
    return _template().render(**{**values, "imports": imports})


def _raw(pattern: str) -> str:
    """Return a regular expression as a Python literal."""
    return repr(pattern) if '"' in pattern else f'r"{pattern}"'


def _parsable(lines: Sequence[str]) -> str:
    return "\n".join(["def test():", *lines])


@cache
def _template() -> Template:
    environment = Environment(
        loader=FileSystemLoader(asset_dir("templates") / "export"),
        undefined=StrictUndefined,
        trim_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,  # This is Python; each value is already an expression, or one plain line.
    )
    return environment.get_template("test.py.j2")


def _imports_of(
    tests: Sequence[WrittenTest],
) -> tuple[dict[str, str], dict[str, list[str]]]:
    """Return the code's shared imports by bound name, and those that a test has to make itself.

    Two tests may use one name for different things, and so may the file.
    """
    shared: dict[str, str] = {}
    inner: dict[str, list[str]] = {test.name: [] for test in tests}
    for test in tests:
        for statement in test.code.imports:
            name = bound_by(statement)
            known = _KNOWN.get(name)
            if known is not None and statement in (known, f"{known} {name}"):
                continue
            if known is None and shared.setdefault(name, statement) == statement:
                continue
            inner[test.name].append(statement)
    return shared, inner


def _import_lines(text: str, shared: Mapping[str, str]) -> list[str]:
    used = {node.id for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name)}
    plain: set[str] = {statement for name, statement in shared.items() if name in used}
    members: dict[str, list[str]] = {}
    for name in sorted(used & _KNOWN.keys(), key=lambda one: (not one.isupper(), one)):
        how = _KNOWN[name]
        if how.endswith(" import"):
            members.setdefault(how, []).append(name)
        else:
            plain |= set(how.split("\n"))
    plain |= {f"{how} {', '.join(names)}" for how, names in members.items()}
    foreign = {one for one in plain if one.split()[1].split(".")[0] in _FOREIGN}
    return [*_sorted(plain - foreign), *([""] if plain - foreign else []), *_sorted(foreign)]


def _sorted(statements: set[str]) -> list[str]:
    return sorted(statements, key=lambda one: (one.startswith("from"), one))


def _in_docstring(text: str) -> str:
    """Return any text as one line that is safe in a docstring."""
    line = "".join(char for char in " ".join(text.split()) if char.isprintable())
    return line.replace("\\", "\\\\").replace('"', "'")


def _folder_of(case: LoadedCase, out: Path) -> str:
    base = case.path.parent if case.path else Path()
    return Path(os.path.relpath(base.resolve(), out.resolve())).as_posix()


class _Filled(NamedTuple):
    """The parameters of a server to start, as Python expressions."""

    static: str = ""
    free_port: bool = False
    restart: bool = False
    command: str = ""
    cwd: str = ""
    env: tuple[tuple[str, str], ...] = ()
    mail: bool = False
    """Whether a server for its mails starts before it."""
    polled: str = ""
    origin: str = ""
    timeout: str = ""


def _server(case: LoadedCase, out: Path) -> _Filled | None:
    webserver = case.webserver
    if webserver is None:
        return None
    base = case.path.parent if case.path else Path()
    if webserver.static is not None:
        return _Filled(static=_static(webserver.static, base))
    names = {"{port}": "port", "{data}": "data", "{python}": "sys.executable"}
    names[MAIL_PORT] = "mail_port"
    runtime = RuntimeTexts(names)

    def filled(text: str) -> str:
        said = runtime.expression(text)
        return f"str({said})" if said in ("port", "data", "mail_port") else said

    address = urlsplit(webserver.url.replace("{port}", "1"))
    origin = f"{address.scheme}://{webserver.url.split('/', 3)[2]}"
    try:
        words = shlex.split(webserver.command or "")
    except ValueError as error:
        raise NotExportable(f"the web server's command is broken: {error}") from None
    return _Filled(
        free_port="{port}" in webserver.url,
        restart=webserver.reset == "restart",
        command=f"[{', '.join(map(filled, words))}]",
        cwd=f"FOLDER / {literal(webserver.cwd)}" if webserver.cwd else "FOLDER",
        mail=webserver.takes_mail,
        env=tuple((literal(name), filled(value)) for name, value in webserver.env.items()),
        polled=filled(webserver.url),
        origin=filled(origin),
        timeout=f"{webserver.timeout:g}",
    )


def _static(static: str, base: Path) -> str:
    if (base / static).is_dir():
        return f"FOLDER / {literal(static)}"
    package, _, rest = static.partition("/")
    found = find_spec(package) if package.isidentifier() else None
    if package == "pytest_autoweb" or found is None or not found.submodule_search_locations:
        raise NotExportable(f"the folder of the web server, {static!r}, is not there")
    return f"Path(find_spec({literal(package)}).submodule_search_locations[0]) / {literal(rest)}"


def _reset(case: LoadedCase) -> dict[str, str] | None:
    if case.webserver is None or not isinstance(case.webserver.reset, Reset):
        return None
    handle = stand_in(case.webserver)
    reset = case.resolve_reset(handle) if handle else None
    if reset is None:
        return None
    say = RuntimeTexts({_ORIGIN: "application.url", _DATA: "application.data"}).expression
    return {
        "url": say(reset.url),
        "method": say(reset.method),
        "headers": say(reset.headers),
        "body": "None" if reset.body is None else f"{say(reset.body)}.encode()",
    }


def refuse_secrets(text: str, values: Sequence[str]) -> None:
    """Reject a text that contains a secret.

    Raises:
        NotExportable: it does; this should never happen, but if it does, nothing must be written.
    """
    if any(len(value) >= _LEAST_SECRET and value in text for value in values):
        raise NotExportable("the test would hold the value of a secret")
