"""Playwright and Chromium's network again: calls and addresses that the first corpus lacks."""

import os
import socket
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from typing import Any

from browser_errors import Act
from playwright.sync_api import Browser, Page, Playwright, Route, expect
from provoked import Provoked, raised

WAIT = 600
SHOP = """<!doctype html><html lang=en><title>Stock</title><h1>仓库 Warehouse</h1>
<nav><a href="#a">Items</a><a href="#b">Items</a></nav>
<form><fieldset disabled><input id=qty value=1></fieldset>
<label>Supplier <input id=supplier aria-disabled=true></label>
<label>备注 <textarea id=note readonly>old</textarea></label>
<select id=unit multiple><option>kg<option>g</select><input type=range id=level min=0 max=9>
<input type=color id=tint><input type=time id=hour><input type=hidden id=token value=t>
<input type=radio name=r id=r1><input type=radio name=r id=r2 disabled></form>
<table><tr><td>Milk</td><td><button>Edit</button></td></tr><tr><td>Tea</td>
<td><button>Edit</button></td></tr></table>
<details><summary>More</summary><button id=folded>Archive</button></details>
<div style="opacity:0;visibility:hidden"><button id=ghost>Ghost</button></div>
<dialog id=d><button id=ok>OK</button></dialog>
<div style="position:fixed;inset:auto 0 0 0;height:90%;background:#fff" id=banner>Cookies?</div>
<svg width=10 height=10><rect id=shape width=10 height=10 /></svg><canvas id=c></canvas>
<iframe name=help srcdoc="<p>help</p>"></iframe>"""
MISSING: tuple[Act, ...] = (
    lambda p: p.get_by_role("link", name="Suppliers").click(timeout=WAIT),
    lambda p: p.get_by_role("row", name="Coffee").get_by_role("button").click(timeout=WAIT),
    lambda p: p.get_by_role("row").filter(has_text="咖啡").click(timeout=WAIT),
    lambda p: p.get_by_title("Close").click(timeout=WAIT),
    lambda p: p.get_by_label("供应商").fill("x", timeout=WAIT),
    lambda p: p.get_by_placeholder("数量").fill("3", timeout=WAIT),
    lambda p: p.locator("button").filter(has_text="Delete").first.click(timeout=WAIT),
    lambda p: p.locator("tr").nth(9).locator("td").first.inner_text(timeout=WAIT),
    lambda p: p.locator("xpath=//h2").inner_html(timeout=WAIT),
    lambda p: p.locator("#gone").input_value(timeout=WAIT),
    lambda p: p.locator("#gone").evaluate("e => e.id", timeout=WAIT),
    lambda p: p.locator("#gone").focus(timeout=WAIT),
    lambda p: p.locator("#gone").select_text(timeout=WAIT),
    lambda p: p.locator("#gone").press_sequentially("x", timeout=WAIT),
    lambda p: p.locator("#gone").is_enabled(timeout=WAIT),
    lambda p: p.locator("#gone").drag_to(p.locator("h1"), timeout=WAIT),
    lambda p: p.dblclick("text=Nowhere", timeout=WAIT),
    lambda p: p.select_option("#gone", "x", timeout=WAIT),
    lambda p: p.eval_on_selector("#gone", "e => e.id"),
    lambda p: p.locator("#unit").select_option(["kg", "lb"], timeout=WAIT),
    lambda p: p.frame_locator("iframe[name=other]").get_by_text("help").click(timeout=WAIT),
    lambda p: p.frame_locator("iframe").get_by_text("FAQ").click(timeout=WAIT),
)
BLOCKED: tuple[Act, ...] = (
    lambda p: p.locator("#qty").fill("2", timeout=WAIT),
    lambda p: p.locator("#note").fill("new", timeout=WAIT),
    lambda p: p.locator("#supplier").fill("x", timeout=WAIT),
    lambda p: p.locator("#folded").click(timeout=WAIT),
    lambda p: p.locator("#ghost").click(timeout=WAIT),
    lambda p: p.locator("#ok").click(timeout=WAIT),
    lambda p: p.locator("#r2").check(timeout=WAIT),
    lambda p: p.locator("h1 >> nth=0").click(timeout=WAIT, position={"x": 5, "y": 900}),
    lambda p: p.get_by_text("More").hover(timeout=WAIT),
    lambda p: p.locator("#ghost").wait_for(state="visible", timeout=WAIT),
    lambda p: p.locator("#banner").wait_for(state="detached", timeout=WAIT),
    lambda p: p.locator("#token").click(timeout=WAIT),
)
SEVERAL: tuple[Act, ...] = (
    lambda p: p.get_by_role("button", name="Edit").click(timeout=WAIT),
    lambda p: p.get_by_role("link", name="Items").hover(timeout=WAIT),
    lambda p: p.locator("td").inner_text(timeout=WAIT),
    lambda p: p.locator("tr").text_content(timeout=WAIT),
    lambda p: expect(p.locator("td")).to_have_text("Milk", timeout=WAIT),
    lambda p: p.frame_locator("body, iframe").locator("p").click(timeout=WAIT),
)
WRONG_KIND: tuple[Act, ...] = (
    lambda p: p.locator("#unit").fill("kg", timeout=WAIT),
    lambda p: p.locator("#level").fill("many", timeout=WAIT),
    lambda p: p.locator("#tint").fill("red", timeout=WAIT),
    lambda p: p.locator("#hour").fill("noon", timeout=WAIT),
    lambda p: p.locator("h1").check(timeout=WAIT),
    lambda p: p.locator("table").select_option("Milk", timeout=WAIT),
    lambda p: p.locator("#c").input_value(timeout=WAIT),
    lambda p: p.locator("#r1").uncheck(timeout=WAIT),
    lambda p: p.locator("h1").set_input_files(files=[], timeout=WAIT),
    lambda p: p.locator("h1").content_frame.locator("p").click(timeout=WAIT),
)
CODE: tuple[Act, ...] = (
    lambda p: p.locator("td:eq(0)").click(timeout=WAIT),
    lambda p: p.locator("a[href=#a").count(),
    lambda p: p.locator("xpath=///").count(),
    lambda p: p.locator("text=/[/").click(timeout=WAIT),
    lambda p: p.locator("role=button[name=Edit").count(),
    lambda p: p.locator("button >> visble=true").count(),
    lambda p: p.locator("").click(timeout=WAIT),
    lambda p: p.keyboard.press("Cmd+S"),
    lambda p: p.keyboard.down("Umschalt"),
    lambda p: p.goto("/stock"),
    lambda p: p.goto("htp://example.org"),
    lambda p: p.goto(""),
    lambda p: p.locator("h1").click(button="centre"),  # type: ignore[arg-type]
    lambda p: p.locator("h1").click(modifiers=["Ctrl"]),  # type: ignore[list-item]
    lambda p: p.locator("h1").wait_for(state="shown"),  # type: ignore[arg-type]
    lambda p: p.get_by_role("button").clik(),  # type: ignore[attr-defined]
    lambda p: p.get_by_role(),  # type: ignore[call-arg]
    lambda p: p.locator("#unit").select_option({"lable": "kg"}),  # type: ignore[arg-type]
    lambda p: p.locator("#supplier").fill(5),  # type: ignore[arg-type]
    lambda p: p.screenshot(quality=50),
    lambda p: p.emulate_media(media="paper"),  # type: ignore[arg-type]
    lambda p: p.evaluate("() => window.stock.items"),
    lambda p: p.evaluate("document.getElementById('gone').textContent"),
    lambda p: p.evaluate("() => undefinedThing + 1"),
    lambda p: p.evaluate("() => { let a = ; }"),
    lambda p: p.evaluate("() => decodeURIComponent('%')"),
    lambda p: p.evaluate("() => document.querySelector('a[')"),
    lambda p: p.evaluate("() => [].reduce((a, b) => a)"),
    lambda p: p.wait_for_function("() => nothing.here", timeout=WAIT),
)
UNTRUE: tuple[Act, ...] = (
    lambda p: expect(p).to_have_title("Shop", timeout=WAIT),
    lambda p: expect(p).to_have_url("http://x.example/done", timeout=WAIT),
    lambda p: expect(p.locator("h1")).to_have_text("Orders", timeout=WAIT),
    lambda p: expect(p.locator("h1")).not_to_be_visible(timeout=WAIT),
    lambda p: expect(p.locator("#supplier")).to_have_value("Ana", timeout=WAIT),
    lambda p: expect(p.locator("#r1")).to_be_checked(timeout=WAIT),
    lambda p: expect(p.locator("#qty")).to_be_enabled(timeout=WAIT),
    lambda p: expect(p.locator("#note")).to_be_editable(timeout=WAIT),
    lambda p: expect(p.locator("tr")).to_have_count(5, timeout=WAIT),
    lambda p: expect(p.locator("h1")).to_contain_text("库存", timeout=WAIT),
    lambda p: expect(p.locator("#unit")).to_have_values(["kg"], timeout=WAIT),
    lambda p: expect(p.locator("h1")).to_have_attribute("id", "top", timeout=WAIT),
    lambda p: expect(p.locator("#gone")).to_have_text("x", timeout=WAIT),
    lambda p: expect(p.locator("#ok")).to_be_visible(timeout=WAIT),
)
WAITED: tuple[Act, ...] = (
    lambda p: p.wait_for_url("**/basket", timeout=WAIT),
    lambda p: p.wait_for_function("() => document.title === 'Done'", timeout=WAIT),
    lambda p: p.wait_for_event("download", timeout=WAIT),
    lambda p: p.wait_for_event("popup", timeout=WAIT),
    lambda p: _entered(p.expect_request("**/save", timeout=WAIT)),
    lambda p: _entered(p.expect_file_chooser(timeout=WAIT)),
    lambda p: _entered(p.expect_navigation(timeout=WAIT)),
    lambda p: _entered(p.expect_console_message(timeout=WAIT)),
)
GROUPS: tuple[tuple[tuple[Act, ...], str, str], ...] = (
    (MISSING, "DATA_NOT_FOUND", "not_found"),
    (BLOCKED, "RESOURCE_CONFLICT", "not_actionable"),
    (SEVERAL, "PARAMETER_ERROR", "strict_mode"),
    (WRONG_KIND, "PARAMETER_ERROR", "element_mismatch"),
    (CODE, "PARAMETER_ERROR", "script_error"),
    (UNTRUE, "VALIDATION_ERROR", "claim"),
    (WAITED, "DATA_NOT_FOUND", "wait_timeout"),
)
ABORTED = {
    **dict.fromkeys(
        ("addressunreachable", "connectionaborted", "connectionclosed", "connectionfailed",
         "connectionrefused", "connectionreset", "internetdisconnected", "namenotresolved",
         "timedout", "failed", "aborted"),
        "SERVICE_UNAVAILABLE",
    ),
    **dict.fromkeys(("accessdenied", "blockedbyclient", "blockedbyresponse"), "PERMISSION_ERROR"),
}  # fmt: skip


