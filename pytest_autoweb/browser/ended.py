"""Whether a browser ended under its page."""

from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Page


def browser_ended(page: "Page") -> bool:
    """Whether the page's browser is gone: it was killed, it crashed, or it was closed."""
    browser = page.context.browser
    if browser is None:
        return False
    # Its end is noticed only while Playwright's event loop runs. Without a driver that fails, in
    # more ways than one.
    with suppress(Exception):
        page.wait_for_timeout(1)
    return not browser.is_connected()
