"""One real Chromium, one page a test, and a local server for pages."""

from collections.abc import Callable, Iterator

import pytest
from cell_launch import cell_args
from local_site import Site
from playwright.sync_api import Browser, BrowserContext, Page, Playwright

from pytest_autoweb.browser.egress.chromium import launch_args


@pytest.fixture(scope="session")
def browser_type_launch_args(
    browser_type_launch_args: dict[str, object], playwright: Playwright, browser_name: str
) -> dict[str, object]:
    """Lets pytest-playwright's own `browser` and `page` fixtures find the machine's Chromium."""
    return launch_args(
        browser_type_launch_args,
        playwright_executable=playwright.chromium.executable_path,
        browser_name=browser_name,
    )


@pytest.fixture(scope="session")
def cell_browser(playwright: Playwright) -> Iterator[Browser]:
    """A browser as cells have it: what its pages do not get past is the proxy of their case."""
    browser = playwright.chromium.launch(**cell_args(playwright))
    yield browser
    browser.close()


@pytest.fixture
def site() -> Iterator[Site]:
    site = Site()
    yield site
    site.close()


@pytest.fixture
def other_site() -> Iterator[Site]:
    """A second origin."""
    site = Site()
    yield site
    site.close()


@pytest.fixture(scope="session")
def kept_page(browser: Browser) -> Iterator[Page]:
    """A page that lives as long as the browser; `blank` empties it."""
    context = browser.new_context()
    yield context.new_page()
    context.close()


@pytest.fixture
def blank(kept_page: Page) -> Page:
    """An empty page, without the cost of a new context; cookies and storage are shared."""
    kept_page.goto("about:blank")
    # Where an earlier test left the mouse, the next page would be hovered.
    kept_page.mouse.move(0, 0)
    return kept_page


@pytest.fixture
def show(blank: Page) -> Callable[[str], Page]:
    """Puts HTML into the page."""

    def show(html: str) -> Page:
        blank.set_content(html)
        return blank

    return show


@pytest.fixture
def fresh_context(browser: Browser) -> Iterator[BrowserContext]:
    context = browser.new_context()
    yield context
    context.close()
