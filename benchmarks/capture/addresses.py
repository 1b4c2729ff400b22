"""Whether what is listed can be addressed as the prompts say, tried on the live page."""

import re
from collections import Counter
from collections.abc import Iterator

from playwright.sync_api import Error, FrameLocator, Locator, Page

from benchmarks.capture.entries import ACTED_ON, Entry, outline_entries, unquoted
from benchmarks.capture.score import match
from benchmarks.capture.truth import Truth
from pytest_autoweb.browser.page.numbered_list import NumberedListing

_IS_IT = """(element, at) => {
  const wanted = window.top.truthElements[at];
  return element === wanted || element.contains(wanted) || wanted.contains(element)
    || [...(wanted.labels || [])].some((label) => label.contains(element))
    || (wanted.getRootNode().host || null) === element;
}"""
_GIVEN = re.compile(r'\b(title|label|placeholder) ("(?:[^"\\]|\\.)*")')
_SELECTOR = re.compile(r'^\w+ ([.#][\w-]+|\[name="[^"]*"\])')
_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"')


def try_names(page: Page, truth: Truth, listing: str) -> Counter[str]:
    """Count how many elements each entry's own expression finds.

    `right` is one element that is the very one, `several` can be told apart by what stands
    beside them only, `nameless` has nothing to be called by.
    """
    found: Counter[str] = Counter()
    entries = list(outline_entries(listing))
    wanted = {id(entry): at for at, entry in match(truth.elements, entries).items()}
    for entry in entries:
        if id(entry) not in wanted:
            continue
        located = _located(page, entry)
        if located is None:
            found["nameless"] += 1
            continue
        try:
            count = located.count()
            right = count == 1 and located.evaluate(_IS_IT, wanted[id(entry)], timeout=2_000)
        except Error:
            count, right = 0, False
        several = "several" if count > 1 else "none" if count == 0 else "another"
        found["right" if right else several] += 1
    return found


def _located(page: Page, entry: Entry) -> Locator | None:
    root: Page | FrameLocator = page
    if entry.frame:
        named = _QUOTED.search(entry.frame)
        root = page.frame_locator(f"iframe[title={named[0]}]" if named else "iframe")
    if chosen := _SELECTOR.match(entry.head):
        return root.locator(chosen[1])
    if entry.quoted and entry.role in ACTED_ON - {"clickable", "file", "summary"}:
        return root.get_by_role(entry.role, name=entry.name, exact=True)  # type: ignore[arg-type]
    ways = {"title": root.get_by_title, "label": root.get_by_label}
    for kind, name in _GIVEN.findall(entry.head):
        return ways.get(kind, root.get_by_placeholder)(unquoted(name), exact=True)
    return root.get_by_text(entry.name, exact=True) if entry.name else None


def try_numbers(page: Page, truth: Truth, listing: NumberedListing) -> Counter[str]:
    """Count the numbers that find the very element that they are listed for."""
    found: Counter[str] = Counter()
    for at, number in _numbers(truth, listing):
        located = listing.elements[number - 1].locator()
        try:
            right = located.count() == 1 and located.evaluate(_IS_IT, at, timeout=2_000)
        except Error:
            right = False
        found["right" if right else "another"] += 1
    return found


def _numbers(truth: Truth, listing: NumberedListing) -> Iterator[tuple[int, int]]:
    entries = list(outline_entries(listing.text))
    for at, entry in match(truth.elements, entries).items():
        if entry.number.startswith("e"):
            yield at, int(entry.number[1:])
