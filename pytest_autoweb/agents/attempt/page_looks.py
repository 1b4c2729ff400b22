"""Pictures of the page that a model with vision asks for by `page.look()`.

A picture is taken when the code asks for it, once the page has settled, and is shown with the next
turn. It is made as every picture of a run: fields that hold a secret are covered.
"""

import math
from collections.abc import Callable

from playwright.sync_api import Error, Frame, Locator, Page

from pytest_autoweb.agents.attempt.tools import SeenPicture, Tools, change
from pytest_autoweb.browser.page.quiet import wait_until_quiet
from pytest_autoweb.judging.evidence.scene import Region, shot
from pytest_autoweb.results.records import Attempt, Look
from pytest_autoweb.sandbox.engine import StepCallError

_FIND_MS = 3_000.0
_LEAST = 1.0
_FORMS = "look() shows the window, look(x, y, width, height) a region of it in pixels"


def look(tools: Tools, seen_on: Page | Frame | Locator, *region: float) -> None:
    """Take a picture for the next turn; `page.look()` and `locator.look()`.

    Raises:
        StepCallError: the limit is reached, there is no such region, or the browser drew nothing.
    """
    looks, most = tools.looks, tools.settings.max_looks
    if looks.taken >= most:
        what = f"its {most} pictures were taken" if most else "it may take no pictures"
        raise StepCallError(f"look: {what} in this attempt; read the listing, or log() texts")
    page = seen_on if isinstance(seen_on, Page) else seen_on.page
    wait_until_quiet(page)
    window = _window(page)
    part = _within(_wanted(seen_on, region), window)
    path = tools.folder / f"look-{looks.taken + 1}.png"
    if not shot(page, path, tools.hidden, region=part, steady=True):
        raise StepCallError("look: the browser did not draw the page")
    looks.taken += 1
    picture = path.read_bytes()
    left = most - looks.taken
    looks.waiting.append(SeenPicture(picture, f"{_told(part, window)} ({left} more may be taken)"))
    kept = path.relative_to(tools.cell_folder).as_posix()
    tools.after_step.append(_recorded(kept, part or (0.0, 0.0, *window)))


def _recorded(picture: str, box: Region) -> Callable[[Attempt], Attempt]:
    def recorded(attempt: Attempt) -> Attempt:
        steps = attempt.step_results
        number = steps[-1].step_index if steps else 0
        taken = Look(step_index=number, picture=picture, box=box)
        return change(attempt, looks=(*attempt.looks, taken))

    return recorded


def _window(page: Page) -> tuple[float, float]:
    size = page.viewport_size
    if size is None:
        raise StepCallError("look: the window has no fixed size")
    return float(size["width"]), float(size["height"])


def _wanted(seen_on: Page | Frame | Locator, region: tuple[float, ...]) -> Region | None:
    """Return the region that the code asks for; None for the whole window.

    Raises:
        StepCallError: it is no region, or no element is there.
    """
    if isinstance(seen_on, Locator):
        if region:
            raise StepCallError(f"look of an element takes no region: {_FORMS}")
        return _place_of(seen_on)
    if not region:
        return None
    numbers = [one for one in region if type(one) in (int, float) and math.isfinite(one)]
    if len(numbers) != 4 or len(region) != 4:
        raise StepCallError(f"look: {_FORMS}")
    x, y, width, height = numbers
    return float(x), float(y), float(width), float(height)


def _place_of(element: Locator) -> Region:
    try:
        element.scroll_into_view_if_needed(timeout=_FIND_MS)
        box = element.bounding_box(timeout=_FIND_MS)
    except Error as error:
        raise StepCallError(f"look: {error.message}") from None
    if box is None:
        raise StepCallError("look: the element is not visible")
    return box["x"], box["y"], box["width"], box["height"]


def _within(part: Region | None, window: tuple[float, float]) -> Region | None:
    """Return what of a region lies within the window, in whole pixels.

    Raises:
        StepCallError: nothing of it does.
    """
    if part is None:
        return None
    x, y, width, height = part
    left, top = max(0.0, float(math.floor(x))), max(0.0, float(math.floor(y)))
    right = min(window[0], float(math.ceil(x + width)))
    bottom = min(window[1], float(math.ceil(y + height)))
    if right - left < _LEAST or bottom - top < _LEAST:
        shown = f"{window[0]:g} x {window[1]:g}"
        raise StepCallError(f"look: that lies outside of the window of {shown} pixels; scroll")
    return left, top, right - left, bottom - top


def _told(part: Region | None, window: tuple[float, float]) -> str:
    if part is None:
        return f"The picture shows the window, {window[0]:g} x {window[1]:g} pixels."
    x, y, width, height = part
    return f"The picture shows {width:g} x {height:g} pixels of the window, from ({x:g}, {y:g}) on."
