import socket

import pytest
from local_site import Site
from playwright.sync_api import Page

from pytest_autoweb.page.opening import open_page

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
    assert failure.evidence == {"url": url}
    assert "ERR_CONNECTION_REFUSED" in failure.message
    assert "\n" not in failure.message


def test_an_error_of_the_server_is_a_navigation_failure(page: Page, site: Site) -> None:
    failure = open_page(page, site.put("/a", "down", status=503), timeout_ms=LIMIT)

    assert failure is not None
    assert failure.message.endswith("/a answered 503")


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
