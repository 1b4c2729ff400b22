"""The requests of an attempt's pages and the answers of their servers."""

import asyncio
import re
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, overload

import greenlet  # type: ignore[import-untyped]
from msgspec import Struct, field
from msgspec.structs import replace
from playwright.sync_api import BrowserContext, Request, Response

from pytest_autoweb.base.redaction import REDACTED, is_sensitive
from pytest_autoweb.browser.egress.browser_watch import driver_ended
from pytest_autoweb.browser.egress.suppression import SUPPRESSED, Suppression

ENTRIES = 2_000
"""Limit on the requests kept; beyond it the oldest images, fonts and scripts are dropped first."""
EVENTS = 10_000
"""Limit on the requests observed in one attempt; beyond it recording stops."""
BODY_CHARS = 200_000
"""Limit on the characters kept of one body."""
BODIES_CHARS = 8_000_000
"""Limit on the characters of replies kept for one attempt."""

_ASSETS = frozenset({"image", "font", "stylesheet", "script", "media", "manifest", "texttrack"})
_WITH_BODY = frozenset({"document", "xhr", "fetch"})
# An event stream never ends, so its body could never be fetched.
_TEXTUAL = re.compile(
    r"(?i)^(?:text/(?!event-stream)|application/(?:[\w.+-]*\+)?(?:json|xml|javascript)\b"
    r"|application/x-www-form-urlencoded)"
)
_REPLY_BYTES = 2_000_000
_BODY_BYTES = 10_000_000
_MAX_BODIES = 500


def run_after_event(work: Callable[[], None]) -> None:
    """Do blocking work as soon as every handler of the current event has run.

    A handler that waits for the browser suspends the handlers after it, such as that of
    `expect_download` in the code under test. So the work runs in its own greenlet, which
    Playwright's event loop starts. It must not raise, because nothing could catch the error.
    """
    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:
        work()
        return
    loop.call_soon(lambda: greenlet.greenlet(work).switch())


class WireEntry(Struct, frozen=True):
    """One request and its answer.

    URL and bodies are kept as sent, so that checks can compare them; code that lets them leave the
    process must redact them. Values of login headers and cookies are never recorded.
    """

    method: str
    url: str
    status: int | None = None
    """HTTP status; None if there is no answer or none yet."""
    status_text: str = ""
    resource_type: str = "other"
    """Playwright's name for the type: `document`, `xhr`, `fetch`, `image`, …"""
    request_headers: Mapping[str, str] = field(default_factory=dict)
    request_body: str | None = None
    """Text of at most `BODY_CHARS`; None if there is no body or it is not text."""
    request_truncated: bool = False
    response_headers: Mapping[str, str] = field(default_factory=dict)
    response_body: str | None = None
    """The beginning of a textual answer to a document, XHR or fetch; None if it is not kept."""
    response_truncated: bool = False
    started: datetime | None = None
    duration_ms: float | None = None
    failed: str = ""
    """The browser's reason why there is no answer."""
    page_url: str = ""
    """URL of the page that made the request."""
    frame_url: str = ""
    """URL of the requesting frame; empty if it is the page itself."""
    counted: bool = True
    """False for a request made before any code ran, while pages were captured for the prompt. Such
    requests are recorded, but no `request` check counts them, nor one that was suppressed."""


