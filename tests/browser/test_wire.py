"""What a context's pages ask for and hand out, recorded without holding anything up."""

import time
from collections.abc import Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import NamedTuple

import pytest
from late_pages import wait_until
from local_site import Site
from playwright.sync_api import BrowserContext, Error, Page

from pytest_autoweb.base.redaction import Redactor
from pytest_autoweb.judging.evidence.downloads import (
    NOT_FINISHED,
    DownloadRecord,
    downloads_text,
    read_downloads,
)
from pytest_autoweb.judging.evidence.requests_log import WireEntry, WireRecord

HOME = """<title>Home</title><h1>Home</h1><img src="/logo.png">
<a href="/orders.csv" download>Get</a>
<form method=post action="/login"><input name=user value="ana lee"><button>In</button></form>"""
SEND = """() => fetch('/api/orders', {method: 'POST', body: JSON.stringify({item: 'tea'}),
headers: {'content-type': 'application/json', authorization: 'Bearer abc'}}).then(r => r.text())"""
SECRET = "hunter2-hunter2"


class Recorded(NamedTuple):
    page: Page
    wire: WireRecord
    downloads: DownloadRecord
    site: Site


@pytest.fixture
def recorded(fresh_context: BrowserContext, site: Site, tmp_path: Path) -> Recorded:
    site.put("/", HOME)
    site.put("/login", "<h1>Welcome</h1>", headers={"set-cookie": "sid=1"})
    site.put("/api/orders", '{"id": 7}', status=201, headers={"content-type": "application/json"})
    site.put("/orders.csv", f"tea,{SECRET}", headers={"content-type": "text/csv"})
    site.put("/old", "", status=302, headers={"location": "/"})
    page = fresh_context.new_page()
    page.goto(site.url)
    wire = WireRecord()
    downloads = DownloadRecord(tmp_path / "downloads", Redactor({"pw": SECRET}))
    wire.start(fresh_context)
    downloads.start(fresh_context)
    wire.counting = True
    return Recorded(page, wire, downloads, site)


class EndlessDownload(BaseHTTPRequestHandler):
    """Sends a file for ever."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("content-type", "application/octet-stream")
        self.send_header("content-disposition", "attachment; filename=slow.bin")
        self.end_headers()
        with suppress(OSError):
            while True:
                self.wfile.write(b"x" * 1000)
                time.sleep(0.02)

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def endless() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), EndlessDownload)
    server.daemon_threads = True
    thread = Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    server.server_close()


def find(wire: WireRecord, path: str) -> WireEntry:
    return next(entry for entry in wire if entry.url.endswith(path))


def test_requests_are_recorded_with_their_bodies_and_without_what_lets_one_in(
    recorded: Recorded,
) -> None:
    page, wire, _, site = recorded
    page.evaluate(SEND)
    page.get_by_role("button", name="In").click()
    page.wait_for_url("**/login")
    page.goto(site.url + "old")
    page.wait_for_load_state("networkidle")
    order, login = find(wire, "/api/orders"), find(wire, "/login")

    assert (order.method, order.status, order.resource_type) == ("POST", 201, "fetch")
    assert (order.request_body, order.response_body) == ('{"item":"tea"}', '{"id": 7}')
    assert order.request_headers["authorization"] == "<redacted>"
    assert order.page_url == site.url
    assert order.duration_ms is not None
    assert (login.request_body, login.response_body) == ("user=ana+lee", "<h1>Welcome</h1>")
    assert "sid=1" not in str(login)
    assert find(wire, "/old").status == 302
    assert find(wire, "/logo.png").response_body is None
    assert all(entry.counted for entry in wire)


def test_a_request_that_gets_no_answer_says_why(recorded: Recorded) -> None:
    page, wire, _, _ = recorded
    page.evaluate("() => fetch('http://127.0.0.1:9/').catch(() => 0)")

    assert wire[-1].status is None
    assert "ERR_" in wire[-1].failed


def test_pop_ups_are_recorded_and_may_close_before_their_answers_are_read(
    recorded: Recorded,
) -> None:
    page, wire, _, _ = recorded
    with page.context.expect_page() as opened:
        page.evaluate("() => { window.open('/') }")
    popup = opened.value
    popup.wait_for_load_state()
    popup.evaluate("() => { fetch('/api/orders', {method: 'POST', body: 'late'}) }")
    popup.close()
    page.wait_for_timeout(100)

    assert find(wire, "/api/orders").request_body == "late"


def test_nothing_is_recorded_before_the_start_and_after_the_stop(recorded: Recorded) -> None:
    page, wire, _, _ = recorded
    wire.stop()
    page.evaluate(SEND)

    assert len(wire) == 0


def test_a_flood_of_assets_does_not_push_out_what_matters(recorded: Recorded) -> None:
    page, _, _, _ = recorded
    wire = WireRecord(most=4)
    wire.start(page.context)
    page.evaluate(SEND)
    page.evaluate(
        """() => Promise.all([...Array(9).keys()].map(n => new Promise(done => {
        const image = new Image(); image.onerror = done; image.src = `/missing-${n}.png`; })))"""
    )

    assert (len(wire), wire.dropped) == (4, 6)
    assert find(wire, "/api/orders").status == 201


def test_a_file_is_kept_whether_the_code_waits_for_it_or_not(
    recorded: Recorded, tmp_path: Path
) -> None:
    page, _, downloads, _ = recorded
    page.get_by_role("link", name="Get").click()
    with page.expect_download() as info:
        page.get_by_role("link", name="Get").click()
    info.value.save_as(tmp_path / "own.csv")
    wait_until(page, lambda: len(downloads) == 2 and not any(each.problem for each in downloads), 5)
    kept = read_downloads(downloads_text(downloads, tmp_path, str), tmp_path)

    assert [file.name for file in downloads] == ["orders.csv", "orders.csv"]
    assert kept == tuple(downloads)
    assert downloads[0].path is not None
    assert downloads[0].path.read_text() == "tea,<secret:pw>"
    assert downloads[0].size == len(f"tea,{SECRET}")


def test_a_download_that_never_ends_holds_nobody_up(recorded: Recorded, endless: str) -> None:
    page, _, downloads, _ = recorded
    with page.expect_download(), suppress(Error):
        page.goto(endless)
    began = time.monotonic()
    page.wait_for_timeout(50)

    assert [file.problem for file in downloads] == [NOT_FINISHED]
    page.context.close()
    assert time.monotonic() - began < 5


def test_a_saved_list_names_no_file_outside_its_folder(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    (tmp_path / "secret.txt").write_text("x")
    text = '[{"name": "a", "path": "../secret.txt", "size": 1}]'

    assert read_downloads(text, tmp_path / "inner")[0].path is None
