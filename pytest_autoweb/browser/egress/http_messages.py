"""Reads the heads and bodies of HTTP/1.1 messages, for the proxy and the reader of traffic.

Requests are read strictly, as browsers write them well. Answers are read as tolerantly as Chromium
reads those of sloppy servers, and in one way only: what is passed on is written anew, with one
sentence of each header and at most one length, so that the browser can read nothing else in it.
"""

import asyncio
import re
from collections.abc import AsyncIterator

from msgspec import Struct

HEAD_BYTES = 262_144
"""Limit on the head of a request or an answer, the same as Chromium's."""
CHUNK_BYTES = 65_536

_TOKEN = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_STATUS = re.compile(r"(?i)(?:HTTP(?:/(\d+)\.(\d+))?)[ \t]+(\d{3})(?![0-9])[ \t]*(.*)")
_CHUNK_SIZE = re.compile(rb"[ \t]*([0-9A-Fa-f]{1,15})[ \t]*(?:;.*)?", re.DOTALL)
# Chromium looks for the first line behind at most as many other bytes.
_SLOP = 4

Reader = asyncio.StreamReader
Headers = tuple[tuple[str, str], ...]


class UnreadableMessage(Exception):
    """Raised when what came over a connection is no request or answer that can be read."""


def header(headers: Headers, name: str) -> str:
    """Return the first value of a header (in lower case), or "" if it is not there."""
    return next((value for key, value in headers if key.lower() == name), "")


class RequestHead(Struct, frozen=True):
    """The first line of a request and its headers."""

    method: str
    target: str
    headers: Headers


class AnswerHead(Struct, frozen=True):
    """The status of an answer and its headers."""

    status: int
    reason: str
    headers: Headers
    version: str = "1.1"

    @property
    def start(self) -> str:
        """Return the first line."""
        return f"HTTP/{self.version} {self.status} {self.reason}"


async def read_request_head(reader: Reader) -> RequestHead:
    """Read a request as far as its body.

    Raises:
        UnreadableMessage: it is none, or written in a way in which others might read another one.
        IncompleteReadError: the connection ended before.
    """
    try:
        data = await reader.readuntil(b"\r\n\r\n")
    except asyncio.LimitOverrunError:
        raise UnreadableMessage(f"a head has more than {HEAD_BYTES:,} bytes") from None
    start, *lines = data[:-4].decode("latin-1").split("\r\n")
    headers = []
    for line in lines:
        name, colon, value = line.partition(":")
        if not colon or not _TOKEN.fullmatch(name) or re.search(r"[\r\n\0]", value):
            raise UnreadableMessage("a header field cannot be read")
        headers.append((name, value.strip(" \t")))
    method, _, rest = start.partition(" ")
    target, _, version = rest.rpartition(" ")
    if not _TOKEN.fullmatch(method) or re.search(r"[\s\0]", target):
        raise UnreadableMessage("the first line of a request cannot be read")
    if not re.fullmatch(r"HTTP/1\.[01]", version):
        raise UnreadableMessage("the version of a request cannot be read")
    lengths = [value for name, value in headers if name.lower() == "content-length"]
    codings = [value for name, value in headers if name.lower() == "transfer-encoding"]
    if len(lengths) + len(codings) > 1 or any(one.lower() != "chunked" for one in codings):
        raise UnreadableMessage("a request has several lengths")
    if any(not one.isascii() or not one.isdecimal() for one in lengths):
        raise UnreadableMessage("the length of a body cannot be read")
    return RequestHead(method, target, tuple(headers))


async def read_answer_head(reader: Reader) -> AnswerHead:
    """Read an answer as far as its body; interim ones (1xx) are skipped, as none is asked for.

    Raises:
        UnreadableMessage: it is none.
        IncompleteReadError: the connection ended before.
    """
    head = await _read_one(reader)
    while 100 <= head.status < 200:
        head = await _read_one(reader)
    return head


