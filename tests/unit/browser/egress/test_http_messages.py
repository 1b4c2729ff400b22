"""Answers are read as sloppily as browsers read them, and passed on in one way only."""

import asyncio
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from own_thread import in_own_thread

from pytest_autoweb.browser.egress.http_messages import (
    HEAD_BYTES,
    AnswerHead,
    RequestHead,
    UnreadableMessage,
    body_of,
    head_bytes,
    read_answer_head,
    read_request_head,
)


def run(data: bytes, read: Any) -> Any:
    async def reading() -> Any:
        reader = asyncio.StreamReader(limit=HEAD_BYTES)
        reader.feed_data(data)
        reader.feed_eof()
        return await read(reader)

    return in_own_thread(asyncio.run, reading())


def answer(data: bytes) -> AnswerHead:
    head = run(data, read_answer_head)
    assert isinstance(head, AnswerHead)
    return head


async def message(reader: asyncio.StreamReader) -> tuple[AnswerHead, bytes]:
    head = await read_answer_head(reader)
    return head, b"".join([part async for part in body_of(reader, head.headers, whole=True)])


@pytest.mark.parametrize(
    ("data", "headers"),
    [
        (b"HTTP/1.1 200 OK\r\nA: b\r\n\r\n", (("A", "b"),)),
        (b"HTTP/1.1 200 OK\nA: b\nC:d\n\n", (("A", "b"), ("C", "d"))),
        (b"HTTP/1.1 200 OK\r\nA: b\nC: d\r\n\n", (("A", "b"), ("C", "d"))),
        (b"\r\nHTTP/1.1 200 OK\r\nA: b\r\n\r\n", (("A", "b"),)),
        (b"\xef\xbb\xbfHTTP/1.1 200 OK\r\nA: b\r\n\r\n", (("A", "b"),)),
        (b"http/1.1 200 OK\r\nA: b\r\n\r\n", (("A", "b"),)),
        (b"HTTP/1.1 200\r\nA: b\r\n\r\n", (("A", "b"),)),
        (b"HTTP/1.1   200   OK\r\nA: b\r\n\r\n", (("A", "b"),)),
        (b"HTTP/1.1 200 OK\r\nno colon here\r\nA: b\r\n\r\n", (("A", "b"),)),
        (b"HTTP/1.1 200 OK\r\nA : b\r\nC\t: d\r\n\r\n", (("A", "b"), ("C", "d"))),
        (b"HTTP/1.1 200 OK\r\nA: b\r\n c\r\n\td\r\n\r\n", (("A", "b c d"),)),
        (b"HTTP/1.1 200 OK\r\n folded\r\nA: b\r\n\r\n", (("A", "b"),)),
        (b"HTTP/1.1 200 OK\r\nA B: c\r\n: d\r\nA: b\r\n\r\n", (("A", "b"),)),
        (b"HTTP/1.1 200 OK\r\nA: b\0\rc\r\n\r\n", (("A", "bc"),)),
        (b"HTTP/1.1 200 OK\r\nA: " + b"b" * 200_000 + b"\r\n\r\n", (("A", "b" * 200_000),)),
        (b"HTTP/1.1 200 OK\r\nA: b\r\n", (("A", "b"),)),
        (b"HTTP/1.1 200 OK\r\nA: b", (("A", "b"),)),
        (b"HTTP/1.1 103 Early\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\nA: b\n\n", (("A", "b"),)),
    ],
)
def test_a_sloppy_answer_is_read(data: bytes, headers: tuple[tuple[str, str], ...]) -> None:
    head = answer(data)

    assert (head.status, head.headers) == (200, headers)


