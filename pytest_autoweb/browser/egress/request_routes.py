"""Requests aborted inside the browser, where no proxy stands in front of it."""

from collections.abc import Callable
from contextlib import suppress
from urllib.parse import urlsplit
from weakref import WeakKeyDictionary

from playwright.sync_api import BrowserContext, Error, Request, Route, WebSocketRoute

from pytest_autoweb.browser.egress.request_policy import OriginPolicy, parse_origin

Told = Callable[[str], None]
"""Gets an origin."""


class RequestRoutes:
    """Aborts requests and WebSockets of a context to other origins, as far as the browser tells.

    For example, it tells of a redirect inside an allowed request only once it was followed. There
    is one for each context, because routes of WebSockets cannot be taken away again: after `end`
    they let everything pass.
    """

    def __init__(self, context: BrowserContext) -> None:
        self._context = context
        self._policy: OriginPolicy | None = None
        self._on_blocked: Told = lambda origin: None
        self._on_passed: Told = lambda origin: None
        self._sees_sockets = False

    @classmethod
    def of(cls, context: BrowserContext) -> "RequestRoutes":
        """Return the routes of a context."""
        return _ROUTES.setdefault(context, cls(context))

    def begin(
        self, policy: OriginPolicy, on_blocked: Told, on_passed: Told = lambda origin: None
    ) -> None:
        """Hold the context to a policy.

        Args:
            policy: decides which origins may be reached.
            on_blocked: called with the origin of each blocked request.
            on_passed: called with the origin of each redirect that could not be blocked.
        """
        self._policy, self._on_blocked, self._on_passed = policy, on_blocked, on_passed
        self._context.route(self._forbids, self._abort)
        if not self._sees_sockets:
            self._sees_sockets = True
            self._context.route_web_socket(self._forbids, self._close)
        self._context.on("request", self._tell)

    def end(self) -> None:
        """Let everything pass again."""
        self._policy = None
        # The context may be gone with its browser.
        with suppress(Error):
            self._context.remove_listener("request", self._tell)
            self._context.unroute(self._forbids, self._abort)

    def _forbids(self, url: str) -> bool:
        return self._policy is not None and not self._policy.allows(url)

    def _abort(self, route: Route) -> None:
        self._on_blocked(_label(route.request.url))
        route.abort("blockedbyclient")

    def _close(self, socket: WebSocketRoute) -> None:
        self._on_blocked(_label(socket.url))
        socket.close(code=1008, reason="blocked by allowed_origins")

    def _tell(self, request: Request) -> None:
        if request.redirected_from is not None and self._forbids(request.url):
            self._on_passed(_label(request.url))


_ROUTES: WeakKeyDictionary[BrowserContext, RequestRoutes] = WeakKeyDictionary()


def _label(url: str) -> str:
    origin = parse_origin(url)
    return str(origin) if origin else f"{urlsplit(url).scheme or 'unknown'} URL"
