"""Draws numbered boxes over a picture, in an empty page that the marked page cannot see."""

import base64
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from pytest_autoweb.browser.injected import script

if TYPE_CHECKING:
    from playwright.sync_api import Browser, JSHandle, Page

_DECODED = """(data) => ({ image: fetch(`data:image/png;base64,${data}`)
  .then((got) => got.blob()).then((blob) => createImageBitmap(blob)) })"""


class _Board(NamedTuple):
    """An empty page, with the drawing script in it: what is kept stays compiled."""

    page: "Page"
    drawing: "JSHandle"


_BOARDS: "dict[Browser, _Board]" = {}
"""Opened on first use, one a browser; gone with it."""


class Drawing(NamedTuple):
    """A picture with marks."""

    picture: bytes
    """PNG."""
    labels: "tuple[tuple[float, float, float, float] | None, ...]"
    """Left, top, right, bottom of each number, in pixels of the picture; None: no room."""
    scale: float
    """Pixels of the picture for one CSS pixel of the page."""


@contextmanager
def handed_over(page: "Page", picture: bytes) -> "Iterator[JSHandle]":
    """A PNG of the page for `draw`; it is decoded while the page itself is looked through."""
    given = board_of(page).evaluate_handle(_DECODED, base64.b64encode(picture).decode())
    try:
        yield given
    finally:
        given.dispose()


def draw(
    page: "Page",
    picture: "JSHandle",
    *,
    marks: Sequence[Mapping[str, Any]],
    hidden: Sequence[Sequence[float]],
    page_text: Sequence[Sequence[float]],
    port: Mapping[str, float],
) -> Drawing:
    """The picture with a frame and a number for each mark.

    Nothing is put into the marked page, so it neither moves nor notices, and no style or policy
    of its own applies.

    Args:
        page: what the picture shows.
        picture: as `handed_over`; it can be drawn on once.
        marks: what the script `marks` found, with `number` and `failed`.
        hidden: boxes to paint over.
        page_text: boxes of the page's text, which numbers avoid.
        port: the part of the page that the picture shows.
    """
    # As one text: an argument of thousands of small parts takes longer than all of the drawing.
    order = json.dumps(
        {
            "marks": list(marks),
            "hidden": [list(box) for box in hidden],
            "page": list(page_text),
            "port": dict(port),
        }
    )
    board = _board(page)
    made = board.page.evaluate(
        "([draw, picture, order]) => draw(picture, order)", [board.drawing, picture, order]
    )
    labels = tuple(tuple(box) if box else None for box in made["labels"])
    return Drawing(base64.b64decode(made["picture"]), labels, float(made["scale"]))


def board_of(page: "Page") -> "Page":
    """The empty page in which pictures of this page are drawn on."""
    return _board(page).page


def _board(page: "Page") -> _Board:
    browser = page.context.browser
    if browser is None:
        raise RuntimeError("a context without a browser cannot open a page beside its own")
    board = _BOARDS.get(browser)
    if board is None or board.page.is_closed():
        empty = browser.new_context().new_page()
        board = _Board(empty, empty.evaluate_handle(f"() => {script('marks_draw')}"))
        _BOARDS[browser] = board
        browser.on("disconnected", _forget)
    return board


def _forget(browser: "Browser") -> None:
    _BOARDS.pop(browser, None)
