"""Learns what detail links have in common by visiting a few that a model points out."""

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from pytest_autoweb.collect.addresses import common_address
from pytest_autoweb.collect.collection import Collection
from pytest_autoweb.collect.guide import Guide, Picked
from pytest_autoweb.collect.opening import follow
from pytest_autoweb.collect.paths import MIN_CONFIDENCE, MIN_VISITS, common_path
from pytest_autoweb.collect.rate import Pacer
from pytest_autoweb.collect.reading import Entry
from pytest_autoweb.collect.site import Site
from pytest_autoweb.specs import Pattern

if TYPE_CHECKING:
    from pytest_autoweb.browser.marks import Mark

TRIES = 5
"""Decisions for each page to visit."""
MAX_BOTTOMS = 3
"""Times that the end of the page is reached."""
MAX_IN_VAIN = 2
"""Decisions in a row that come to nothing, before the page is scrolled all the same."""


class Explored(NamedTuple):
    """What was learned."""

    collection: Collection
    reason: str
    """Why there is no pattern; empty when there is one."""


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
        collection: the list, with what is known already.
        visits: pages to visit.
        over: whether the time is over.
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
    """Detail pages that were seen, and where their links are."""

    def __init__(self, guide: Guide, site: Site, pacer: Pacer, wanted: int) -> None:
        self._guide, self._site, self._pacer, self._wanted = guide, site, pacer, wanted
        self.entries: list[Entry] = []
        self._done: set[tuple[object, ...]] = set()

    @property
    def urls(self) -> tuple[str, ...]:
        return tuple(entry.url for entry in self.entries)

    @property
    def enough(self) -> bool:
        return len(self.entries) >= self._wanted

    def is_done(self, mark: "Mark") -> bool:
        return mark.identity in self._done

    def visit(self, picked: Picked) -> None:
        """Open what was picked and come back; what does not open is told to the model."""
        entry, mark = picked
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
        """The page that is shown is a detail page by itself."""
        url = self._site.page.url
        if url == list_url or url in self.urls:
            self._guide.wrong("explore", "this page is the list, not a detail page")
            return
        self.entries.append(Entry(url, ""))
        self._site.open(list_url)


def _learned(collection: Collection, seen: _Visits) -> Explored:
    """The collection with the pattern: by place if that is sure enough, else by address."""
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
