"""What keeping evidence costs: the wire record per request, the page's copy per element.

usage: python benchmarks/evidence_cost.py
"""

import statistics
import tempfile
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

from pytest_autoweb.browser.egress.chromium import launch_args
from pytest_autoweb.judging.evidence.dom_copy import copy_page
from pytest_autoweb.judging.evidence.downloads import DownloadRecord
from pytest_autoweb.judging.evidence.har_file import har_text
from pytest_autoweb.judging.evidence.requests_log import WireRecord

REQUESTS = 300
ROUNDS = 7
FETCHES = """async n => { for (let i = 0; i < n; i++)
  await (await fetch('/api', {method: 'POST', body: '{"n": 1}'})).text(); }"""
ROWS = """n => { document.body.innerHTML = '<table>' + ('<tr><td>a</td><td class="b">b</td><td>'
  + '<input value=c></td><td><a href="/d">d</a></td></tr>').repeat(n) + '</table>'; }"""


class Api(BaseHTTPRequestHandler):
    """A server that answers every request at once."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        """Serve a page, or a few bytes of JSON."""
        self.rfile.read(int(self.headers.get("content-length") or 0))
        body = b'{"state": "open", "items": [1, 2, 3]}'
        kind = "application/json" if self.path == "/api" else "text/html"
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_POST = do_GET

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


def fetch_seconds(browser: Browser, url: str, *, recorded: bool) -> float:
    context = browser.new_context()
    page = context.new_page()
    page.goto(url)
    if recorded:
        WireRecord().start(context)
        DownloadRecord(Path(tempfile.gettempdir()), str).start(context)
    took = timed(lambda: page.evaluate(FETCHES, REQUESTS))
    context.close()
    return took


def timed(call: Callable[[], object]) -> float:
    began = time.perf_counter()
    call()
    return time.perf_counter() - began


def main() -> None:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Api)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}/"
    with sync_playwright() as playwright:
        kind = playwright.chromium
        browser = kind.launch(**launch_args({}, playwright_executable=kind.executable_path))
        bare, kept = (
            statistics.median(fetch_seconds(browser, url, recorded=r) for _ in range(ROUNDS))
            for r in (False, True)
        )
        print(f"{REQUESTS} requests: {bare * 1000:.0f} ms bare, {kept * 1000:.0f} ms recorded")
        page = browser.new_page()
        page.goto(url)
        wire = WireRecord()
        wire.start(page.context)
        page.evaluate(FETCHES, REQUESTS)
        print(f"HAR of {len(wire)} requests: {timed(lambda: har_text(wire, str)) * 1000:.0f} ms")
        for rows in (100, 1_000):
            page.evaluate(ROWS, rows)
            took = statistics.median(timed(lambda: copy_page(page, str)) for _ in range(ROUNDS))
            print(f"copy of {rows * 7} elements: {took * 1000:.0f} ms")
        browser.close()


if __name__ == "__main__":
    main()