def _entered(manager: Any) -> None:
    with manager:
        pass


def playwright_calls(browser: Browser) -> Iterator[Provoked]:
    """Yield calls that the page cannot answer, and things that went away under them."""
    for acts, label, kind in GROUPS:
        page = browser.new_page()
        page.set_content(SHOP)
        for number, act in enumerate(acts):
            try:
                said = raised(act, page)
            except AssertionError:
                continue
            yield Provoked(*said, None, label, kind, f"playwright: six {kind} {number + 1}")
        page.close()
    yield from _lost(browser)
    yield from _requests(browser)


def _lost(browser: Browser) -> Iterator[Provoked]:
    page = browser.new_page()
    page.set_content(SHOP)
    cell = page.query_selector("td")
    inner = page.frame("help")
    assert cell is not None
    assert inner is not None
    page.evaluate("() => document.body.replaceChildren()")
    for act in (
        lambda: cell.dblclick(timeout=WAIT),
        lambda: cell.fill("x", timeout=WAIT),
        lambda: inner.wait_for_selector("b", timeout=WAIT),
        lambda: inner.locator("p").inner_text(timeout=WAIT),
    ):
        yield Provoked(*raised(act), None, "RESOURCE_CONFLICT", "detached", "playwright: six gone")
    page.close()
    locator, context = page.locator("h1"), browser.new_context()
    other = context.new_page()
    context.close()
    for late in (
        lambda: locator.click(timeout=WAIT),
        lambda: page.reload(),
        lambda: page.screenshot(),
        lambda: other.locator("h1").count(),
        lambda: context.new_page(),
    ):
        yield Provoked(*raised(late), None, "SERVICE_UNAVAILABLE", "page_lost",
                       "playwright: six closed")  # fmt: skip


