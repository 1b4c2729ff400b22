"""Finding a marked element again before acting on it, even if its page has changed."""

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from pytest_autoweb.browser.injected import element_script, run_on_elements
from pytest_autoweb.browser.marks_xpath import selectors

if TYPE_CHECKING:
    from playwright.sync_api import FrameLocator, JSHandle, Locator, Page

_READ_MS = 2_000.0


class KnownElement(NamedTuple):
    """An element that a script found and the browser remembers, without any trace in the page."""

    handle: "JSHandle"
    """Handle of all the elements that the script found."""
    number: int
    """Index of the element among them."""

    def places(self) -> Sequence[str] | None:
        """Return the positions of its frames and of itself, each in its document; None if gone."""
        found = self._run("marks_alive")
        return [str(place) for place in found] if found else None

    def paths(self) -> Any:
        """Return data for paths that lead to it now, or None if it is gone."""
        found = self._run("marks_paths")
        return found[0] if found else None

    def _run(self, name: str) -> Any:
        from playwright.sync_api import Error

        try:
            return json.loads(self.handle.evaluate(element_script(name), self.number))
        except Error:
            # The document that contained it is gone.
            return None


def find_again(
    page: "Page", known: KnownElement, frame: Sequence[str], own: Sequence[str], tag: str
) -> "Locator | None":
    """Return a locator for the original element or, if that is gone, for one that matches it.

    Args:
        page: the page that contained it.
        known: the element.
        frame: a selector for each frame around it, outermost first.
        own: selectors for the element, best first.
        tag: the element's tag name.
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
    """Return the first selector that finds only the element at this position.

    If none is unique, the last one is narrowed by its index among the matches.
    """
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
    """Return a locator of the first selector that finds one visible element with the same tag."""
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
            # Its frame is gone, or the page is navigating.
            continue
    return None


def _tag(found: "Locator") -> str:
    return str(found.evaluate("element => element.localName", timeout=_READ_MS)).lower()
