"""A case's rules for its traffic: which requests are equal, and which are never sent."""

import json
import re
from collections.abc import Iterable
from functools import cached_property
from typing import Annotated, Any, Literal, get_args
from urllib.parse import parse_qsl, urlsplit

from pydantic import AfterValidator, BeforeValidator, Field

from pytest_autoweb.base.redaction import is_sensitive_field
from pytest_autoweb.base.specs import Spec
from pytest_autoweb.base.values.url_globs import UrlGlob, url_glob
from pytest_autoweb.browser.egress.traffic_reader import HttpAnswer, HttpRequest

TrafficMode = Literal["off", "record", "extend", "replay"]
"""`record` asks the live site and keeps its answers; `extend` adds them to earlier ones; `replay`
asks the recording alone."""
_MODES: dict[str, TrafficMode] = {mode: mode for mode in get_args(TrafficMode)}

SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
_METHOD = re.compile(r"[A-Z]{3,10}")


class RequestPattern:
    """A pattern such as `POST /checkout`, `/search**` or `https://stats.example/**`.

    Args:
        text: an optional method, then a path or an address as a glob. A path that begins with `/`
            matches every origin. Queries count only if the pattern has one.

    Raises:
        ValueError: it is not a valid pattern.
    """

    def __init__(self, text: str) -> None:
        first, _, rest = text.strip().partition(" ")
        self.method, self.glob = (first, rest.strip()) if rest else ("", first)
        if self.method and not _METHOD.fullmatch(self.method):
            raise ValueError(f"must begin with a method such as POST, got {first!r}")
        if not self.glob.startswith(("/", "http://", "https://", "*")):
            raise ValueError(
                f"must name a path such as /checkout or an address as a glob, got {self.glob!r}"
            )
        self._glob: UrlGlob = url_glob(self.glob)

    def fits(self, method: str, url: str) -> bool:
        parts = urlsplit(url)
        # In a glob, `?` begins a query.
        if "?" not in self.glob:
            parts = parts._replace(query="")
        if self.glob.startswith("/"):
            parts = parts._replace(scheme="", netloc="")
        return self.method in ("", method) and self._glob.fits(parts.geturl())


def _is_pattern(text: str) -> str:
    RequestPattern(text)
    return text


PatternText = Annotated[str, AfterValidator(_is_pattern)]


class HeldRequest(Spec):
    """A request that is never sent, and the answer that the page gets instead."""

    request: PatternText
    """Method and path, or address, as a glob, e.g. `POST /checkout`."""
    status: Annotated[int, Field(ge=200, le=599)] = 200
    """The status of the answer."""
    headers: dict[str, str] = Field(default_factory=dict)
    """Headers of the answer, e.g. `location: /thanks` with `status: 303`."""
    body: str | None = None
    """The text of the answer. The default is a page with one sentence, or `{}` where a script
    asks."""

    def answer(self, request: HttpRequest) -> HttpAnswer:
        by_script = request.destination == "empty" or (
            not request.destination and "text/html" not in request.header("accept")
        )
        body = self.body
        if body is None:
            page = (
                "<!doctype html><title>Held back</title><p>This request was held back and did not"
                f" reach the site: {request.method} {urlsplit(request.url).path}"
            )
            bare = 300 <= self.status < 400 or self.status == 204
            body = "" if bare else "{}" if by_script else page.replace("&", "&amp;")
        kind = "application/json" if by_script else "text/html; charset=utf-8"
        given = {name.lower() for name in self.headers}
        headers = tuple(self.headers.items())
        if "content-type" not in given and body:
            headers += (("Content-Type", kind),)
        return HttpAnswer(self.status, "Held back", headers, body.encode())


def _as_held(value: Any) -> Any:
    return {"request": value} if isinstance(value, str) else value


