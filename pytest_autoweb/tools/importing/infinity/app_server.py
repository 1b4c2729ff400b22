"""Serves one application of WebArena-Infinity: `python -m …app_server APP --port N --data DIR`.

The board's own servers listen on every interface and hand out what lies beside the page: the tasks,
their verifiers and their solutions. This one listens on the loopback interface, serves the page
with its scripts and styles, and takes the state that the page reports. It gives that state to
nobody: the check reads it from the folder `--data`, where `first.json` is what the page reported
first and `last.json` what it reported last.
"""

import argparse
import json
import threading
from http import HTTPStatus
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from pytest_autoweb.base.files import whole_file

FIRST = "first.json"
LAST = "last.json"
PAGE = "index.html"
_FOLDERS = ("js", "css")
_STATE_BYTES = 20_000_000


class AppHandler(SimpleHTTPRequestHandler):
    """Serves the page's files, and keeps the state that the page puts."""

    server: "AppServer"
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        path = unquote(urlsplit(self.path).path)
        if path == "/api/events":
            # Nothing is ever announced. After this status a page does not ask again.
            self._answer(HTTPStatus.NO_CONTENT)
        elif self.server.hands_out(path):
            super().do_GET()
        else:
            self._answer(HTTPStatus.NOT_FOUND)

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_PUT(self) -> None:
        body = self.rfile.read(min(int(self.headers.get("Content-Length") or 0), _STATE_BYTES))
        if self.path != "/api/state":
            self._answer(HTTPStatus.NOT_FOUND)
        elif self.headers.get("Sec-Fetch-Site") != "same-origin":
            # A browser says this of every request of its pages. One without it comes from code that
            # would rather report a state than reach it.
            self._answer(HTTPStatus.FORBIDDEN)
        elif not _is_object(body):
            self._answer(HTTPStatus.BAD_REQUEST)
        else:
            self.server.keep(body)
            self._answer(HTTPStatus.OK, b'{"status":"ok"}')

    def end_headers(self) -> None:
        self.send_header("Cache-Control", "no-store")
        super().end_headers()

    def _answer(self, status: HTTPStatus, body: bytes = b"") -> None:
        self.send_response(status)
        if status is not HTTPStatus.NO_CONTENT:
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing: the run keeps the requests of each attempt."""


class AppServer(ThreadingHTTPServer):
    """A server of one application, on the loopback interface."""

    daemon_threads = True

    def __init__(self, app: Path, data: Path, port: int) -> None:
        self.app = app.resolve()
        self.data = data
        self._lock = threading.Lock()
        super().__init__(("127.0.0.1", port), AppHandler)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of connections that a browser closed."""

    def finish_request(self, request: Any, client_address: Any) -> None:
        AppHandler(request, client_address, self, directory=str(self.app))

    def hands_out(self, path: str) -> bool:
        """Return whether a path belongs to the page: the page itself, its scripts and styles."""
        if path in ("/", f"/{PAGE}"):
            return True
        file = (self.app / path.lstrip("/")).resolve()
        return file.is_file() and any(file.is_relative_to(self.app / each) for each in _FOLDERS)

    def keep(self, state: bytes) -> None:
        """Write a state that the page reported, whole or not at all."""
        with self._lock:
            for name in [LAST] if (self.data / FIRST).exists() else [FIRST, LAST]:
                with whole_file(self.data / name) as file:
                    file.write(state)


def _is_object(body: bytes) -> bool:
    try:
        return isinstance(json.loads(body), dict)
    except (ValueError, RecursionError):
        return False


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("app", type=Path)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--data", type=Path, required=True)
    args = parser.parse_args()
    with AppServer(args.app, args.data, args.port) as server:
        server.serve_forever()


if __name__ == "__main__":
    main()
