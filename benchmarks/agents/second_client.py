"""What a second client of a browser sees, and what the first one records of it (docs/agents.md).

    python benchmarks/agents/second_client.py

A browser is launched as Playwright does, and once more with a default context alone, both times
with a debugging port. A second client (Playwright's `connect_over_cdp` in a process of its own, and
Chromium's own list of pages) then looks for pages, clicks, navigates, opens a tab and a context.
"""

import json
import re
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

from pytest_autoweb.browser.egress.chromium import system_chromium

FLAGS = ["--remote-debugging-port=0", "--no-sandbox"]
SECOND = """
import sys
from playwright.sync_api import Error, sync_playwright

address, site = sys.argv[1:]
with sync_playwright() as playwright:
    browser = playwright.chromium.connect_over_cdp(address)
    pages = [page for context in browser.contexts for page in context.pages]
    print("  connect_over_cdp sees", sorted(page.url.removeprefix(site) for page in pages))
    page = next(page for page in pages if page.url == site + "/cell")
    page.get_by_role("button").click()
    page.wait_for_timeout(200)
    page.goto(site + "/goto")
    browser.contexts[0].new_page().goto(site + "/new-tab")
    browser.new_context().new_page().goto(site + "/new-context")
"""


class _Site(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        body = b"<button onclick=\"fetch('/clicked')\">fetch</button>"
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing."""


def address_of(browser: Browser) -> str:
    """Return where the browser listens, as it wrote it into its profile."""
    session = browser.new_browser_cdp_session()
    line = session.send("SystemInfo.getInfo")["commandLine"]
    found = re.search(r"--user-data-dir=(\S+)", line)
    assert found, line
    file = Path(found[1]) / "DevToolsActivePort"
    while not file.exists() or not file.read_text():
        time.sleep(0.05)
    return f"http://127.0.0.1:{file.read_text().split()[0]}"


def look(title: str, site: str, context: BrowserContext, page: Page, address: str) -> None:
    """Let the second client work, and print what it saw and what the context recorded."""
    recorded: list[str] = []
    context.on("request", lambda request: recorded.append(request.url.removeprefix(site)))
    page.goto(f"{site}/cell")
    with urllib.request.urlopen(f"{address}/json/list") as answer:
        listed = [one["url"].removeprefix(site) for one in json.load(answer)]
    print(title)
    print("  /json/list shows", sorted(listed))
    command = [sys.executable, "-c", SECOND, address, site]
    second = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    while second.poll() is None:
        page.wait_for_timeout(50)
    assert second.stdout is not None
    print(second.stdout.read().rstrip())
    page.wait_for_timeout(300)
    print("  the cell's context recorded", recorded)


def main(arguments: Sequence[str] = ()) -> None:
    """Print both cases."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Site)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    site = f"http://127.0.0.1:{server.server_port}"
    with sync_playwright() as playwright:
        chromium = playwright.chromium
        own = Path(chromium.executable_path)
        path = str(own) if own.is_file() else str(system_chromium())
        browser = chromium.launch(executable_path=path, args=FLAGS)
        print(f"Chromium {browser.version}")
        browser.new_context().new_page().goto(f"{site}/other-cell")
        context = browser.new_context()
        page = context.new_page()
        look("a browser that cells share", site, context, page, address_of(browser))
        browser.close()
        context = chromium.launch_persistent_context("", executable_path=path, args=FLAGS)
        assert context.browser
        look("a browser of its own", site, context, context.pages[0], address_of(context.browser))
        context.close()


if __name__ == "__main__":
    main(sys.argv[1:])
