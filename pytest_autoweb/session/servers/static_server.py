"""The server of a folder with static files, which a case file names (`static:`)."""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http import HTTPStatus
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from pytest_autoweb.base.process_tree import POLL_S

HOST = "127.0.0.1"


class StaticFiles(SimpleHTTPRequestHandler):
    """A handler that serves one folder's files, without listings or links that lead outside."""

    protocol_version = "HTTP/1.1"
    timeout = 60

    def send_head(self) -> Any:
        """Answer 404 for anything outside the folder."""
        root = os.path.realpath(self.directory)
        try:
            target = os.path.realpath(self.translate_path(self.path))
        except ValueError:
            target = ""
        if target != root and not target.startswith(root + os.sep):
            self.send_error(HTTPStatus.NOT_FOUND)
            return None
        # Without this header, every answer contains the file, which a reset may have changed.
        del self.headers["If-Modified-Since"]
        return super().send_head()

    def list_directory(self, path: Any) -> Any:
        """Answer 404 for a folder."""
        self.send_error(HTTPStatus.NOT_FOUND)

    def guess_type(self, path: Any) -> str:
        """Return the type with UTF-8 for texts, because pages may not name their encoding."""
        kind = super().guess_type(path)
        is_text = kind.startswith("text/") or kind.endswith(("javascript", "json", "xml"))
        return f"{kind}; charset=utf-8" if is_text else kind

    def end_headers(self) -> None:
        """Add a header that keeps browsers from caching between attempts."""
        self.send_header("Cache-Control", "no-store")
        super().end_headers()


class _StaticServer(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64


@contextmanager
def serve_static(folder: str, port: int) -> Iterator[int]:
    """Serve a folder, and yield the port; 0 stands for any free one."""
    server = _StaticServer((HOST, port), partial(StaticFiles, directory=folder))
    threading.Thread(target=server.serve_forever, args=(POLL_S,), daemon=True).start()
    try:
        yield int(server.server_port)
    finally:
        server.shutdown()
        server.server_close()
