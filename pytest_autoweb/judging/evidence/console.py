"""What pages write to their console, and which of their requests failed."""

from collections import deque
from collections.abc import Callable
from typing import Any

from playwright.sync_api import ConsoleMessage, Error, Page, Request, Response

from pytest_autoweb.base.whole_characters import whole_text
from pytest_autoweb.browser.egress.browser_watch import driver_ended

_LINES = 50
_LINE_CHARS = 300
_LONGEST = 20_000
_EVENTS = 5_000

# Types of messages that are skipped: they come at random times and make equal scenes differ.
_TO_DEVELOPERS = ("debug", "verbose")


class Watch:
    """A listener to a page and its pop-ups that keeps the last lines, redacted.

    It listens to their context, which is told of requests anyway (`browser/page/quiet.py`), since
    the browser has to be asked for each kind of event of each page.
    """

    def __init__(self, page: Page, redact: Callable[[str], str] = lambda text: text) -> None:
        self._redact = redact
        self._console: deque[str] = deque(maxlen=_LINES)
        self._requests: deque[str] = deque(maxlen=_LINES)
        self._new_console: deque[str] = deque(maxlen=_LINES)
        self._new_requests: deque[str] = deque(maxlen=_LINES)
        self._events = 0
        self.crashed = False
        """Whether the process that shows the page died."""
        self._context, self._pages = page.context, list[Page]()
        page.on("crash", self._on_crash)
        for event, handler in self._of_context():
            self._context.on(event, handler)
        self._attach(page)

    @property
    def console(self) -> tuple[str, ...]:
        """Return console messages and uncaught errors, oldest first."""
        return tuple(self._console)

    @property
    def failed_requests(self) -> tuple[str, ...]:
        """Return requests that failed or were answered with 400 or more, oldest first."""
        return tuple(self._requests)

    def news(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return what came to `console` and to `failed_requests` since the last call."""
        news = tuple(self._new_console), tuple(self._new_requests)
        self._new_console.clear()
        self._new_requests.clear()
        return news

    def end(self) -> None:
        """Stop listening, to a page that others go on with."""
        if driver_ended(self._context):
            return
        self._pages[0].remove_listener("crash", self._on_crash)
        for event, handler in self._of_context():
            self._context.remove_listener(event, handler)
        for page in self._pages:
            for event, handler in self._of_page():
                page.remove_listener(event, handler)

    def _attach(self, page: Page) -> None:
        self._pages.append(page)
        for event, handler in self._of_page():
            page.on(event, handler)

    def _of_page(self) -> tuple[tuple[Any, Any], ...]:
        return (("pageerror", self._on_error), ("popup", self._attach))

    def _of_context(self) -> tuple[tuple[Any, Any], ...]:
        return (
            ("console", self._on_console),
            ("requestfailed", self._on_failed),
            ("response", self._on_response),
        )

    def _is_watched(self, request: Request) -> bool:
        try:
            return request.frame.page in self._pages
        except Error:
            # A worker's, or that of a tab which is about to open.
            return False

    def _on_crash(self, _page: Page) -> None:
        self.crashed = True

    def _on_console(self, message: ConsoleMessage) -> None:
        if message.type in _TO_DEVELOPERS or message.page not in self._pages:
            return
        self._keep(self._console, f"{message.type}: {message.text}")

    def _on_error(self, error: Error) -> None:
        self._keep(self._console, f"uncaught: {error}")

    def _on_failed(self, request: Request) -> None:
        if self._is_watched(request):
            self._keep(self._requests, f"{request.method} {request.url}: {request.failure}")

    def _on_response(self, response: Response) -> None:
        if response.status >= 400 and self._is_watched(response.request):
            line = f"{response.request.method} {response.url}: {response.status}"
            self._keep(self._requests, line)

    def _keep(self, lines: deque[str], text: str) -> None:
        self._events += 1
        if self._events == _EVENTS:
            lines.append(f"after {_EVENTS:,} events no more are kept")
        if self._events < _EVENTS:
            # Secrets are removed before the text is cut, because half a secret is not recognised.
            # What is far too long is cut first: the rest of it is not shown in any case.
            line = self._redact(whole_text(text[:_LONGEST]))[:_LINE_CHARS]
            lines.append(line)
            (self._new_console if lines is self._console else self._new_requests).append(line)
