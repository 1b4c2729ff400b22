import socket
import threading
import time
from contextlib import suppress

import pytest
from local_site import Site
from playwright.sync_api import Browser, Page

from pytest_autoweb.browser.egress.late_requests import note_password
from pytest_autoweb.browser.page.opening import open_and_watch, open_page
from pytest_autoweb.browser.page.quiet import SOON_MS, STILL_MS, wait_until_quiet, watch

LIMIT = 10_000


def test_a_page_is_opened_anew_even_when_it_is_already_there(page: Page, site: Site) -> None:
    url = site.put("/a", "<h1>A</h1>")
    page.goto(url)
    page.evaluate("() => { document.title = 'left over' }")

    assert open_page(page, url, timeout_ms=LIMIT) is None
    assert page.title() == ""


def test_a_server_that_is_not_there_is_a_navigation_failure(page: Page) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}/"

    failure = open_page(page, url, timeout_ms=LIMIT)

    assert failure is not None
    assert failure.kind == "navigation"
    assert failure.evidence == {"url": url, "unreachable": url.rstrip("/")}
    assert failure.message == f"nothing answers at {url.rstrip('/')}"
    assert "\n" not in failure.message


def test_an_error_of_the_server_is_a_navigation_failure(page: Page, site: Site) -> None:
    failure = open_page(page, site.put("/a", "down", status=503), timeout_ms=LIMIT)

    assert failure is not None
    assert failure.message.endswith("/a answered 503")


def test_a_document_that_never_ends_is_a_navigation_failure(page: Page) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        url = f"http://127.0.0.1:{server.getsockname()[1]}/"

        def begin() -> None:
            with suppress(OSError):
                while True:
                    connection, _ = server.accept()
                    begun.append(connection)
                    connection.sendall(b"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\n\r\n<p>Tea")

        begun: list[socket.socket] = []
        threading.Thread(target=begin, daemon=True).start()
        failure = open_page(page, url, timeout_ms=1_500)
        page.goto("about:blank")
        for connection in begun:
            connection.close()

    assert failure is not None
    assert failure.message.startswith(f"{url} could not be opened: Timeout")


@pytest.mark.parametrize(
    ("target", "tail"), [("/login?next=1", ", a login page by its URL"), ("/home", "/home")]
)
def test_a_redirect_is_noted(page: Page, site: Site, target: str, tail: str) -> None:
    site.put(target, "<h1>there</h1>")
    url = site.put("/account", "", status=302, headers={"location": target})
    notes: list[str] = []

    assert open_page(page, url, timeout_ms=LIMIT, note=notes.append) is None
    assert len(notes) == 1
    assert notes[0].startswith(f"{url} led to ")
    assert notes[0].endswith(tail)


def test_a_page_that_is_not_found_is_not_the_models_failure(page: Page, site: Site) -> None:
    failure = open_page(page, site.url + "nothing", timeout_ms=LIMIT)

    assert failure is not None
    assert (failure.kind, failure.message) == ("navigation", f"{site.url}nothing answered 404")


def test_a_page_that_is_forbidden_is_noted_and_used(page: Page, site: Site) -> None:
    notes: list[str] = []
    url = site.put("/mine", "<h1>Log in first</h1>", status=403)

    assert open_page(page, url, timeout_ms=LIMIT, note=notes.append) is None
    assert notes == [f"{url} answered 403"]


def test_late_content_is_waited_for(page: Page, site: Site) -> None:
    site.put("/data", "late")
    url = site.put(
        "/spa",
        "<script>setTimeout(async () => { const r = await fetch('/data');"
        "document.body.append(await r.text()) }, 200)</script><body></body>",
    )

    open_page(page, url, timeout_ms=LIMIT)

    assert page.inner_text("body") == "late"


@pytest.mark.parametrize(
    ("script", "undisturbed"),
    [
        ("", True),
        ("setTimeout(() => document.body.append('late'), 600)", False),
        ("setTimeout(() => document.styleSheets[0].insertRule('p { color: red }'), 600)", False),
    ],
    ids=["still", "late", "restyled"],
)
def test_what_is_seen_while_a_page_is_waited_for_counts_if_it_stays_like_that(
    page: Page, site: Site, script: str, undisturbed: bool
) -> None:
    url = site.put("/a", f"<style></style><p>Tea</p><script>{script}</script>")
    seen = list[str]()
    # On a busy machine, a page may be watched too late to tell that nothing has happened.
    for _ in range(3):
        seen.clear()
        opened = open_and_watch(
            *(page, url),
            timeout_ms=LIMIT,
            note=lambda line: None,
            watched=lambda: seen.append(page.inner_text("body")),
        )
        if opened.undisturbed is undisturbed:
            break

    assert opened.undisturbed is undisturbed
    assert [seen[0] == page.inner_text("body"), len(seen)] == ["late" not in script, 1]


