"""What a proof of a plain test can reach, and how it ends."""

import os
import time
from pathlib import Path

import psutil
import pytest
from local_site import Site
from own_thread import in_own_thread

from pytest_autoweb.browser.egress.request_policy import parse_origin
from pytest_autoweb.tools.export.proof import Prover

# Plugins of the developers' environment, whose imports would double what a session costs.
LEAN = ("-p", "no:anyio", "-p", "no:hypothesispytest", "-p", "no:schemathesis")
TESTS = """
import subprocess
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
import pytest
from playwright.sync_api import Error


class Page(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(b"<h1>Tea shop</h1><img src='OTHERpixel'>")

    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def server():
    with ThreadingHTTPServer(("127.0.0.1", 0), Page) as running:
        Thread(target=running.serve_forever, args=(0.02,), daemon=True).start()
        yield f"http://127.0.0.1:{running.server_port}"
        running.shutdown()


def test_own(page, server):
    page.goto(f"{server}/")
    page.locator("h1").click()
    assert page.locator("h1").inner_text() == "Tea shop"


def test_leaves(page, server):
    page.goto(f"{server}/")
    leave = page.goto
    try:
        leave("OTHER?secret")
    except Error:
        pass
    page.request.get("OTHERrequest?secret", timeout=2000)
    assert False


def test_own_browser(playwright, browser_type_launch_args):
    browser = playwright.chromium.launch(**browser_type_launch_args)
    browser.new_page().goto("OTHERbrowser?secret")


def test_endless(page):
    subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)  # MARK"])
    while True:
        page.evaluate("1")
"""


@pytest.mark.long
def test_a_proof_reaches_the_tests_own_origins_only(tmp_path: Path, site: Site) -> None:
    text = TESTS.replace("OTHER", site.url)
    prover = Prover(tmp_path, {}, flags=(*LEAN, "-k", "not endless"))

    run, _ = in_own_thread(prover.look, "test_shop.py", text, 1_000)

    assert run.outcomes["test_own"] == "passed"
    assert len(run.outcomes) == 3
    assert site.hits == []
    assert site.url.rstrip("/") in prover.blocked

    own = parse_origin(site.url)
    assert own
    allowing = Prover(tmp_path, {}, flags=LEAN, origins=frozenset([own]))
    in_own_thread(allowing.look, "test_shop.py", text, 1_000, "test_own")
    assert "/pixel" in site.hits
    assert not allowing.blocked


@pytest.mark.long
def test_a_proof_without_an_end_is_ended_with_everything_that_it_started(tmp_path: Path) -> None:
    mark = f"{os.getpid()}-{time.monotonic_ns()}"
    text = TESTS.replace("MARK", mark)
    prover = Prover(tmp_path, {}, flags=LEAN, seconds=20)

    refused = in_own_thread(prover.why_not, "test_shop.py", text, text, "test_endless")

    assert refused == {"test_endless": "it was ended after 20 s, the limit of a run"}
    left = [p.info["cmdline"] for p in psutil.process_iter(["cmdline"]) if p.info["cmdline"]]
    assert not [line for line in left if mark in " ".join(line)]
    assert list(tmp_path.iterdir()) == []