@pytest.mark.parametrize(
    ("fields", "kept"),
    [
        (b"Content-Length: 5\r\nContent-Length: 5\r\n", (("Content-Length", "5"),)),
        (b"Content-Length: 5, 5\r\n", (("Content-Length", "5"),)),
        (b"Content-Length: x\r\n", ()),
        (b"Content-Length: +5\r\n", ()),
        (b"Content-Length: -5\r\n", ()),
        (
            b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
            (("Transfer-Encoding", "chunked"),),
        ),
        (b"Transfer-Encoding : Chunked\nContent-Length: 5\n", (("Transfer-Encoding", "chunked"),)),
        (b"Transfer-Encoding: identity\r\nContent-Length: 5\r\n", (("Content-Length", "5"),)),
    ],
)
def test_a_body_has_one_length(fields: bytes, kept: tuple[tuple[str, str], ...]) -> None:
    assert answer(b"HTTP/1.1 200 OK\r\n" + fields + b"\r\n").headers == kept


def test_version_one_point_nought_knows_no_chunks() -> None:
    head = answer(b"HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n")

    assert (head.start, head.headers) == ("HTTP/1.0 200 OK", (("Content-Length", "5"),))


@pytest.mark.parametrize(
    "data",
    [
        b"<html>hello</html>\r\n\r\n",
        b"SSH-2.0-OpenSSH\r\n\r\n",
        b"HTTP/1.1 20 OK\r\n\r\n",
        b"HTTP/1.1 2000 OK\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 5, 6\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nA: " + b"b" * HEAD_BYTES + b"\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n" + b"A: b\r\n" * 60_000 + b"\r\n",
    ],
)
def test_what_nobody_could_read_is_told(data: bytes) -> None:
    with pytest.raises(UnreadableMessage):
        answer(data)


@pytest.mark.parametrize(
    ("body", "whole"),
    [
        (b"5\r\nhello\r\n0\r\n\r\n", b"hello"),
        (b"5\nhello\n0\n\n", b"hello"),
        (b"5;a=b\r\nhello\r\n1 \r\n!\r\n0\r\nTrailer: x\r\n\r\n", b"hello!"),
    ],
)
def test_chunks_are_put_together(body: bytes, whole: bytes) -> None:
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"

    assert run(head + body, message)[1] == whole


@pytest.mark.parametrize("size", [b"-5", b"+5", b"0x5", b"1_0", b"", b"5 5", b"f" * 20])
def test_a_size_that_may_be_read_in_two_ways_is_none(size: bytes) -> None:
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"

    with pytest.raises(UnreadableMessage):
        run(head + size + b"\r\nhello\r\n0\r\n\r\n", message)


@given(st.binary(max_size=300))
def test_what_is_passed_on_is_read_again_as_the_same(data: bytes) -> None:
    try:
        head = answer(b"HTTP/1.1 200 OK\r\n" + data + b"\r\n\r\n")
    except UnreadableMessage:
        return

    assert answer(head_bytes(head.start, head.headers)) == head


@pytest.mark.parametrize(
    "data",
    [
        b"GET /a HTTP/1.1\nHost: x\n\n",
        b"GET /a HTTP/1.1\r\nHost : x\r\n\r\n",
        b"GET /a HTTP/1.1\r\nHost: x\r\n folded\r\n\r\n",
        b"GET /a HTTP/1.1\r\nno colon\r\n\r\n",
        b"GET /a HTTP/1.1\r\nA: b\nC: d\r\n\r\n",
        b"GET /a HTTP/1.1\r\nA: b\rC: d\r\n\r\n",
        b"POST /a HTTP/1.1\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\n",
        b"POST /a HTTP/1.1\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"POST /a HTTP/1.1\r\nTransfer-Encoding: xchunked\r\n\r\n",
        b"POST /a HTTP/1.1\r\nContent-Length: +5\r\n\r\n",
        b"GET /a\tb HTTP/1.1\r\n\r\n",
        b"GET /a HTTP/2\r\n\r\n",
        b"GET\0 /a HTTP/1.1\r\n\r\n",
    ],
)
def test_a_request_that_others_may_read_as_another_one_is_refused(data: bytes) -> None:
    with pytest.raises((UnreadableMessage, asyncio.IncompleteReadError)):
        run(data, read_request_head)


def test_a_proper_request_is_read() -> None:
    data = b"POST /a?b=c HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello"

    assert run(data, read_request_head) == RequestHead(
        "POST", "/a?b=c", (("Host", "x"), ("Content-Length", "5"))
    )