SLEEP = "const sleep = (ms) => new Promise((done) => setTimeout(done, ms));"
SHOW = "const show = () => { document.body.append('late') };"
COMES_LATE = {
    "a chain of timers": "(async () => { for (let i = 0; i < 4; i++) await sleep(100); show() })()",
    "a slow request": "fetch('/slow').then(show)",
    "one request after another": "fetch('/data').then(() => fetch('/slow')).then(show)",
    "a worker": "const code = 'const end = Date.now() + 250; while (Date.now() < end);"
    " postMessage(1)';"
    " new Worker(URL.createObjectURL(new Blob([code]))).onmessage = show",
    "a busy scheduler": "const c = new MessageChannel(); let left = 8; c.port1.onmessage = () => {"
    " const end = Date.now() + 30; while (Date.now() < end); if (--left) c.port2.postMessage(0);"
    " else show() }; addEventListener('load', () => c.port2.postMessage(0))",
    "frames beside others without end": "(function again() { requestAnimationFrame(again) })();"
    " let left = 5; const next = () => requestAnimationFrame("
    "() => --left ? next() : show()); next()",
    "idle moments": "let left = 5; const next = () => requestIdleCallback("
    "() => --left ? next() : show()); next()",
    "a task that is put off": "const delay = 200;"
    " scheduler.postTask(() => scheduler.postTask(show, { delay }), { delay })",
    "a file that is read": "(async () => { const file = new Blob(['x'.repeat(1e7)]);"
    " for (let i = 0; i < 6; i++) await file.text(); show() })()",
    "a file that a reader reads": "const file = new Blob(['x'.repeat(1e7)]); let left = 6;"
    " const reader = new FileReader(); const next = () => reader.readAsText(file);"
    " reader.onload = () => --left ? setTimeout(next) : show(); next()",
    "another page": "setTimeout(() => { location.href = '/other' }, 200)",
    "a picture made of a canvas": "const c = document.createElement('canvas');"
    " c.width = c.height = 2000; c.getContext('2d').fillRect(9, 9, 999, 999);"
    " const next = (n) => c.toBlob(() => n ? next(n - 1) : show()); next(2)",
    "questions to the browser": "(async () => { for (let i = 0; i < 9; i++) {"
    " await navigator.permissions.query({ name: 'geolocation' });"
    " await navigator.storage.estimate(); await cookieStore.set('a', 'b');"
    " await navigator.locks.request('a', () => sleep(1)) } show() })()",
    "a program that is compiled": "(async () => { const head = [0, 97, 115, 109, 1, 0, 0, 0];"
    " for (let i = 0; i < 9; i++) await WebAssembly.compile(new Uint8Array(head)); show() })()",
    "a file that is packed": "new Response(new Blob(['x'.repeat(1e7)]).stream()"
    ".pipeThrough(new CompressionStream('gzip'))).arrayBuffer().then(show)",
    "a picture within the page": "const image = new Image(); image.onload = show; image.src ="
    ' \'data:image/svg+xml,<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>\'',
    "a script within the page": "const script = document.createElement('script');"
    " script.src = 'data:text/javascript,1'; script.onload = show; document.head.append(script)",
    "a module within the page": "import('data:text/javascript,export default 1').then(show)",
    "a frame within the page": "document.body.insertAdjacentHTML('beforeend',"
    " '<iframe srcdoc=\"<p>Tea\"></iframe>'); document.querySelector('iframe').onload = show",
    "a step back": "history.pushState(1, ''); onpopstate = show; history.back()",
    "a change that is animated": "document.startViewTransition(() => sleep(99).then(show))",
    "the end of a transition": "document.body.style.transition = 'opacity .3s';"
    " document.body.ontransitionend = show; getComputedStyle(document.body).opacity;"
    " document.body.style.opacity = 0.5",
    "what is noticed at a frame": "const box = document.createElement('p');"
    " box.textContent = 'box'; new ResizeObserver((seen, one) => { one.disconnect();"
    " new IntersectionObserver((seen, one) => { one.disconnect(); show() }).observe(box) })"
    ".observe(box); document.body.append(box)",
    "what was opened": "const box = document.createElement('details'); box.ontoggle = show;"
    " document.body.append(box); box.open = true",
}


@pytest.mark.long
@pytest.mark.parametrize("how", COMES_LATE)
def test_what_comes_late_is_waited_for_after_opening_and_after_a_click(
    page: Page, site: Site, how: str
) -> None:
    site.put("/data", "1")
    site.put("/slow", "1")
    site.delays["/slow"] = 0.7
    site.put("/other", "late")
    begin = f"{SLEEP} {SHOW} {COMES_LATE[how]}"
    opened = site.put("/opened", f"<body><script>{begin}</script></body>")
    click = f"document.querySelector('button').onclick = () => {{ {begin} }}"
    clicked = site.put("/clicked", f"<body><button>Go</button><script>{click}</script></body>")

    seen = list[bool]()
    done = open_and_watch(
        *(page, opened),
        timeout_ms=LIMIT,
        note=lambda line: None,
        watched=lambda: seen.append("late" in page.inner_text("body")),
    )
    assert done.failure is None
    assert "late" in page.inner_text("body").split()
    assert seen == [True] or not done.undisturbed

    if how == "a busy scheduler":
        return  # it waits for the load event
    assert open_page(page, clicked, timeout_ms=LIMIT) is None
    page.click("button")
    assert wait_until_quiet(page)
    assert "late" in page.inner_text("body").replace("Go", "").split()


