"""Telling whether a page, and its picture, is still the same."""

from collections.abc import Callable
from typing import NamedTuple

from playwright.sync_api import Error, Page

from pytest_autoweb.browser.page.covered_fields import FEW_FRAMES, PRIVATE_FIELDS, shows_bare
from pytest_autoweb.browser.page.frames import run_script

# The digest only saves work, so a slow page is not waited for.
_LOOK_MS = 1_000.0
_PAINTED = "canvas, video, marquee"
"""Elements that look different although nothing in the document has changed."""


class PageLook(NamedTuple):
    """What tells whether a page, and its picture, is still the same."""

    digest: tuple[tuple[str, str], ...]
    """For each frame its address, and a digest of its markup, rendered text and fields."""
    scrolled: tuple[str, ...]
    """For each frame, how far which of its elements are scrolled."""
    painted: bool
    """Whether some element may look different while the digest stays the same."""
    bare: bool
    """Whether a picture needs no preparation; see `shows_bare`."""

    def shows_the_same_as(self, before: "PageLook | None") -> bool:
        """Tell whether a picture of that moment shows this one, too."""
        if before is None or self.painted:
            return False
        return (self.digest, self.scrolled) == (before.digest, before.scrolled)


def page_look(page: Page, redact: Callable[[str], str] | None = None) -> PageLook | None:
    """Look at the whole page, frame by frame.

    Args:
        page: the page.
        redact: removes the case's secrets from text, if a picture is to be taken of a case that has
            some.

    Returns:
        None if the page has many frames, shadow roots or objects, is too large, or does not answer.
    """
    frames, digests, scrolled = page.frames, list[tuple[str, str]](), list[str]()
    painted, bare, inside = False, True, 0
    if len(frames) > FEW_FRAMES:
        return None
    asked = {"painted": _PAINTED, "covered": PRIVATE_FIELDS}
    for frame in frames:
        try:
            seen = run_script(frame, "page_digest", asked, timeout_ms=_LOOK_MS)
        except Error:
            return None
        match seen:
            case {
                "digest": str(text),
                "scrolled": str(places),
                "painted": bool(p),
                "bare": bool(b),
                "frames": int(number),
            }:
                digests.append((frame.url, text))
                scrolled.append(places)
                painted, bare, inside = painted or p, bare and b, inside + number
            case _:
                return None
    # A frame may be in its document before Playwright knows it.
    if inside != len(frames) - 1:
        return None
    # The page's own scripts had a hand in this, which is not enough where secrets are at stake.
    bare = bare and (redact is None or shows_bare(page, redact))
    return PageLook(tuple(digests), tuple(scrolled), painted, bare)
