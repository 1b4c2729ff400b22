"""Checks of the server's own state: over HTTP, in its database, in its files."""

import http.client
import sqlite3
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any, Literal, NamedTuple
from urllib.parse import unquote, urlsplit

from pydantic import Field, field_validator

from pytest_autoweb.base import waiting
from pytest_autoweb.base.specs import HttpUrl, Spec
from pytest_autoweb.base.values.packed_bytes import NotUnpacked, unpacked
from pytest_autoweb.base.whole_characters import read_json
from pytest_autoweb.judging.checks.check_type import (
    CHECKS,
    Check,
    CheckProbe,
    Evidence,
    NotEvaluated,
    Verdict,
)
from pytest_autoweb.judging.checks.compared_values import as_text, difference, equal, is_subset
from pytest_autoweb.judging.checks.shown_passage import shown_near

_REPLY_BYTES = 5_000_000
_HTTP_S = 10.0
_LEAST_S = 0.5
_SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
_SQLITE = "sqlite:///"
_HEAD = 250
"""The part of a reply that is shown with its error."""


def _refuse_replayed(evidence: Evidence) -> None:
    if evidence.replayed:
        raise NotEvaluated("the site was replayed from a recording, so no server can be asked")


class HttpQuery(Spec):
    """A request the judge sends, and what must come back."""

    url: HttpUrl
    method: str = "GET"
    headers: dict[str, str] = Field(default_factory=dict)
    body: str | None = None
    status: int = 200
    redirects: Literal["follow", "no"] = "follow"
    """Whether the answer is that of the page to which the server sends on, or with `no` the
    redirect itself, e.g. with `status: 302`."""
    json_subset: Any = Field(default=None, alias="json")
    """JSON that the reply must contain: each named key must be equal, and lists must be equal in
    length."""
    contains: str | None = None


@CHECKS.add
class HttpCheck(Check):
    """The server's own state, over HTTP."""

    name = "http"
    data_fields = (("http", "json"),)

    http: HttpQuery

    def probe(self, evidence: Evidence) -> CheckProbe:
        """Send the judge's own request; one that may change the server is sent only once."""
        _refuse_replayed(evidence)
        query = self.http

        def look(seconds: float) -> Verdict:
            reply = waiting.blocking(lambda: _fetch(query, min(_HTTP_S, max(_LEAST_S, seconds))))
            sent = f"{query.method} {query.url}"
            where = sent if reply.url == query.url else f"{sent}, which led to {reply.url}"
            return _reply_verdict(query, reply, evidence.redact)._replace(where=where)

        expected = [f"{query.method} {query.url} answers {query.status}"]
        if query.redirects == "no":
            expected.append("redirects not followed")
        if query.json_subset is not None:
            expected.append(f"JSON with {as_text(query.json_subset)}")
        if query.contains is not None:
            expected.append(f"text {query.contains!r}")
        return CheckProbe(", ".join(expected), look, retry=query.method.upper() in _SAFE_METHODS)


class _Reply(NamedTuple):
    """What a server answered."""

    url: str
    """The address that answered, after redirects."""
    status: int
    body: str
    location: str = ""
    """The target of a redirect that was not followed."""


_KEPT_HEADERS = frozenset({"accept", "accept-language", "user-agent"})
"""Headers that are forwarded to another origin; others may hold data not meant for it."""


class _Redirects(urllib.request.HTTPRedirectHandler):
    """Follows redirects if asked to, and sends none of the case's own headers to another origin."""

    def __init__(self, follow: bool) -> None:
        self._follow = follow

    def redirect_request(
        self, req: urllib.request.Request, fp: Any, code: int, msg: str, headers: Any, newurl: str
    ) -> urllib.request.Request | None:
        """Return the next request; None leaves the redirect as the answer."""
        if not self._follow:
            return None
        following = super().redirect_request(req, fp, code, msg, headers, newurl)
        if following and urlsplit(newurl)[:2] != urlsplit(req.full_url)[:2]:
            for name in [name for name in following.headers if name.lower() not in _KEPT_HEADERS]:
                following.remove_header(name)
        return following


def _fetch(query: HttpQuery, timeout_s: float) -> _Reply:
    request = urllib.request.Request(
        query.url,
        data=query.body.encode() if query.body is not None else None,
        headers=query.headers,
        method=query.method.upper(),
    )
    handlers: list[urllib.request.BaseHandler] = [_Redirects(query.redirects == "follow")]
    if urlsplit(query.url).hostname in {"127.0.0.1", "::1", "localhost"}:
        # A proxy configured in the environment cannot reach a server on this machine.
        handlers.append(urllib.request.ProxyHandler({}))
    try:
        with urllib.request.build_opener(*handlers).open(request, timeout=timeout_s) as reply:
            return _Reply(reply.url, reply.status, _body(reply, query))
    except urllib.error.HTTPError as error:
        with error:
            location = error.headers.get("location") or ""
            return _Reply(error.url or query.url, error.code, _body(error, query), location)
    except TimeoutError:
        raise NotEvaluated(f"{query.url} did not answer within {timeout_s:.3g} s") from None
    except urllib.error.URLError as error:
        why = getattr(error.reason, "strerror", None) or error.reason
        raise NotEvaluated(f"{query.url} could not be reached: {why}") from error


