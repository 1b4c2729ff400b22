"""Draws numbered boxes over a picture, in an empty page that the marked page cannot see."""

import base64
import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from pytest_autoweb.browser.injected import script

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

_BOARDS: "dict[Browser, Page]" = {}
"""Opened on first use, one a browser; gone with it."""


class Drawing(NamedTuple):
    """A picture with marks."""

    picture: bytes
    """PNG."""
    labels: "tuple[tuple[float, float, float, float] | None, ...]"
    """Left, top, right, bottom of each number, in pixels of the picture; None: no room."""
    scale: float
    """Pixels of the picture for one CSS pixel of the page."""


def draw(
    page: "Page",
    picture: bytes,
    *,
    marks: Sequence[Mapping[str, Any]],
    hidden: Sequence[Sequence[float]],
    page_text: Sequence[Sequence[float]],
    port: Mapping[str, float],
) -> Drawing:
    """The picture with a frame and a number for each mark.

    Nothing is put into the marked page, so it neither moves nor notices, and no style or policy
    of its own applies.
    """
    # As one text: an argument of thousands of small parts takes longer than all of the drawing.
    order = json.dumps(
        {
            "picture": base64.b64encode(picture).decode(),
            "marks": list(marks),
            "hidden": [list(box) for box in hidden],
            "page": list(page_text),
            "port": dict(port),
        }
    )
    made = board_of(page).evaluate(script("marks_draw"), order)
    labels = tuple(tuple(box) if box else None for box in made["labels"])
    return Drawing(base64.b64decode(made["picture"]), labels, float(made["scale"]))


def board_of(page: "Page") -> "Page":
    """The empty page in which pictures of this page are drawn on."""
    browser = page.context.browser
    if browser is None:
        raise RuntimeError("a context without a browser cannot open a page beside its own")
    board = _BOARDS.get(browser)
    if board is None or board.is_closed():
        board = browser.new_context().new_page()
        _BOARDS[browser] = board
        browser.on("disconnected", _forget)
    return board


def _forget(browser: "Browser") -> None:
    _BOARDS.pop(browser, None)
