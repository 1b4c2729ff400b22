"""Drawing numbered boxes over a picture of a page."""

import base64
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from playwright.sync_api import Browser, JSHandle, Page

from pytest_autoweb.browser.page.frames import script

_DECODED = """(data) => ({ image: fetch(`data:image/png;base64,${data}`)
  .then((got) => got.blob()).then((blob) => createImageBitmap(blob)) })"""


class _Board(NamedTuple):
    """An empty page that keeps the compiled drawing script."""

    page: Page
    drawing: JSHandle


# The empty pages by browser, each opened on first use and gone with its browser.
_BOARDS: dict[Browser, _Board] = {}


class MarkedPicture(NamedTuple):
    """A picture on which marks were drawn."""

    picture: bytes
    """The picture as a PNG."""
    labels: tuple[tuple[float, float, float, float] | None, ...]
    """Left, top, right and bottom of each number in pixels; None if there was no room."""
    scale: float
    """Pixels of the picture per CSS pixel of the page."""


@contextmanager
def decoded_picture(page: Page, picture: bytes) -> Iterator[JSHandle]:
    """Yield a handle of the picture for `draw`; it is decoded while the page is being searched."""
    given = board_of(page).evaluate_handle(_DECODED, base64.b64encode(picture).decode())
    try:
        yield given
    finally:
        given.dispose()


def draw(
    page: Page,
    picture: JSHandle,
    *,
    marks: Sequence[Mapping[str, Any]],
    hidden: Sequence[Sequence[float]],
    page_text: Sequence[Sequence[float]],
    port: Mapping[str, float],
) -> MarkedPicture:
    """Return the picture with a frame and a number drawn for each mark.

    Nothing is added to the marked page, so it neither moves nor notices, and its styles and
    policies do not apply to the drawing.

    Args:
        page: the page that the picture shows.
        picture: the handle from `decoded_picture`, which can be used only once.
        marks: the result of the script `marks`, with `number` and `failed` added.
        hidden: boxes that are painted over.
        page_text: boxes of the page's text, which the numbers avoid.
        port: the part of the page that the picture shows.
    """
    # Sent as one text, because an argument of thousands of parts takes longer than the drawing.
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
    return MarkedPicture(base64.b64decode(made["picture"]), labels, float(made["scale"]))


def board_of(page: Page) -> Page:
    return _board(page).page


def _board(page: Page) -> _Board:
    browser = page.context.browser
    if browser is None:
        raise RuntimeError("a context without a browser cannot open a second context")
    board = _BOARDS.get(browser)
    if board is None or board.page.is_closed():
        empty = browser.new_context().new_page()
        board = _Board(empty, empty.evaluate_handle(f"() => {script('marks_draw')}"))
        _BOARDS[browser] = board
        # A browser that has ended must not be kept in memory.
        browser.on("disconnected", _forget)
    return board


def _forget(browser: Browser) -> None:
    _BOARDS.pop(browser, None)
