"""What a page can tell its developers is limited inside the page."""

from collections.abc import Callable

import pytest
from playwright.sync_api import BrowserContext, Page

from pytest_autoweb.browser.page.setup import limit_talk
from pytest_autoweb.judging.evidence.console import Watch


class Heard:
    """The events of a page that reached the test process."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.console: list[str] = []
        self.errors: list[str] = []
        page.on("console", lambda message: self.console.append(message.text))
        page.on("pageerror", lambda error: self.errors.append(str(error)))

    def run(self, script: str) -> None:
        self.page.evaluate(script)
        self.page.wait_for_timeout(300)


@pytest.fixture
def heard(context: BrowserContext) -> Heard:
    limit_talk(context)
    page = context.new_page()
    page.goto("data:text/html,<h1>Shop</h1>")
    return Heard(page)


def test_an_ordinary_page_notices_nothing(heard: Heard) -> None:
    heard.run("console.log('a', 1, {b: 2}); console.warn('careful'); console.table([1])")
    heard.run("setTimeout(() => { throw new Error('lost') })")
    heard.run("() => { Promise.reject(new Error('refused')) }")

    assert heard.console[:2] == ["a 1 {b: 2}", "careful"]
    assert heard.errors == ["lost", "refused"]


SENDS = {
    "fetch": "body => fetch('/in', {method: 'POST', body}).then(() => 'sent', e => e.name)",
    "fetch of a blob": "body => fetch('/in', {method: 'POST', body: new Blob([body])})"
    ".then(() => 'sent', e => e.name)",
    "a request": "body => { try { new Request('/in', {method: 'POST', body}); return 'sent' }"
    " catch (e) { return e.name } }",
    "XMLHttpRequest": "body => { const x = new XMLHttpRequest(); x.open('POST', '/in', false);"
    " try { x.send(body); return 'sent' } catch (e) { return e.name } }",
    "a form": "body => { const f = document.createElement('form'); f.method = 'post';"
    " f.target = 'nowhere'; f.action = '/in'; const t = document.createElement('input');"
    " t.type = 'hidden'; t.name = 'a'; t.value = body; f.append(t); document.body.append(f);"
    " try { f.submit(); return 'sent' } catch (e) { return e.name } }",
}


@pytest.mark.parametrize("send", SENDS)
def test_a_body_that_would_end_the_driver_is_not_sent(context: BrowserContext, send: str) -> None:
    limit_talk(context)
    context.route(
        "**/*", lambda route: route.fulfill(body="<h1>Shop</h1>", content_type="text/html")
    )
    page = context.new_page()
    page.goto("http://shop.test/")

    assert page.evaluate(f"({SENDS[send]})('x'.repeat(3e7))") == "NetworkError"
    assert page.evaluate(f"({SENDS[send]})('x'.repeat(1e5))") == "sent"


def test_a_flood_of_messages_is_cut_off(heard: Heard) -> None:
    heard.run("for (let i = 0; i < 5000; i++) console.log('line ' + i)")

    assert len(heard.console) == 500
    assert heard.console[-1] == "line 499"


@pytest.mark.parametrize(
    "say",
    [
        "text => console.log(text)",
        "text => console.error(new Error(text))",
        "text => { setTimeout(() => { throw new Error(text) }) }",
        "text => { setTimeout(() => { throw text }) }",
        "text => { Promise.reject(new Error(text)) }",
        "text => { Promise.reject(text) }",
    ],
)
def test_a_long_text_does_not_leave_the_page(heard: Heard, say: str) -> None:
    heard.run(f"({say})('x'.repeat(3e6))")

    told = [*heard.console, *heard.errors]
    assert len(told) == 1
    assert 100 < len(told[0]) < 25_000


def test_a_flood_of_errors_is_cut_off_but_the_page_hears_all(heard: Heard) -> None:
    heard.run(
        "window.mine = 0; addEventListener('error', () => window.mine++);"
        "for (let i = 0; i < 1000; i++) setTimeout(() => { throw new Error('e' + i) })"
    )

    # What is heard of an error is heard before the answer to a later question.
    heard.page.wait_for_function("window.mine === 1_000")
    assert len(heard.errors) == 200


def test_the_record_of_a_page_ends_too(
    context: BrowserContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pytest_autoweb.judging.evidence.console._EVENTS", 10)
    page = context.new_page()
    watch = Watch(page)
    ask: Callable[[str], object] = page.evaluate

    ask("for (let i = 0; i < 30; i++) console.log('line ' + i)")
    page.wait_for_timeout(300)

    assert watch.console[-1] == "after 10 events no more are kept"
    assert len(watch.console) == 10
