"""Finds a marked element again when it is to be acted on, whatever has happened to its page."""

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from pytest_autoweb.browser.injected import element_script, run_on_elements
from pytest_autoweb.browser.marks_xpath import selectors

if TYPE_CHECKING:
    from playwright.sync_api import FrameLocator, JSHandle, Locator, Page

_READ_MS = 2_000.0


class Known(NamedTuple):
    """An element that a script found, kept by the browser without a trace in the page."""

    handle: "JSHandle"
    """Of all that were found."""
    number: int
    """Its index among them."""

    def places(self) -> Sequence[str] | None:
        """Where its frames and itself stand now, each in its document; None: no longer there."""
        found = self._run("marks_alive")
        return [str(place) for place in found] if found else None

    def paths(self) -> Any:
        """What paths to it can be made now; None: no longer there."""
        found = self._run("marks_paths")
        return found[0] if found else None

    def _run(self, name: str) -> Any:
        from playwright.sync_api import Error

        try:
            return json.loads(self.handle.evaluate(element_script(name), self.number))
        except Error:
            # The document it belonged to is gone.
            return None


def find_again(
    page: "Page", known: Known, frame: Sequence[str], own: Sequence[str], tag: str
) -> "Locator | None":
    """A locator for the very element, or, once that is gone, for one that looks like it.

    Args:
        page: where it was.
        known: the element.
        frame: a selector for each frame around it, outermost first.
        own: its selectors, best first.
        tag: its name.
    """
    places = known.places()
    paths = known.paths() if places else None
    if places is None or paths is None:
        return _look_alike(page, frame, own, tag)
    root: Page | FrameLocator = page
    for facts, place in zip(paths["frames"], places, strict=False):
        outer = _at(root, selectors(facts), place)
        if outer is None:
            return None
        root = outer.content_frame
    return _at(root, tuple(dict.fromkeys((*own, *selectors(paths["own"])))), places[-1])


def _at(root: "Page | FrameLocator", choices: Sequence[str], place: str) -> "Locator | None":
    """The first choice that finds just the element at this place; at worst, its turn among many."""
    for choice in choices:
        found = root.locator(choice)
        places = run_on_elements(found, "marks_alive")
        if places == [place]:
            return found
        if choice == choices[-1] and place in places:
            return found.nth(places.index(place))
    return None


def _look_alike(
    page: "Page", frame: Sequence[str], own: Sequence[str], tag: str
) -> "Locator | None":
    """The first choice that finds one visible element with the same tag."""
    from playwright.sync_api import Error

    root: Page | FrameLocator = page
    for selector in frame:
        root = root.frame_locator(selector)
    for selector in own:
        found = root.locator(selector)
        try:
            if found.count() == 1 and found.is_visible() and _tag(found) == tag:
                return found
        except Error:
            # Its frame is gone, or the page is on its way to another one.
            continue
    return None


def _tag(found: "Locator") -> str:
    return str(found.evaluate("element => element.localName", timeout=_READ_MS)).lower()
