"""Visits detail pages that a model points out, and learns the pattern of their links."""

from collections.abc import Callable
from typing import NamedTuple

from pytest_autoweb.agents.collect.addresses import common_address
from pytest_autoweb.agents.collect.following import follow
from pytest_autoweb.agents.collect.list_page import ListEntry
from pytest_autoweb.agents.collect.list_site import Site
from pytest_autoweb.agents.collect.page_questions import Guide, Picked
from pytest_autoweb.agents.collect.places import MIN_CONFIDENCE, MIN_VISITS, common_path
from pytest_autoweb.agents.collect.saved_state import Collection
from pytest_autoweb.agents.collect.walk import Pacer
from pytest_autoweb.base.specs import Pattern
from pytest_autoweb.browser.marks.marking import Mark

TRIES = 5
"""Maximum number of decisions per page to visit."""
MAX_BOTTOMS = 3
"""Number of times that the end of the page may be reached before exploring stops."""
MAX_IN_VAIN = 2
"""Number of consecutive decisions without effect before the page is scrolled anyway."""


class Explored(NamedTuple):
    """The collection, extended with the learned pattern."""

    collection: Collection
    reason: str
    """The reason why there is no pattern; empty when there is one."""


def explore(
    guide: Guide,
    site: Site,
    pacer: Pacer,
    collection: Collection,
    *,
    visits: int,
    over: Callable[[], bool] = lambda: False,
) -> Explored:
    """Visit detail pages that the model points out, and learn the pattern of their links.

    Args:
        guide: asks the model.
        site: shows the list.
        pacer: pauses before each visit.
        collection: the list, with the facts already known about it.
        visits: the number of pages to visit.
        over: returns whether the time is up.
    """
    seen = _Visits(guide, site, pacer, visits)
    bottoms = in_vain = 0
    for _ in range(TRIES * visits):
        if seen.enough or over() or guide.lost or bottoms >= MAX_BOTTOMS:
            break
        decided = guide.decide("explore", site.page, known=seen.urls, over=seen.is_done)
        before = len(seen.urls)
        if decided.action == "current_is_detail":
            seen.take_current(collection.list_url)
        for picked in decided.picked:
            if not seen.enough:
                seen.visit(picked)
        in_vain = 0 if len(seen.urls) > before else in_vain + 1
        if decided.action == "scroll_down" or in_vain > MAX_IN_VAIN:
            bottoms += site.step_down()
            in_vain = 0
    return _learned(collection, seen)


class _Visits:
    """The detail pages that were visited, with the places of their links."""

    def __init__(self, guide: Guide, site: Site, pacer: Pacer, wanted: int) -> None:
        self._guide, self._site, self._pacer, self._wanted = guide, site, pacer, wanted
        self.entries: list[ListEntry] = []
        self._done: set[tuple[object, ...]] = set()

    @property
    def urls(self) -> tuple[str, ...]:
        return tuple(entry.url for entry in self.entries)

    @property
    def enough(self) -> bool:
        return len(self.entries) >= self._wanted

    def is_done(self, mark: Mark) -> bool:
        return mark.identity in self._done

    def visit(self, picked: Picked) -> None:
        """Open the chosen link and come back; report links that do not open to the model."""
        entry, mark = picked
        # A link to the list itself would teach the pattern of the list's own address.
        if entry.url == self._site.page.url:
            self._guide.wrong("explore", f"{entry.text[:30]!r} leads to the list itself", mark)
            self._done.add(mark.identity)
            return
        if mark.identity in self._done or (entry.url and entry.url in self.urls):
            self._guide.wrong("explore", f"{entry.text[:30]!r} was visited already", mark)
            return
        self._done.add(mark.identity)
        self._pacer.pause()
        if entry.url:
            url, problem = entry.url, self._site.peek(entry.url)
        else:
            url, problem = follow(self._site, entry)
        if not url or (entry.url and problem):
            self._guide.wrong("explore", problem, mark)
            return
        self.entries.append(entry._replace(url=url))

    def take_current(self, list_url: str) -> None:
        """Count the current page as a detail page, and open the list again."""
        url = self._site.page.url
        if url == list_url or url in self.urls:
            self._guide.wrong("explore", "this page is the list, not a detail page")
            return
        self.entries.append(ListEntry(url, ""))
        self._site.open(list_url)


def _learned(collection: Collection, seen: _Visits) -> Explored:
    """Return the collection with a pattern of places, or of addresses if those differ too much."""
    collection = collection.model_copy(update={"visited": seen.urls})
    if len(seen.entries) < MIN_VISITS:
        return Explored(collection, f"{len(seen.entries)} detail pages were visited, 2 are needed")
    path = common_path([entry.place for entry in seen.entries if entry.place])
    address = common_address(seen.urls)
    if path and path.confidence >= MIN_CONFIDENCE:
        found = {"detail_xpath": path.xpath, "confidence": path.confidence}
    elif address and address.confidence >= MIN_CONFIDENCE:
        pattern = Pattern(matches=address.pattern)
        found = {"detail_pattern": pattern, "confidence": address.confidence}
    else:
        return Explored(collection, "the visited links have too little in common")
    return Explored(collection.model_copy(update=found), "")
