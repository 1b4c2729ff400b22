"""The requests of a page since its last move: what was refused, and the wait that was asked for."""

import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from playwright.sync_api import Page, Request, Response

REFUSALS = frozenset({408, 425, 429, 500, 502, 503, 504})
"""Status codes that mean "later" rather than "no"."""
LONGEST_WAIT_S = 300.0
"""If a server asks for a longer wait, the collection pauses instead."""

_LOADED_BY = ("document", "xhr", "fetch")


class Traffic:
    """The requests of one page since the last move.

    The class has no slots, because Playwright sets an attribute on the owner of a listener.
    """

    def __init__(self) -> None:
        self.refused: list[str] = []
        self.wait_s = 0.0
        """The longest wait requested in `Retry-After` by refusals of this move."""
        self.lost = False
        """The server refused the page itself, so there is nothing on it to press."""
        self._open = 0
        self._last = 0.0

    def start(self) -> None:
        """Begin a move: forget earlier refusals and requests."""
        self.refused.clear()
        self.wait_s = 0.0
        self._open, self._last = 0, time.monotonic()

    def quiet_for(self) -> float:
        """Return the seconds since the last request or response; 0 while a request is open."""
        return 0.0 if self._open else time.monotonic() - self._last

    @contextmanager
    def watched(self, page: Page) -> Iterator[None]:
        """Count the page's requests within the context."""
        page.on("request", self._asked)
        page.on("requestfinished", self._came)
        page.on("requestfailed", self._came)
        page.on("response", self._answered)
        try:
            yield
        finally:
            page.remove_listener("request", self._asked)
            page.remove_listener("requestfinished", self._came)
            page.remove_listener("requestfailed", self._came)
            page.remove_listener("response", self._answered)

    def _asked(self, request: Request) -> None:
        self._open += 1
        self._last = time.monotonic()

    def _came(self, request: Request) -> None:
        self._open = max(0, self._open - 1)
        self._last = time.monotonic()

    def _answered(self, response: Response) -> None:
        if response.status in REFUSALS and response.request.resource_type in _LOADED_BY:
            self.refused.append(f"{response.url} answered {response.status}")
            asked = asked_wait(response.headers.get("retry-after", ""), datetime.now(UTC))
            self.wait_s = max(self.wait_s, asked)
            self.lost = self.lost or response.request.is_navigation_request()


def asked_wait(header: str, now: datetime) -> float:
    """Return the seconds requested by `Retry-After`, a number or a date; 0 if it is empty.

    Args:
        header: the header's value.
        now: the current time, to which a date is relative.
    """
    with suppress(ValueError):
        return max(0.0, float(header)) if header.strip().isascii() else 0.0
    with suppress(ValueError, TypeError):
        until = parsedate_to_datetime(header)
        until = until if until.tzinfo else until.replace(tzinfo=UTC)
        return max(0.0, (until - now).total_seconds())
    return 0.0
