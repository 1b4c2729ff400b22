"""Detection of a browser that ended while its page was in use."""

from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Page


def browser_ended(page: "Page") -> bool:
    """Tell whether the page's browser is gone because it was killed, crashed or was closed."""
    browser = page.context.browser
    if browser is None:
        return False
    # Playwright notices the end only while its event loop runs. If its driver process is gone,
    # too, this fails with various errors.
    with suppress(Exception):
        page.wait_for_timeout(1)
    return not browser.is_connected()
