"""`autoweb benchmark import pytest`: tests that somebody has become proven cases."""

import json
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Mapping, Sequence
from pathlib import Path
from shutil import copy

import pytest
import yaml
from browser_servers import free_port
from order_shop import PROGRAM, SECRET
from session_server import autoweb_command
from shop_project import LEAN

from pytest_autoweb.cli.command_line import main
from pytest_autoweb.tools.importing.suite.recorded_tests import SuiteOrder, record_suite
from pytest_autoweb.tools.importing.suite.suite_cases import SuiteSecrets, candidate

SUITE = f'''
import re
import pytest
from playwright.sync_api import Page, expect


class Shop:
    """A page object, as many suites have them."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.said = page.get_by_role("status").first

    def order(self, item: str) -> None:
        self.page.get_by_label("Item").fill(item)
        self.page.get_by_role("button", name="Order").click()


@pytest.fixture
def shop(page: Page) -> Shop:
    page.goto("/")
    page.get_by_label("User").fill("ana")
    page.get_by_label("Secret word").fill("{SECRET}")
    page.get_by_role("button", name="Sign in").click()
    return Shop(page)


@pytest.mark.parametrize("item", ["tea"])
def test_order_an_item(shop: Shop, item: str) -> None:
    """Order something, and see it in the list."""
    expect(shop.page.get_by_role("heading")).to_have_text("Orders")
    expect(shop.page.get_by_role("listitem")).to_have_count(0)
    shop.page.on("dialog", lambda dialog: dialog.accept())
    shop.order(item)
    expect(shop.said).to_have_text(re.compile("thank", re.I))
    assert shop.page.get_by_role("listitem").inner_text() == f"1 x {{item}}"


def test_title(page: Page) -> None:
    page.goto("/")
    expect(page.get_by_role("heading")).to_have_text("Sign in")


def test_made_up(page: Page) -> None:
    page.set_content("<h1>Hello</h1>")
    expect(page.get_by_role("heading")).to_have_text("Hello")


def test_wrong(page: Page) -> None:
    page.goto("/")
    assert page.get_by_role("heading").inner_text() == "Elsewhere"
'''
LEFT = (
    "test_title: what it expects at its end also holds when nothing is done",
    "test_made_up: its page is made by set_content and has no address",
    "test_wrong: it does not pass itself: ",
)


