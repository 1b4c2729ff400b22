"""Collects page after page until there is enough, or nothing more.

After every page the progress is handed to `save`: a run that is killed at any moment goes on with
the page after the last one saved.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from pytest_autoweb.collect.addresses import new_ones
from pytest_autoweb.collect.collection import NextPage
from pytest_autoweb.collect.controls import choose_more
from pytest_autoweb.collect.opening import follow
from pytest_autoweb.collect.paging import predicted
from pytest_autoweb.collect.progress import Progress, Status
from pytest_autoweb.collect.rate import Pacer
from pytest_autoweb.collect.reading import Entry
from pytest_autoweb.collect.site import Move, Site, Way
from pytest_autoweb.collect.ways import usual_way

MAX_FAILURES = 3
"""Turns in a row that may fail, and entries of one page that may lead nowhere."""
EMPTY_PAGES = 2
"""Pages in a row without a new address after which there is nothing more."""
LAZY_TRIES = 1
"""Pages that are scrolled in vain before scrolling is given up."""
ITEMS_KEPT = 20
"""Entries by which a page is known again."""


@dataclass(frozen=True, slots=True)
class Limits:
    """How far to go."""

    target: int = 50
    pages: int = 10
    over: Callable[[], bool] = lambda: False
    """Whether the time is over."""


@dataclass(frozen=True, slots=True)
class Ports:
    """What the walk needs from outside."""

    pacer: Pacer
    save: Callable[[Progress], Progress] = lambda progress: progress
    find_next: Callable[[], NextPage | None] = lambda: None
    """Asked where no usual control leads on: a model, or nobody."""
    pick: Callable[[Progress], tuple[Entry, ...]] | None = None
    """Chooses the entries of a page where no pattern is known."""


class _Shown(NamedTuple):
    """A page of the list whose entries are taken."""

    entries: tuple[Entry, ...]
    way: Way | None
    ended: str
    """Why there is no way on."""
    refused: str = ""
    """What the server refused when the page was to show more."""


class Walk:
    """One collection under way."""

    def __init__(self, site: Site, ports: Ports, limits: Limits) -> None:
        self._site, self._ports, self._limits = site, ports, limits
        self._vain_scrolls = 0
        self._empty_pages = 0
        self._shown_page = 1
        """Of pages that are turned; what is scrolled into a page does not count."""
        self._knows_the_way = False
        """Something led on before: when it is gone, this is the end, and nobody is asked."""

    def run(self, progress: Progress, *, page_is_done: bool = False) -> Progress:
        """Collect from the page that is shown on.

        Args:
            progress: what is done already.
            page_is_done: the page that is shown is the last one of `progress`.

        Returns:
            The progress at the end. Status `done` means that nothing is left to fetch, `paused`
            that a later run may go on; `pause_reason` says why.
        """
        self._ports.pacer.level = progress.backoff_level
        self._ports.pacer.good = progress.consecutive_success_pages
        with self._site.watched():
            if page_is_done:
                self._knows_the_way = progress.current_page_num > 1
                shown = _Shown(self._site.wait_for_entries(progress.collection), None, "")
                progress, shown = self._way_on(progress, shown)
            else:
                progress, shown = self._read(progress)
            while not (reason := self._enough(progress) or shown.ended):
                end = self._turn(progress, shown)
                if end is not None:
                    return self._ended(progress, *end)
                progress, shown = self._read(progress)
            return self._ended(progress, "done", reason)

    def _enough(self, progress: Progress) -> str:
        if len(progress.urls) >= self._limits.target:
            return "the target is reached"
        if progress.current_page_num >= self._limits.pages:
            return "the page limit is reached"
        return ""

    def _ended(self, progress: Progress, status: Status, reason: str) -> Progress:
        self._site.note(f"collect: {len(progress.urls)} addresses; {status}: {reason}")
        return self._save(progress, status=status, pause_reason=reason)

    def _save(self, progress: Progress, **update: object) -> Progress:
        pacer = self._ports.pacer
        pace = {"backoff_level": pacer.level, "consecutive_success_pages": pacer.good}
        return self._ports.save(progress.model_copy(update={**update, **pace}))

    def _read(self, progress: Progress) -> tuple[Progress, _Shown]:
        """Take the entries of the page that is shown, and what more it can be made to show."""
        known = len(progress.urls)
        progress, shown = self._taken(progress, self._entries(progress))
        while not self._enough(progress):
            grown, refusal = self._grown_at_last(progress, shown)
            if refusal:
                return progress, shown._replace(refused=refusal)
            if not grown:
                break
            self._knows_the_way = True
            progress, shown = self._taken(progress, grown)
        self._empty_pages = self._empty_pages + 1 if len(progress.urls) == known else 0
        if self._empty_pages >= EMPTY_PAGES:
            return progress, shown._replace(ended="nothing new on the last pages")
        return (progress, shown) if self._enough(progress) else self._way_on(progress, shown)

    def _entries(self, progress: Progress) -> tuple[Entry, ...]:
        if self._ports.pick is not None:
            return self._ports.pick(progress)
        return self._site.wait_for_entries(progress.collection)

    def _taken(self, progress: Progress, entries: tuple[Entry, ...]) -> tuple[Progress, _Shown]:
        """The entries' addresses are kept, and the page counts as done."""
        progress = self._followed(progress, entries)
        urls = [entry.url or progress.opened.get(entry.text, "") for entry in entries]
        fresh = new_ones(progress.urls, filter(None, urls))
        shown = self._usual_way(progress, entries)
        here = self._site.page.url
        following = shown.way.url if shown.way else ""
        progress = self._save(
            progress,
            urls=(*progress.urls, *fresh)[: self._limits.target],
            current_page_num=progress.current_page_num + 1,
            page_url=here,
            page_items=tuple(entry.key for entry in entries[:ITEMS_KEPT]),
            next_url=following or predicted(progress.page_url, here),
        )
        return progress, shown

    def _followed(self, progress: Progress, entries: tuple[Entry, ...]) -> Progress:
        """Entries that have no address are clicked; each is kept at once."""
        failures = 0
        for entry in entries:
            if entry.url or entry.text in progress.opened:
                continue
            enough = len({*progress.urls, *progress.opened.values()}) >= self._limits.target
            if enough or failures >= MAX_FAILURES or self._limits.over():
                break
            self._ports.pacer.pause()
            url, problem = follow(self._site, entry)
            if problem:
                self._site.note(f"collect: {problem}")
                failures += 1
            if url:
                progress = self._save(progress, opened={**progress.opened, entry.text: url})
        return progress

    def _grown(self, progress: Progress, shown: _Shown) -> tuple[Entry, ...]:
        """More entries in the same page, by scrolling or by a control that loads more."""
        collection, site = progress.collection, self._site
        if self._ports.pick is not None or self._limits.over():
            return ()
        if collection.scroll and self._vain_scrolls < LAZY_TRIES:
            site.scroll()
            if site.grew(shown.entries, collection):
                self._vain_scrolls = 0
                self._ports.pacer.succeeded()
                self._ports.pacer.pause()
                return site.entries(collection)
            if site.refusal:
                return ()
            self._vain_scrolls += 1
        more = choose_more(site.controls())
        if more is None:
            return ()
        self._ports.pacer.pause()
        problem = site.press(site.way_of(more))
        if problem or not site.grew(shown.entries, collection):
            site.note(f"collect: {problem or f'{more.name!r} brought nothing'}")
            return ()
        self._ports.pacer.succeeded()
        return site.entries(collection)

    def _grown_at_last(self, progress: Progress, shown: _Shown) -> tuple[tuple[Entry, ...], str]:
        """The same, tried again after a pause where the server refuses; and what it refuses."""
        refusal = ""
        for _ in range(MAX_FAILURES):
            grown = self._grown(progress, shown)
            refusal = "" if grown else self._site.refusal
            if not refusal or self._limits.over():
                return grown, refusal
            self._site.note(f"collect: {refusal}")
            self._ports.pacer.refused()
            self._ports.pacer.pause()
        return (), refusal

    def _turn(self, progress: Progress, shown: _Shown) -> tuple[Status, str] | None:
        """Go to the next page, again after a pause if it fails; how it ends if it cannot."""
        if shown.refused or self._limits.over():
            return "paused", shown.refused or "the time is over"
        if shown.way is None:
            return "done", "no way to a next page"
        pacer, in_vain, move = self._ports.pacer, 0, Move("failed")
        before = self._site.entries(progress.collection)
        for _ in range(MAX_FAILURES):
            if self._limits.over():
                return "paused", "the time is over"
            pacer.pause()
            move = self._site.take(shown.way, before, progress.collection)
            if move.kind == "ok":
                self._shown_page += 1
                self._knows_the_way = True
                pacer.succeeded()
                return None
            self._site.note(f"collect: page {progress.current_page_num + 1}: {move.problem}")
            in_vain += move.kind == "nothing"
            # An address leads to the same page again; a control may not have been ready.
            if move.kind == "gone" or in_vain > (0 if shown.way.url else 1):
                return "done", move.problem
            pacer.refused()
        return "paused", move.problem

    def _way_on(self, progress: Progress, shown: _Shown) -> tuple[Progress, _Shown]:
        """The way to the next page; where no usual one is, somebody is asked and it is kept."""
        if shown.way is None and not shown.ended:
            shown = self._usual_way(progress, shown.entries)
        if shown.way is not None or shown.ended or self._knows_the_way:
            return progress, shown
        if found := self._ports.find_next():
            collection = progress.collection.model_copy(update={"next": found})
            progress = progress.model_copy(update={"collection": collection})
            shown = self._usual_way(progress, shown.entries)
        return progress, shown

    def _usual_way(self, progress: Progress, entries: tuple[Entry, ...]) -> _Shown:
        found = usual_way(self._site, progress.collection, self._shown_page)
        return _Shown(entries, found.way, found.ended)
