"""The part of the proxy that looks into requests: it ends TLS here and asks servers by itself.

It reads and writes HTTP/1.1 requests and answers whole. It is used only where traffic is recorded,
replayed or held back. The browser then speaks TLS with this process and takes its certificate,
because it can reach nothing else; certificates of servers are verified here instead.
"""

import asyncio
import socket
import ssl
import tempfile
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlsplit

from msgspec import Struct

from pytest_autoweb.browser.egress.http_messages import (
    CHUNK_BYTES,
    HEAD_BYTES,
    Headers,
    UnreadableMessage,
    body_of,
    head_bytes,
    header,
    read_answer_head,
    read_request_head,
)
from pytest_autoweb.browser.egress.request_policy import Origin, parse_origin

REQUEST_BYTES = 32_000_000
"""Limit on the body of a request that is read whole."""
REPLY_BYTES = 8_000_000
"""Limit on the reply to a request that code sends without a page (`page.request`)."""
REPLIES_BYTES = 64_000_000
"""Limit on all such replies of an attempt together, as Playwright's driver keeps each of them."""

_OF_THE_CONNECTION = frozenset(
    (
        *("connection", "keep-alive", "proxy-authenticate", "proxy-authorization"),
        *("proxy-connection", "te", "trailer", "transfer-encoding", "upgrade", "alt-svc"),
    )
)
# The browser's cache would turn answers into "not modified", which no other run could be given,
# and parts of files into parts of recordings.
_NOT_ASKED = frozenset(
    (
        *("accept-encoding", "content-length", "if-match", "if-modified-since", "if-none-match"),
        *("if-range", "if-unmodified-since", "range"),
    )
)
_BODILESS = frozenset((204, 205, 304))

Reader = asyncio.StreamReader
Writer = asyncio.StreamWriter


class HttpRequest(Struct, frozen=True):
    """A request of a browser, with its whole address."""

    method: str
    url: str
    headers: Headers = ()
    body: bytes = b""

    def header(self, name: str) -> str:
        """Return the first value of a header (in lower case), or "" if it is not there."""
        return header(self.headers, name)

    @property
    def opens_socket(self) -> bool:
        return self.header("upgrade").lower() == "websocket"

    @property
    def is_beacon(self) -> bool:
        """Tell whether it is a message whose answer nobody can read."""
        return self.method == "POST" and self.header("sec-fetch-mode") == "no-cors"

    @property
    def destination(self) -> str:
        """Return what the browser wants it for, such as `document` or `image`; "" if unknown."""
        return self.header("sec-fetch-dest")


class HttpAnswer(Struct, frozen=True):
    """The answer to a request."""

    status: int
    reason: str = ""
    headers: Headers = ()
    body: bytes = b""
    rest: AsyncIterator[bytes] | None = None
    """What follows the body, where that was not read to its end."""

    def header(self, name: str) -> str:
        """Return the first value of a header (in lower case), or "" if it is not there."""
        return header(self.headers, name)


async def read_request(reader: Reader, origin: str) -> HttpRequest | None:
    """Read the next request on a connection to an origin; None if there is none any more.

    Raises:
        UnreadableMessage: it is none, or too large.
    """
    try:
        head = await read_request_head(reader)
    except asyncio.IncompleteReadError:
        return None
    if not head.target.startswith("/"):
        raise UnreadableMessage("a request names no path")
    body = b""
    async for data in body_of(reader, head.headers, whole=False):
        body += data
        if len(body) > REQUEST_BYTES:
            raise UnreadableMessage(f"a request has more than {REQUEST_BYTES:,} bytes")
    return HttpRequest(head.method, f"{origin}{head.target}", head.headers, body)


def request_bytes(request: HttpRequest, target: str) -> bytes:
    """Return a request as it is sent to its server.

    It asks for an answer that is whole, not compressed and not compared with a cached one.

    Args:
        request: the request.
        target: its path, or its address for another proxy.
    """
    fields = [pair for pair in request.headers if pair[0].lower() not in _OF_THE_CONNECTION]
    fields = [pair for pair in fields if pair[0].lower() not in _NOT_ASKED]
    fields += [("Accept-Encoding", "identity"), ("Connection", "close")]
    if request.body or request.method in ("POST", "PUT", "PATCH"):
        fields.append(("Content-Length", str(len(request.body))))
    return head_bytes(f"{request.method} {target} HTTP/1.1", fields) + request.body