def _requests(browser: Browser) -> Iterator[Provoked]:
    """Yield failures of Playwright's own HTTP client."""
    page = browser.new_page()
    asked = page.request
    calls: tuple[tuple[Any, str], ...] = (
        (lambda: asked.get(f"http://127.0.0.1:{_unused()}/"), "SERVICE_UNAVAILABLE"),
        (lambda: asked.post("http://no-such-host.invalid/"), "SERVICE_UNAVAILABLE"),
        (lambda: asked.get("/stock"), "PARAMETER_ERROR"),
        (lambda: asked.get("ftp://example.org/"), "PARAMETER_ERROR"),
    )
    for act, label in calls:
        yield Provoked(*raised(act), None, label, "", "playwright: six request")
    page.close()


def _abort(code: str) -> Callable[[Route], None]:
    return lambda route: route.abort(code)


def _unused() -> int:
    with closing(socket.socket()) as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
    return port


def chromium_network(
    playwright: Playwright, launch: dict[str, Any], base: str
) -> Iterator[Provoked]:
    """Yield what pages and the console say of addresses that do not open, in two languages.

    Args:
        playwright: starts the browsers.
        launch: arguments of the launch.
        base: a server that answers `/STATUS` with an empty body.
    """
    browser = playwright.chromium.launch(**launch)
    for code, label in ABORTED.items():
        page = browser.new_page()
        page.route("**/*", _abort(code))
        said = raised(partial(page.goto, timeout=5000), f"{base}/200")
        yield Provoked(*said, None, label, "navigation", f"chromium: six {code}")
        page.close()
    yield from _scripted(browser, base)
    browser.close()
    for language in ("en-US", "zh-CN"):
        yield from _error_pages(playwright, launch, language)


