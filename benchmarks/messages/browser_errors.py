"""Errors of Playwright and of Chromium's network, by doing to a page what cannot be done."""

import re
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import partial
from typing import Any

from playwright.sync_api import Browser, Page, expect
from provoked import Provoked, raised

PAGE = """<!doctype html><title>Shop</title>
<h1>订单 Orders</h1>
<button id=hidden style="display:none">Save</button>
<button id=off disabled>Buy now</button>
<div style="position:relative"><button id=under>Under</button>
  <div id=veil style="position:absolute;inset:0;background:#eee">Veil</div></div>
<button class=same>Add</button><button class=same>Add</button><button class=same>Add</button>
<div id=plain>text</div><input id=name value=Ana><input id=locked value=x readonly>
<input type=checkbox id=box><input type=file id=up><input type=date id=day>
<select id=size><option>S<option>M<option disabled>L</select>
<button id=moves style="position:relative;animation:go .2s infinite alternate linear">Moves</button>
<style>@keyframes go { from { left: 0 } to { left: 300px } }</style>
<a href="/next">Next</a><iframe srcdoc="<button>In</button>"></iframe>
<button id=zero style="width:0;height:0;padding:0;border:0"></button>
"""
SHORT = 1000
"""Milliseconds that a call may wait; messages name this time, but mean the same with any other."""

Act = Callable[[Page], object]