class TrafficRules(Spec):
    """How the traffic of a case is recorded, replayed and held back (docs/traffic.md)."""

    mode: TrafficMode = "off"
    """What is done where `--autoweb-traffic` does not say it: `record`, `extend`, `replay` or
    `off`."""
    hold: tuple[Annotated[HeldRequest, BeforeValidator(_as_held)], ...] = ()
    """Requests that never reach the site, in live runs neither, e.g. `POST /checkout`."""
    ignore: tuple[PatternText, ...] = ()
    """Requests that nothing depends on, e.g. `POST /beacon`: not recorded, answered with nothing
    in a replay."""
    reads: tuple[PatternText, ...] = ()
    """Requests that change nothing although their method could, e.g. `POST /graphql`."""
    ignore_query: tuple[str, ...] = ()
    """Parameters of queries that may differ, e.g. `utm_source`."""
    ignore_body: tuple[str, ...] = ()
    """Fields of forms and of JSON that may differ, e.g. `timestamp`."""
    order: Literal["writes", "any"] = "writes"
    """`writes`: writes come in a recorded order, and a page is played only as it was after the same
    writes. `any`: each request stands for itself."""
    verify: bool = True
    """Whether certificates of https sites must be valid while traffic is recorded or held."""

    def held(self, request: HttpRequest) -> HttpAnswer | None:
        """Return the answer to a request that is held back; None if it may be sent."""
        for one in self.hold:
            if RequestPattern(one.request).fits(request.method, request.url):
                return one.answer(request)
        return None

    def ignores(self, method: str, url: str) -> bool:
        """Tell whether nothing depends on a request."""
        return _any_fits(self._ignored, method, url)

    def writes(self, method: str, url: str) -> bool:
        """Tell whether a request may change the site's later answers."""
        return method not in SAFE_METHODS and not _any_fits(self._reads, method, url)

    @cached_property
    def _ignored(self) -> tuple[RequestPattern, ...]:
        return tuple(map(RequestPattern, self.ignore))

    @cached_property
    def _reads(self) -> tuple[RequestPattern, ...]:
        return tuple(map(RequestPattern, self.reads))

    def key(self, method: str, url: str, body: str, content_type: str) -> str:
        """Return a key that is equal for requests that a recording treats as the same.

        Args:
            method: the method.
            url: the whole address.
            body: the body, without secrets.
            content_type: the type of the body.
        """
        parts = urlsplit(url)
        pairs = parse_qsl(parts.query, keep_blank_values=True)
        query = sorted((n, v) for n, v in pairs if not self._is_free(n, self.ignore_query))
        plain = parts._replace(query="", fragment="").geturl()
        content = "" if method in SAFE_METHODS else self._content(body, content_type)
        return json.dumps([method, plain, query, content], ensure_ascii=False)

    def _is_free(self, name: str, ignored: Iterable[str]) -> bool:
        return name in ignored or name in BUSTERS or is_sensitive_field(name)

    def _content(self, body: str, content_type: str) -> Any:
        if "application/x-www-form-urlencoded" in content_type.lower():
            pairs = parse_qsl(body, keep_blank_values=True)
            return sorted([n, v] for n, v in pairs if not self._is_free(n, self.ignore_body))
        try:
            value = json.loads(body)
        except (ValueError, RecursionError):
            return body
        return _without(value, lambda name: self._is_free(name, self.ignore_body))


def _any_fits(patterns: Iterable[RequestPattern], method: str, url: str) -> bool:
    return any(pattern.fits(method, url) for pattern in patterns)


def _without(value: Any, free: Any) -> Any:
    if isinstance(value, dict):
        kept = {key: _without(one, free) for key, one in value.items() if not free(key)}
        return dict(sorted(kept.items()))
    return [_without(one, free) for one in value] if isinstance(value, list) else value


BUSTERS = frozenset({"_", "cb", "cachebuster", "nocache"})
"""Parameters that only bypass caches."""


def traffic_mode(rules: TrafficRules, wanted: str, *, own_server: bool) -> TrafficMode:
    """Return the mode of a case's traffic.

    Args:
        rules: the rules of the case.
        wanted: the run's setting: `case`, or a mode for all cases.
        own_server: the case's file starts its own web server, which exists in every run.
    """
    if own_server:
        return "off"
    return rules.mode if wanted == "case" else _MODES[wanted]
