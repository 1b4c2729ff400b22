"""A local server for pages that tests make up."""

import threading
import time
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

PAGES = Path(__file__).parent.parent / "browser" / "pages"


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128
    """A browser waits a second and more for a connection that finds no room."""


class Site:
    """A local server: files of `pages/`, and whatever a test puts under a path."""

    def __init__(self) -> None:
        self.replies: dict[str, tuple[int, dict[str, str], bytes]] = {}
        self.hits: list[str] = []
        self.delays: dict[str, float] = {}
        self.authorizations: list[str] = []
        self.languages: list[str] = []
        site = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                site.hits.append(self.path)
                if given := self.headers.get("authorization"):
                    site.authorizations.append(given)
                if language := self.headers.get("accept-language"):
                    site.languages.append(language)
                # An answer before the end of a long body would break the connection.
                self.rfile.read(int(self.headers.get("content-length", 0)))
                time.sleep(site.delays.get(self.path, 0))
                status, headers, body = site.find(self.path)
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                # Whoever asked may have heard enough.
                with suppress(OSError):
                    self.wfile.write(body)

            do_POST = do_GET

            def log_message(self, format: str, *args: object) -> None:
                pass

        self._server = _Server(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}/"
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.02,), daemon=True
        )
        self._thread.start()

    def find(self, path: str) -> tuple[int, dict[str, str], bytes]:
        html = {"content-type": "text/html; charset=utf-8"}
        if path in self.replies:
            status, headers, body = self.replies[path]
            return status, {**html, **headers}, body
        file = PAGES / path.split("?")[0].lstrip("/")
        if file.is_file() and file.parent == PAGES:
            return 200, html, file.read_bytes()
        return 404, html, b"<h1>not here</h1>"

    def put(
        self, path: str, html: str, *, status: int = 200, headers: dict[str, str] | None = None
    ) -> str:
        """Serve `html` under `path` and return its URL."""
        self.replies[path] = (status, headers or {}, html.encode())
        return self.url.rstrip("/") + path

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