NOT_FOUND: tuple[Act, ...] = (
    lambda p: p.get_by_role("button", name="Checkout").click(timeout=SHORT),
    lambda p: p.get_by_text("立即购买").click(timeout=SHORT),
    lambda p: p.get_by_label("Password").fill("x", timeout=SHORT),
    lambda p: p.locator("#missing").inner_text(timeout=SHORT),
    lambda p: p.locator("#missing").get_attribute("href", timeout=SHORT),
    lambda p: p.locator(".same").nth(7).click(timeout=SHORT),
    lambda p: p.get_by_placeholder("Search").press("Enter", timeout=SHORT),
    lambda p: p.wait_for_selector("#missing", timeout=SHORT),
    lambda p: p.locator("#missing").wait_for(timeout=SHORT),
    lambda p: p.frame_locator("#other").get_by_role("button").click(timeout=SHORT),
    lambda p: p.locator("#missing").scroll_into_view_if_needed(timeout=SHORT),
    lambda p: p.locator("#missing").check(timeout=SHORT),
    lambda p: p.locator("#size").select_option("XXL", timeout=SHORT),
    lambda p: p.locator("#size").select_option(label="Größe 9", timeout=SHORT),
    lambda p: p.locator("#missing").text_content(timeout=SHORT),
    lambda p: p.locator("#missing").set_input_files([], timeout=SHORT),
    lambda p: p.drag_and_drop("#missing", "#plain", timeout=SHORT),
    lambda p: p.hover("#missing", timeout=SHORT),
    lambda p: p.locator("#up").set_input_files("no-such-file.pdf"),
)
NOT_ACTIONABLE: tuple[Act, ...] = (
    lambda p: p.locator("#hidden").click(timeout=SHORT),
    lambda p: p.locator("#off").click(timeout=SHORT),
    lambda p: p.locator("#under").click(timeout=SHORT),
    lambda p: p.locator("#under").hover(timeout=SHORT),
    lambda p: p.locator("#hidden").wait_for(timeout=SHORT),
    lambda p: p.locator("#locked").fill("y", timeout=SHORT),
    lambda p: p.locator("#moves").click(timeout=SHORT),
    lambda p: p.locator("#off").click(timeout=SHORT, trial=True),
    lambda p: p.locator("#zero").click(timeout=SHORT),
    lambda p: p.locator("#hidden").dblclick(timeout=SHORT),
    lambda p: p.locator("#size").select_option("L", timeout=SHORT),
)
AMBIGUOUS: tuple[Act, ...] = (
    lambda p: p.locator(".same").click(timeout=SHORT),
    lambda p: p.get_by_role("button", name="Add").click(timeout=SHORT),
    lambda p: p.get_by_text("Add").inner_text(timeout=SHORT),
    lambda p: p.locator("button").get_attribute("id", timeout=SHORT),
    lambda p: p.locator("input").fill("x", timeout=SHORT),
)
MISUSED: tuple[Act, ...] = (
    lambda p: p.locator("#plain").fill("x", timeout=SHORT),
    lambda p: p.locator("#plain").check(timeout=SHORT),
    lambda p: p.locator("#name").select_option("x", timeout=SHORT),
    lambda p: p.locator("#plain").set_input_files([], timeout=SHORT),
    lambda p: p.locator("#box").fill("x", timeout=SHORT),
    lambda p: p.locator("#day").fill("tomorrow", timeout=SHORT),
    lambda p: p.locator("#plain").input_value(timeout=SHORT),
    lambda p: p.locator("#plain").is_checked(timeout=SHORT),
    lambda p: p.locator("#up").fill("a.txt", timeout=SHORT),
)
WRONG: tuple[Act, ...] = (
    lambda p: p.locator("button[").click(timeout=SHORT),
    lambda p: p.locator("//button[").click(timeout=SHORT),
    lambda p: p.locator("role=nonsense[x=1]").click(timeout=SHORT),
    lambda p: p.locator(":has-text(").click(timeout=SHORT),
    lambda p: p.locator("text=Add >> nth=abc").click(timeout=SHORT),
    lambda p: p.locator("button:visibel").count(),
    lambda p: p.query_selector("button..x"),
    lambda p: p.keyboard.press("Entr"),
    lambda p: p.goto("not a url"),
    lambda p: p.get_by_role("button").click(button="middel"),  # type: ignore[arg-type]
    lambda p: p.locator("#name").press("Ctrl+A"),
    lambda p: p.wait_for_load_state("ready"),  # type: ignore[arg-type]
    lambda p: p.get_by_role("button").click("left"),  # type: ignore[call-arg]
    lambda p: p.locator("#name").fill(),  # type: ignore[call-arg]
    lambda p: p.screenshot(type="bmp"),  # type: ignore[arg-type]
    lambda p: p.mouse.click("a", 2),  # type: ignore[arg-type]
    lambda p: p.set_viewport_size({"width": "a", "height": 1}),  # type: ignore[typeddict-item]
)
PAGE_SCRIPTS: tuple[Act, ...] = (
    lambda p: p.evaluate("() => missing()"),
    lambda p: p.evaluate("() => document.querySelector('#missing').click()"),
    lambda p: p.evaluate("() => null.value"),
    lambda p: p.evaluate("() => { return ("),
    lambda p: p.evaluate("() => JSON.parse('{')"),
    lambda p: p.evaluate("() => document.body.click.call(1)"),
    lambda p: p.locator("#name").evaluate("e => e.rows.length"),
)
CLAIMS: tuple[Act, ...] = (
    lambda p: expect(p.locator("h1")).to_have_text("Invoices", timeout=SHORT),
    lambda p: expect(p.locator("h1")).to_contain_text("发票", timeout=SHORT),
    lambda p: expect(p).to_have_url(re.compile("/account$"), timeout=SHORT),
    lambda p: expect(p).to_have_title("Bank", timeout=SHORT),
    lambda p: expect(p.locator(".same")).to_have_count(2, timeout=SHORT),
    lambda p: expect(p.locator("#box")).to_be_checked(timeout=SHORT),
    lambda p: expect(p.locator("#name")).to_have_value("Bob", timeout=SHORT),
    lambda p: expect(p.locator("#off")).to_be_enabled(timeout=SHORT),
    lambda p: expect(p.locator("#hidden")).to_be_visible(timeout=SHORT),
    lambda p: expect(p.locator("#plain")).to_be_hidden(timeout=SHORT),
    lambda p: expect(p.locator("#plain")).to_have_attribute("class", "x", timeout=SHORT),
    lambda p: expect(p.locator("h1")).not_to_have_text("订单 Orders", timeout=SHORT),
)
WAITS: tuple[Act, ...] = (
    lambda p: p.wait_for_url("**/done", timeout=SHORT),
    lambda p: p.wait_for_function("() => window.done", timeout=SHORT),
    lambda p: _waits(p.expect_popup(timeout=SHORT)),
    lambda p: _waits(p.expect_download(timeout=SHORT)),
    lambda p: _waits(p.expect_response("**/api", timeout=SHORT)),
    lambda p: p.wait_for_event("dialog", timeout=SHORT),
)
GROUPS: tuple[tuple[tuple[Act, ...], str, str], ...] = (
    (NOT_FOUND, "DATA_NOT_FOUND", "not_found"),
    (NOT_ACTIONABLE, "RESOURCE_CONFLICT", "not_actionable"),
    (AMBIGUOUS, "PARAMETER_ERROR", "strict_mode"),
    (MISUSED, "PARAMETER_ERROR", "element_mismatch"),
    (WRONG, "PARAMETER_ERROR", "script_error"),
    (PAGE_SCRIPTS, "PARAMETER_ERROR", "script_error"),
    (CLAIMS, "VALIDATION_ERROR", "claim"),
    (WAITS, "DATA_NOT_FOUND", "wait_timeout"),
)


def _waits(manager: Any) -> None:
    with manager:
        pass


