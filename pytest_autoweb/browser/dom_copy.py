"""Copies of pages: made at the end of an attempt, and opened again for judging."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urldefrag, urlsplit

from pytest_autoweb.browser.copy_html import POLICY, CopiedDocument, document_html
from pytest_autoweb.browser.injected import OBSERVE_TIMEOUT_MS, run_script, run_script_handle

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Frame, JSHandle, Page, Route

COPY_CHARS = 4_000_000
"""Limit on a document; a copy cut at this limit cannot decide checks of text and elements."""
STAND_IN_URL = "http://stored.invalid/"
"""Address under which a copy is opened if its page had no http(s) URL."""

_PAGE_MS = 5_000.0
_FRAME_MS = 2_000.0
# A hostile page can nest and multiply frames without end.
_FRAME_DEPTH = 4
_FRAMES = 30


class OpenCopy(NamedTuple):
    """A stored copy that is open in a browser."""

    page: "Page"
    complete: bool
    """False if the page was too large to be stored in full."""
    has_url: bool
    """False if the page's own URL cannot be opened, so that its address is a stand-in."""


def copy_page(page: "Page", redact: Callable[[str], str]) -> str:
    """Return the page and its visible frames as one HTML text that runs and loads nothing.

    The copy contains the live form state and open shadow roots and reflects what is visible. It
    does not contain the values of password and hidden fields.

    Raises:
        Error: Playwright's error if the page does not answer.
    """
    return _Copier(redact).document(page.main_frame, _PAGE_MS, 0)


class _Copier:
    def __init__(self, redact: Callable[[str], str]) -> None:
        self._redact = redact
        self._frames_left = _FRAMES

    def document(self, frame: "Frame", timeout_ms: float, depth: int) -> str:
        handle = run_script_handle(frame, "dom_copy", COPY_CHARS, timeout_ms=timeout_ms)
        try:
            seen = json.loads(handle.evaluate("made => made.json"))
            inner = self._inner(frame, handle, depth) if depth < _FRAME_DEPTH else {}
        finally:
            handle.dispose()
        copied = CopiedDocument(
            tokens=seen["tokens"],
            styles=seen["styles"],
            title=str(seen["title"]),
            standards=bool(seen["standards"]),
            root=seen["root"],
            root_look=int(seen["rootLook"]),
            cut=bool(seen["cut"]),
        )
        return document_html(copied, inner, self._redact)

    def _inner(self, frame: "Frame", handle: "JSHandle", depth: int) -> dict[int, str]:
        from playwright.sync_api import Error

        found: dict[int, str] = {}
        for child in frame.child_frames:
            if self._frames_left <= 0:
                break
            try:
                element = child.frame_element()
                if not element.is_visible():
                    continue
                number = element.evaluate("(element, made) => made.frames.indexOf(element)", handle)
                if number >= 0:
                    self._frames_left -= 1
                    found[int(number)] = self.document(child, _FRAME_MS, depth + 1)
            except Error:
                # The frame is gone or too busy to answer; live judging skips such frames, too.
                continue
        return found


@contextmanager
def open_copy(browser: "Browser", text: str, url: str) -> Iterator[OpenCopy]:
    """Open a stored copy under its original URL, with scripts and network disabled."""
    has_url = urlsplit(url).scheme in ("http", "https")
    address = url if has_url else STAND_IN_URL
    # A copy may come from another machine with a merged run, so nothing in it is trusted.
    context = browser.new_context(
        java_script_enabled=False, offline=True, service_workers="block", accept_downloads=False
    )

    def answer(route: "Route") -> None:
        # The copy keeps its URL, because checks of the URL are judged on it as well.
        if route.request.is_navigation_request() and _same(route.request.url, address):
            headers = {"content-type": "text/html; charset=utf-8"}
            headers["content-security-policy"] = POLICY
            route.fulfill(status=200, headers=headers, body=text)
        else:
            route.abort()

    try:
        context.route("**/*", answer)
        page = context.new_page()
        page.goto(address, wait_until="load", timeout=OBSERVE_TIMEOUT_MS)
        cut = [bool(run_script(frame, "dom_restore")) for frame in page.frames]
        yield OpenCopy(page, complete=not any(cut), has_url=has_url)
    finally:
        context.close()


def _same(first: str, second: str) -> bool:
    return urldefrag(first).url == urldefrag(second).url