@pytest.mark.long
def test_a_suite_becomes_cases_where_their_checks_prove_what_is_done(tmp_path: Path) -> None:
    copy(PROGRAM, tmp_path / "shop.py")
    (tmp_path / "e2e").mkdir()
    (tmp_path / "e2e/test_orders.py").write_text(SUITE)
    (tmp_path / "tox.ini").write_text(f"[pytest]\nautoweb_check_timeout = 2\naddopts = -q {LEAN}\n")
    command = [*autoweb_command(), "benchmark", "import", "pytest", "e2e", "-n", "2"]
    server = ("--command", "{python} shop.py {port}")
    ran = subprocess.run(
        [*command, *server, "--weak", "--", "-p", "no:cacheprovider"], cwd=tmp_path,
        capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "1 of 4 tests became cases" in ran.stdout
    assert "needs the secret password in the environment variable E2E_PASSWORD" in ran.stdout
    for line in LEFT:
        assert line in ran.stdout
        assert line in (tmp_path / "cases/e2e/not-imported.txt").read_text()
    (case,) = yaml.safe_load((tmp_path / "cases/e2e/e2e-test_orders.yaml").read_text())["cases"]
    assert (case["id"], case["entry_url"]) == ("order-an-item-tea", "{{ webserver.url }}")
    assert case["user_task"] == (
        "Order an item (tea). Order something, and see it in the list. "
        "Values to use: User = ana; Secret word = <secret:password>; Item = tea."
    )
    # The shop lets everybody in who is sent on, so that a kept login goes unnoticed.
    assert case["tags"] == ["weak"]
    assert case["secrets"] == {"password": {"env": "E2E_PASSWORD"}}
    # What held on the way and no longer at the end stays in the oracle alone.
    gone = "expect(page.get_by_role('listitem')).to_have_count(0)"
    assert gone in case["oracle"]
    assert gone in (tmp_path / "cases/e2e/not-imported.txt").read_text()
    assert [check["assertion"] for check in case["expect"]] == [
        "expect(page.get_by_role('heading')).to_have_text('Orders')",
        "expect(page.get_by_role('status').first).to_have_text(re.compile('thank', re.I))",
        "expect(page.get_by_role('listitem')).to_have_text('1 x tea', use_inner_text=True)",
    ]
    assert "page.once('dialog', lambda dialog: dialog.accept())" in case["oracle"]
    assert SECRET not in ran.stdout + ran.stderr
    own = {"shop.py", "test_orders.py"}
    written = [file for file in tmp_path.rglob("*") if file.is_file() and file.name not in own]
    # pytest keeps the suite's own source, compiled.
    told = [file for file in written if SECRET.encode() in file.read_bytes()]
    assert [file for file in told if file.suffix != ".pyc"] == []


ASYNCHRONOUS = """
import asyncio
import threading
import unittest
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
import pytest
from playwright.async_api import async_playwright, expect
from playwright.sync_api import sync_playwright

pytestmark = pytest.mark.anyio
PAGE = '''<h1>Orders</h1><label>Item <input id="item"></label><label>Note <input id="note"></label>
<button onclick="if (confirm('Sure?')) out.textContent = `1 x ${item.value}, ${note.value}`">Order
</button><p role="status" id="out"></p><a href="/help" target="_blank">Help</a>'''


class Site(BaseHTTPRequestHandler):
    def do_GET(self):
        # A server's asserts are none of the test's, though they are in its file.
        assert self.path.startswith("/")
        body = PAGE.encode()
        self.send_response(200)
        self.send_header("content-type", "text/html")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


@pytest.fixture
def anyio_backend():
    return "asyncio"


@pytest.fixture(scope="module")
def site():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Site)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()


@pytest.fixture
async def context():
    async with async_playwright() as driver:
        # As on the author's machine, which has a screen.
        browser = await driver.chromium.launch(headless=False)
        yield await browser.new_context(locale="de-DE")
        await browser.close()


@pytest.fixture
async def shop(context, site):
    page = await context.new_page()
    await page.goto(site)
    return page


async def accept(dialog):
    await dialog.accept()


async def test_order(shop):
    await expect(shop.get_by_role("status")).to_be_empty()
    shop.on("dialog", accept)
    await asyncio.gather(
        shop.get_by_label("Item").fill("tea"), shop.get_by_label("Note").fill("hot")
    )
    await shop.get_by_role("button").click()
    said = await shop.get_by_role("status").inner_text()
    async with asyncio.TaskGroup() as group:
        group.create_task(asyncio.sleep(0))
    assert "tea" in said
    assert "hot" in said
    assert await shop.locator("p").count() > 0


async def test_help(shop):
    async with shop.expect_popup() as opened:
        await shop.get_by_role("link", name="Help").click()
    help_page = await opened.value
    await expect(help_page.get_by_role("heading")).to_have_text("Orders")
    await help_page.get_by_label("Item").fill("tea")
    assert await shop.title() == ""
    assert 2 > 1


class TestOfUnittest(unittest.TestCase):
    @pytest.fixture(autouse=True)
    def take(self, site):
        self.site = site

    def test_heading(self):
        with sync_playwright() as driver:
            page = driver.chromium.launch().new_page()
            page.goto(self.site)
            self.assertEqual(page.get_by_role("heading").inner_text(), "Orders")
            self.assertTrue(page.get_by_label("Item").is_visible())
            self.assertTrue(2 > 1)
            self.assertIn("Hel", page.get_by_role("link").text_content())
            self.assertGreater(page.locator("p").count(), 0)
            self.assertEqual([1], [1])
"""


@pytest.mark.long
def test_an_asynchronous_suite_is_recorded_as_any_other(tmp_path: Path) -> None:
    (tmp_path / "test_orders.py").write_text(ASYNCHRONOUS)
    (tmp_path / "tox.ini").write_text("[pytest]\n")

    def run(command: Sequence[str], environ: Mapping[str, str], log: Path) -> int:
        hidden = dict.fromkeys(("DISPLAY", "WAYLAND_DISPLAY"), "")
        with log.open("w") as file:
            return subprocess.run(
                command, cwd=tmp_path, env={**environ, **hidden}, stdout=file, check=False
            ).returncode

    order = SuiteOrder(("test_orders.py",), ("-p", "no:schemathesis"))
    suite = record_suite(order, tmp_path / "log", run)

    assert [(one.outcome, one.why) for one in suite.tests] == [("passed", "")] * 3
    ordered, helped, headed = suite.tests
    goto, *done = [step.code for step in ordered.steps]
    assert goto.startswith("page.goto('http://127.0.0.1:")
    assert done == [
        "expect(page.get_by_role('status')).to_be_empty()",
        "page.get_by_label('Item').fill('tea')",
        "page.get_by_label('Note').fill('hot')",
        "page.once('dialog', lambda dialog: dialog.accept())",
        "page.get_by_role('button').click()",
        "expect(page.get_by_role('status')).to_contain_text('tea', use_inner_text=True)",
        "expect(page.get_by_role('status')).to_contain_text('hot', use_inner_text=True)",
        "expect(page.locator('p')).not_to_have_count(0)",
    ]
    # Neither the asserts of the library that runs the tests nor those of the server.
    assert (ordered.unsaid, ordered.context) == ((), {"locale": "de-DE"})
    assert [step.code for step in helped.steps][1:] == [
        "with page.expect_popup() as tab_1_info:\n"
        "    page.get_by_role('link', name='Help').click()",
        "tab_1 = tab_1_info.value",
        "expect(tab_1.get_by_role('heading')).to_have_text('Orders')",
        "tab_1.get_by_label('Item').fill('tea')",
        "expect(page).to_have_title('')",
    ]
    assert [one.what for one in helped.unsaid] == ["assert 2 > 1"]
    # What methods of unittest assert, too.
    assert [step.code for step in headed.steps][1:] == [
        "expect(page.get_by_role('heading')).to_have_text('Orders', use_inner_text=True)",
        "expect(page.get_by_label('Item')).to_be_visible()",
        "expect(page.get_by_role('link')).to_contain_text('Hel')",
        "expect(page.locator('p')).not_to_have_count(0)",
    ]
    assert [one.what for one in headed.unsaid] == [
        "assert assertTrue(True)",
        "assert assertEqual([1], [1])",
    ]
    case = candidate(ordered, SuiteSecrets("SHOP"), ())
    assert len(case.checks) == 4


HELD = """
import threading
import unittest
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
import pytest
from playwright.async_api import async_playwright, expect
from playwright.sync_api import sync_playwright


class Page(BaseHTTPRequestHandler):
    def do_GET(self):
        body = ", ".join(self.server.items).encode()
        self.send_response(200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


@pytest.fixture
def site(tmp_path_factory):
    server = ThreadingHTTPServer(("127.0.0.1", 0), Page)
    server.items = []
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()
    open("torn-down", "w").close()


@pytest.fixture
def signed_in(context, site):
    address = f"http://127.0.0.1:{site.server_port}"
    context.add_cookies([{"name": "user", "value": "ana", "url": address}])
    return address


def test_items(signed_in, page, site):
    site.items.append("tea")
    page.set_default_timeout(1000)
    page.goto(signed_in)
    site.items.append("coffee")


@pytest.fixture
def anyio_backend():
    return "asyncio"


@pytest.fixture
async def opened(site):
    async with async_playwright() as driver:
        browser = await driver.chromium.launch()
        context = await browser.new_context()
        address = f"http://127.0.0.1:{site.server_port}"
        await context.add_cookies([{"name": "user", "value": "ana", "url": address}])
        page = await context.new_page()
        await page.goto(address)
        yield page


@pytest.mark.anyio
async def test_asynchronous(opened, site):
    site.items.append("tea")
    await expect(opened.get_by_text("tea")).to_be_visible()
    site.items.append("coffee")


class TestOfUnittest(unittest.TestCase):
    @pytest.fixture(autouse=True)
    def take(self, site):
        self.site = site

    def setUp(self):
        self.driver = sync_playwright().start()
        context = self.driver.chromium.launch().new_context()
        address = f"http://127.0.0.1:{self.site.server_port}"
        context.add_cookies([{"name": "user", "value": "ana", "url": address}])
        self.page = context.new_page()
        self.page.goto(address)

    def test_items(self):
        self.site.items.append("tea")
        self.page.reload()
        self.site.items.append("coffee")
"""


@pytest.mark.long
@pytest.mark.parametrize("test", ["test_items", "test_asynchronous", "TestOfUnittest::test_items"])
def test_a_site_of_fixtures_is_served_as_the_test_finds_it(tmp_path: Path, test: str) -> None:
    (tmp_path / "test_items.py").write_text(HELD)
    (tmp_path / "data").mkdir()
    port = free_port()
    program = (sys.executable, "-m", "pytest_autoweb.tools.importing.suite.held")
    command = [*program, f"test_items.py::{test}", "--port", str(port), "--data", "data"]
    lean = "no:schemathesis"
    with subprocess.Popen([*command, "--", "-p", lean], cwd=tmp_path) as process:
        try:
            deadline = time.monotonic() + 60
            state = tmp_path / "data/storage_state.json"
            while not state.exists() and process.poll() is None and time.monotonic() < deadline:
                time.sleep(0.1)
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=10) as reply:
                assert reply.read() == b"tea"
        finally:
            process.send_signal(signal.SIGTERM)
    (cookie,) = json.loads(state.read_text())["cookies"]
    assert (cookie["name"], cookie["domain"]) == ("user", "127.0.0.1")
    assert (tmp_path / "torn-down").exists()


def test_what_cannot_be_imported_is_said_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "e2e").mkdir()
    import_suite = ["benchmark", "import", "pytest"]
    for words, said in (
        (["nowhere"], "there is no nowhere: name files or folders of tests"),
        (["e2e", "--url", "http://localhost:5000"], "--url says where --command answers"),
        (["e2e", "--command", "flask run"], "--command must say where the port belongs"),
        (["e2e", "--python", "no-such-python"], "--python: no-such-python cannot be started"),
        (["e2e", "-n", "0"], "-n must be 1 or more"),
    ):
        assert main([*import_suite, *words]) == 4
        assert said in capsys.readouterr().err
    assert list(Path("e2e").iterdir()) == []
