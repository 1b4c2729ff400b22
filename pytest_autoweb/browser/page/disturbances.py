"""What goes wrong once during an attempt: a request is answered with an error, a session ends."""

import random
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import suppress

from playwright.sync_api import Error, Frame, Page, Route

from pytest_autoweb.browser.egress.request_policy import parse_origin

_READS = ("document", "fetch", "xhr")
_SAYS = {500: "Internal Server Error", 503: "Service Unavailable"}
_NTH = (1, 2)


class Disturbance(ABC):
    """Something that strikes once, at a moment that is drawn.

    Args:
        note: gets a sentence once it has struck.
    """

    def __init__(self, note: Callable[[str], None]) -> None:
        self.struck = False
        self._note = note

    @abstractmethod
    def begin(self, page: Page) -> None:
        """Watch a page that is not opened yet, and its tabs, for the moment to strike."""

    def _strike(self, sentence: str) -> None:
        self.struck = True
        self._note(sentence)


class ErrorOnce(Disturbance):
    """Answers one of the first reads of the entry URL's origin with an error, and no other.

    The entry page itself has opened by then, and what writes is never touched.
    """

    def __init__(self, draw: random.Random, entry_url: str, note: Callable[[str], None]) -> None:
        super().__init__(note)
        self._origin = parse_origin(entry_url)
        self._nth, self._status = draw.choice(_NTH), draw.choice(tuple(_SAYS))
        self._seen, self._opened = 0, False

    def begin(self, page: Page) -> None:
        page.context.route(self._may_fit, self._answer)

    def _may_fit(self, url: str) -> bool:
        return not self.struck and parse_origin(url) == self._origin

    def _answer(self, route: Route) -> None:
        request = route.request
        if self.struck or request.method != "GET" or request.resource_type not in _READS:
            route.fallback()
            return
        if not self._opened and request.resource_type == "document":
            self._opened = True
            route.fallback()
            return
        self._seen += 1
        if self._seen < self._nth:
            route.fallback()
            return
        says = f"{self._status} {_SAYS[self._status]}"
        self._strike(f"error-once: read {self._nth} was answered {says}")
        page = f"<!doctype html><title>{says}</title><h1>{says}</h1><p>Please try again.</p>"
        html = request.resource_type == "document"
        route.fulfill(
            status=self._status,
            content_type="text/html" if html else "text/plain",
            headers={"Cache-Control": "no-store"},
            body=page if html else says,
        )


class SessionEnd(Disturbance):
    """Drops the cookies of the session once, when a page has opened that has one."""

    def __init__(self, draw: random.Random, note: Callable[[str], None]) -> None:
        super().__init__(note)
        self._left = draw.choice((1, 2))

    def begin(self, page: Page) -> None:
        page.on("framenavigated", self._navigated)
        page.context.on("page", lambda tab: tab.on("framenavigated", self._navigated))

    def _navigated(self, frame: Frame) -> None:
        if self.struck or frame.parent_frame is not None:
            return
        context = frame.page.context
        # The page may be gone by now, and its session with it.
        with suppress(Error):
            # A cookie that outlives the browser, and that scripts may read, is a preference.
            session = [
                cookie
                for cookie in context.cookies()
                if cookie.get("httpOnly") or cookie.get("expires") == -1
            ]
            self._left -= bool(session)
            if not session or self._left > 0 or self.struck:
                return
            self._strike(f"session-end: {len(session)} cookies were dropped")
            for cookie in session:
                context.clear_cookies(
                    name=cookie["name"], domain=cookie["domain"], path=cookie["path"]
                )
