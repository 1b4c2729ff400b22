"""The forward proxy through which all traffic of a cell's browser context goes.

It serves one attempt, in its own thread and on its own port, and connects only to the origins of
the case. Because it stands outside the browser, it sees redirects, beacons, workers and sockets
like any other request.
"""

import asyncio
import base64
import os
import secrets
import socket
import threading
from collections import Counter
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import suppress
from typing import Any, Self
from urllib.parse import SplitResult, unquote, urlsplit
from urllib.request import getproxies, proxy_bypass

from pytest_autoweb.base import waiting
from pytest_autoweb.base.errors import BrowserError
from pytest_autoweb.base.tokens import is_token
from pytest_autoweb.browser.egress.connection_holders import BrowserConnections
from pytest_autoweb.browser.egress.http_messages import (
    HEAD_BYTES,
    AnswerHead,
    Headers,
    RequestHead,
    UnreadableMessage,
    head_bytes,
    header,
    read_answer_head,
    read_request_head,
)
from pytest_autoweb.browser.egress.request_policy import Origin, OriginPolicy, parse_origin
from pytest_autoweb.browser.egress.suppression import StandIn, StandInReply
from pytest_autoweb.browser.egress.traffic_reader import REPLIES_BYTES, REPLY_BYTES, TrafficReader

IDLE_S = 120.0
DIAL_S = 20.0
START_S = 10.0
_CHUNK = 65_536
# `transfer-encoding` is missing because bodies are passed on byte by byte, in the form in which
# they come. `upgrade` can be dropped because browsers open a WebSocket through a proxy by
# `CONNECT`.
_HOP_BY_HOP = frozenset(
    [
        "connection",
        "keep-alive",
        "proxy-authenticate",
        "proxy-authorization",
        "proxy-connection",
        "te",
        "trailer",
        "upgrade",
    ]
)
_ANSWERS = {
    400: "Bad Request",
    403: "Forbidden",
    407: "Proxy Authentication Required",
    502: "Bad Gateway",
}

OWN_ANSWER = "X-Autoweb-Proxy"
NOTHING_ANSWERS = "nothing answers at"
"""How the sentence begins that says where no server is; the address follows."""
NO_ADDRESS = "has no address"
"""A header of what the proxy answers by itself, where no origin could be asked."""

Reader = asyncio.StreamReader
Writer = asyncio.StreamWriter


class ProxyRefusal(Exception):
    """Raised when the proxy itself has to answer instead of the origin."""

    def __init__(self, status: int, text: str, *, blocked: str = "") -> None:
        super().__init__(text)
        self.status, self.text, self.blocked = status, text, blocked


def _passed_on(start: str, headers: Headers) -> bytes:
    """Return the head to forward, with the connection closed after this exchange."""
    kept = [(name, value) for name, value in headers if name.lower() not in _HOP_BY_HOP]
    return head_bytes(start, [*kept, ("connection", "close")])


