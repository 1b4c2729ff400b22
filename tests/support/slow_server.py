"""A server whose replies never end: a byte now and then, each soon enough for a read's timeout.

with SlowServer() as server:
    ...  # call server.origin + "/body" with any HTTP client
"""

import contextlib
import socket
import threading
import time
from types import TracebackType
from typing import ClassVar, Self

PAUSE_S = 0.2


class SlowServer:
    """Listens on a free loopback port; the path says where it is slow."""

    KINDS: ClassVar[tuple[str, ...]] = ("headers", "body", "whitespace", "silence")

    def __init__(self) -> None:
        self._closed = threading.Event()
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.origin = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while not self._closed.is_set():
                connection, _ = self._socket.accept()
                threading.Thread(target=self._answer, args=(connection,), daemon=True).start()

    def _answer(self, connection: socket.socket) -> None:
        with contextlib.suppress(OSError), connection:
            kind = connection.recv(65536).split(b" ")[1].split(b"/")[1].decode()
            head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
            if kind == "headers":
                connection.sendall(head)
            elif kind in ("body", "whitespace"):
                connection.sendall(head + b"Content-Length: 1000000\r\n\r\n")
            unending = {"headers": b"X-A: b\r\n", "body": b'{"id": "x",', "whitespace": b" "}
            while not self._closed.is_set():
                time.sleep(PAUSE_S)
                if piece := unending.get(kind):
                    connection.sendall(piece[:1] if kind == "body" else piece)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._closed.set()
        self._socket.close()
