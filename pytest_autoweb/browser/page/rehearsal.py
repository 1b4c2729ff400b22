"""What a case's solution acts on while it is played on unchanged pages, to be found in other words.

Where a page is in another language, its words lead to nothing, but ids, names and places in the
document stay. An element for which neither is true is not found, and the case counts as unfair.
"""

import json
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import suppress

from playwright.sync_api import Error, Locator

from pytest_autoweb.base.waiting.playwright_internals import place_of
from pytest_autoweb.browser.page.own_world import ask_about

_ASK_MS = 5_000.0


class Rehearsal:
    """The elements that a solution acted on, in their order, by the locators that it wrote.

    It notes them until `end` is called, and finds them from then on.
    """

    def __init__(self) -> None:
        self.is_over = False
        self._known: dict[str, list[str]] = defaultdict(list)
        self._turns: Counter[str] = Counter()

    def end(self) -> None:
        """Note nothing more: from now on elements are found by what was noted."""
        self.is_over = True

    def meant(self, locator: Locator, text: str, wait_ms: float) -> Locator:
        """Return what finds the element that the solution means by a locator.

        Args:
            locator: finds it on unchanged pages.
            text: the locator as the solution writes it.
            wait_ms: how long an element to be noted may take to appear.
        """
        if not self.is_over:
            self._known[text].append(_lasting(locator, wait_ms))
            return locator
        known, turn = self._known.get(text, []), self._turns[text]
        self._turns[text] += 1
        place = place_of(locator)
        # A solution that looks more often than it did means what it meant last.
        lasting = known[min(turn, len(known) - 1)] if known else ""
        if not lasting or place is None:
            return locator
        # Two different elements are an error of Playwright's, as they should be.
        return locator.or_(place.beside(lasting))


def _lasting(locator: Locator, wait_ms: float) -> str:
    """Return a selector of an element without its words; empty if there is none."""
    place = place_of(locator)
    if place is None:
        return ""
    with suppress(Error):
        locator.first.wait_for(state="attached", timeout=wait_ms)
        for told in ask_about(locator, "locator_facts", timeout_ms=_ASK_MS):
            for selector in _selectors(told):
                found = place.beside(selector)
                if found.count() == 1 == found.and_(locator.first).count():
                    return selector
    return ""


def _selectors(told: dict[str, object]) -> Iterator[str]:
    if testid := told.get("testid"):
        yield f"[data-testid={json.dumps(testid, ensure_ascii=False)}]"
    css = told.get("css")
    yield from map(str, css) if isinstance(css, list) else ()
