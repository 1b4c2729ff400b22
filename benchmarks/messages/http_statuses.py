"""Statuses that real HTTP servers send, as their pages and as Python's client words them."""

import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from provoked import Provoked

LABELS = {
    400: "PARAMETER_ERROR",
    401: "PERMISSION_ERROR",
    402: "BUSINESS_ERROR",
    403: "PERMISSION_ERROR",
    404: "DATA_NOT_FOUND",
    405: "PARAMETER_ERROR",
    406: "PARAMETER_ERROR",
    407: "PERMISSION_ERROR",
    408: "SERVICE_UNAVAILABLE",
    409: "RESOURCE_CONFLICT",
    410: "DATA_NOT_FOUND",
    411: "PARAMETER_ERROR",
    412: "RESOURCE_CONFLICT",
    413: "PARAMETER_ERROR",
    414: "PARAMETER_ERROR",
    415: "PARAMETER_ERROR",
    416: "PARAMETER_ERROR",
    422: "VALIDATION_ERROR",
    423: "RESOURCE_CONFLICT",
    428: "RESOURCE_CONFLICT",
    429: "SERVICE_UNAVAILABLE",
    431: "PARAMETER_ERROR",
    451: "PERMISSION_ERROR",
    500: "SERVICE_UNAVAILABLE",
    501: "PARAMETER_ERROR",
    502: "SERVICE_UNAVAILABLE",
    503: "SERVICE_UNAVAILABLE",
    504: "SERVICE_UNAVAILABLE",
    507: "SERVICE_UNAVAILABLE",
    511: "PERMISSION_ERROR",
}


class _Speaks(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_error(int(self.path.strip("/")))

    def log_message(self, format: str, *args: object) -> None:
        """Stay quiet."""


def statuses() -> Iterator[Provoked]:
    """Yield each status twice: with its number, and as the text of the page alone."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Speaks)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    for status, label in LABELS.items():
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{server.server_port}/{status}")
        except urllib.error.HTTPError as error:
            source = f"http.server: {status}"
            yield Provoked("HTTPError", str(error), status, label, "", source)
            yield Provoked("", HTTPStatus(status).phrase, None, label, "", source + " phrase")
            page = error.read().decode()
            told = page.split("<p>Error code explanation: ")[-1].split("</p>")[0]
            yield Provoked("", told, None, label, "", source + " explanation")
    server.shutdown()