class WireRecord(Sequence[WireEntry]):
    """A listener on all pages of a context, and the growing sequence of their requests.

    Nothing here blocks the test: bodies are fetched outside the event handlers, so if a page hangs
    or closes, only its bodies are lost.
    """

    def __init__(self, *, most: int = ENTRIES, suppressed: Suppression | None = None) -> None:
        self._most, self._suppressed = most, suppressed
        self._entries: dict[int, WireEntry] = {}
        self._numbers: dict[Request, int] = {}
        self._replies: dict[Request, Response] = {}
        self._began: dict[Request, float] = {}
        self._next = 0
        self._bodies = 0
        self._chars = BODIES_CHARS
        self._context: BrowserContext | None = None
        self.counting = False
        """Whether requests from now on are caused by the code."""
        self.dropped = 0
        """Number of entries that were dropped for lack of room."""
        if suppressed:
            # Its number among the requests that count, the same as when it was recorded.
            suppressed.armed = lambda: self.counting
        self.started = False
        """Whether it was ever started."""

    def start(self, context: BrowserContext) -> None:
        self._context, self.started = context, True
        for event, handler in self._handlers():
            context.on(event, handler)

    def stop(self) -> None:
        """Stop recording; recorded entries stay."""
        context, self._context = self._context, None
        if context is None:
            return
        for event, handler in () if driver_ended(context) else self._handlers():
            context.remove_listener(event, handler)
        self._numbers.clear()
        self._replies.clear()

    def _handlers(self) -> tuple[tuple[Any, Any], ...]:
        return (
            ("request", self._on_request),
            ("response", self._on_response),
            ("requestfinished", self._on_finished),
            ("requestfailed", self._on_failed),
        )

    def __len__(self) -> int:
        return len(self._entries)

    @overload
    def __getitem__(self, index: int) -> WireEntry: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[WireEntry]: ...
    def __getitem__(self, index: int | slice) -> WireEntry | Sequence[WireEntry]:
        return tuple(self._entries.values())[index]

    def add(self, entry: WireEntry) -> None:
        """Add a request that was not made by a page."""
        if self._context is None or self._next >= EVENTS:
            return
        self._entries[self._next] = entry
        self._next += 1
        if len(self._entries) > self._most:
            self._drop_one()

    def _on_request(self, request: Request) -> None:
        if self._next >= EVENTS:
            # A page can send requests endlessly, and each one is work for three processes.
            self.dropped += 1
            self.stop()
            return
        body, truncated = _request_body(request)
        page_url, frame_url = _asked_by(request)
        self._numbers[request] = self._next
        self._began[request] = time.perf_counter()
        self._entries[self._next] = WireEntry(
            method=request.method,
            url=request.url,
            resource_type=request.resource_type,
            request_headers=_headers(request.headers),
            request_body=body,
            request_truncated=truncated,
            started=datetime.now(UTC),
            page_url=page_url,
            frame_url=frame_url,
            counted=self.counting,
        )
        self._next += 1
        if len(self._entries) > self._most:
            self._drop_one()

    def _drop_one(self) -> None:
        self.dropped += 1
        oldest = next(iter(self._entries))
        # Checks concern documents and data, hardly ever images or fonts.
        asset = (n for n, e in self._entries.items() if e.resource_type in _ASSETS)
        del self._entries[next(asset, oldest)]

    def _change(self, request: Request, **update: Any) -> None:
        number = self._numbers.get(request)
        if number is not None and number in self._entries:
            self._entries[number] = replace(self._entries[number], **update)

    def _on_response(self, response: Response) -> None:
        self._replies[response.request] = response
        if self._suppressed and response.headers.get(SUPPRESSED.lower()) == self._suppressed.mark:
            # It reached no server, so checks must not count it as sent.
            self._change(response.request, counted=False)
        self._change(
            response.request,
            status=response.status,
            status_text=response.status_text,
            response_headers=_headers(response.headers),
        )

    def _on_failed(self, request: Request) -> None:
        self._change(request, failed=request.failure or "failed", **self._timing(request))
        self._forget(request)

    def _on_finished(self, request: Request) -> None:
        self._change(request, **self._timing(request))
        response = self._replies.get(request)
        if response is not None and self._wants_body(request, response):
            self._bodies += 1
            number = self._numbers.get(request, -1)
            run_after_event(lambda: self._keep_body(number, response))
        self._forget(request)

    def _forget(self, request: Request) -> None:
        for known in (self._numbers, self._replies, self._began):
            known.pop(request, None)

    def _timing(self, request: Request) -> dict[str, Any]:
        timing = request.timing
        if timing["startTime"] > 0:
            # The event may be handled long after it happened, e.g. while a model was called.
            began = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=timing["startTime"])
            return {"started": began, "duration_ms": max(0.0, timing["responseEnd"])}
        passed = time.perf_counter() - self._began.get(request, time.perf_counter())
        return {"duration_ms": passed * 1000}

    def _wants_body(self, request: Request, response: Response) -> bool:
        headers = response.headers
        length = headers.get("content-length", "")
        return (
            request.resource_type in _WITH_BODY
            # A redirect has no body to fetch.
            and not 300 <= response.status < 400
            and bool(_TEXTUAL.match(headers.get("content-type", "")))
            and (not length.isdecimal() or int(length) <= _REPLY_BYTES)
            and self._bodies < _MAX_BODIES
            and self._chars > 0
        )

    def _keep_body(self, number: int, response: Response) -> None:
        try:
            body = response.body()
        except Exception:  # the page navigated away, was closed or crashed, so its bodies are gone
            return
        text = body.decode("utf-8", errors="replace")
        room = min(BODY_CHARS, self._chars)
        self._chars -= min(len(text), room)
        if number in self._entries:
            self._entries[number] = replace(
                self._entries[number],
                response_body=text[:room],
                response_truncated=len(text) > room,
            )


def _headers(headers: Mapping[str, str]) -> dict[str, str]:
    return {
        name: REDACTED if is_sensitive(name) else value[:BODY_CHARS]
        for name, value in headers.items()
    }


def _request_body(request: Request) -> tuple[str | None, bool]:
    length = request.headers.get("content-length", "")
    if length.isdecimal() and int(length) > _BODY_BYTES:
        return "", True
    data = request.post_data_buffer
    if data is None:
        return None, False
    # A multipart body may contain binary files between its textual parts.
    multipart = "multipart/" in request.headers.get("content-type", "")
    try:
        text = data.decode("utf-8", errors="replace" if multipart else "strict")
    except UnicodeDecodeError:
        return None, False
    return text[:BODY_CHARS], len(text) > BODY_CHARS


def _asked_by(request: Request) -> tuple[str, str]:
    """Return the URLs of the page and of its frame; the latter is empty for the page itself."""
    try:
        frame = request.frame
        page = frame.page
        return page.url, "" if frame == page.main_frame else frame.url
    except Exception:  # a service worker, or a navigation whose frame does not exist yet
        return "", ""
