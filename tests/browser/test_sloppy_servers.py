"""What sloppy servers send is shown behind the proxy as it is without it."""

import re
import socket
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Error

from pytest_autoweb.browser.egress.proxy import EgressProxy
from pytest_autoweb.browser.egress.request_policy import OriginPolicy
from pytest_autoweb.browser.egress.traffic_reader import TrafficReader
from pytest_autoweb.browser.traffic.cell_traffic import CellTraffic, TrafficFile
from pytest_autoweb.browser.traffic.traffic_rules import TrafficRules

HTML = b"Content-Type: text/html\r\n"
BODY = b"<h1>hello</h1>"
LENGTH = b"Content-Length: 14\r\n"
OK = b"HTTP/1.1 200 OK\r\n"
ANSWERS = {
    "/proper": OK + HTML + LENGTH + b"\r\n" + BODY,
    "/bare": (OK + HTML + LENGTH + b"\r\n").replace(b"\r\n", b"\n") + BODY,
    "/no-colon": OK + HTML + b"this line has no colon\r\n" + LENGTH + b"\r\n" + BODY,
    "/blank": OK + HTML + b"X-Foo : bar\r\n" + LENGTH + b"\r\n" + BODY,
    "/folded": OK + HTML + b"X-Foo: a\r\n b\r\n" + LENGTH + b"\r\n" + BODY,
    "/old": b"HTTP/1.0 200 OK\r\n" + HTML + b"\r\n" + BODY,
    "/no-reason": b"HTTP/1.1 200\r\n" + HTML + LENGTH + b"\r\n" + BODY,
    "/large": OK + HTML + b"X-Big: " + b"a" * 70_000 + b"\r\n" + LENGTH + b"\r\n" + BODY,
    "/twice": OK + HTML + LENGTH + LENGTH + b"\r\n" + BODY,
    "/chunks": OK + HTML + b"Transfer-Encoding : chunked\n\ne\n" + BODY + b"\n0\n\n",
    "/both": OK + HTML + b"Transfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n"
    b"e\r\n" + BODY + b"\r\n0\r\n\r\n",
    "/two": OK + HTML + b"Content-Length: 14\r\nContent-Length: 15\r\n\r\n" + BODY,
}
REFUSED = ("/two",)


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """Yield the address of a server that sends answers byte by byte as they are."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        with suppress(OSError):
            while True:
                connection = listener.accept()[0]
                threading.Thread(target=answer, args=(connection,), daemon=True).start()

    def answer(connection: socket.socket) -> None:
        with connection, suppress(OSError):
            path = connection.recv(65_536).split(b" ")[1].decode()
            connection.sendall(ANSWERS.get(path, b"HTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n"))

    threading.Thread(target=serve, daemon=True).start()
    yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    listener.close()


@pytest.mark.long
@pytest.mark.parametrize("reads", [False, True], ids=["passed on", "read"])
def test_what_the_browser_can_read_passes_the_proxy(
    cell_browser: Browser, server: str, tmp_path: Path, reads: bool
) -> None:
    file = TrafficFile(tmp_path / "a.har", "a", "run", "a cell")
    desk = CellTraffic("record", TrafficRules(), file, {}, lambda note: None)
    reader = TrafficReader(desk) if reads else None
    shown = {}
    with EgressProxy(OriginPolicy(f"{server}/"), lambda origin: None, traffic=reader) as proxy:
        context = cell_browser.new_context(proxy=proxy.settings)  # type: ignore[arg-type]
        for path in ANSWERS:
            page = context.new_page()
            try:
                page.goto(f"{server}{path}", timeout=10_000)
                shown[path] = page.inner_text("body").strip()
            except Error as error:
                shown[path] = str(error)
            page.close()
        context.close()

    assert {path for path, text in shown.items() if text == "hello"} == set(ANSWERS) - {*REFUSED}
    assert all(re.search(r"several lengths", shown[path]) for path in REFUSED)
