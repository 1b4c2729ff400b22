"""The egress proxy as any program of this machine could ask it."""

import base64
import socket
import threading
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest
from forbidden_server import ForbiddenServer
from local_site import Site

from pytest_autoweb.browser.egress.proxy import EgressProxy
from pytest_autoweb.browser.egress.request_policy import Origin, OriginPolicy
from pytest_autoweb.browser.egress.traffic_reader import REPLY_BYTES


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    site = Site()
    site.put("/a?q=1", "hello")
    yield site
    site.close()


@pytest.fixture(autouse=True)
def direct(monkeypatch: pytest.MonkeyPatch) -> None:
    """No proxy of this machine stands in between."""
    monkeypatch.setenv("no_proxy", "*")


@pytest.fixture
def blocked() -> list[str]:
    return []


@pytest.fixture
def proxy(site: Site, blocked: list[str]) -> Iterator[EgressProxy]:
    with EgressProxy(OriginPolicy(site.url), blocked.append) as proxy:
        yield proxy


def ask(proxy: EgressProxy, request: str, *, then: bytes = b"", login: bool = True) -> str:
    pair = f"{proxy.settings['username']}:{proxy.settings['password']}"
    token = base64.b64encode(pair.encode()).decode()
    line = f"Proxy-Authorization: Basic {token}\r\n" if login else ""
    with socket.create_connection(("127.0.0.1", proxy.port), timeout=10) as connection:
        connection.sendall(f"{request} HTTP/1.1\r\nHost: x\r\n{line}\r\n".encode())
        answer = b""
        while data := connection.recv(65_536):
            answer += data
            if then and b"established\r\n\r\n" in answer:
                connection.sendall(then)
                then = b""
    return answer.decode("latin-1")


def test_a_listed_origin_answers_on_a_connection_of_its_own(proxy: EgressProxy, site: Site) -> None:
    answer = ask(proxy, f"GET {site.url}a?q=1#part")

    assert answer.startswith("HTTP/1.0 200")
    assert "connection: close" in answer
    assert answer.endswith("hello")


def test_nobody_else_may_use_it(proxy: EgressProxy, site: Site, blocked: list[str]) -> None:
    assert ask(proxy, f"GET {site.url}a", login=False).startswith("HTTP/1.1 407")
    assert blocked == []


@pytest.mark.parametrize(
    ("request_line", "status"),
    [
        ("GET http://127.0.0.1:1/x?secret=1", 403),
        ("GET http://user:pw@{host}/a", 400),
        ("GET http://user@{host}/a", 400),
        ("GET http://127.0.0.1.evil.example:{port}/a", 403),
        ("GET https://{host}/a", 400),
        ("GET ftp://{host}/a", 400),
        ("GET /a", 400),
        ("GET http://localhost:{port}/a", 403),
        ("CONNECT {host}1", 400),
        ("CONNECT user@{host}", 400),
        ("CONNECT evil.example:443", 403),
        ("CONNECT evil.example:80", 403),
        ("CONNECT {host}/x", 400),
        ("GET http://127.0.0.1:{own}/a", 403),
        ("nonsense", 400),
    ],
)
def test_everything_else_is_refused(
    proxy: EgressProxy, site: Site, blocked: list[str], request_line: str, status: int
) -> None:
    host = site.url.split("/")[2]
    places = {"host": host, "port": host.split(":")[1], "own": str(proxy.port)}
    hits = len(site.hits)

    answer = ask(proxy, request_line.format(**places))

    assert answer.startswith(f"HTTP/1.1 {status}")
    assert len(site.hits) == hits
    assert len(blocked) == 1
    assert "secret" not in blocked[0]
    assert status == 400 or "allowed_origins" in answer


def test_a_second_request_on_the_line_goes_nowhere_new(proxy: EgressProxy, site: Site) -> None:
    forbidden = ForbiddenServer()
    host = site.url.split("/")[2]
    smuggled = f"GET {site.url}a?q=1 HTTP/1.1\r\nHost: {host}\r\n\r\nGET {forbidden.url}x"

    ask(proxy, smuggled)

    assert forbidden.connections == 0
    forbidden.close()


def test_a_tunnel_speaks_only_what_is_listed(
    proxy: EgressProxy, site: Site, blocked: list[str]
) -> None:
    host = site.url.split("/")[2]
    hits = len(site.hits)

    plain = ask(proxy, f"CONNECT {host}", then=b"GET /a?q=1 HTTP/1.0\r\n\r\n")
    tls = ask(proxy, f"CONNECT {host}", then=b"\x16\x03\x01")

    assert plain.endswith("hello")
    assert tls.endswith("established\r\n\r\n")
    assert blocked == [f"https://{host}"]
    assert len(site.hits) == hits + 1


def read_tunnel(proxy: EgressProxy, host: str, first: str, *, agent: str = "") -> bytes:
    """What comes through a tunnel, in answer to what is sent first."""
    pair = f"{proxy.settings['username']}:{proxy.settings['password']}"
    token = base64.b64encode(pair.encode()).decode()
    head = f"CONNECT {host} HTTP/1.1\r\nProxy-Authorization: Basic {token}\r\n{agent}\r\n"
    with socket.create_connection(("127.0.0.1", proxy.port), timeout=10) as connection:
        connection.sendall(head.encode())
        assert connection.recv(65_536).endswith(b"established\r\n\r\n")
        connection.sendall(first.encode())
        with connection.makefile("rb") as stream:
            return stream.read()


