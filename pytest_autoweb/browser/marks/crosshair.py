"""Pictures for the vision locator: the viewport with lines and numbered boxes over it."""

import base64
import hashlib
from collections.abc import Callable, Hashable, Sequence

from msgspec import Struct
from playwright.sync_api import Error, Frame, Locator, Page

from pytest_autoweb.browser.marks.drawing import board_of
from pytest_autoweb.browser.marks.marking import Mark, MarkedPage, PageBox, find_marks, hidden_boxes
from pytest_autoweb.browser.page.frames import OBSERVE_TIMEOUT_MS, run_script, script
from pytest_autoweb.browser.page.quiet import wait_until_quiet

_SETTLED_MS = 150.0
_LOOK_MS = 3_000.0


class PageScroller:
    """A walk through the views of a page: from the current position down, then from the top.

    The page is scrolled, or its largest scrollable part if the page itself does not scroll; after
    that, each frame is treated in the same way. Views that show no other elements than those before
    are skipped.
    """

    def __init__(self, page: Page) -> None:
        self._page = page
        self._shown: set[Hashable] = set()
        self._shows_more()
        self._parts: list[Frame] = list(page.frames)
        self._start: float | None = None
        self._wrapped = False

    def can_move(self) -> bool:
        """Tell whether the page has more to show than the current view."""
        return any(_scroll(part) is not None for part in self._parts)

    def next_view(self, share: float) -> bool:
        """Show the next view, or return False if all views were shown.

        Args:
            share: the distance to scroll, as a share of the visible height.
        """
        while self._parts:
            if self._move(self._parts[0], share):
                # Pages load images and list entries when they scroll into view.
                self._page.wait_for_timeout(_SETTLED_MS)
                if self._shows_more():
                    return True
                continue
            self.back()
            self._parts.pop(0)
        return False

    def _shows_more(self) -> bool:
        """Note the elements in view; return True if one of them was not in view before.

        An element of which another part is visible counts as a new one, because its identifying
        text may be in that part. A view with too many elements to list always shows more.
        """
        handle, seen, marks = find_marks(self._page, limit=LIMIT, texts=True)
        handle.dispose()
        before = len(self._shown)
        self._shown |= {
            (one.frame, one.selectors, one.text, one.name, one.box[2:]) for one in marks
        }
        return len(self._shown) > before or not seen["complete"]

    def back(self) -> None:
        """Scroll the current part back to its original position."""
        if self._start is not None and self._parts:
            _scroll(self._parts[0], to=self._start)
        self._start, self._wrapped = None, False

    def _move(self, part: Frame, share: float) -> bool:
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


def _scroll(part: Frame, *, by: float = 0.0, to: float | None = None) -> tuple[float, float] | None:
    """Return the positions before and after; None if it cannot scroll or the frame is gone."""
    try:
        moved = run_script(part, "crosshair_scroll", {"by": by, "to": to}, timeout_ms=_LOOK_MS)
    except Error:
        return None
    return (moved["before"], moved["after"]) if moved else None


LONGEST_SIDE = 1568
"""Limit in pixels; services would shrink larger pictures after the lines were drawn."""
MARGIN = 24
"""Width in pixels of the margin around the page, which holds the lines' tags."""
LIMIT = 300
"""Limit on the candidates in one view."""
_QUIET_LIMIT_MS = 1_000.0
_SHOT_MS = 5_000.0


class ViewportView(Struct, frozen=True):
    """A snapshot of the viewport, with locators for its elements."""

    marks: tuple[Mark, ...]
    """The elements; their boxes are in CSS pixels of the viewport."""
    width: float
    """Width of the viewport in CSS pixels."""
    height: float
    scale: float
    """Pixels of a drawn picture per CSS pixel."""
    digest: str
    """Digest that is equal for equal pictures of the page."""
    _page: Page
    _marked: MarkedPage
    _left: float
    _top: float
    _hidden: tuple[Sequence[float], ...]

    def locator(self, mark: Mark) -> Locator | None:
        """Return a locator for the element as it is now, or None if it is gone."""
        return self._marked.locator(mark.number)

    def picture(
        self,
        x: float | None = None,
        y: float | None = None,
        boxes: Sequence[tuple[int, PageBox]] = (),
    ) -> bytes:
        """Return a PNG of the view, at most `LONGEST_SIDE` wide and high, with the given drawings.

        Around the page there is a margin of `MARGIN` pixels.

        Args:
            x: position of a vertical magenta line, tagged V at both ends.
            y: position of a horizontal green line, tagged H.
            boxes: numbers, each with the box next to which it is drawn.
        """
        shapes = [
            {"number": number, "box": (left, top, left + width, top + height)}
            for number, (left, top, width, height) in boxes
        ]
        drawn = board_of(self._page).evaluate(
            script("crosshair"),
            {
                "picture": base64.b64encode(self._marked.picture).decode(),
                "hidden": [list(box) for box in self._hidden],
                "port": {"x": self._left, "y": self._top, "width": self.width},
                "longest": LONGEST_SIDE,
                "margin": MARGIN,
                "x": x,
                "y": y,
                "boxes": shapes,
            },
        )
        return base64.b64decode(drawn)


def take_view(
    page: Page, *, hide: Callable[[str], str] | None = None, texts: bool = False
) -> ViewportView:
    """Look at the viewport: take a screenshot and list the elements that are visible in it.

    Open shadow roots and frames of the same origin are included. Waits until the page is quiet, for
    1 s at most.

    Args:
        page: the page to look at.
        hide: removes the case's secrets from text; fields that hold one are covered.
        texts: list elements that show text or a picture instead of those that can be acted on.

    Raises:
        Error: Playwright's error if the page does not answer.
    """
    # Before that, the page may have no body to look at.
    page.wait_for_load_state("domcontentloaded", timeout=OBSERVE_TIMEOUT_MS)
    wait_until_quiet(page, limit_ms=_QUIET_LIMIT_MS)
    # Hiding the caret would add a style to the page.
    shot = page.screenshot(
        type="png", animations="disabled", caret="initial", scale="device", timeout=_SHOT_MS
    )
    handle, seen, found = find_marks(page, limit=LIMIT, hide=hide, texts=texts)
    port, shapes = seen["port"], seen["marks"]
    width, height = float(port["width"]), float(port["height"])
    marks = tuple(
        mark
        for mark, shape in zip(found, shapes, strict=True)
        if not texts or shape["kind"] == "text"
    )
    pixels = _size(shot)
    marked = MarkedPage(
        picture=shot,
        marks=tuple(found),
        scale=pixels[0] / width,
        viewport=(width, height),
        complete=bool(seen["complete"]),
        labels=(),
        _page=page,
        _handle=handle,
        _indexes=tuple(range(len(found))),
    )
    return ViewportView(
        marks=marks,
        width=width,
        height=height,
        scale=pixels[0] * min(1.0, (LONGEST_SIDE - 2 * MARGIN) / max(pixels)) / width,
        digest=hashlib.sha256(shot).hexdigest(),
        _page=page,
        _marked=marked,
        _left=float(port["x"]),
        _top=float(port["y"]),
        _hidden=tuple(hidden_boxes(page, hide)),
    )


def _size(png: bytes) -> tuple[int, int]:
    """Read the width and height from the picture's header."""
    return int.from_bytes(png[16:20]), int.from_bytes(png[20:24])