def page_errors(browser: Browser) -> Iterator[Provoked]:
    """Yield calls that a page cannot answer."""
    for acts, label, kind in GROUPS:
        page = browser.new_page()
        page.set_content(PAGE)
        for number, act in enumerate(acts):
            try:
                said = raised(act, page)
            except AssertionError:
                continue
            yield Provoked(*said, None, label, kind, f"playwright: {kind} {number + 1}")
        page.close()


def lost_errors(browser: Browser) -> Iterator[Provoked]:
    """Yield elements, frames and pages that went away."""
    page = browser.new_page()
    page.set_content(PAGE)
    handle = page.wait_for_selector("#plain")
    assert handle is not None
    frame = page.frames[1]
    page.evaluate(
        "() => { document.querySelector('#plain').remove(); "
        "document.querySelector('iframe').remove() }"
    )
    gone = (
        lambda: handle.click(timeout=SHORT),
        lambda: handle.hover(timeout=SHORT),
        lambda: handle.scroll_into_view_if_needed(timeout=SHORT),
        lambda: frame.click("button", timeout=SHORT),
        lambda: frame.evaluate("() => 1"),
        lambda: frame.locator("button").inner_text(timeout=SHORT),
    )
    for act in gone:
        yield Provoked(*raised(act), None, "RESOURCE_CONFLICT", "detached", "playwright: gone")
    leave = "() => { location.href = 'about:blank?2'; return new Promise(() => {}) }"
    said = raised(lambda: page.evaluate(leave))
    yield Provoked(*said, None, "RESOURCE_CONFLICT", "detached", "playwright: moved on")
    page.close()
    closed = (
        lambda: page.click("#a"),
        lambda: page.goto("about:blank"),
        lambda: page.title(),
        lambda: page.locator("#a").inner_text(),
    )
    for act in closed:
        yield Provoked(*raised(act), None, "SERVICE_UNAVAILABLE", "page_lost", "playwright: closed")


_NO_BODY = b"\r\nContent-Length: 0\r\n\r\n"
RAW = {
    "empty": b"",
    "garbage": b"SSH-2.0-OpenSSH_9.6\r\n\r\n",
    "chunked": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    "headers": b"HTTP/1.1 200 OK\r\nX: " + b"a" * 400_000 + b"\r\n\r\n",
    "loop": b"HTTP/1.1 302 Found\r\nConnection: close\r\nLocation: /loop" + _NO_BODY,
    "nowhere": b"HTTP/1.1 302 Found\r\nLocation: http://" + _NO_BODY,
    "none": b"HTTP/1.1 204 No Content\r\n\r\n",
    "unsafe": b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:22/" + _NO_BODY,
    "lengths": b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nabcde",
    "encoding": b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 4\r\n\r\nabcd",
}


@contextmanager
def raw_server() -> Iterator[str]:
    """Run a server that breaks the protocol as the path says, and yield its address."""
    listening = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        while True:
            try:
                peer, _ = listening.accept()
            except OSError:
                return
            with closing(peer):
                asked = peer.recv(65536).split(b" ")
                name = asked[1].decode("latin-1").strip("/") if len(asked) > 1 else "garbage"
                if name == "hang":
                    threading.Event().wait(0.8)
                    continue
                peer.sendall(RAW.get(name, RAW["garbage"]))

    threading.Thread(target=serve, daemon=True).start()
    with closing(listening):
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"


def network_errors(browser: Browser) -> Iterator[Provoked]:
    """Yield addresses that Chromium cannot open."""
    with raw_server() as base, closing(socket.socket()) as taken:
        taken.bind(("127.0.0.1", 0))
        urls = {
            "refused": f"http://127.0.0.1:{taken.getsockname()[1]}/",
            "no such host": "http://no-such-host.invalid/",
            "not TLS": base.replace("http:", "https:") + "/",
            "unsafe port": "http://127.0.0.1:6000/",
            "no file": "file:///no/such/file.html",
            "hang": f"{base}/hang",
        } | {name: f"{base}/{name}" for name in RAW}
        for name, url in urls.items():
            page = browser.new_page()
            label = "SERVICE_UNAVAILABLE"
            if name in ("unsafe port", "unsafe", "nowhere"):
                label = "PARAMETER_ERROR"
            if name == "no file":
                label = "DATA_NOT_FOUND"
            try:
                said = raised(partial(page.goto, timeout=400), url)
            except AssertionError:
                continue
            finally:
                page.close()
            yield Provoked(*said, None, label, "navigation", f"chromium: {name}")
        context = browser.new_context(offline=True)
        page = context.new_page()
        said = raised(lambda: page.goto(base))
        yield Provoked(*said, None, "SERVICE_UNAVAILABLE", "navigation", "chromium: offline")
        context.close()