def test_a_reply_that_playwrights_driver_would_keep_is_bounded(site: Site) -> None:
    cut: list[str] = []
    host = site.url.split("/")[2]
    site.put("/fits", "x" * REPLY_BYTES)
    site.put("/large", "x" * (REPLY_BYTES + 1))
    site.put("/packed", "x", headers={"content-encoding": "gzip"})
    get = f"GET /%s HTTP/1.1\r\nHost: {host}\r\n\r\n"
    with EgressProxy(OriginPolicy(site.url), cut.append, cut.append) as proxy:
        large = read_tunnel(proxy, host, get % "large")
        packed = read_tunnel(proxy, host, get % "packed")
        by_page = read_tunnel(proxy, host, get % "large", agent="User-Agent: Chrome\r\n")
        fitting = [len(read_tunnel(proxy, host, get % "fits")) > REPLY_BYTES for _ in range(7)]

    assert (large[9:12], packed[9:12]) == (b"502", b"502")
    assert len(by_page) > REPLY_BYTES
    assert fitting == [True] * 6 + [False]
    assert cut == [
        f"page.request: the reply of http://{host} has more than 8,000,000 bytes",
        f"page.request: the reply of http://{host} was compressed, which nobody asked for",
        "page.request: the replies in this attempt have more than 64,000,000 bytes",
    ]


def test_what_is_said_inside_tls_is_bounded_as_well() -> None:
    """The server says so much as soon as it hears what a TLS handshake begins with."""
    cut: list[str] = []

    def talk() -> None:
        connection = server.accept()[0]
        with connection, suppress(OSError):
            connection.recv(100)
            connection.sendall(b"x" * 30_000_000)

    with socket.create_server(("127.0.0.1", 0)) as server:
        host = f"127.0.0.1:{server.getsockname()[1]}"
        threading.Thread(target=talk, daemon=True).start()
        with EgressProxy(OriginPolicy(f"https://{host}"), cut.append, cut.append) as proxy:
            heard = read_tunnel(proxy, host, "\x16\x03\x01")

    assert 0 < len(heard) <= REPLY_BYTES
    assert len(cut) == 1


def test_nothing_is_served_once_it_is_closed(site: Site) -> None:
    with EgressProxy(OriginPolicy(site.url), lambda origin: None) as proxy:
        pass

    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", proxy.port), timeout=1)


def test_a_public_name_may_not_lead_into_the_private_network(
    site: Site, blocked: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    port = int(site.url.split(":")[2].strip("/"))
    lookup = socket.getaddrinfo

    def rebound(host: str, *args: Any, **options: Any) -> Any:
        return lookup("127.0.0.1" if "shop-example" in str(host) else host, *args, **options)

    monkeypatch.setattr(socket, "getaddrinfo", rebound)
    cdn = f"http://cdn.shop-example.com:{port}"
    hits = len(site.hits)

    with EgressProxy(OriginPolicy("http://app.test/", [cdn]), blocked.append) as proxy:
        refused = ask(proxy, f"GET {cdn}/a?q=1")
    with EgressProxy(OriginPolicy("http://app.test/", [cdn, site.url]), blocked.append) as proxy:
        listed = ask(proxy, f"GET {cdn}/a?q=1")

    assert refused.startswith("HTTP/1.1 403")
    assert blocked == [f"{cdn} at 127.0.0.1"]
    assert listed.endswith("hello")
    assert len(site.hits) == hits + 1


def test_the_proxy_of_this_machine_is_used_where_there_is_one(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("no_proxy", "")
    monkeypatch.setenv("http_proxy", site.url)
    monkeypatch.setenv("https_proxy", site.url)
    site.put("http://far.example/b", "by proxy")
    site.put("http://other.example/b", "not this one")

    with EgressProxy(OriginPolicy("http://far.example"), lambda origin: None) as proxy:
        listed = ask(proxy, "GET http://far.example/b")
        other = ask(proxy, "GET http://other.example/b")
    with EgressProxy(OriginPolicy("https://far.example"), lambda origin: None) as proxy:
        tunnel = ask(proxy, "CONNECT far.example:443")

    assert listed.endswith("by proxy")
    assert other.startswith("HTTP/1.1 403")
    assert tunnel.startswith("HTTP/1.1 502")
    assert "refused https://far.example" in tunnel


@pytest.mark.parametrize(
    ("host", "address", "allowed"),
    [
        ("cdn.example.com", "93.184.216.34", True),
        ("cdn.example.com", "10.1.2.3", False),
        ("cdn.example.com", "::1", False),
        ("cdn.example.com", "::ffff:127.0.0.1", False),
        ("cdn.example.com", "fd00::2", False),
        ("cdn.example.com", "100.64.0.1", False),
        ("app.example.com", "10.1.2.3", True),
        ("app.example.com", "169.254.169.254", False),
        ("web", "172.18.0.3", True),
        ("api.internal", "10.1.2.3", True),
        ("api.internal", "169.254.169.254", False),
        ("10.9.9.9", "10.9.9.9", True),
    ],
)
def test_addresses_are_judged_by_whose_name_led_there(
    host: str, address: str, allowed: bool
) -> None:
    policy = OriginPolicy("https://app.example.com", ["https://cdn.example.com"])

    assert policy.allows_address(Origin("https", host, 443), address) is allowed
