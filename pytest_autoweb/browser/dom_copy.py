"""Keeps the page as it is at the end of an attempt, and opens such a copy again to judge it."""

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
"""A document is cut beyond this; a cut copy decides nothing about text and elements."""
STAND_IN_URL = "http://stored.invalid/"
"""Address of a copy whose page had no http(s) URL."""

_PAGE_MS = 5_000.0
_FRAME_MS = 2_000.0
_FRAME_DEPTH = 4
_FRAMES = 30


class OpenCopy(NamedTuple):
    """A stored copy, shown in a browser."""

    page: "Page"
    complete: bool
    """False: the page was too large to be kept whole."""
    has_url: bool
    """False: the page's own URL cannot be opened, so its address is a stand-in."""


def copy_page(page: "Page", redact: Callable[[str], str]) -> str:
    """The page and its visible frames as one HTML text that runs and loads nothing.

    Live form state, open shadow roots and what is visible are kept; values of password and hidden
    fields are not.

    Raises:
        Error: Playwright's, when the page does not answer.
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
                # Gone, or too busy to answer; the live judge passes over it, too.
                continue
        return found


@contextmanager
def open_copy(browser: "Browser", text: str, url: str) -> Iterator[OpenCopy]:
    """Show a stored copy under the URL it had, with scripts and network off."""
    has_url = urlsplit(url).scheme in ("http", "https")
    address = url if has_url else STAND_IN_URL
    context = browser.new_context(
        java_script_enabled=False, offline=True, service_workers="block", accept_downloads=False
    )

    def answer(route: "Route") -> None:
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
