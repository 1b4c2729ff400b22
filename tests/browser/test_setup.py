import base64
import json
from pathlib import Path

import pytest
from local_site import Site
from playwright.sync_api import Browser, BrowserContext, Page

from pytest_autoweb.base.errors import CaseError
from pytest_autoweb.browser.egress.guarded_page import guarded_page
from pytest_autoweb.browser.egress.request_policy import OriginPolicy
from pytest_autoweb.browser.page.setup import (
    Cookie,
    Setup,
    add_cookies,
    context_args,
    run_setup_js,
    set_clock,
)

PIN = "7'\"`${}\\é𝄞"


def _reveal(text: str) -> str:
    return text.replace("<secret:pin>", PIN)


def test_a_storage_state_file_is_found_beside_the_case(
    browser: Browser, site: Site, tmp_path: Path
) -> None:
    origin = {"origin": site.url.rstrip("/"), "localStorage": [{"name": "token", "value": "t1"}]}
    (tmp_path / "auth.json").write_text(json.dumps({"cookies": [], "origins": [origin]}))
    context = browser.new_context(**context_args(Setup(storage_state="auth.json"), tmp_path))
    page = context.new_page()
    page.goto(site.put("/a", "x"))

    token = page.evaluate("() => localStorage.token")
    context.close()

    assert token == "t1"


def test_a_missing_storage_state_file_is_a_case_error(tmp_path: Path) -> None:
    with pytest.raises(CaseError, match=r"setup\.storage_state: there is no file"):
        context_args(Setup(storage_state="auth.json"), tmp_path)


def test_service_workers_cannot_answer_past_the_policy(tmp_path: Path) -> None:
    assert context_args(Setup(), tmp_path) == {"service_workers": "block"}


def test_a_page_sees_the_browser_that_the_case_describes(
    browser: Browser, site: Site, tmp_path: Path
) -> None:
    setup = Setup.model_validate(
        {
            "viewport": {"width": 390, "height": 700},
            "locale": "de_DE",
            "timezone_id": "Asia/Tokyo",
            "geolocation": {"latitude": 52.5, "longitude": 13.4},
            "permissions": ["geolocation"],
            "color_scheme": "dark",
        }
    )
    context = browser.new_context(**context_args(setup, tmp_path))
    page = context.new_page()
    page.goto(site.put("/a", "x"))

    seen = page.evaluate(
        """async () => [innerWidth, innerHeight, navigator.language, (1234.5).toLocaleString(),
        new Date(0).getHours(), matchMedia('(prefers-color-scheme: dark)').matches,
        await new Promise(done => navigator.geolocation.getCurrentPosition(
            found => done(found.coords.latitude), refused => done(refused.message)))]"""
    )
    context.close()

    assert seen == [390, 700, "de-DE", "1.234,5", 9, True, 52.5]


@pytest.mark.parametrize("fixed", [True, False])
def test_a_page_sees_the_time_of_the_case(browser: Browser, site: Site, fixed: bool) -> None:
    setup = Setup.model_validate({"clock": {"time": "2026-04-03T09:00:00+02:00", "fixed": fixed}})
    context = browser.new_context()
    set_clock(context, setup)
    page = context.new_page()
    page.goto(site.put("/a", "x"))

    first = page.evaluate("() => new Date().toISOString()")
    page.wait_for_timeout(1_100)
    second = page.evaluate("() => new Date().toISOString()")
    context.close()

    assert first.startswith("2026-04-03T07:00:0")
    assert (second == first) is fixed


def test_credentials_go_to_their_origin_alone_and_past_the_proxy(
    cell_browser: Browser, site: Site, other_site: Site, tmp_path: Path
) -> None:
    asking = {"www-authenticate": 'Basic realm="shop"'}
    wanted = site.put("/a", "who?", status=401, headers=asking)
    other = other_site.put("/a", "who?", status=401, headers=asking)
    setup = Setup.model_validate(
        {"http_credentials": {"username": "ana", "password": "<secret:pin>"}}
    )
    args = context_args(
        setup, tmp_path, wanted, lambda text: text.replace("<secret:pin>", "hunter22")
    )
    policy = OriginPolicy(wanted, (other_site.url,))
    with guarded_page(
        lambda given: cell_browser.new_context(**given).new_page(), args, policy, print
    ) as page:
        page.goto(wanted)
        page.goto(other)
        page.context.close()

    sent = "Basic " + base64.b64encode(b"ana:hunter22").decode()
    assert site.authorizations == [sent]
    assert other_site.hits == ["/a"]
    assert other_site.authorizations == []
    assert "hunter22" not in str(setup.of_browser())


def test_cookies_are_set_for_the_entry_page_unless_they_say_otherwise(
    fresh_context: BrowserContext, site: Site
) -> None:
    cookies = (
        Cookie(name="a", value="1"),
        Cookie(name="b", value="2", domain="other.example"),
        Cookie(name="c", value="<secret:pin>", url="http://third.example/x"),
    )

    add_cookies(fresh_context, Setup(cookies=cookies), site.url, _reveal)

    found = {(c.get("name"), c.get("value"), c.get("domain")) for c in fresh_context.cookies()}
    assert found == {
        ("a", "1", "127.0.0.1"),
        ("b", "2", "other.example"),
        ("c", PIN, "third.example"),
    }


@pytest.mark.parametrize("quote", ["'", '"', "`"])
def test_setup_code_gets_secrets_in_any_quotes(blank: Page, quote: str) -> None:
    assert run_setup_js(blank, f"window.pin = {quote}<secret:pin>{quote}", reveal=_reveal) is None
    assert blank.evaluate("window.pin") == PIN


@pytest.mark.parametrize(
    "js",
    [
        "() => { document.title = 'done' }",
        "document.title = 'done'",
        "const words = ['do', 'ne']; document.title = words.join('') // joined",
        "async () => { await new Promise(r => setTimeout(r, 50)); document.title = 'done' }",
        "new Promise(r => setTimeout(r, 50)).then(() => { document.title = 'done' })",
    ],
)
def test_setup_code_may_be_a_function_an_expression_or_statements(blank: Page, js: str) -> None:
    assert run_setup_js(blank, js) is None
    assert blank.title() == "done"


def test_setup_code_runs_under_a_strict_content_policy(blank: Page, site: Site) -> None:
    blank.goto(site.put("/a", "x", headers={"content-security-policy": "default-src 'none'"}))

    assert run_setup_js(blank, "document.title = 'done'") is None


@pytest.mark.parametrize(
    ("js", "problem"),
    [
        ("() => { throw new Error('no such user') }", "no such user"),
        ("() => JSON.parse('{')", "JSON"),
        ("function (", "SyntaxError"),
        ("() => { while (true); }", "Timeout 500ms"),
        ("() => new Promise(() => {})", "Timeout 500ms"),
    ],
)
def test_setup_code_that_fails_is_a_navigation_failure(page: Page, js: str, problem: str) -> None:
    failure = run_setup_js(page, js, timeout_ms=500)

    assert failure is not None
    assert failure.kind == "navigation"
    assert failure.message.startswith("setup.js failed: ")
    assert problem in failure.message
