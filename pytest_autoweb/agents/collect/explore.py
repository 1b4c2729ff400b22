"""Lets a model set filters, choose entries and find the next page where no rule helps."""

from collections.abc import Callable
from typing import NamedTuple

from playwright.sync_api import Error

from pytest_autoweb.agents.collect.list_page import (
    MIN_CONFIDENCE,
    MIN_VISITS,
    ListEntry,
    common_address,
    common_path,
    read_links,
)
from pytest_autoweb.agents.collect.list_site import Site, follow
from pytest_autoweb.agents.collect.page_questions import Guide, GuidedDecision, Picked
from pytest_autoweb.agents.collect.saved_state import Collection, CollectProgress, NavStep, NextPage
from pytest_autoweb.agents.collect.walk import Pacer, do_step
from pytest_autoweb.base.specs import Pattern
from pytest_autoweb.browser.marks.marking import Mark
from pytest_autoweb.browser.page.quiet import wait_until_quiet

RETRIES = 2
"""Number of extra decisions to make up for those without effect."""
MAX_SCROLLS = 5
VAIN_ROUNDS = 2
"""Number of consecutive rounds without a new entry that end the choice of entries."""
_NAME_CHARS = 30


def set_list(
    guide: Guide, site: Site, *, limit: int, reveal: Callable[[str], str]
) -> tuple[NavStep, ...]:
    """Let the model set filters until the list shows the wanted entries; return the steps.

    Used controls are not offered again, because small models keep setting the same one. The prompt
    shows for each step whether the list changed, so the model knows whether it still has to press a
    button.
    """
    steps: list[NavStep] = []
    told: list[str] = []

    def is_done(one: Mark | NavStep) -> bool:
        return any(one.xpaths == step.xpaths for step in steps)

    for _ in range(limit + RETRIES):
        if len(steps) >= limit or guide.lost:
            break
        decided = guide.decide("navigate", site.page, known=told, over=is_done)
        if decided.action == "done":
            break
        if (step := _step_of(decided)) is None:
            continue
        if step.xpaths and is_done(step):
            said = "was done already: choose what applies it, or answer done"
            guide.wrong("navigate", f"{_told(step, decided)} {said}", decided.picked[0].mark)
            continue
        before = _links(site)
        if problem := do_step(site, step, reveal):
            guide.wrong("navigate", problem)
            continue
        wait_until_quiet(site.page)
        steps.append(step)
        became = "changed" if _links(site) != before else "did not change yet"
        told.append(f"{_told(step, decided)}: the list {became}")
    return tuple(steps)


def _step_of(decided: GuidedDecision) -> NavStep | None:
    fields = decided.fields
    if decided.action == "press":
        return NavStep(action="press", key=str(fields.get("key") or "Enter"))
    if not decided.picked or decided.action not in ("click", "type", "select"):
        return None
    mark = decided.picked[0].mark
    return NavStep(
        action=decided.action,
        xpaths=mark.xpaths,
        expected_text=mark.text,
        text=str(fields.get("option" if decided.action == "select" else "text") or ""),
    )


def _told(step: NavStep, decided: GuidedDecision) -> str:
    mark = decided.picked[0].mark if decided.picked else None
    name = (mark.name or mark.text)[:_NAME_CHARS] if mark else ""
    if step.action in ("select", "type"):
        return f"{step.action} {step.text} in {name}"
    return f"{step.action} {step.key or name}"


def _links(site: Site) -> list[str]:
    try:
        return [entry.url for entry in read_links(site.page)]
    except Error:
        # The page is navigating.
        return []


def find_next(guide: Guide, site: Site) -> NextPage | None:
    """Ask the model for the control that leads to the next page, again if its reply is unusable."""
    site.scroll()
    for _ in range(1 + RETRIES):
        decided = guide.decide("paginate", site.page)
        if decided.action == "none" or guide.lost:
            return None
        if decided.picked:
            mark = decided.picked[0].mark
            return NextPage(text=mark.text, xpaths=mark.xpaths)
    return None


def pick_entries(
    guide: Guide, site: Site, progress: CollectProgress, target: int
) -> tuple[ListEntry, ...]:
    """Let the model choose the entries of the current page, in several rounds while scrolling."""
    chosen: dict[str, ListEntry] = {}
    scrolls = vain = 0
    while scrolls <= MAX_SCROLLS and vain < VAIN_ROUNDS and not guide.lost:
        known = (*progress.urls, *chosen)
        if len(known) >= target:
            break
        decided = guide.decide(
            "collect", site.page, known=known, over=lambda mark: mark.url in chosen
        )
        if decided.action == "done":
            break
        found = [picked.entry for picked in decided.picked if picked.entry.key not in chosen]
        chosen.update((entry.key, entry) for entry in found)
        vain = 0 if found else vain + 1
        if decided.action == "scroll_down" or vain:
            scrolls += 1
            if site.step_down():
                break
    return tuple(chosen.values())


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
