from local_site import Site
from playwright.sync_api import BrowserContext, Error

from pytest_autoweb.browser.egress.request_policy import OriginPolicy
from pytest_autoweb.browser.egress.request_routes import RequestRoutes


def test_requests_to_other_origins_are_aborted_and_reported(
    fresh_context: BrowserContext, site: Site, other_site: Site
) -> None:
    blocked: list[str] = []
    RequestRoutes.of(fresh_context).begin(OriginPolicy(site.url), blocked.append)
    other_site.put("/steal?secret=1", "x")
    url = site.put(
        "/a",
        f"<img src='{other_site.url}steal?secret=1'>"
        "<img src='data:image/gif;base64,R0lGODlhAQABAAAAACw='>"
        "<script src='/own.js'></script>",
    )
    site.put("/own.js", "document.title = 'own'")
    page = fresh_context.new_page()

    page.goto(url)

    assert page.title() == "own"
    assert other_site.hits == []
    assert blocked == [other_site.url.rstrip("/")]


def test_navigations_and_web_sockets_to_other_origins_are_blocked(
    fresh_context: BrowserContext, site: Site, other_site: Site
) -> None:
    blocked: list[str] = []
    RequestRoutes.of(fresh_context).begin(OriginPolicy(site.url), blocked.append)
    page = fresh_context.new_page()
    page.goto(site.put("/a", "<h1>a</h1>"))

    code = page.evaluate(
        "url => new Promise(done => { new WebSocket(url).onclose = e => done(e.code) })",
        other_site.url.replace("http", "ws"),
    )
    try:
        page.goto(other_site.url)
    except Error as error:
        failed = str(error)

    assert code == 1008
    assert "ERR_BLOCKED_BY_CLIENT" in failed
    assert other_site.hits == []
    assert len(blocked) == 2


def test_a_listed_origin_is_reached(
    fresh_context: BrowserContext, site: Site, other_site: Site
) -> None:
    RequestRoutes.of(fresh_context).begin(
        OriginPolicy(site.url, [other_site.url]), lambda origin: None
    )
    other_site.put("/lib.js", "document.title = 'lib'")
    page = fresh_context.new_page()

    page.goto(site.put("/a", f"<script src='{other_site.url}lib.js'></script>"))

    assert page.title() == "lib"