async def read_answer(reader: Reader, method: str, most: int) -> HttpAnswer:
    """Read the answer to a request.

    Args:
        reader: the connection to the server.
        method: that of the request.
        most: as much of the body is read; an event stream, which has no end, is not read at all.

    Raises:
        UnreadableMessage: it is none.
        IncompleteReadError: the connection ended before.
    """
    head = await read_answer_head(reader)
    kept = tuple(pair for pair in head.headers if pair[0].lower() not in _OF_THE_CONNECTION)
    answer = HttpAnswer(head.status, head.reason, kept)
    if method == "HEAD" or answer.status in _BODILESS:
        return answer
    parts = _decoded(body_of(reader, head.headers, whole=True), header(kept, "content-encoding"))
    if answer.header("content-encoding").lower() in ("gzip", "x-gzip", "deflate"):
        kept = tuple(pair for pair in kept if pair[0].lower() != "content-encoding")
    kept = tuple(pair for pair in kept if pair[0].lower() != "content-length")
    body = b""
    if not is_event_stream(answer):
        async for part in parts:
            body += part
            if len(body) > most:
                break
        else:
            return HttpAnswer(answer.status, answer.reason, kept, body)
    return HttpAnswer(answer.status, answer.reason, kept, body, rest=parts)


def is_event_stream(answer: HttpAnswer) -> bool:
    """Tell whether an answer is a stream that lasts as long as the page listens."""
    return answer.header("content-type").lower().startswith("text/event-stream")


async def _decoded(parts: AsyncIterator[bytes], encoding: str) -> AsyncIterator[bytes]:
    """Yield what servers compress although they were asked not to, in its plain form."""
    if encoding.lower() not in ("gzip", "x-gzip", "deflate"):
        async for part in parts:
            yield part
        return
    plain = zlib.decompressobj(wbits=47)
    begun = False
    async for part in parts:
        if part and not begun and "deflate" in encoding.lower() and part[0] & 15 != 8:
            # As some servers understand the name: without the header of the format.
            plain = zlib.decompressobj(wbits=-15)
        begun = begun or bool(part)
        # In pieces, so that a small answer that unpacks to a huge one is noticed in time.
        while part:
            try:
                yield plain.decompress(part, CHUNK_BYTES * 16)
            except zlib.error:
                raise UnreadableMessage("a compressed answer cannot be read") from None
            part = plain.unconsumed_tail


async def write_answer(writer: Writer, request: HttpRequest, answer: HttpAnswer) -> bool:
    """Write an answer to the browser.

    Returns:
        Whether the connection can be used again.
    """
    fields = [pair for pair in answer.headers if pair[0].lower() not in _OF_THE_CONNECTION]
    bodiless = answer.status in _BODILESS or 100 <= answer.status < 200
    if answer.rest is None and request.method != "HEAD" and not bodiless:
        fields = [pair for pair in fields if pair[0].lower() != "content-length"]
        fields.append(("Content-Length", str(len(answer.body))))
    again = answer.rest is None and request.header("connection").lower() != "close"
    fields.append(("Connection", "keep-alive" if again else "close"))
    writer.write(head_bytes(f"HTTP/1.1 {answer.status} {answer.reason}", fields))
    if request.method != "HEAD":
        writer.write(answer.body)
    await writer.drain()
    if answer.rest is not None:
        async for part in answer.rest:
            writer.write(part)
            await writer.drain()
    return again


Fetch = Callable[[HttpRequest, int], Awaitable[HttpAnswer]]
"""Asks the live server; reads as many bytes of its answer as are given."""
Dial = Callable[[Origin, str], Awaitable[tuple[Reader, Writer]]]
"""Connects to an allowed origin, for `http` or for `https`."""


class TrafficDesk(Protocol):
    """What decides how each request of an attempt is answered."""

    @property
    def sockets_pass(self) -> bool:
        """Tell whether WebSockets may go to their servers."""
        ...

    def note_socket(self, request: HttpRequest) -> None:
        """Learn of a WebSocket."""
        ...

    async def answer(self, request: HttpRequest, fetch: Fetch) -> HttpAnswer:
        """Return the answer to a request, from wherever it comes."""
        ...


