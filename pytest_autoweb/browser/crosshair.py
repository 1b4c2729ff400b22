"""Pictures for the vision locator: the viewport with lines and numbered boxes drawn over it.

The drawing happens in an empty page of our own, on a screenshot. The page under test is only read:
there is nothing to remove from it, and what is drawn can never be taken for a part of it.
"""

import base64
import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_autoweb.browser.injected import OBSERVE_TIMEOUT_MS, run_script, script
from pytest_autoweb.browser.marks import Box, Mark, MarkedPage, find_marks, hidden_boxes
from pytest_autoweb.browser.marks_board import board_of

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

LONGEST_SIDE = 1568
"""Pixels. Larger pictures are shrunk by the services, after lines were drawn."""
LIMIT = 300
"""Most candidates of one view."""
_STILL_MS = 100
_QUIET_LIMIT_MS = 1_000
_SHOT_MS = 5_000.0


@dataclass(frozen=True, slots=True)
class View:
    """What the viewport showed at one moment, and the way back to its elements."""

    marks: tuple[Mark, ...]
    """Boxes are CSS pixels of the viewport."""
    width: float
    """Of the viewport, in CSS pixels."""
    height: float
    scale: float
    """Pixels of a drawn picture for one CSS pixel."""
    digest: str
    """The same for the same picture of the page."""
    _page: "Page"
    _marked: MarkedPage
    _left: float
    _top: float
    _hidden: tuple[Sequence[float], ...]

    def locator(self, mark: Mark) -> "Locator | None":
        """What finds the element now; None: it is gone."""
        return self._marked.locator(mark.number)

    def picture(
        self,
        x: float | None = None,
        y: float | None = None,
        boxes: Sequence[tuple[int, Box]] = (),
    ) -> bytes:
        """A PNG of the view, at most `LONGEST_SIDE` wide and high, with what is to be asked about.

        Args:
            x: where a vertical magenta line stands, tagged V at both ends.
            y: where a horizontal green line stands, tagged H.
            boxes: numbers and the boxes they stand beside.
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
) -> View:
    """Look at the viewport: one screenshot, and the elements that are visible in it.

    Open shadow roots and frames of the same origin are looked into. Waits (1 s at most) until the
    page has stopped changing.

    Args:
        page: what to look at.
        hide: takes the case's secrets out of text; fields that hold one are covered.
        texts: elements that show text or a picture, instead of those that can be acted on.

    Raises:
        Error: Playwright's, when the page does not answer.
    """
    page.wait_for_load_state("domcontentloaded", timeout=OBSERVE_TIMEOUT_MS)
    run_script(page, "quiet", {"still": _STILL_MS, "limit": _QUIET_LIMIT_MS})
    # The caret is left alone: hiding it would put a style into the page.
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
    return View(
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
    """Width and height, from the picture's header."""
    return int.from_bytes(png[16:20]), int.from_bytes(png[20:24])
