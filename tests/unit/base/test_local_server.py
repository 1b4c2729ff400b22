"""A local server answers those who know its token, and says to others why not."""

import http.client
import threading
from collections.abc import Iterator

import pytest

from pytest_autoweb.base.local_server import LocalHandler, LocalServer, RequestRefused

TOKEN = "a-token-of-the-tests"
MOST = 10


class Echo(LocalHandler):
    def do_POST(self) -> None:
        try:
            self.check_token()
            body = self.read_body(MOST)
        except RequestRefused as error:
            self.send(error.status, error.reason.encode(), "text/plain")
        else:
            self.send(200, body, more={"x-path": self.path})


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    with LocalServer(TOKEN, Echo) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server.server_port
        server.shutdown()
        thread.join()


def ask(port: int, headers: dict[str, str | bytes], body: bytes = b"") -> tuple[int, bytes, str]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    connection.putrequest("POST", "/echo")
    for name, value in headers.items():
        connection.putheader(name, value)
    connection.endheaders()
    connection.send(body)
    answer = connection.getresponse()
    said = answer.status, answer.read(), answer.headers.get("x-path", "")
    connection.close()
    return said


def test_who_knows_the_token_is_answered(port: int) -> None:
    headers: dict[str, str | bytes] = {"Authorization": f"Bearer {TOKEN}", "Content-Length": "3"}

    assert ask(port, headers, b"tea") == (200, b"tea", "/echo")


@pytest.mark.parametrize(
    "given",
    [b"", TOKEN.encode(), f"Basic {TOKEN}".encode(), b"Bearer wrong", "Bearer tökén".encode()],
    ids=["none", "bare", "another scheme", "wrong", "not ASCII"],
)
def test_another_token_is_refused(port: int, given: bytes) -> None:
    assert ask(port, {"Authorization": given, "Content-Length": "0"}) == (401, b"wrong token", "")


@pytest.mark.parametrize(
    ("length", "status"),
    [("", 411), ("-1", 411), ("３", 411), ("10", 200), ("11", 413)],
    ids=["none", "negative", "not ASCII", "just enough", "too long"],
)
def test_a_body_without_a_length_or_with_too_much_is_refused(
    port: int, length: str, status: int
) -> None:
    headers: dict[str, str | bytes] = {"Authorization": f"Bearer {TOKEN}"}
    if length:
        headers["Content-Length"] = length.encode()

    assert ask(port, headers, b"x" * 10)[0] == status