def waits(page: Page, count: int = 12) -> list[float]:
    """Wait for a page so many times, and return the milliseconds of each."""
    found = list[float]()
    for _ in range(count):
        began = time.monotonic()
        assert wait_until_quiet(page)
        found.append((time.monotonic() - began) * 1000)
    return found


@pytest.mark.parametrize("told_late_for", ["a route", "credentials", "a proxy with a password"])
def test_a_page_must_be_still_for_a_while_only_where_requests_are_told_late(
    browser: Browser, site: Site, told_late_for: str
) -> None:
    url = site.put("/still", "<h1>Shop</h1>")
    login = {"username": "tea", "password": "time"}
    credentials = {"http_credentials": login} if told_late_for == "credentials" else {}
    took: list[list[float]] = []
    for args in ({}, credentials):
        context = browser.new_context(**args)  # type: ignore[arg-type]
        page = context.new_page()
        watch(context)
        page.goto(url)
        if took and told_late_for == "a route":
            context.route("**/never", lambda route: route.abort())
        elif took and told_late_for == "a proxy with a password":
            note_password(context)
        took.append(waits(page))
        context.close()

    known, late = took
    # The first one counts what was still since the page loaded. A busy machine delays any of them.
    assert min(late[1:]) >= STILL_MS - 1
    assert min(known[1:]) < STILL_MS - 1


RESTLESS = {
    "timers, observers and events of its own": "window.setTimeout = window.requestAnimationFrame ="
    " window.requestIdleCallback = () => 0; window.MutationObserver = class { observe() {} };"
    " EventTarget.prototype.dispatchEvent = () => { throw new Error('no') }",
    "lies about its timers": "EventTarget.prototype.dispatchEvent = function (event) {"
    " if (event.detail) event.detail.left = 1e9; return true }",
    "changes for ever": "setInterval(() => { document.title += '.' }, 10)",
    "asks for ever": "(function again() { fetch('/data').then(again) })()",
    "frames for ever": "(async () => { while (true) await new Promise(requestAnimationFrame) })()",
    "timers for ever": "(function again() { setTimeout(again, 20) })()",
}


@pytest.mark.parametrize("how", RESTLESS)
def test_a_page_that_is_never_quiet_is_used_as_it_is(page: Page, site: Site, how: str) -> None:
    site.put("/data", "1")
    url = site.put("/restless", f"<h1>Shop</h1><script>{RESTLESS[how]}</script>")

    assert open_page(page, url, timeout_ms=LIMIT) is None
    assert page.evaluate("document.querySelector('h1').textContent") == "Shop"


@pytest.mark.long
def test_a_request_without_an_end_is_waited_for_once(page: Page, site: Site) -> None:
    site.delays["/long"] = 6
    url = site.put("/a", "<h1>Shop</h1><script>fetch('/long')</script>")
    watch(page.context)
    page.goto(url)

    wait_until_quiet(page)
    assert max(waits(page, 2)) < SOON_MS


def test_a_page_is_told_of_failures_that_it_does_not_handle(page: Page, site: Site) -> None:
    failures = list[str]()
    page.on("pageerror", lambda error: failures.append(str(error)))
    handled = "fetch('http://127.0.0.1:1/').catch(() => {})"
    calls = ["fetch('http://127.0.0.1:1/')", "new Image().decode()", "new Response('tea').json()"]
    url = site.put("/a", f"<script>{handled}; {'; '.join(calls)}</script>")

    open_page(page, url, timeout_ms=LIMIT)

    assert len(failures) == len(calls)


def test_a_page_does_not_see_that_its_timers_are_noted(page: Page, site: Site) -> None:
    open_page(page, site.put("/a", "<h1>A</h1>"), timeout_ms=LIMIT)

    seen = page.evaluate(
        """async () => [
          String(setTimeout), setTimeout.name, setTimeout.length, typeof setTimeout(() => {}, 5),
          new BroadcastChannel('a') instanceof BroadcastChannel,
          new BroadcastChannel('a').constructor === BroadcastChannel,
          class extends Worker {}.name,
          String(Blob.prototype.text), await new Blob(["x"]).text(),
          Object.keys(window).filter((key) => key.includes('quiet')),
          await new Promise((done) => setTimeout(done, 5, 'passed on')),
        ]"""
    )

    assert "[native code]" in seen[0]
    assert "[native code]" in seen.pop(7)
    assert seen[1:] == ["setTimeout", 1, "number", True, True, "", "x", [], "passed on"]