class TrafficReader:
    """Reads the requests of one proxy and lets a desk answer them.

    Args:
        desk: answers the requests.
        verify: whether certificates of servers must be valid.
    """

    def __init__(self, desk: TrafficDesk, *, verify: bool = True) -> None:
        self._desk, self._verify = desk, verify
        self._expected: dict[int, tuple[Origin, bool]] = {}
        self._ports: dict[str, int] = {}
        self._servers: list[asyncio.Server] = []
        self._dial: Dial | None = None
        self._absolute: Callable[[Origin], bool] = lambda origin: False
        self._unpaged_left = REPLIES_BYTES
        self._spawn: Callable[[Coroutine[Any, Any, None]], None] | None = None

    async def open(
        self,
        dial: Dial,
        absolute: Callable[[Origin], bool],
        spawn: Callable[[Coroutine[Any, Any, None]], None],
    ) -> None:
        """Begin to serve, in the loop of the proxy.

        Args:
            dial: connects to a server.
            absolute: tells whether plain requests go to another proxy, with whole addresses.
            spawn: runs a task until the proxy ends.
        """
        self._dial, self._absolute, self._spawn = dial, absolute, spawn
        plain = await asyncio.start_server(self._accept, "127.0.0.1", 0, limit=HEAD_BYTES)
        self._servers.append(plain)
        self._ports["http"] = plain.sockets[0].getsockname()[1]

    async def _tls_port(self) -> int:
        """Return the port that speaks TLS, opened only when a page needs it."""
        if "https" not in self._ports:
            server = await asyncio.start_server(
                self._accept, "127.0.0.1", 0, limit=HEAD_BYTES, ssl=own_tls()
            )
            self._servers.append(server)
            self._ports["https"] = server.sockets[0].getsockname()[1]
        return self._ports["https"]

    def close(self) -> None:
        for server in self._servers:
            server.close()

    async def tunnel(
        self, first: bytes, origin: Origin, reader: Reader, writer: Writer, *, unpaged: bool
    ) -> None:
        """Serve what the browser sends through a tunnel.

        Args:
            first: what it has sent so far.
            origin: where the tunnel leads; its scheme is the one that is spoken.
            reader: the browser.
            writer: the browser.
            unpaged: whether the request comes from code and not from a page.
        """
        port = self._ports["http"] if origin.scheme == "http" else await self._tls_port()
        # Its own port is known before it connects, as the other end is faster than this one.
        near = socket.socket()
        near.bind(("127.0.0.1", 0))
        near.setblocking(False)
        own = near.getsockname()[1]
        self._expected[own] = (origin, unpaged)
        try:
            await asyncio.get_running_loop().sock_connect(near, ("127.0.0.1", port))
            near_reader, near_writer = await asyncio.open_connection(sock=near)
            near_writer.write(first)
            await _join(reader, writer, near_reader, near_writer)
        finally:
            self._expected.pop(own, None)
            near.close()

    def _accept(self, reader: Reader, writer: Writer) -> None:
        assert self._spawn is not None
        self._spawn(self._serve_tunnel(reader, writer))

    async def _serve_tunnel(self, reader: Reader, writer: Writer) -> None:
        try:
            # Other programs of this machine can connect as well.
            known = self._expected.get(writer.get_extra_info("peername")[1])
            if known is not None:
                await self._serve(*known, reader, writer)
        finally:
            writer.close()

    async def _serve(self, origin: Origin, unpaged: bool, reader: Reader, writer: Writer) -> None:
        """Answer the requests on a connection to an origin, one after another."""
        with suppress(
            OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, ssl.SSLError
        ):
            again = True
            while again:
                try:
                    request = await read_request(reader, str(origin))
                except UnreadableMessage as problem:
                    unread = HttpRequest("GET", f"{origin}/")
                    await write_answer(writer, unread, refusal(400, str(problem)))
                    return
                if request is None:
                    return
                if request.opens_socket:
                    await self._socket(request, reader, writer)
                    return
                answer = await self._answer(request)
                if unpaged:
                    answer = self._bounded(answer)
                again = await write_answer(writer, request, answer)

    async def _answer(self, request: HttpRequest) -> HttpAnswer:
        try:
            return await self._desk.answer(request, self._fetch)
        except (OSError, EOFError, asyncio.LimitOverrunError, UnreadableMessage) as problem:
            said = str(problem) or type(problem).__name__
            return refusal(502, f"{parse_origin(request.url)} does not answer: {said}")

    def _bounded(self, answer: HttpAnswer) -> HttpAnswer:
        """Return what Playwright's driver unpacks and keeps, unless it is too large."""
        self._unpaged_left -= len(answer.body)
        if answer.rest is not None or len(answer.body) > REPLY_BYTES or self._unpaged_left < 0:
            return refusal(502, f"the reply has more than {REPLY_BYTES:,} bytes")
        if answer.header("content-encoding").lower() not in ("", "identity"):
            return refusal(502, "the reply was compressed, which nobody asked for")
        return answer

    async def _socket(self, request: HttpRequest, reader: Reader, writer: Writer) -> None:
        self._desk.note_socket(request)
        if not self._desk.sockets_pass:
            await write_answer(writer, request, refusal(503, "WebSockets are not replayed"))
            return
        far_reader, far_writer = await self._connected(request)
        start = f"GET {_path(request.url)} HTTP/1.1"
        far_writer.write(head_bytes(start, request.headers))
        await _join(reader, writer, far_reader, far_writer)

    async def _fetch(self, request: HttpRequest, most: int) -> HttpAnswer:
        reader, writer = await self._connected(request)
        try:
            origin = parse_origin(request.url)
            assert origin is not None
            whole = origin.scheme == "http" and self._absolute(origin)
            writer.write(request_bytes(request, request.url if whole else _path(request.url)))
            await writer.drain()
            answer = await read_answer(reader, request.method, most)
        except BaseException:
            writer.close()
            raise
        if answer.rest is None:
            writer.close()
        return answer

    async def _connected(self, request: HttpRequest) -> tuple[Reader, Writer]:
        origin = parse_origin(request.url)
        assert origin is not None
        assert self._dial is not None
        reader, writer = await self._dial(origin, origin.scheme)
        if origin.scheme == "https":
            await writer.start_tls(_verifying(self._verify), server_hostname=origin.host)
        return reader, writer


