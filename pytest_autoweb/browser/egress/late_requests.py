"""Whether Playwright tells of a context's requests late: after the page has gone on.

Chromium tells of a request before it answers what its page is asked afterwards, unless Playwright
stops each request on its way.
"""

from weakref import WeakSet

from playwright.sync_api import BrowserContext

from pytest_autoweb.base.waiting.playwright_internals import stops_requests

_WITH_PASSWORD: WeakSet[BrowserContext] = WeakSet()


def note_password(context: BrowserContext) -> None:
    """Note that a context shows its proxy a password, for which each request is stopped."""
    _WITH_PASSWORD.add(context)


def tells_late(context: BrowserContext) -> bool:
    """Tell whether a page may have been asked something before its requests are told."""
    if stops_requests(context) or context in _WITH_PASSWORD:
        return True
    return context.browser is None or context.browser.browser_type.name != "chromium"
