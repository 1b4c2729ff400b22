"""Whatever a page tries, its traffic ends at the proxy of its case."""

import json
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import ProxyHandler, build_opener

import pytest
from cell_launch import cell_args
from forbidden_server import ForbiddenServer
from late_pages import wait_until
from leaks import EXPECTED, leaky_page
from local_site import Site
from playwright.sync_api import Browser, Error, Page, Playwright

from pytest_autoweb.browser.egress import connection_holders
from pytest_autoweb.browser.egress.browser_watch import browser_processes
from pytest_autoweb.browser.egress.guarded_page import NOT_LAUNCHED, guarded_page, missing_cover
from pytest_autoweb.browser.egress.request_policy import OriginPolicy
from pytest_autoweb.browser.page.opening import open_page

Opener = Callable[..., AbstractContextManager[Page]]
where_holders_are_told = pytest.mark.skipif(
    not connection_holders.can_tell(), reason="this system does not tell whose a connection is"
)


@pytest.fixture
def forbidden() -> Iterator[ForbiddenServer]:
    forbidden = ForbiddenServer()
    yield forbidden
    forbidden.close()


@pytest.fixture
def notes() -> list[str]:
    return []


@pytest.fixture(params=["by its process", "by a password"])
def opened(
    request: pytest.FixtureRequest, cell_browser: Browser, site: Site, notes: list[str]
) -> Opener:
    """Opens a guarded page on which `site` and the given origins are allowed.

    The proxy knows the browser in one of two ways.
    """
    browser = cell_browser if request.param == "by its process" else None
    open_page = pages_of(cell_browser)

    def opened(*allowed: str) -> AbstractContextManager[Page]:
        policy = OriginPolicy(site.url, allowed)
        args = {"service_workers": "block"}
        return guarded_page(open_page, args, policy, notes.append, browser=browser)

    return opened


def pages_of(browser: Browser) -> Callable[[dict[str, Any]], Page]:
    """What opens a page in a fresh context of a browser that makes connections already."""
    # It starts what makes its connections for its first page.
    browser.new_page().close()
    return lambda args: browser.new_context(**args).new_page()


def open_leaky(page: Page, site: Site, host: str) -> None:
    # Frames that leave before they have loaded may keep the page from ever being loaded.
    page.goto(leaky_page(site, host), wait_until="domcontentloaded")


@pytest.mark.long
def test_a_page_reaches_a_listed_origin_in_every_way_it_has(
    opened: Opener, site: Site, forbidden: ForbiddenServer, notes: list[str]
) -> None:
    with opened(forbidden.url) as page:
        open_leaky(page, site, forbidden.host)
        wait_until(page, lambda: forbidden.reached >= EXPECTED, 20)
        page.context.close()

    assert EXPECTED - forbidden.reached == set()
    assert notes == []


@where_holders_are_told
def test_the_proxy_serves_the_browser_and_its_driver_without_a_password_and_nobody_else(
    cell_browser: Browser, site: Site
) -> None:
    settings: list[dict[str, str]] = []
    open_plainly = pages_of(cell_browser)

    def open_page(args: dict[str, Any]) -> Page:
        settings.append(args["proxy"])
        return open_plainly(args)

    policy = OriginPolicy(site.url)
    with guarded_page(open_page, {}, policy, lambda line: None, browser=cell_browser) as page:
        page.goto(site.put("/a", "hello"))
        replies = [page.inner_text("body"), page.request.get(f"{site.url}a").text()]
        opener = build_opener(ProxyHandler({"http": settings[0]["server"]}))
        with pytest.raises(HTTPError, match="407"):
            opener.open(f"{site.url}a")
        page.context.close()

    assert replies == ["hello", "hello"]
    assert settings[0].keys() == {"server", "bypass"}