def refusal(status: int, text: str) -> HttpAnswer:
    """Return an answer of the proxy's own, which no cache keeps."""
    headers = (("Content-Type", "text/plain; charset=utf-8"), ("Cache-Control", "no-store"))
    return HttpAnswer(status, "Autoweb", headers, f"{text}\n".encode())


def _path(url: str) -> str:
    parts = urlsplit(url)
    return parts._replace(scheme="", netloc="", fragment="").geturl() or "/"


async def _join(reader: Reader, writer: Writer, far_reader: Reader, far_writer: Writer) -> None:
    """Pass on what comes, both ways, until the far end has said all; then close that end."""
    upward = asyncio.ensure_future(_pump(reader, far_writer))
    try:
        await _pump(far_reader, writer)
    finally:
        upward.cancel()
        far_writer.close()


async def _pump(reader: Reader, writer: Writer) -> None:
    with suppress(OSError):
        while data := await reader.read(CHUNK_BYTES):
            writer.write(data)
            await writer.drain()


@cache
def _verifying(verify: bool) -> ssl.SSLContext:
    context = ssl.create_default_context()
    if not verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


@cache
def own_tls() -> ssl.SSLContext:
    """Return the settings of the end of TLS that the browser speaks with.

    The certificate is of this process alone and proves nothing: the port is known to one browser,
    which reaches nothing else.
    """
    # Late, because few sessions read https, and what makes certificates is an extra.
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "pytest-autoweb")])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=30))
        .sign(key, hashes.SHA256())
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with tempfile.TemporaryDirectory() as folder:
        # Python's ssl reads keys from files only.
        file = Path(folder) / "own.pem"
        file.touch(mode=0o600)
        file.write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.PKCS8,
                serialization.NoEncryption(),
            )
            + certificate.public_bytes(serialization.Encoding.PEM)
        )
        context.load_cert_chain(file)
    return context
