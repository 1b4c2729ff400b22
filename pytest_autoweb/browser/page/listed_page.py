"""The page whose list a model was shown, and whether an action has opened another one since."""

from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Error, Frame, Locator, Page

from pytest_autoweb.browser.egress.browser_watch import call_within
from pytest_autoweb.browser.page.quiet import wait_until_quiet

SETTLE_MS = 10_000.0
"""Limit on the wait for a page to settle, for models whose replies are chosen from exactly what is
listed: on a busy machine a page may take as long to load, and half of it is another list."""
_COUNT_MS = 1_000.0
_CHARS = 200


class ListedPage:
    """A watch over the page that a turn's actions were chosen on.

    All of a turn's actions are chosen before the first one is carried out. Once one of them has
    opened another page, the next one is for what that page shows at rest, or for nothing: it would
    wait in vain for as long as an element may take.
    """

    def __init__(self) -> None:
        self._page: Page | None = None
        self._left = self._acted = False

    @contextmanager
    def watched(self, page: Page) -> Iterator[None]:
        """Watch a page while the actions of a turn are carried out on it."""
        self._page, self._left, self._acted = page, False, False
        page.on("framenavigated", self._on_navigated)
        try:
            yield
        finally:
            self._page = None
            page.remove_listener("framenavigated", self._on_navigated)

    def _on_navigated(self, frame: Frame) -> None:
        # A frame in the page may be loaded anew at any time, such as an advertisement.
        self._left = self._left or frame.parent_frame is None

    def lacks(self, locator: Locator, named: str) -> str:
        """Return why an action cannot find its element; empty if it can, or if that is not known.

        Waits until the page has settled from the action before, so that what is found does not
        depend on the speed of the machine.

        Args:
            locator: finds the element.
            named: the locator as code writes it.
        """
        page, acted = self._page, self._acted
        self._acted = True
        if page is None or not acted:
            return ""
        if not wait_until_quiet(page, limit_ms=SETTLE_MS) or not self._left:
            return ""
        try:
            if call_within(page, _COUNT_MS, locator.count):
                return ""
        except Error:
            return ""
        return f"an action before it opened another page, where nothing fits {named[:_CHARS]}"
