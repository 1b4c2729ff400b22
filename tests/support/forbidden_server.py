"""A forbidden place: it answers whatever knocks, by TCP and UDP, and remembers it."""

import re
import socket
import threading

_OPEN = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nAccess-Control-Allow-Origin: *\r\n"
    b"Service-Worker-Allowed: /\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok"
)


class ForbiddenServer:
    """Listens on one port of the loopback address."""

    def __init__(self) -> None:
        self._server = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.port = self._server.getsockname()[1]
        self._datagrams = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._datagrams.bind(("127.0.0.1", self.port))
        self.host = f"127.0.0.1:{self.port}"
        self.url = f"http://{self.host}/"
        self.connections = 0
        self.packets = 0
        self.heads: list[str] = []
        for target in (self._accept, self._receive):
            threading.Thread(target=target, daemon=True).start()

    @property
    def reached(self) -> set[str]:
        """First parts of the paths that were asked for."""
        return {found[1] for head in self.heads if (found := re.match(r"\w+ /([\w-]*)", head))}

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._server.accept()
            except OSError:
                return
            self.connections += 1
            threading.Thread(target=self._answer, args=(connection,), daemon=True).start()

    def _answer(self, connection: socket.socket) -> None:
        with connection:
            connection.settimeout(10)
            try:
                self.heads.append(connection.recv(65_536).decode("latin-1"))
                connection.sendall(_OPEN)
            except OSError:
                return

    def _receive(self) -> None:
        while True:
            try:
                self._datagrams.recv(2_048)
            except OSError:
                return
            self.packets += 1

    def close(self) -> None:
        self._server.close()
        self._datagrams.close()
