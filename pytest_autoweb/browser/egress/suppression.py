"""A request that a proof suppresses: answered as if it had reached its server.

It is a mutation for `autoweb prove`. The page continues as after a success, so that only a check
that looks at the effect can notice. What the proxy cannot read, because it is encrypted or does not
pass there, is answered in the browser.
"""

import secrets
from collections.abc import Callable, Mapping
from typing import NamedTuple, Protocol
from urllib.parse import urlsplit

from playwright.sync_api import BrowserContext, Route
from pydantic import Field

from pytest_autoweb.base.specs import Spec

SUPPRESSED = "X-Autoweb-Suppressed"
"""A header of the answer to a suppressed request, by which the record of requests knows it."""
_OF_THE_CONNECTION = frozenset(
    (
        *("connection", "content-encoding", "content-length", "date", "keep-alive"),
        *("set-cookie", "trailer", "transfer-encoding", "upgrade"),
    )
)


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
        return urlsplit(self.url).path


class StandInReply(NamedTuple):
    """The answer that takes the place of a server's."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class StandIn(Protocol):
    """Whatever answers some requests of an attempt in the place of the site."""

    @property
    def encrypted(self) -> bool:
        """Tell whether only the browser can answer them, as the proxy passes TLS on unread."""

    def may_take(self, url: str) -> bool:
        """Tell whether a request to this address may be answered."""

    def reply_to(self, method: str, url: str) -> StandInReply | None:
        """Return the answer to a request, or None if the site is to answer it."""


class Suppression:
    """Recognises the one request of an attempt that must not reach its server.

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

    def may_take(self, url: str) -> bool:
        """Tell whether a request to this address may be the one."""
        return urlsplit(url).path == self.request.path

    def fits(self, method: str, url: str) -> bool:
        return method == self.request.method and self.may_take(url)

    def has_just_taken(self, method: str, url: str) -> bool:
        """Tell whether the last request that fits was the suppressed one."""
        return self.fits(method, url) and self._seen == self.request.nth

    def reply_to(self, method: str, url: str) -> StandInReply | None:
        """Return the answer if this is the request to suppress, else None."""
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


class PlantedAddress(NamedTuple):
    """An address below the site's origin that only an attack names, so the site never sees it."""

    path: str
    encrypted: bool

    def may_take(self, url: str) -> bool:
        """Tell whether a request goes there."""
        return urlsplit(url).path.startswith(self.path)

    def reply_to(self, method: str, url: str) -> StandInReply | None:
        """Return thanks to whoever asks for it, or None for other addresses."""
        if not self.may_take(url):
            return None
        fields = {"Content-Type": "text/plain; charset=utf-8", "Cache-Control": "no-store"}
        return StandInReply(200, fields, b"Thank you.\n")


def suppress_in_browser(context: BrowserContext, suppression: StandIn) -> None:
    """Answer the request inside the browser, as far as the browser exposes it."""

    def handle(route: Route) -> None:
        request = route.request
        if reply := suppression.reply_to(request.method, request.url):
            route.fulfill(status=reply.status, headers=dict(reply.headers), body=reply.body)
        else:
            route.fallback()

    context.route(lambda url: suppression.may_take(url), handle)
