"""A page in a fresh context, opened while the cell before it runs, so that its cell need not wait.

Only a cell that asks nothing special of its context gets it, and only where pytest does nothing for
the cell in its turn; see `flight_bounds`.
"""

from contextlib import suppress
from typing import Any

import pytest
from playwright.sync_api import Browser, Error, Page

from pytest_autoweb.base import waiting
from pytest_autoweb.browser.egress.browser_watch import (
    WATCH,
    debugging_session,
    driver_ended,
    is_lost,
)
from pytest_autoweb.browser.egress.connection_holders import connections_of
from pytest_autoweb.browser.egress.guarded_page import ReadyPage
from pytest_autoweb.browser.egress.proxy import EgressProxy
from pytest_autoweb.browser.egress.request_policy import OriginPolicy
from pytest_autoweb.browser.page.quiet import watch
from pytest_autoweb.browser.page.setup import PLAIN_CONTEXT, limit_talk
from pytest_autoweb.session.browser_replacement import close_contexts, new_page
from pytest_autoweb.session.flights.flight_bounds import item_bound, session_bound
from pytest_autoweb.session.flights.flights import FLIGHTS
from pytest_autoweb.session.flights.item_order import ItemOrder

# How long the first cell, which opens its own page, runs before the page of the second is opened.
_LATER_S = 0.1


class PrefetchedPage:
    """The page that the next cell of this process gets.

    Each cell calls `take`, which also has the page of the cell after it opened, on Playwright's
    loop, while the cell runs. A page is in one of three states: it is being opened (`_opening` has
    its browser), it is ready (`_ready`), or there is none, in which case the next cell opens its
    own. A page that does not fit its cell is closed and never given to another one. `close` when
    the session ends.

    Args:
        session: pytest's.
    """

    def __init__(self, session: pytest.Session) -> None:
        self._order = ItemOrder(session)
        # Whoever watches the browser is not to see the window of another cell.
        watched = bool(session.config.getoption("headed", False))
        self._bound = watched or bool(session_bound(session.config))
        self._ready: ReadyPage | None = None
        self._given: dict[str, Any] = {}
        """The arguments of `browser_context_args` with which it was opened."""
        self._opening: Browser | None = None
        """The browser in which a page is being opened, if one is."""
        self._crashed = False
        """Whether the page that nobody has taken yet has crashed."""

    def take(self, request: pytest.FixtureRequest) -> ReadyPage | None:
        """Return the page if there is one that lives, and have the next one opened.

        Args:
            request: that of the cell that is to have it.
        """
        try:
            browser: Browser = request.getfixturevalue("browser")
        except Error:
            # The driver has died as well; `open_living`, which is called next, replaces both.
            return None
        given = dict(request.getfixturevalue("browser_context_args"))
        same = self._ready is not None and self._ready.page.context.browser is browser
        lost = is_lost(browser) or driver_ended(browser)
        # The page was opened for the next cell in order, which may not be the one that asks now.
        bound = given != self._given or bool(item_bound(request.node, request.node))
        if self._crashed or lost or bound or not same:
            self.close()
        ready, self._ready = self._ready, None
        if not lost and self._is_wanted(request.node):
            self._open_later(browser, given, running=ready.page if ready else None)
        if ready is not None:
            WATCH.reason = ""
            WATCH.trust(again=True)
        return ready

    def _note_crash(self, page: Page) -> None:
        self._crashed = self._crashed or (self._ready is not None and self._ready.page == page)

    def close(self) -> None:
        ready, self._ready = self._ready, None
        if ready is not None:
            close_contexts([ready.page.context])
            ready.proxy.__exit__()

    def _is_wanted(self, item: pytest.Item) -> bool:
        coming = next(self._order.after(item), None)
        if self._bound or coming is None or not hasattr(coming, "cell"):
            return False
        return not item_bound(coming, item)

    def _open_later(self, browser: Browser, given: dict[str, Any], running: Page | None) -> None:
        """Open the page as soon as the running cell's own page has loaded, so as not to delay it.

        From then on that cell waits until its page is quiet, and needs little of the machine.
        """

        def begin(seconds: float) -> None:
            if self._opening is browser or self._ready is not None:
                return
            self._opening = browser
            waiting.run_later(browser, seconds, lambda: self._open(browser, given))

        if running is None:
            begin(_LATER_S)
        else:
            running.once("load", lambda page: begin(0))

    def _open(self, browser: Browser, given: dict[str, Any]) -> None:
        # Until a cell names the origins that it may reach, it may reach none.
        nowhere = OriginPolicy("http://none.invalid")
        proxy = EgressProxy(nowhere, lambda o: None, connections=connections_of(browser))
        page: Page | None = None
        try:
            proxy.__enter__()
            page = new_page(browser, given, {**PLAIN_CONTEXT, "proxy": proxy.settings})
            limit_talk(page.context)
            watch(page.context)
            page.on("crash", self._note_crash)
            # Its cell needs one, and opening it takes longer while a page loads.
            debugging_session(page)
            self._ready, self._given, self._crashed = ReadyPage(page, proxy), given, False
        except BaseException as error:
            proxy.__exit__()
            if not isinstance(error, Exception):
                raise
            # The next cell opens its own page, and says what is wrong.
            if page is not None:
                with suppress(Exception):
                    page.context.close()
        finally:
            if self._opening is browser:
                self._opening = None


_PREFETCHED: pytest.StashKey[PrefetchedPage] = pytest.StashKey()


def prefetched_page_of(request: pytest.FixtureRequest) -> PrefetchedPage | None:
    """Return what opens pages in advance in this process.

    None for a test that is no cell, and with many cells in flight, which open their pages while
    others wait.
    """
    stash = request.config.stash
    if not hasattr(request.node, "cell") or stash.get(FLIGHTS, None) is not None:
        return None
    if _PREFETCHED not in stash:
        stash[_PREFETCHED] = PrefetchedPage(request.session)
    return stash[_PREFETCHED]


def close_prefetched_page(config: pytest.Config) -> None:
    """Close the page that was opened in advance, if there is one."""
    if (prefetched := config.stash.get(_PREFETCHED, None)) is not None:
        prefetched.close()