def _body(reply: http.client.HTTPResponse | urllib.error.HTTPError, query: HttpQuery) -> str:
    """Return the body of a reply; servers also send objects compressed that nobody asked for."""
    encoding = reply.headers.get("content-encoding") or ""
    try:
        plain = unpacked(reply.read(_REPLY_BYTES), encoding, _REPLY_BYTES)
    except NotUnpacked as problem:
        raise NotEvaluated(f"the reply of {query.url} cannot be read: {problem}") from None
    return _text(plain)


def _text(body: bytes) -> str:
    return body.decode("utf-8", errors="replace")


def _reply_verdict(query: HttpQuery, reply: _Reply, redact: Callable[[str], str]) -> Verdict:
    to = f" to {reply.location}" if reply.location else ""
    body = reply.body
    status = f"{reply.status}{to}"
    seen = f"{status}: {body.strip()}" if body.strip() else status
    if reply.status != query.status:
        return Verdict(False, seen)
    if query.contains is not None and query.contains not in body:
        near = shown_near(query.contains, body.strip(), redact)
        return Verdict(False, f"{status}: {near}" if near else status)
    if query.json_subset is None:
        return Verdict(True, seen)
    try:
        found = read_json(body)
    except (ValueError, RecursionError):
        return Verdict(False, f"{seen} (not JSON)")
    if is_subset(query.json_subset, found):
        return Verdict(True, seen)
    return Verdict(False, f"{redact(seen)[:_HEAD]} ({difference(query.json_subset, found)})")


class SqlQuery(Spec):
    """A query and its rows."""

    url: str
    """`sqlite:///path`; the file is opened read-only."""
    query: str
    rows: list[list[Any]]

    @property
    def path(self) -> Path:
        """Return the path of the database."""
        return Path(unquote(self.url.removeprefix(_SQLITE)))

    @field_validator("url")
    @classmethod
    def _is_sqlite(cls, url: str) -> str:
        if not url.startswith("sqlite:///"):
            raise ValueError(f"must start with sqlite:///, got {url!r}")
        return url


@CHECKS.add
class SqlCheck(Check):
    """The server's own state, in its database."""

    name = "sql"
    data_fields = (("sql", "rows"),)

    sql: SqlQuery

    def probe(self, evidence: Evidence) -> CheckProbe:
        """Compare the rows of a query, in order; the database is opened read-only."""
        _refuse_replayed(evidence)
        query = self.sql
        path = query.path

        def look(seconds: float) -> Verdict:
            if not path.is_file():
                raise NotEvaluated(f"there is no database {path.name}")
            try:
                rows = waiting.blocking(lambda: _rows(path, query.query, max(_LEAST_S, seconds)))
            except sqlite3.Error as error:
                raise NotEvaluated(f"the query of {path.name} failed: {error}") from error
            return Verdict(equal(query.rows, rows), f"rows {as_text(rows)}", where=query.url)

        return CheckProbe(f"rows {as_text(query.rows)} of {query.query.strip()}", look)


def _rows(path: Path, query: str, seconds: float) -> list[list[Any]]:
    ends = time.monotonic() + seconds
    uri = path.absolute().as_uri() + "?mode=ro"
    with closing(sqlite3.connect(uri, uri=True, timeout=seconds)) as database:
        # A column may hold bytes that are no text.
        database.text_factory = _text
        # SQLite's own timeout is for locks only, so a query that runs too long is interrupted here.
        database.set_progress_handler(lambda: int(time.monotonic() > ends), 10_000)
        return [[_cell(value) for value in row] for row in database.execute(query)]


def _cell(value: Any) -> Any:
    return _text(value) if isinstance(value, bytes) else value


class FileQuery(Spec):
    """A file that the application wrote, and what must hold of it."""

    path: str
    exists: bool = True
    contains: str | None = None
    equals: str | None = None


@CHECKS.add
class FileCheck(Check):
    """The server's own state, in its files."""

    name = "file"

    file: FileQuery

    def probe(self, evidence: Evidence) -> CheckProbe:
        """Check a file's existence and content; line endings do not count."""
        _refuse_replayed(evidence)
        query = self.file
        path = Path(query.path)

        def look(seconds: float) -> Verdict:
            return _file_verdict(query, path, evidence.redact)._replace(where=query.path)

        expected = [f"{query.path} {'exists' if query.exists else 'does not exist'}"]
        if query.contains is not None:
            expected.append(f"contains {query.contains!r}")
        if query.equals is not None:
            expected.append(f"equals {query.equals!r}")
        return CheckProbe(", ".join(expected), look)


def _file_verdict(query: FileQuery, path: Path, redact: Callable[[str], str]) -> Verdict:
    if not path.exists():
        return Verdict(not query.exists, "(no such file)")
    if not query.exists:
        return Verdict(False, "it exists")
    if query.contains is None and query.equals is None:
        return Verdict(True, "it exists")
    if not path.is_file():
        return Verdict(False, "(not a file)")
    with path.open("rb") as stream:
        text = _lines(_text(stream.read(_REPLY_BYTES)))
    holds = (query.contains is None or _lines(query.contains) in text) and (
        query.equals is None or _lines(query.equals).rstrip("\n") == text.rstrip("\n")
    )
    wanted = query.contains if query.equals is None else query.equals
    return Verdict(holds, text if holds else shown_near(wanted or "", text, redact))


def _lines(text: str) -> str:
    return text.replace("\r\n", "\n")