@where_holders_are_told
def test_a_process_that_got_the_id_of_one_that_has_ended_is_asked_about_anew(
    cell_browser: Browser, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    open_page = pages_of(cell_browser)
    known = connection_holders.connections_of(cell_browser)
    ended = {process.pid: "long ago" for process in browser_processes()}
    monkeypatch.setattr(known, "_held", ended)

    policy = OriginPolicy(site.url)
    with guarded_page(open_page, {}, policy, lambda line: None, browser=cell_browser) as page:
        page.goto(site.put("/a", "hello"))
        shown = page.inner_text("body")
        page.context.close()

    assert shown == "hello"


@pytest.mark.long
def test_a_page_reaches_no_other_origin_in_any_of_these_ways(
    opened: Opener, site: Site, forbidden: ForbiddenServer, notes: list[str]
) -> None:
    with opened() as page:
        open_leaky(page, site, forbidden.host)
        page.wait_for_timeout(2_500)
        page.goto(site.put("/end", "left"))
        page.context.close()

    assert (forbidden.connections, forbidden.packets) == (0, 0)
    assert f"blocked: http://{forbidden.host} (allowed_origins)" in notes
    total = re.search(r"blocked: http://\S+: (\d+) requests in all", "\n".join(notes))
    assert total
    assert int(total[1]) >= len(EXPECTED) - 8
    # Once and in all: a page that tries a thousand times does not fill the log.
    assert len(notes) <= 4


def test_the_page_may_not_go_anywhere_else_either(
    opened: Opener, site: Site, forbidden: ForbiddenServer
) -> None:
    site.put("/hop", "", status=302, headers={"location": forbidden.url})
    with opened() as page:
        shown = page.goto(forbidden.url)
        redirected = page.goto(f"{site.url}hop")
        texts = page.inner_text("body")
        reached = []
        for url in ("file:///etc/hostname", "chrome://version", "view-source:" + forbidden.url):
            page.goto(site.put("/start", "start"))
            page.evaluate("url => { location = url; window.open(url) }", url)
            page.wait_for_timeout(100)
            reached += [one.url for one in page.context.pages if one.url.startswith(url)]
        page.context.close()

    assert shown
    assert redirected
    assert (shown.status, redirected.status) == (403, 403)
    assert "allowed_origins" in texts
    assert reached == []
    assert forbidden.connections == 0


@pytest.mark.parametrize(
    ("url", "why"),
    [
        (
            "http://127.0.0.1:49151/",
            "nothing answers at http://127.0.0.1:49151 (connection refused)",
        ),
        ("http://shop.invalid/", "shop.invalid has no address: "),
    ],
)
def test_what_the_proxy_says_by_itself_is_no_answer_of_the_site(
    opened: Opener, url: str, why: str
) -> None:
    with opened("http://127.0.0.1:49151", "http://shop.invalid") as page:
        failure = open_page(page, url, timeout_ms=20_000)

    assert failure is not None
    assert failure.message.startswith(why)
    assert failure.evidence["unreachable"] == url.rstrip("/")
    assert "502" not in failure.message


def test_cells_of_one_browser_keep_their_own_lists(opened: Opener, site: Site) -> None:
    first, second = ForbiddenServer(), ForbiddenServer()
    with opened(first.url) as one, opened(second.url) as two:
        for page in (one, two):
            page.goto(site.put("/a", f"<img src={first.url}a><img src={second.url}a>"))
            page.wait_for_timeout(200)
            page.context.close()

    assert (len(first.heads), len(second.heads)) == (1, 1)
    first.close()
    second.close()


def read_net_log(path: Path) -> tuple[list[str], set[str]]:
    """What Chromium says it resolved, and the addresses that it dialled."""
    text = path.read_text(encoding="utf-8").rstrip().rstrip(",")
    log = json.loads(text if text.endswith("}]}") or "\n}" in text[-5:] else text + "]}")
    kinds = {number: name for name, number in log["constants"]["logEventTypes"].items()}
    names, dialled = [], set()
    for event in log["events"]:
        kind, shown = kinds[event["type"]], json.dumps(event.get("params", {}))
        if kind.startswith(("DNS_TRANSACTION", "HOST_RESOLVER_MANAGER_JOB")):
            names.append(shown)
        if kind == "TCP_CONNECT_ATTEMPT":
            dialled |= set(re.findall(r'"address": "([^"]*)"', shown))
    return names, dialled


@pytest.mark.long
def test_chromium_itself_looks_up_no_name_and_dials_the_proxy_only(
    playwright: Playwright, site: Site, tmp_path: Path
) -> None:
    log = tmp_path / "net.json"
    browser = playwright.chromium.launch(**cell_args(playwright, f"--log-net-log={log}"))
    ports = []

    def open_page(args: dict[str, Any]) -> Page:
        ports.append(args["proxy"]["server"].rpartition(":")[2])
        return browser.new_context(**args).new_page()

    with guarded_page(open_page, {}, OriginPolicy(site.url), lambda line: None) as page:
        open_leaky(page, site, "leak.example.org")
        page.wait_for_timeout(1_500)
        browser.close()

    names, dialled = read_net_log(log)
    assert not [name for name in names if "leak" in name]
    assert dialled == {f"127.0.0.1:{ports[0]}"}


def test_a_browser_that_was_started_differently_is_routed_and_says_so(
    browser: Browser, site: Site, forbidden: ForbiddenServer
) -> None:
    notes: list[str] = []

    def open_page(args: dict[str, Any]) -> Page:
        return browser.new_context(**args).new_page()

    with guarded_page(open_page, {}, OriginPolicy(site.url), notes.append) as page:
        page.goto(site.put("/a", f"<img src={forbidden.url}a>"))
        with pytest.raises(Error, match="ERR_BLOCKED_BY_CLIENT"):
            page.goto(forbidden.url)
        page.context.close()

    assert notes[0] == f"egress: partial: {NOT_LAUNCHED}"
    assert f"blocked: http://{forbidden.host} (allowed_origins)" in notes
    assert forbidden.connections == 0


def test_a_browser_elsewhere_is_not_asked_to_use_the_proxy(cell_browser: Browser) -> None:
    assert missing_cover(cell_browser) == ""
    assert "elsewhere" in missing_cover(cell_browser, remote=True)


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_no_process_of_the_browser_gets_a_key(cell_browser: Browser) -> None:
    assert cell_browser.is_connected()
    found = 0
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            command = (folder / "cmdline").read_bytes()
            environ = (folder / "environ").read_bytes()
        except OSError:
            continue
        if b"disable_non_proxied_udp" in command:
            found += 1
            assert b"never-in-a-browser" not in environ
    assert found >= 1
