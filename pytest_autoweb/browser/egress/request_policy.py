"""Which requests may reach a server: the origins of a case."""

import ipaddress
from collections.abc import Iterable
from typing import NamedTuple
from urllib.parse import urlsplit

from pytest_autoweb.base.errors import CaseError

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
