"""HTTP statuses as servers' pages, Python's clients and Chromium's console word them."""

import asyncio
import re
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from http_statuses import LABELS
from playwright.sync_api import Browser, expect
from provoked import Provoked, raised

BY_CLIENT = {
    "requests": (400, 401, 404, 409, 422, 429, 500, 503),
    "httpx": (402, 403, 404, 405, 410, 412, 500, 502),
    "aiohttp": (401, 404, 408, 413, 423, 500, 504),
    "playwright": (403, 404, 409, 500),
    "console": (400, 401, 403, 404, 409, 410, 415, 422, 429, 500, 502, 503),
    "page": (403, 404, 410, 500, 503, 504),
}
"""Which statuses are heard through whom; all through all would say the same over and over."""


class _Empty(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        name = self.path.strip("/")
        status = int(name) if name.isdigit() else 404
        self.send_response(status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Stay quiet."""


@contextmanager
def empty_server() -> Iterator[str]:
    """Run a server that answers `/STATUS` with that status alone, and yield its address."""
    server = ThreadingHTTPServer(("", 0), _Empty)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()


def client_statuses(
    base: str, by_client: Mapping[str, Sequence[int]] = BY_CLIENT
) -> Iterator[Provoked]:
    """Yield what Python's clients say of a status."""
    import aiohttp
    import httpx
    import requests

    async def by_aiohttp(url: str) -> None:
        async with aiohttp.ClientSession() as session, session.get(url) as reply:
            reply.raise_for_status()

    ask: dict[str, Any] = {
        "requests": lambda url: requests.get(url, timeout=5).raise_for_status(),
        "httpx": lambda url: httpx.get(url).raise_for_status(),
        "aiohttp": lambda url: asyncio.run(by_aiohttp(url)),
    }
    for name, act in ask.items():
        for status in by_client[name]:
            kind, text = raised(act, f"{base}/{status}")
            yield Provoked(kind, text, None, LABELS[status], "", f"HTTP: {name} {status}")


def browser_statuses(
    browser: Browser, base: str, by_client: Mapping[str, Sequence[int]] = BY_CLIENT
) -> Iterator[Provoked]:
    """Yield what Playwright, the console and the navigation say of a status."""
    page = browser.new_page()
    for status in by_client.get("playwright", ()):
        reply = page.request.get(f"{base}/{status}")
        kind, text = raised(expect(reply).to_be_ok)
        yield Provoked(kind, text, None, LABELS[status], "", f"HTTP: playwright {status}")
    page.goto(f"{base}/200")
    told: list[str] = []
    page.on("console", lambda line: told.append(line.text))
    for status in by_client["console"]:
        told.clear()
        page.evaluate("url => fetch(url).then(reply => reply.status)", f"/{status}")
        page.wait_for_timeout(50)
        # The browser asks for an icon of its own accord, and is told 404.
        (text,) = {line for line in told if f"status of {status}" in line}
        yield Provoked("", text, None, LABELS[status], "", f"HTTP: console {status}")
    for status in by_client.get("page", ()):
        said = raised(partial(page.goto, timeout=5000), f"{base}/{status}")
        # The error names no status; a run knows it from its record of the network.
        yield Provoked(*said, status, LABELS[status], "navigation", f"HTTP: empty page {status}")
    page.close()


def framework_statuses() -> Iterator[Provoked]:
    """Yield the default texts of Werkzeug's, Starlette's and Django's error pages."""
    from starlette.exceptions import HTTPException
    from werkzeug.exceptions import default_exceptions

    for status, kind in default_exceptions.items():
        if status in LABELS:
            text = str(kind.description)
            yield Provoked("", text, None, LABELS[status], "", f"HTTP: werkzeug {status}")
    for status in (404, 405, 409, 503):
        said = f'{{"detail":"{HTTPException(status).detail}"}}'
        yield Provoked("", said, status, LABELS[status], "", f"HTTP: starlette {status}")
    yield from _django()


def _django() -> Iterator[Provoked]:
    from form_texts import with_django

    with_django()
    from django.test import RequestFactory
    from django.views import defaults

    asked = RequestFactory().get("/orders")
    pages = {
        400: defaults.bad_request(asked, Exception()),
        403: defaults.permission_denied(asked, Exception()),
        404: defaults.page_not_found(asked, Exception()),
        500: defaults.server_error(asked),
    }
    for status, page in pages.items():
        body = re.sub(r"<title>.*?</title>|<[^>]+>", " ", page.content.decode())
        text = " ".join(body.split())
        yield Provoked("", text, None, LABELS[status], "", f"HTTP: django {status}")
