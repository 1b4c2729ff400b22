"""Access to the dashboard: only the holder of the token gets in.

A page on another site can make a browser call a local server. Four things prevent that: the name in
`Host` must be one of ours, because a foreign name can be made to resolve to this machine; a request
that comes from another site is refused; browsers do not send the cookie along from other sites
(`SameSite=Strict`); and apart from signing in, no request changes anything.
"""

import hashlib
import hmac
from collections.abc import Awaitable, Callable, Collection, MutableMapping
from http.cookies import CookieError, SimpleCookie
from typing import Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""The pages run and load only files of this server."""
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}
OPEN = ("/static/", "/api/session")
"""Paths that need no token: static files, and the route that exchanges a token for a cookie."""


class Guard:
    """ASGI middleware that demands the token and adds security headers to every response.

    Args:
        app: the application to protect.
        token: a secret of at least 20 characters.
        hosts: names and addresses under which the server is reached, without a port.
        sign_in: makes the page for a browser without a valid cookie.
    """

    def __init__(
        self, app: App, *, token: str, hosts: Collection[str], sign_in: Callable[[], Response]
    ) -> None:
        self._app, self._sign_in = app, sign_in
        self._hosts = frozenset(hosts)
        self._key = token.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one ASGI request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_safely(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        refusal = self._refusal(Request(scope))
        await (refusal or self._app)(scope, receive, send_safely)

    def _refusal(self, request: Request) -> Response | None:
        headers = request.headers
        # An unknown host name may be DNS rebinding: another site's name that resolves to us.
        if _name(headers.get("host", "")) not in self._hosts:
            return _error(421, "this server does not answer to that host name")
        if not _from_here(request):
            return _error(403, "requests from other sites are refused")
        path = request.url.path
        if path == "/api/session":
            return self._session(request)
        if path.startswith(OPEN) or self._known(request):
            return None
        if path.startswith("/api/") or "text/html" not in headers.get("accept", ""):
            return _error(401, "the token is missing or wrong", {"www-authenticate": "Bearer"})
        return self._sign_in()

    def _session(self, request: Request) -> Response:
        """Exchange the token for a cookie.

        Only the header is accepted, so the token never stands in a URL that a log would keep.
        """
        if request.method != "POST":
            return _error(405, "POST only", {"allow": "POST"})
        if not self._bears_token(request.headers):
            return _error(401, "the token is missing or wrong", {"www-authenticate": "Bearer"})
        answer = Response(status_code=204)
        answer.set_cookie(
            _cookie(request), self._pass(), httponly=True, samesite="strict", path="/"
        )
        return answer

    def _known(self, request: Request) -> bool:
        return self._bears_token(request.headers) or self._has_pass(request)

    def _bears_token(self, headers: Headers) -> bool:
        scheme, _, token = headers.get("authorization", "").partition(" ")
        return scheme.lower() == "bearer" and hmac.compare_digest(
            token.strip().encode("utf-8", "replace"), self._key
        )

    def _has_pass(self, request: Request) -> bool:
        try:
            found = SimpleCookie(request.headers.get("cookie", "")).get(_cookie(request))
        except CookieError:
            return False
        given = found.value if found else ""
        return hmac.compare_digest(given.encode("utf-8", "replace"), self._pass().encode())

    def _pass(self) -> str:
        """Return the cookie's value, from which the token cannot be computed."""
        return hmac.new(self._key, b"cookie", hashlib.sha256).hexdigest()


def _name(host: str) -> str:
    """Return the host without its port."""
    if host.startswith("["):
        return host.partition("]")[0] + "]"
    return host.partition(":")[0].lower()


def _from_here(request: Request) -> bool:
    """Tell whether a request comes from our own pages, a program, or a link a person followed."""
    headers = request.headers
    # A person may follow a link from another site, because a GET changes nothing here.
    follows = request.method == "GET" and headers.get("sec-fetch-mode") == "navigate"
    if headers.get("sec-fetch-site", "none") not in ("none", "same-origin") and not follows:
        return False
    origin = headers.get("origin")
    return origin is None or origin.partition("://")[2] == headers.get("host")


def _cookie(request: Request) -> str:
    """Return the cookie's name, with the port in it because cookies do not tell ports apart.

    Otherwise two dashboards on one machine would overwrite each other's cookie.
    """
    port = request.headers.get("host", "").rpartition(":")[2]
    return f"autoweb_{port}" if port.isdecimal() else "autoweb"


def _error(status: int, reason: str, headers: dict[str, str] | None = None) -> Response:
    return JSONResponse({"detail": reason}, status, headers)
