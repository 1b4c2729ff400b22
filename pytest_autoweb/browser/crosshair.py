"""Pictures for the vision locator: the viewport with lines and numbered boxes drawn on it.

The drawing is done on a screenshot, in an empty page of the plugin's own. The page under test is
only read, so nothing has to be removed from it, and no drawing can be mistaken for a part of it.
"""

import base64
import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_autoweb.browser.injected import OBSERVE_TIMEOUT_MS, run_script, script
from pytest_autoweb.browser.marks import Mark, MarkedPage, PageBox, find_marks, hidden_boxes
from pytest_autoweb.browser.marks_board import board_of

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

LONGEST_SIDE = 1568
"""Limit in pixels; services would shrink larger pictures after the lines were drawn."""
LIMIT = 300
"""Limit on the candidates in one view."""
_STILL_MS = 100
_QUIET_LIMIT_MS = 1_000
_SHOT_MS = 5_000.0


@dataclass(frozen=True, slots=True)
class ViewportView:
    """What the viewport showed at one moment, with locators for its elements."""

    marks: tuple[Mark, ...]
    """The elements; their boxes are in CSS pixels of the viewport."""
    width: float
    """Width of the viewport in CSS pixels."""
    height: float
    scale: float
    """Pixels of a drawn picture per CSS pixel."""
    digest: str
    """Digest that is equal for equal pictures of the page."""
    _page: "Page"
    _marked: MarkedPage
    _left: float
    _top: float
    _hidden: tuple[Sequence[float], ...]

    def locator(self, mark: Mark) -> "Locator | None":
        """Return a locator for the element as it is now, or None if it is gone."""
        return self._marked.locator(mark.number)

    def picture(
        self,
        x: float | None = None,
        y: float | None = None,
        boxes: Sequence[tuple[int, PageBox]] = (),
    ) -> bytes:
        """Return a PNG of the view, at most `LONGEST_SIDE` wide and high, with the given drawings.

        Args:
            x: position of a vertical magenta line, tagged V at both ends.
            y: position of a horizontal green line, tagged H.
            boxes: numbers with the boxes beside which they are drawn.
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
                "x": x,
                "y": y,
                "boxes": shapes,
            },
        )
        return base64.b64decode(drawn)


def take_view(
    page: "Page", *, hide: Callable[[str], str] | None = None, texts: bool = False
) -> ViewportView:
    """Look at the viewport: take a screenshot and list the elements that are visible in it.

    Open shadow roots and frames of the same origin are included. Waits until the page has stopped
    changing, for 1 s at most.

    Args:
        page: the page to look at.
        hide: removes the case's secrets from text; fields that hold one are covered.
        texts: list elements that show text or a picture instead of those that can be acted on.

    Raises:
        Error: Playwright's error if the page does not answer.
    """
    # Before that, the page may have no body to look at.
    page.wait_for_load_state("domcontentloaded", timeout=OBSERVE_TIMEOUT_MS)
    run_script(page, "quiet", {"still": _STILL_MS, "limit": _QUIET_LIMIT_MS})
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
        scale=min(pixels[0], pixels[0] * LONGEST_SIDE / max(pixels)) / width,
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