async def _read_one(reader: Reader) -> AnswerHead:
    start, *lines = await _lines_of(reader)
    found = next(filter(None, (_STATUS.match(start[n:]) for n in range(_SLOP + 1))), None)
    if found is None:
        raise UnreadableMessage("the status of an answer cannot be read")
    version = "1.0" if (found[1], found[2]) in (("1", "0"), ("0", "9")) else "1.1"
    headers: list[tuple[str, str]] = []
    for line in lines:
        if line[:1] in (" ", "\t"):
            # A folded line belongs to the header before it.
            if headers:
                name, value = headers.pop()
                headers.append((name, f"{value} {line.strip()}".strip()))
            continue
        name, colon, value = line.partition(":")
        name = name.strip(" \t")
        # Chromium passes over lines that are no headers.
        headers.append((name if colon and _TOKEN.fullmatch(name) else "", value.strip(" \t")))
    known = tuple((name, value) for name, value in headers if name)
    return AnswerHead(int(found[3]), found[4].strip(), _with_one_length(known, version), version)


async def _lines_of(reader: Reader) -> list[str]:
    """Return the lines of a head, whatever they end with; the end of the connection ends it too."""
    lines: list[str] = []
    length = 0
    while True:
        ended = False
        try:
            line = await reader.readuntil(b"\n")
        except asyncio.IncompleteReadError as error:
            if not lines and not error.partial:
                raise
            line, ended = error.partial, True
        except asyncio.LimitOverrunError:
            raise UnreadableMessage(f"a head has more than {HEAD_BYTES:,} bytes") from None
        length += len(line)
        if length > HEAD_BYTES:
            raise UnreadableMessage(f"a head has more than {HEAD_BYTES:,} bytes")
        text = re.sub(r"[\r\n\0]", "", line.decode("latin-1"))
        if text:
            lines.append(text)
        if ended or (not text and lines):
            return lines


def _with_one_length(headers: Headers, version: str) -> Headers:
    """Return the headers with at most one of those that say where the body ends."""
    codings = ",".join(value for name, value in headers if name.lower() == "transfer-encoding")
    # Version 1.0 knows no chunks.
    chunked = version == "1.1" and codings.rpartition(",")[2].strip().lower() == "chunked"
    lengths = {
        part.strip()
        for name, value in headers
        if name.lower() == "content-length"
        for part in value.split(",")
    }
    whole = {one for one in lengths if one.isascii() and one.isdecimal()}
    if len(whole) > 1 and not chunked:
        raise UnreadableMessage("an answer has several lengths")
    others = [
        (name, value)
        for name, value in headers
        if name.lower() not in ("content-length", "transfer-encoding")
    ]
    if chunked:
        others.append(("Transfer-Encoding", "chunked"))
    elif whole:
        others.append(("Content-Length", whole.pop()))
    return tuple(others)


async def body_of(reader: Reader, headers: Headers, *, whole: bool) -> AsyncIterator[bytes]:
    """Yield the body of a message.

    Args:
        reader: the connection, after the head.
        headers: those of the message.
        whole: without a length, the body is what comes until the connection ends.

    Raises:
        UnreadableMessage: its length cannot be read.
        IncompleteReadError: the connection ended before the body.
    """
    if header(headers, "transfer-encoding"):
        async for data in _chunks(reader):
            yield data
        return
    length = header(headers, "content-length")
    left = int(length) if length else (1 << 62 if whole else 0)
    while left > 0:
        if not (data := await reader.read(min(left, CHUNK_BYTES))):
            if length:
                raise asyncio.IncompleteReadError(b"", left)
            return
        left -= len(data)
        yield data


async def _chunks(reader: Reader) -> AsyncIterator[bytes]:
    while True:
        size = _CHUNK_SIZE.fullmatch((await reader.readuntil(b"\n")).rstrip(b"\r\n"))
        if size is None:
            raise UnreadableMessage("the length of a chunk cannot be read")
        left = int(size[1], 16)
        if left == 0:
            while (await reader.readuntil(b"\n")).strip(b"\r\n"):
                pass
            return
        while left > 0:
            if not (data := await reader.read(min(left, CHUNK_BYTES))):
                raise asyncio.IncompleteReadError(b"", left)
            left -= len(data)
            yield data
        if (await reader.readuntil(b"\n")).strip(b"\r\n"):
            raise UnreadableMessage("a chunk is longer than it says")


def head_bytes(start: str, fields: Headers | list[tuple[str, str]]) -> bytes:
    """Return a head as it is sent; a header that would end a line is left out."""
    lines = [
        f"{name}: {value}"
        for name, value in fields
        if _TOKEN.fullmatch(name) and not re.search(r"[\r\n\0]", value)
    ]
    first = re.sub(r"[\r\n\0]+", " ", start)
    return "\r\n".join([first, *lines, "", ""]).encode("latin-1", "replace")
