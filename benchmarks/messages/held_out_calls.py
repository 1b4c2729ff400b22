"""Calls and statuses that no rule of the classifier was written against."""

import http.client
import json
import re
import socket
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing

from browser_errors import PAGE, SHORT, Act
from playwright.sync_api import Browser, expect
from provoked import Provoked, raised

CALLS: tuple[tuple[Act, str, str], ...] = (
    (lambda p: p.get_by_alt_text("Logo").click(timeout=SHORT), "DATA_NOT_FOUND", "not_found"),
    (lambda p: p.get_by_test_id("cart").dblclick(timeout=SHORT), "DATA_NOT_FOUND", "not_found"),
    (lambda p: p.locator("#none").uncheck(timeout=SHORT), "DATA_NOT_FOUND", "not_found"),
    (lambda p: p.locator("#none").screenshot(timeout=SHORT), "DATA_NOT_FOUND", "not_found"),
    (lambda p: p.locator("#none").bounding_box(timeout=SHORT), "DATA_NOT_FOUND", "not_found"),
    (lambda p: p.fill("text=Nobody", "x", timeout=SHORT), "DATA_NOT_FOUND", "not_found"),
    (lambda p: p.locator("#size").select_option(index=9, timeout=SHORT), "DATA_NOT_FOUND",
     "not_found"),
    (lambda p: p.wait_for_selector("text=Done", timeout=SHORT), "DATA_NOT_FOUND", "not_found"),
    (lambda p: p.wait_for_event("console", timeout=SHORT), "DATA_NOT_FOUND", "wait_timeout"),
    (lambda p: p.wait_for_event("worker", timeout=SHORT), "DATA_NOT_FOUND", "wait_timeout"),
    (lambda p: p.wait_for_url(re.compile("basket"), timeout=SHORT), "DATA_NOT_FOUND",
     "wait_timeout"),
    (lambda p: p.locator("#hidden").check(timeout=SHORT), "PARAMETER_ERROR", "element_mismatch"),
    (lambda p: p.locator("#under").tap(timeout=SHORT), "PARAMETER_ERROR", "script_error"),
    (lambda p: p.locator("#under").dblclick(timeout=SHORT), "RESOURCE_CONFLICT",
     "not_actionable"),
    (lambda p: p.locator("#hidden").hover(timeout=SHORT), "RESOURCE_CONFLICT", "not_actionable"),
    (lambda p: p.locator("#locked").clear(timeout=SHORT), "RESOURCE_CONFLICT", "not_actionable"),
    (lambda p: p.locator("option").first.click(timeout=SHORT), "RESOURCE_CONFLICT",
     "not_actionable"),
    (lambda p: p.locator("button").click(timeout=SHORT), "PARAMETER_ERROR", "strict_mode"),
    (lambda p: p.locator("input").press("Enter", timeout=SHORT), "PARAMETER_ERROR",
     "strict_mode"),
    (lambda p: p.get_by_role("textbox").fill("x", timeout=SHORT), "PARAMETER_ERROR",
     "strict_mode"),
    (lambda p: p.locator("h1").select_option("x", timeout=SHORT), "PARAMETER_ERROR",
     "element_mismatch"),
    (lambda p: p.locator("#size").fill("x", timeout=SHORT), "PARAMETER_ERROR",
     "element_mismatch"),
    (lambda p: p.locator("#up").check(timeout=SHORT), "PARAMETER_ERROR", "element_mismatch"),
    (lambda p: p.locator("h1").uncheck(timeout=SHORT), "PARAMETER_ERROR", "element_mismatch"),
    (lambda p: p.locator("div:nth-child(").count(), "PARAMETER_ERROR", "script_error"),
    (lambda p: p.locator("xpath=//a[text()='x'").count(), "PARAMETER_ERROR", "script_error"),
    (lambda p: p.locator("css=a >> foo=b").count(), "PARAMETER_ERROR", "script_error"),
    (lambda p: p.keyboard.press("Control+Foo"), "PARAMETER_ERROR", "script_error"),
    (lambda p: p.mouse.click(1), "PARAMETER_ERROR", "script_error"),  # type: ignore[call-arg]
    (lambda p: p.goto("shop/basket"), "PARAMETER_ERROR", "script_error"),
    (lambda p: p.evaluate("() => window.app.store.get()"), "PARAMETER_ERROR", "script_error"),
    (lambda p: p.evaluate("() => { throw new RangeError('bad count') }"), "PARAMETER_ERROR",
     "script_error"),
    (lambda p: p.evaluate("() => BigInt('x')"), "PARAMETER_ERROR", "script_error"),
    (lambda p: expect(p.locator("h1")).to_have_class("big", timeout=SHORT), "VALIDATION_ERROR",
     "claim"),
    (lambda p: expect(p.locator("#box")).to_be_focused(timeout=SHORT), "VALIDATION_ERROR",
     "claim"),
    (lambda p: expect(p.locator("#none")).to_be_visible(timeout=SHORT), "VALIDATION_ERROR",
     "claim"),
    (lambda p: expect(p.locator("#name")).to_be_empty(timeout=SHORT), "VALIDATION_ERROR",
     "claim"),
    (lambda p: expect(p.locator("h1")).to_have_css("color", "red", timeout=SHORT),
     "VALIDATION_ERROR", "claim"),
)  # fmt: skip
SCRIPTS = (
    "'a'.join(None)",
    "dict([1])",
    "'abc'[9]",
    "{}['price']",
    "[].index(4)",
    "str(1, 2, 3)",
    "open_page()",
    "x = y + 1",
    "for i in range(3) pass",
    "def click(:\n  pass",
    "(1).foo",
    "set()[0]",
    "bytes('ä', 'ascii')",
    "import nothing_here",
    "'{:d}'.format('x')",
    "float('1.234,50')",
    "chr(-1)",
    "10 ** 400 * 1.0",
    "iter(5)",
    "raise NotImplementedError",
)
SQL = (
    ("insert into a values (1, 'x', 'y')", "PARAMETER_ERROR"),
    ("delete from nobody", "DATA_NOT_FOUND"),
    ("insert into a values ('k', 2)", "RESOURCE_CONFLICT"),
    ("update a set amount = -1", "VALIDATION_ERROR"),
    ("update a set code = null", "VALIDATION_ERROR"),
    ("drop tabel a", "PARAMETER_ERROR"),
)
BODIES = (
    (401, {"detail": "Token expired"}, "PERMISSION_ERROR"),
    (403, {"error": "insufficient_scope"}, "PERMISSION_ERROR"),
    (404, {"title": "Unknown order", "status": 404}, "DATA_NOT_FOUND"),
    (409, {"error": "version mismatch"}, "RESOURCE_CONFLICT"),
    (422, {"errors": {"amount": ["too small"]}}, "VALIDATION_ERROR"),
    (400, {"message": "bad filter"}, "PARAMETER_ERROR"),
    (500, {"error": "unexpected"}, "SERVICE_UNAVAILABLE"),
    (503, {"error": "maintenance"}, "SERVICE_UNAVAILABLE"),
    (429, {"error": "slow down"}, "SERVICE_UNAVAILABLE"),
    (402, {"error": "card declined"}, "BUSINESS_ERROR"),
)
SAYS_NOTHING = ("Error", "failed", "Oops! That did not work.", "操作失败", "[object Object]", "?")