class EgressProxy:
    """A proxy for one attempt, to be used as a context manager.

    Args:
        policy: decides which origins may be reached.
        on_blocked: called once for each refused origin, from the proxy's thread. It gets only the
            origin, because the rest of such a URL may be data that a page tries to leak.
        on_cut: called with a sentence for each reply that was too large, from the same thread.
        suppression: a request that is answered here and reaches no origin; None if there is none.
        traffic: reads and answers all requests; None: they are passed on, and TLS unread.
        connections: tells those of the browser from others; None: it has to show a password, for
            which Playwright stops each request on its way and keeps no cache.
    """

    def __init__(
        self,
        policy: OriginPolicy,
        on_blocked: Callable[[str], None],
        on_cut: Callable[[str], None] = lambda sentence: None,
        suppression: StandIn | None = None,
        traffic: TrafficReader | None = None,
        connections: BrowserConnections | None = None,
    ) -> None:
        self._connections = connections
        self._policy, self._on_blocked, self._on_cut = policy, on_blocked, on_cut
        self._suppression, self._traffic = suppression, traffic
        self._replies_left = REPLIES_BYTES
        self._blocked: Counter[str] = Counter()
        self._user, self._password = "cell", secrets.token_urlsafe(24)
        self._token = base64.b64encode(f"{self._user}:{self._password}".encode()).decode()
        self._loop = asyncio.new_event_loop()
        self._tasks: set[asyncio.Task[None]] = set()
        self._thread = threading.Thread(target=self._run, name="autoweb-egress", daemon=True)
        self._opened = threading.Event()
        self.port = 0

    @property
    def settings(self) -> dict[str, str]:
        """Return the value for `new_context(proxy=…)`."""
        # By default Chromium bypasses proxies for loopback addresses.
        at = {"server": f"http://127.0.0.1:{self.port}", "bypass": "<-loopback>"}
        if self.knows_browser:
            return at
        return {**at, "username": self._user, "password": self._password}

    @property
    def knows_browser(self) -> bool:
        """Tell whether it knows the browser by its processes, and asks for no password."""
        return self._connections is not None

    @property
    def blocked(self) -> dict[str, int]:
        """Return how often each origin was refused."""
        return dict(self._blocked)

    def admit(
        self,
        policy: OriginPolicy,
        on_blocked: Callable[[str], None],
        on_cut: Callable[[str], None],
        suppression: StandIn | None,
    ) -> None:
        """Serve an attempt that was not known when the proxy was opened; see the class."""
        self._policy, self._on_blocked, self._on_cut = policy, on_blocked, on_cut
        self._suppression = suppression

    def __enter__(self) -> Self:
        if self.port:
            return self
        self._thread.start()
        if not self._opened.wait(START_S) or not self.port:
            raise BrowserError("the egress proxy could not open a local port")
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        waiting.blocking(lambda: self._thread.join(START_S))

    def _run(self) -> None:
        """Serve until stopped, then drop every connection; runs in the proxy's thread."""
        loop = self._loop
        try:
            server = loop.run_until_complete(
                asyncio.start_server(self._accept, "127.0.0.1", 0, limit=HEAD_BYTES, backlog=256)
            )
            if self._traffic is not None:
                loop.run_until_complete(
                    self._traffic.open(
                        self._dial_told, lambda one: bool(self._upstream(one, "http")), self._spawn
                    )
                )
            self.port = server.sockets[0].getsockname()[1]
        finally:
            self._opened.set()
        loop.run_forever()
        server.close()
        if self._traffic is not None:
            self._traffic.close()
        # A task leaves the set as it ends, which may be before the wait for it begins.
        if tasks := list(self._tasks):
            for task in tasks:
                task.cancel()
            # Cancelled tasks still have to run, or their sockets would stay open.
            loop.run_until_complete(asyncio.wait(tasks, timeout=2))
        loop.close()

    def _accept(self, reader: Reader, writer: Writer) -> None:
        self._spawn(self._serve(reader, writer))

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = self._loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _serve(self, reader: Reader, writer: Writer) -> None:
        """Serve one connection of the browser: one request, or one tunnel."""
        try:
            async with asyncio.timeout(IDLE_S):
                head = await _request_head(reader)
            await self._answer(head, reader, writer)
        except ProxyRefusal as refusal:
            if refusal.blocked:
                self._tell(refusal.blocked)
            await _refuse(writer, refusal)
        except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, TimeoutError):
            pass  # one side is gone; closing the connection tells the other
        finally:
            writer.close()

    def _tell(self, blocked: str) -> None:
        self._blocked[blocked] += 1
        if self._blocked[blocked] == 1:
            self._on_blocked(blocked)

    async def _answer(self, head: RequestHead, reader: Reader, writer: Writer) -> None:
        if not self._is_browser(head, writer):
            raise ProxyRefusal(407, "this proxy serves one browser only")
        if head.method == "CONNECT":
            # Browsers name themselves to a proxy, and a page cannot keep them from it. Playwright's
            # driver does not, when code sends a request without a page.
            unpaged = not header(head.headers, "user-agent")
            await self._tunnel(head.target, reader, writer, unpaged=unpaged)
        else:
            await self._forward(head, reader, writer)

    def _is_browser(self, head: RequestHead, writer: Writer) -> bool:
        """Tell the browser from other programs on this machine, which can reach the port, too."""
        if self._connections is not None:
            far, near = (writer.get_extra_info(name) for name in ("peername", "sockname"))
            return self._connections.include(far, near)
        given = header(head.headers, "proxy-authorization").removeprefix("Basic ")
        return is_token(given, self._token)

    async def _forward(self, head: RequestHead, reader: Reader, writer: Writer) -> None:
        """Forward a plain HTTP request, which proxies get with an absolute URL."""
        target = head.target
        origin = parse_origin(target)
        if origin is None or origin.scheme != "http":
            raise ProxyRefusal(
                400, "plain requests must be for http:// URLs", blocked=_label(target)
            )
        if origin not in self._policy.origins:
            raise ProxyRefusal(403, _advice(str(origin)), blocked=str(origin))
        if reply := self._stand_in(head.method, target):
            await _answer_instead(reply, head, reader, writer)
            return
        parts = urlsplit(target)
        path = parts._replace(scheme="", netloc="", fragment="").geturl() or "/"
        if self._traffic is not None:
            # It closes the connection afterwards, as the next request may be for another origin.
            first = _passed_on(f"{head.method} {path} HTTP/1.1", head.headers)
            await self._traffic.tunnel(first, origin, reader, writer, unpaged=False)
            return
        far_reader, far_writer = await self._dial(origin, "http")
        try:
            if self._upstream(origin, "http"):
                path = target
            far_writer.write(_passed_on(f"{head.method} {path} HTTP/1.1", head.headers))
            # Whatever the browser sends after the head can reach this one origin only.
            upward = self._loop.create_task(_pump(reader, far_writer))
            try:
                await _pass_answer(far_reader, writer)
            finally:
                upward.cancel()
        finally:
            far_writer.close()

    async def _tunnel(self, target: str, reader: Reader, writer: Writer, *, unpaged: bool) -> None:
        """Serve `CONNECT host:port`: TLS to an https origin, or a WebSocket to an http one.

        Requests without a page come in tunnels of their own to origins of both kinds.
        """
        asked = parse_origin(f"https://{target}")
        if asked is None or not target.rpartition(":")[2].isdecimal():
            raise ProxyRefusal(400, "CONNECT takes host:port", blocked=_label(target))
        schemes = {
            one.scheme for one in self._policy.origins if one[1:] == (asked.host, asked.port)
        }
        if not schemes:
            label = str(asked._replace(scheme="http") if asked.port == 80 else asked)
            raise ProxyRefusal(403, _advice(label), blocked=label)
        if self._traffic is not None:
            first, spoken = await _open_tunnel(asked, reader, writer)
            if first and spoken.scheme not in schemes:
                self._tell(str(spoken))
                return
            await self._traffic.tunnel(first, spoken, reader, writer, unpaged=unpaged)
            return
        far_reader, far_writer = await self._dial(asked, "https")
        try:
            first, spoken = await _open_tunnel(asked, reader, writer)
            # TLS must not reach an http origin, nor anything else an https one, as the policy
            # compares whole origins.
            if first and spoken.scheme not in schemes:
                self._tell(str(spoken))
                return
            if spoken.scheme == "http" and await self._stood_in(first, spoken, reader, writer):
                return
            far_writer.write(first)
            upward = self._loop.create_task(_pump(reader, far_writer))
            try:
                if unpaged:
                    await self._pass_bounded(far_reader, writer, spoken)
                else:
                    await _pump(far_reader, writer)
            finally:
                upward.cancel()
        finally:
            far_writer.close()

    def _stand_in(self, method: str, url: str) -> StandInReply | None:
        if self._suppression is None:
            return None
        return self._suppression.reply_to(method, url)

    async def _stood_in(self, first: bytes, origin: Origin, reader: Reader, writer: Writer) -> bool:
        """Answer the request in a tunnel if it is the one to be suppressed; tell whether it was."""
        start, end, body = first.partition(b"\r\n\r\n")
        if self._suppression is None or not end:
            return False
        sent = asyncio.StreamReader(limit=HEAD_BYTES)
        sent.feed_data(start + end)
        head = await _request_head(sent)
        reply = self._stand_in(head.method, f"{origin}{head.target}")
        if reply is None:
            return False
        await _answer_instead(reply, head, reader, writer, already=len(body))
        return True

    async def _pass_bounded(self, reader: Reader, writer: Writer, origin: Origin) -> None:
        """Pass on a reply that Playwright's driver unpacks and keeps, unless it is too large.

        Inside TLS only its length can be seen, not whether it is compressed, and all that can be
        done is to break it off.
        """
        try:
            if origin.scheme == "https":
                async for data in self._bounded(reader, origin):
                    writer.write(data)
                    await writer.drain()
                return
            head = await _answer_head(reader)
            if header(head.headers, "content-encoding").lower() not in ("", "identity"):
                raise ProxyRefusal(
                    502, f"the reply of {origin} was compressed, which nobody asked for"
                )
            # Nothing is passed on before all is there: the end of the connection may be all that
            # marks the end of the reply.
            body = b"".join([data async for data in self._bounded(reader, origin)])
            writer.write(_passed_on(head.start, head.headers) + body)
            await writer.drain()
        except ProxyRefusal as refusal:
            self._on_cut(f"page.request: {refusal}")
            if origin.scheme == "http":
                raise

    async def _bounded(self, reader: Reader, origin: Origin) -> AsyncIterator[bytes]:
        """Yield what comes from the origin, as far as the limits on replies go."""
        length = 0
        while data := await reader.read(_CHUNK):
            length += len(data)
            self._replies_left -= len(data)
            if length > REPLY_BYTES:
                raise ProxyRefusal(
                    502, f"the reply of {origin} has more than {REPLY_BYTES:,} bytes"
                )
            if self._replies_left < 0:
                most = f"{REPLIES_BYTES:,} bytes"
                raise ProxyRefusal(502, f"the replies in this attempt have more than {most}")
            yield data

    async def _dial_told(self, origin: Origin, kind: str) -> tuple[Reader, Writer]:
        """Connect for the reader of traffic, which knows nothing of refusals."""
        try:
            return await self._dial(origin, kind)
        except ProxyRefusal as refusal:
            if refusal.blocked:
                self._tell(refusal.blocked)
            raise OSError(refusal.text) from None

    async def _dial(self, origin: Origin, kind: str) -> tuple[Reader, Writer]:
        """Connect to an allowed origin at an address that the policy permits."""
        async with asyncio.timeout(DIAL_S):
            if upstream := self._upstream(origin, kind):
                return await _dial_upstream(upstream, origin, kind)
            try:
                found = await self._loop.getaddrinfo(
                    origin.host, origin.port, type=socket.SOCK_STREAM
                )
            except OSError as error:
                raise ProxyRefusal(502, f"{origin.host} {NO_ADDRESS}: {error}") from None
            # Dialling the address that was checked leaves no room for DNS rebinding.
            addresses = list(dict.fromkeys(str(entry[4][0]) for entry in found))
            allowed = [one for one in addresses if self._policy.allows_address(origin, one)]
            if not allowed:
                raise ProxyRefusal(
                    403,
                    f"blocked: {origin} leads to {addresses[0]}, which is no public address; "
                    "add that address to allowed_origins if this is meant",
                    blocked=f"{origin} at {addresses[0]}",
                )
            return await _dial_one_of(allowed, origin)

    def _upstream(self, origin: Origin, kind: str) -> SplitResult | None:
        """Return the proxy that this machine's environment configures for the origin, or None."""
        if _is_loopback(origin.host) or proxy_bypass(f"{origin.host}:{origin.port}"):
            return None
        # A proxy that itself takes TLS or SOCKS is not supported.
        address = urlsplit(getproxies().get(kind, ""))
        return address if address.scheme == "http" and address.hostname else None


