"""Scrolling through a page view by view, and back."""

from typing import TYPE_CHECKING

from pytest_autoweb.browser.injected import run_script

if TYPE_CHECKING:
    from playwright.sync_api import Frame, Page

_SETTLED_MS = 150.0
_LOOK_MS = 3_000.0


class PageScroller:
    """A walk through the views of a page: from the current position down, then from the top.

    The page is scrolled, or its largest scrollable part if the page itself does not scroll; after
    that, each frame is treated in the same way.
    """

    def __init__(self, page: "Page") -> None:
        self._page = page
        self._parts: list[Frame] = list(page.frames)
        self._start: float | None = None
        self._wrapped = False

    def next_view(self, share: float) -> bool:
        """Show the next view, or return False if all views were shown.

        Args:
            share: the distance to scroll, as a share of what is visible at once.
        """
        while self._parts:
            if self._move(self._parts[0], share):
                # Pages load images and list entries when they scroll into view.
                self._page.wait_for_timeout(_SETTLED_MS)
                return True
            self.back()
            self._parts.pop(0)
        return False

    def back(self) -> None:
        """Scroll the current part back to its original position."""
        if self._start is not None and self._parts:
            _scroll(self._parts[0], to=self._start)
        self._start, self._wrapped = None, False

    def _move(self, part: "Frame", share: float) -> bool:
        moved = _scroll(part, by=share)
        if moved is None:
            return False
        before, after = moved
        if self._start is None:
            self._start = before
        # After starting again at the top, the walk ends where it began.
        if self._wrapped:
            return before < after < self._start
        if after > before:
            return True
        self._wrapped = True
        if self._start <= 1:
            return False
        _scroll(part, to=0.0)
        return True


def _scroll(
    part: "Frame", *, by: float = 0.0, to: float | None = None
) -> tuple[float, float] | None:
    """Return the positions before and after; None if it cannot scroll or the frame is gone."""
    from playwright.sync_api import Error

    try:
        moved = run_script(part, "crosshair_scroll", {"by": by, "to": to}, timeout_ms=_LOOK_MS)
    except Error:
        return None
    return (moved["before"], moved["after"]) if moved else None
