"""Which origins a page may reach."""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

from pytest_autoweb.errors import CaseError

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext, Route, WebSocketRoute

_PORTS = {"http": 80, "https": 443}
_PLAIN = {"ws": "http", "wss": "https"}
_INERT = ("data:", "blob:", "about:blank", "about:srcdoc")


class Origin(NamedTuple):
    """Scheme, host and port; WebSocket URLs count as the HTTP origin they are opened from."""

    scheme: str
    host: str
    port: int

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        tail = "" if self.port == _PORTS[self.scheme] else f":{self.port}"
        return f"{self.scheme}://{host}{tail}"


def parse_origin(url: str) -> Origin | None:
    """The origin of an http(s) or ws(s) URL; None for others and for URLs with a user name."""
    # Browsers read a backslash as a slash, and drop tabs and line breaks.
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
    return Origin(scheme, host.rstrip("."), port if port is not None else _PORTS[scheme])


class OriginPolicy:
    """Allows the entry URL's origin and the listed ones; compares origins, never prefixes.

    Raises:
        CaseError: an entry of `allowed_origins` is no origin.
    """

    def __init__(self, entry_url: str, allowed_origins: Iterable[str] = ()) -> None:
        self.origins = frozenset(
            _known(url, field)
            for field, urls in (("entry_url", [entry_url]), ("allowed_origins", allowed_origins))
            for url in urls
        )

    def allows(self, url: str) -> bool:
        """Whether the page may load `url`; data, blob and blank URLs reach no one."""
        if url.startswith(_INERT):
            return True
        return parse_origin(url) in self.origins


def _known(url: str, field: str) -> Origin:
    if (origin := parse_origin(url)) is None:
        raise CaseError(
            f"{url!r} is no origin like https://cdn.example.com or http://127.0.0.1:8000",
            field=field,
        )
    return origin


def install(
    context: "BrowserContext", policy: OriginPolicy, on_blocked: Callable[[str], None]
) -> None:
    """Abort requests and WebSockets to other origins; `on_blocked` is told each one's origin.

    Only the origin is told: the rest of such a URL may be what a page tries to carry out. A
    redirect inside an allowed request is not seen here.
    """

    def forbidden(url: str) -> bool:
        return not policy.allows(url)

    def abort(route: "Route") -> None:
        on_blocked(_label(route.request.url))
        route.abort("blockedbyclient")

    def close(socket: "WebSocketRoute") -> None:
        on_blocked(_label(socket.url))
        socket.close(code=1008, reason="blocked by allowed_origins")

    context.route(forbidden, abort)
    context.route_web_socket(forbidden, close)


def _label(url: str) -> str:
    origin = parse_origin(url)
    return str(origin) if origin else f"{urlsplit(url).scheme or 'unknown'} URL"