async def _dial_one_of(addresses: list[str], origin: Origin) -> tuple[Reader, Writer]:
    problem: OSError | None = None
    for address in addresses:
        try:
            return await asyncio.open_connection(address, origin.port, limit=HEAD_BYTES)
        except OSError as error:
            problem = error
    why = os.strerror(problem.errno).lower() if problem and problem.errno else str(problem)
    raise ProxyRefusal(502, f"{NOTHING_ANSWERS} {origin} ({why})")


async def _dial_upstream(upstream: SplitResult, origin: Origin, kind: str) -> tuple[Reader, Writer]:
    """Connect through another proxy, which resolves the name itself."""
    try:
        reader, writer = await asyncio.open_connection(
            upstream.hostname, upstream.port or 80, limit=HEAD_BYTES
        )
    except OSError as error:
        raise ProxyRefusal(502, f"the proxy of this machine does not answer: {error}") from None
    if kind == "https":
        host = f"[{origin.host}]" if ":" in origin.host else origin.host
        place = f"{host}:{origin.port}"
        login = ""
        if upstream.username:
            pair = f"{unquote(upstream.username)}:{unquote(upstream.password or '')}"
            login = f"Proxy-Authorization: Basic {base64.b64encode(pair.encode()).decode()}\r\n"
        writer.write(f"CONNECT {place} HTTP/1.1\r\nHost: {place}\r\n{login}\r\n".encode())
        answer = await _answer_head(reader)
        if answer.status != 200:
            writer.close()
            raise ProxyRefusal(502, f"the proxy of this machine refused {origin}")
    return reader, writer


