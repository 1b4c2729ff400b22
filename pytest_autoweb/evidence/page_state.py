"""Records of how the page and its console looked at a given moment."""

import base64
import json
from collections import deque
from collections.abc import Callable
from pathlib import Path
from weakref import WeakKeyDictionary

from playwright.sync_api import CDPSession, ConsoleMessage, Error, Page, Request, Response

from pytest_autoweb.egress.browser_watch import call_within
from pytest_autoweb.marks.drawing import covers
from pytest_autoweb.page.capture import capture_snapshot
from pytest_autoweb.page.opening import PageLook
from pytest_autoweb.page.run_script import call_function
from pytest_autoweb.results import CaptureModeName, Scene

_LINES = 50
_LINE_CHARS = 300
_LONGEST = 20_000
_EVENTS = 5_000
_SNAPSHOT_TOKENS = 4_000
_SHOT_MS = 5_000.0
_QUALITY = 60

# Types of messages that are skipped: they come at random times and make equal scenes differ.
_TO_DEVELOPERS = ("debug", "verbose")


class Watch:
    """A listener to a page and its pop-ups that keeps the last lines, redacted."""

    def __init__(self, page: Page, redact: Callable[[str], str] = lambda text: text) -> None:
        self._redact = redact
        self._console: deque[str] = deque(maxlen=_LINES)
        self._requests: deque[str] = deque(maxlen=_LINES)
        self._new_console: deque[str] = deque(maxlen=_LINES)
        self._new_requests: deque[str] = deque(maxlen=_LINES)
        self._events = 0
        self.crashed = False
        """Whether the process that shows the page died."""
        page.on("crash", self._on_crash)
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

    def _attach(self, page: Page) -> None:
        page.on("console", self._on_console)
        page.on("pageerror", self._on_error)
        page.on("requestfailed", self._on_failed)
        page.on("response", self._on_response)
        page.on("popup", self._attach)

    def _on_crash(self, _page: Page) -> None:
        self.crashed = True

    def _on_console(self, message: ConsoleMessage) -> None:
        if message.type in _TO_DEVELOPERS:
            return
        self._keep(self._console, f"{message.type}: {message.text}")

    def _on_error(self, error: Error) -> None:
        self._keep(self._console, f"uncaught: {error}")

    def _on_failed(self, request: Request) -> None:
        self._keep(self._requests, f"{request.method} {request.url}: {request.failure}")

    def _on_response(self, response: Response) -> None:
        if response.status >= 400:
            line = f"{response.request.method} {response.url}: {response.status}"
            self._keep(self._requests, line)

    def _keep(self, lines: deque[str], text: str) -> None:
        self._events += 1
        if self._events == _EVENTS:
            lines.append(f"after {_EVENTS:,} events no more are kept")
        if self._events < _EVENTS:
            # Secrets are removed before the text is cut, because half a secret is not recognised.
            # What is far too long is cut first: the rest of it is not shown in any case.
            line = self._redact(text[:_LONGEST])[:_LINE_CHARS]
            lines.append(line)
            (self._new_console if lines is self._console else self._new_requests).append(line)


def take_scene(
    page: Page,
    watch: Watch,
    *,
    step_index: int,
    mode: CaptureModeName,
    folder: Path,
    redact: Callable[[str], str],
) -> Scene:
    """Record the page: URL, title, snapshot, picture, console and failed requests."""
    picture = folder / f"scene-{step_index}.jpg"
    taken = shot(page, picture, redact)
    return Scene(
        step_index=step_index,
        url=redact(page.url),
        title=redact(_title(page)),
        snapshot=snapshot_text(page, mode, redact),
        screenshot=str(picture) if taken else None,
        console=watch.console,
        failed_requests=watch.failed_requests,
    )


def shot(
    page: Page,
    path: Path,
    redact: Callable[[str], str] | None = None,
    *,
    look: PageLook | None = None,
) -> bool:
    """Save a small picture of the viewport with secrets covered; never raises.

    Args:
        page: the page to show.
        path: path of the picture, a PNG if the name ends in `.png`, else a JPEG.
        redact: removes the case's secrets from text; fields that hold one are covered, too.
        look: what `page_look` has just seen, if anything did.

    Returns:
        Whether the picture was saved.
    """
    png = path.suffix.lower() == ".png"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        bare = not png and redact is None and look is not None and look.bare
        if bare and (taken := _next_frame(page)):
            path.write_bytes(taken)
            return True
        page.screenshot(
            path=path,
            type="png" if png else "jpeg",
            # Playwright refuses a quality for PNG.
            quality=None if png else _QUALITY,
            animations="disabled",
            # To hide it, Playwright leaves an attribute on each field, and the page is another one.
            caret="initial",
            scale="css",
            timeout=_SHOT_MS,
            mask=covers(page, redact),
        )
    except (Error, OSError):
        return False
    return True


_SESSIONS: WeakKeyDictionary[Page, CDPSession] = WeakKeyDictionary()


def _next_frame(page: Page) -> bytes | None:
    """Return the next frame that Chromium draws, as a JPEG; None from another browser.

    `page.screenshot` prepares the page first and waits for two frames, which takes twice as long.
    """
    browser = page.context.browser
    if browser is None or browser.browser_type.name != "chromium":
        return None
    if page not in _SESSIONS:
        _SESSIONS[page] = call_within(page, _SHOT_MS, lambda: page.context.new_cdp_session(page))
    session = _SESSIONS[page]
    asked = {"format": "jpeg", "quality": _QUALITY, "captureBeyondViewport": False}
    told = call_within(page, _SHOT_MS, lambda: session.send("Page.captureScreenshot", asked))
    return base64.b64decode(told["data"])


def _title(page: Page) -> str:
    # `page.title()` has no timeout, so a busy page would block it.
    try:
        return str(json.loads(call_function(page, "document.title", timeout_ms=2_000).shown))
    except (Error, ValueError):
        return ""


def snapshot_text(page: Page, mode: CaptureModeName, redact: Callable[[str], str]) -> str:
    """Return the page as a scene shows it, without secrets; empty if it is closed."""
    if page.is_closed():
        return ""
    taken = capture_snapshot(
        page,
        mode,
        url=page.url,
        entry_action="",
        step_indexes=(),
        budget_tokens=_SNAPSHOT_TOKENS,
    )
    return redact(taken.text)