def _scripted(browser: Browser, base: str) -> Iterator[Provoked]:
    """Yield failed requests as the script, the page's events and the console word them."""
    dead = f"http://127.0.0.1:{_unused()}"
    page = browser.new_page()
    page.goto(f"{base}/200")
    failed: list[str] = []
    told: list[str] = []
    page.on("requestfailed", lambda request: failed.append(request.failure or ""))
    page.on("console", lambda line: told.append(line.text))
    for url in (f"{dead}/", "http://no-such-host.invalid/", f"{dead.replace('http', 'https')}/x"):
        said = raised(partial(page.evaluate, "url => fetch(url)"), url)
        yield Provoked(*said, None, "SERVICE_UNAVAILABLE", "", "chromium: six fetch")
    page.wait_for_timeout(200)
    for text in dict.fromkeys([*failed, *told]):
        yield Provoked("", text, None, "SERVICE_UNAVAILABLE", "", "chromium: six console")
    told.clear()
    raised(
        partial(page.evaluate, "url => fetch(url)"), f"{base}/200".replace("127.0.0.1", "localhost")
    )
    page.wait_for_timeout(200)
    yield Provoked("", told[0], None, "PERMISSION_ERROR", "", "chromium: six other origin")
    page.close()


def _error_pages(
    playwright: Playwright, launch: dict[str, Any], language: str
) -> Iterator[Provoked]:
    """Yield the first lines of what Chromium shows instead of the page."""
    options = [*launch.get("args", []), "--headless=new", f"--lang={language}"]
    environ = {**os.environ, "LANGUAGE": language.replace("-", "_")}
    browser = playwright.chromium.launch(**{**launch, "args": options, "env": environ})
    urls = {
        f"http://127.0.0.1:{_unused()}/": "SERVICE_UNAVAILABLE",
        "http://no-such-host.invalid/": "SERVICE_UNAVAILABLE",
        "file:///no/such/file.html": "DATA_NOT_FOUND",
    }
    for url, label in urls.items():
        page: Page = browser.new_page()
        raised(partial(page.goto, timeout=5000), url)
        text = page.locator("#main-message").inner_text(timeout=3000)
        page.close()
        short = " ".join(text.split())[:300].replace(url, "http://shop.example/")
        yield Provoked("", short, None, label, "", f"chromium: {language} six error page")
    browser.close()