def _is_loopback(host: str) -> bool:
    return host in ("localhost", "::1") or host.startswith("127.")


async def _request_head(reader: Reader) -> RequestHead:
    try:
        return await read_request_head(reader)
    except UnreadableMessage as problem:
        raise ProxyRefusal(400, str(problem)) from None


async def _answer_head(reader: Reader) -> AnswerHead:
    try:
        return await read_answer_head(reader)
    except UnreadableMessage as problem:
        raise ProxyRefusal(502, f"the answer of the server is none: {problem}") from None


async def _open_tunnel(asked: Origin, reader: Reader, writer: Writer) -> tuple[bytes, Origin]:
    """Accept a tunnel; return the first bytes in it, and the origin with the scheme they speak."""
    writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
    first = await reader.read(_CHUNK)
    # A TLS handshake starts with byte 22.
    return first, asked._replace(scheme="https" if first[:1] == b"\x16" else "http")


async def _pass_answer(reader: Reader, writer: Writer) -> None:
    """Pass on the origin's answer without the fields that concern only its own connection."""
    head = await _answer_head(reader)
    writer.write(_passed_on(head.start, head.headers))
    await _pump(reader, writer)


async def _answer_instead(
    reply: StandInReply, head: RequestHead, reader: Reader, writer: Writer, *, already: int = 0
) -> None:
    """Answer in an origin's place, once all is read: else the client sees a broken connection.

    Args:
        reply: the answer.
        head: the head of the request.
        reader: the client, whose request body is still to come.
        writer: the client.
        already: the bytes of the body that were read before.
    """
    length = header(head.headers, "content-length")
    left = int(length) - already if length.isdigit() else 0
    while left > 0 and (data := await reader.read(min(left, _CHUNK))):
        left -= len(data)
    fields = {**reply.headers, "Content-Length": str(len(reply.body)), "Connection": "close"}
    lines = [
        f"{name}: {value}" for name, value in fields.items() if not {"\r", "\n"} & {*name, *value}
    ]
    start = f"HTTP/1.1 {reply.status} Suppressed"
    writer.write("\r\n".join([start, *lines, "", ""]).encode("utf-8") + reply.body)
    await writer.drain()


async def _pump(reader: Reader, writer: Writer) -> None:
    while data := await reader.read(_CHUNK):
        writer.write(data)
        await writer.drain()


async def _refuse(writer: Writer, refusal: ProxyRefusal) -> None:
    body = f"{refusal.text}\n".encode()
    login = b'Proxy-Authenticate: Basic realm="autoweb"\r\n' if refusal.status == 407 else b""
    writer.write(
        f"HTTP/1.1 {refusal.status} {_ANSWERS[refusal.status]}\r\n".encode()
        + login
        + f"{OWN_ANSWER}: refused\r\n".encode()
        + b"Content-Type: text/plain; charset=utf-8\r\nCache-Control: no-store\r\n"
        b"X-Content-Type-Options: nosniff\r\nConnection: close\r\n"
        b"Content-Length: %d\r\n\r\n" % len(body) + body
    )
    with suppress(OSError):
        await writer.drain()


def _advice(origin: str) -> str:
    return f"blocked: {origin} is not among the origins of this case (allowed_origins)"


def _label(target: str) -> str:
    return f"{urlsplit(target).scheme or 'unknown'} URL"
