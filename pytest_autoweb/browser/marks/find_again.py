"""Finds a marked element again when it is acted on, however its page has changed."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from playwright.sync_api import Error, FrameLocator, JSHandle, Locator, Page

from pytest_autoweb.base.whole_characters import read_json
from pytest_autoweb.base.xpath import xpath_literal
from pytest_autoweb.browser.page.frames import element_script, run_on_elements

_TEXT_CHARS = 30
_HREF_CHARS = 5
# Long numbers, hexadecimal digits, and prefixes of ids that UI frameworks generate.
_RANDOM = re.compile(
    r"\d{3,}|[0-9a-f]{8}|^:.*:$|^(?:ember|radix|react-select|headlessui|mui|ext-gen|yui_)"
    r"|[A-Za-z]\d[A-Za-z]\d|^.{41,}$",
    re.DOTALL,
)


def xpaths(facts: Mapping[str, Any]) -> tuple[str, ...]:
    """Return expressions that find exactly the element, best first.

    The order is: own id, test id, label, end of the link, short text, path from the nearest id,
    full path. All but the paths rely on something the page's author chose; ids that look generated
    are skipped. An element in a shadow root has none, because XPath does not search there.
    """
    return tuple(dict.fromkeys(_ranked(facts))) if facts.get("steps") else ()


def selectors(facts: Mapping[str, Any]) -> tuple[str, ...]:
    """Return Playwright selectors; in a shadow root this is a CSS path, which may enter it."""
    css = facts["css"]
    return (*(f"xpath={path}" for path in xpaths(facts)), *([css] if css else []))


def looks_random(identifier: str) -> bool:
    """Tell whether an id looks generated, so that it may differ next time."""
    return bool(_RANDOM.search(identifier))


def _ranked(facts: Mapping[str, Any]) -> Iterator[str]:
    tag = facts["tag"]
    if facts["id"] and not looks_random(facts["id"]):
        yield f"//*[@id={xpath_literal(facts['id'])}]"
    for name, value in facts["tests"]:
        yield f"//*[@{name}={xpath_literal(value)}]"
    if facts["label"]:
        yield f"//{tag}[@aria-label={xpath_literal(facts['label'])}]"
    if len(facts["href"]) > _HREF_CHARS:
        end = len(facts["href"]) - 1
        yield f"//a[substring(@href, string-length(@href) - {end})={xpath_literal(facts['href'])}]"
    if 0 < len(facts["text"]) <= _TEXT_CHARS:
        yield f"//{tag}[normalize-space(.)={xpath_literal(facts['text'])}]"
    anchor = facts["anchor"]
    if anchor and not looks_random(anchor["id"]):
        yield f"//*[@id={xpath_literal(anchor['id'])}]/{_path(anchor['steps'])}"
    yield f"/{_path(facts['steps'])}"


def _path(steps: Sequence[str]) -> str:
    return "/".join(steps)


_READ_MS = 2_000.0


_IS_AT = """(found, [made, number]) =>
  !made.elements[number].isConnected || found === made.elements[number]"""


class KnownElement(NamedTuple):
    """An element that a script found and the browser remembers, without any trace in the page."""

    handle: JSHandle
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

    def is_at(self, found: Locator) -> bool:
        """Tell whether a locator finds the element; also if it is gone, or in another document."""
        try:
            return bool(found.evaluate(_IS_AT, [self.handle, self.number], timeout=_READ_MS))
        except Error:
            return True

    def near(self, group: Sequence[int]) -> Sequence[str]:
        """Return the texts around it now, nearest first; none if it is gone.

        Args:
            group: indexes of the elements to tell apart, its own first.
        """
        found = self._run("marks_near", [list(group)])
        return [str(text) for text in found[0][0]] if found else ()

    def _run(self, name: str, arg: Any = None) -> Any:
        arg = self.number if arg is None else arg
        try:
            return read_json(self.handle.evaluate(element_script(name), arg))
        except Error:
            # The document that contained it is gone.
            return None


def find_again(
    page: Page, known: KnownElement, frame: Sequence[str], own: Sequence[str], tag: str
) -> Locator | None:
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
    # There is one more place than frames: the last one is that of the element itself.
    for facts, place in zip(paths["frames"], places, strict=False):
        outer = _at(root, selectors(facts), place)
        if outer is None:
            return None
        root = outer.content_frame
    return _at(root, tuple(dict.fromkeys((*own, *selectors(paths["own"])))), places[-1])


def _at(root: Page | FrameLocator, choices: Sequence[str], place: str) -> Locator | None:
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


def _look_alike(page: Page, frame: Sequence[str], own: Sequence[str], tag: str) -> Locator | None:
    """Return a locator of the first selector that finds one visible element with the same tag."""
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


def _tag(found: Locator) -> str:
    return str(found.evaluate("element => element.localName", timeout=_READ_MS)).lower()