def held_out_calls(browser: Browser) -> Iterator[Provoked]:
    """Yield calls to a page that cannot answer them."""
    page = browser.new_page()
    page.set_content(PAGE)
    for number, (act, label, kind) in enumerate(CALLS):
        try:
            said = raised(act, page)
        except AssertionError:
            continue
        yield Provoked(*said, None, label, kind, f"playwright: held out {number + 1}")
    page.close()


def held_out_errors() -> Iterator[Provoked]:
    """Yield errors of Python, SQLite and the network, and statuses with a JSON body."""
    for code in SCRIPTS:
        kind, text = raised(exec, code, {})
        yield Provoked(kind, text, None, "PARAMETER_ERROR", "script_error", f"python: {code!r}")
    for statement, label in SQL:
        with closing(sqlite3.connect(":memory:")) as base:
            base.executescript(
                "create table a (code text not null unique, amount integer check (amount > 0));"
                "insert into a values ('k', 1);"
            )
            said = raised(base.execute, statement)
        yield Provoked(*said, None, label, "", f"sqlite: {statement}")
    for status, body, label in BODIES:
        yield Provoked("", json.dumps(body), status, label, "", f"HTTP {status} with JSON")
    for text in SAYS_NOTHING:
        yield Provoked("Error", text, None, "UNKNOWN", "", "javascript: throw new Error(text)")
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        threading.Thread(target=lambda: server.accept()[0].close(), daemon=True).start()
        client = http.client.HTTPConnection("127.0.0.1", server.getsockname()[1], timeout=1)
        client.request("GET", "/")
        kind, text = raised(client.getresponse)
    yield Provoked(kind, text, None, "SERVICE_UNAVAILABLE", "", "python: a closed connection")
