"""Which requests may reach a server: the origins of a case, and what a proof suppresses.

A suppressed request is answered as if it had reached its server: a mutation for `autoweb prove`.
The page goes on as after a success, so that only a check that looks at the effect can notice. What
the proxy cannot read, because it is encrypted or does not pass there, is answered in the browser.
"""

import ipaddress
import secrets
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple
from urllib.parse import urlsplit

from playwright.sync_api import BrowserContext, Route
from pydantic import Field

from pytest_autoweb.base.errors import CaseError
from pytest_autoweb.base.specs import Spec

_PORTS = {"http": 80, "https": 443}
# A WebSocket starts as an HTTP request to the same server.
_PLAIN = {"ws": "http", "wss": "https"}
# URLs that lead to no server.
_INERT = ("data:", "blob:", "about:blank", "about:srcdoc")
# Endings that only private names have.
_PRIVATE_NAMES = (
    ".localhost",
    ".local",
    ".internal",
    ".intranet",
    ".lan",
    ".home.arpa",
    ".corp",
    ".private",
    ".test",
)

SUPPRESSED = "X-Autoweb-Suppressed"
"""A header of the answer to a suppressed request, by which the record of requests knows it."""
_OF_THE_CONNECTION = frozenset(
    (
        *("connection", "content-encoding", "content-length", "date", "keep-alive"),
        *("set-cookie", "trailer", "transfer-encoding", "upgrade"),
    )
)


class Origin(NamedTuple):
    """Scheme, host and port; a WebSocket URL counts as the HTTP origin that serves it."""

    scheme: str
    host: str
    port: int

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        tail = "" if self.port == _PORTS[self.scheme] else f":{self.port}"
        return f"{self.scheme}://{host}{tail}"


def parse_origin(url: str) -> Origin | None:
    """Return the origin of an http(s) or ws(s) URL; None for others and URLs with a user name."""
    # Browsers read a backslash as a slash and drop tabs and line breaks.
    url = url.strip().replace("\\", "/")
    if any(character in url for character in "\t\r\n"):
        return None
    try:
        parts = urlsplit(url)
        port = parts.port
        host = parts.hostname
    except ValueError:
        return None
    scheme = _PLAIN.get(parts.scheme, parts.scheme)
    if scheme not in _PORTS or not host or "@" in parts.netloc:
        return None
    # A trailing dot does not change which host a name denotes.
    known = _one_spelling(host.rstrip("."))
    return Origin(scheme, known, port if port is not None else _PORTS[scheme]) if known else None


def _one_spelling(host: str) -> str:
    """Spell a host as a browser does to a proxy: names in ASCII, IPv6 addresses in short form."""
    if ":" in host:
        try:
            return ipaddress.IPv6Address(host).compressed
        except ValueError:
            return ""
    if host.isascii():
        return host
    try:
        return host.encode("idna").decode("ascii")
    except UnicodeError:
        return host


class OriginPolicy:
    """The policy that allows the entry URL's origin and the listed ones, compared as a whole.

    Raises:
        CaseError: an entry of `allowed_origins` is not an origin.
    """

    def __init__(self, entry_url: str, allowed_origins: Iterable[str] = ()) -> None:
        self.entry = _known(entry_url, "entry_url")
        listed = [_known(url, "allowed_origins") for url in allowed_origins]
        self._origins = frozenset([self.entry, *listed])

    @property
    def origins(self) -> frozenset[Origin]:
        """Return the origins that the page may reach."""
        return self._origins

    def allows(self, url: str) -> bool:
        """Tell whether the page may load `url`; data, blob and blank URLs contact no server."""
        if url.startswith(_INERT):
            return True
        return parse_origin(url) in self.origins

    def allows_address(self, origin: Origin, address: str) -> bool:
        """Tell whether an allowed origin may be served from this IP address.

        A public name must not lead into a private network (DNS rebinding), unless it belongs to the
        application under test or the address itself is listed. Link-local addresses, where cloud
        providers serve credentials, are reached only if they are listed.
        """
        found = ipaddress.ip_address(address.partition("%")[0])
        # `::ffff:10.0.0.1` leads to the same machine as 10.0.0.1.
        if isinstance(found, ipaddress.IPv6Address) and found.ipv4_mapped:
            found = found.ipv4_mapped
        if origin.host == found.compressed or any(
            (one.host, one.port) == (found.compressed, origin.port) for one in self.origins
        ):
            return True
        if found.is_link_local or found.is_multicast or found.is_unspecified:
            return False
        return found.is_global or origin.host == self.entry.host or not _is_public(origin.host)


def _is_public(host: str) -> bool:
    return "." in host and not host.endswith(_PRIVATE_NAMES)


def _known(url: str, field: str) -> Origin:
    if (origin := parse_origin(url)) is None:
        raise CaseError(
            f"{url!r} is not an origin such as https://cdn.example.com or http://127.0.0.1:8000",
            field=field,
        )
    return origin


class SuppressedRequest(Spec):
    """A request, and the answer that it is given instead of its server's."""

    method: str
    url: str
    """Its address in the run in which it was recorded; host, port and query may differ now."""
    nth: int = 1
    """Which of the requests with this method and path it is, from 1."""
    status: int = 200
    headers: dict[str, str] = Field(default_factory=dict)
    body: str = ""

    @property
    def path(self) -> str:
        """Return the path of the address."""
        return urlsplit(self.url).path


class StandInReply(NamedTuple):
    """The answer that takes the place of a server's."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class Suppression:
    """Recognises the request that one attempt is to do without.

    Args:
        request: the request, as it was recorded.
    """

    def __init__(self, request: SuppressedRequest) -> None:
        self.request = request
        self.mark = secrets.token_hex(8)
        """The value of the header `SUPPRESSED`, which no site can guess."""
        self.armed: Callable[[], bool] = lambda: False
        """Tells whether requests count by now; those before the first step were not recorded."""
        self._seen = 0

    @property
    def encrypted(self) -> bool:
        """Tell whether only the browser can answer it, as the proxy passes TLS on unread."""
        return self.request.url.startswith("https:")

    def fits(self, method: str, url: str) -> bool:
        """Tell whether a request has the method and the path of the one that is meant."""
        return method == self.request.method and urlsplit(url).path == self.request.path

    def has_just_taken(self, method: str, url: str) -> bool:
        """Tell whether the last request that fits was the one that is meant."""
        return self.fits(method, url) and self._seen == self.request.nth

    def reply_to(self, method: str, url: str) -> StandInReply | None:
        """Return the answer if this is the request that is meant, else None."""
        if not self.armed() or not self.fits(method, url):
            return None
        self._seen += 1
        if self._seen != self.request.nth:
            return None
        # The server may have another port now, which addresses in headers and body name.
        here, there = urlsplit(url).netloc, urlsplit(self.request.url).netloc
        headers = {
            name: value.replace(there, here)
            for name, value in self.request.headers.items()
            if name.lower() not in _OF_THE_CONNECTION
        }
        body = self.request.body.replace(there, here).encode()
        return StandInReply(self.request.status, {**headers, SUPPRESSED: self.mark}, body)


def suppress_in_browser(context: BrowserContext, suppression: Suppression) -> None:
    """Answer the request inside the browser, as far as the browser exposes it."""

    def handle(route: Route) -> None:
        request = route.request
        if reply := suppression.reply_to(request.method, request.url):
            route.fulfill(status=reply.status, headers=dict(reply.headers), body=reply.body)
        else:
            route.fallback()

    context.route(lambda url: urlsplit(url).path == suppression.request.path, handle)
