"""Collects page by page, politely, until there is enough or nothing is left.

It finds the way to the next page of a list, and back to the point where a collection stopped.
"""

import random
from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple
from urllib.parse import parse_qsl, quote, urlsplit, urlunsplit

from msgspec import Struct
from playwright.sync_api import Error, Locator

from pytest_autoweb.agents.choice.expected_text import compare_element
from pytest_autoweb.agents.collect.addresses import new_ones
from pytest_autoweb.agents.collect.following import follow
from pytest_autoweb.agents.collect.list_controls import by_text, choose_more, choose_next
from pytest_autoweb.agents.collect.list_page import ListEntry
from pytest_autoweb.agents.collect.list_site import CLICK_MS, MoveResult, Site, Way
from pytest_autoweb.agents.collect.page_traffic import LONGEST_WAIT_S
from pytest_autoweb.agents.collect.saved_state import (
    Collection,
    CollectProgress,
    NavStep,
    NextPage,
    Status,
)
from pytest_autoweb.base.errors import first_line
from pytest_autoweb.browser.page.frames import run_on_element
from pytest_autoweb.browser.page.quiet import wait_until_quiet
from pytest_autoweb.browser.page.same_element import RowsMovedError, on_same, pinned
from pytest_autoweb.cases.collect_spec import PageParameter, Rate

_FROM_ZERO = ("offset", "start", "skip", "from")

GROWTH = 1.5
MAX_LEVEL = 3
RECOVERY_PAGES = 5
"""Number of consecutive good pages after which the level falls by one."""


def next_by_parameter(url: str, given: PageParameter) -> str:
    """Return the address of the page after `url`, with its parameter advanced by one step.

    A page without the parameter is the first one. An `offset` counts entries, so its step is the
    number of entries on a page, which the case gives.
    """
    now = parameter_of(url, given.parameter)
    if now is None:
        zero = given.parameter.lower() in _FROM_ZERO
        now = given.start if given.start is not None else 0 if zero else 1
    return with_parameter(url, given.parameter, now + given.step)


def predicted(before: str, now: str) -> str:
    """Return the address that follows those of two consecutive pages; empty when it is unclear.

    It is clear when exactly one parameter differs and is a number that has grown. It then grows by
    the same amount again, which also suits offsets. A parameter that the first page lacks counts as
    1 there if the second page has 2, else as 0.
    """
    if urlsplit(before)._replace(query="") != urlsplit(now)._replace(query=""):
        return ""
    first, second = _numbers(before), _numbers(now)
    changed = [name for name in second if first.get(name) != second[name]]
    if len(changed) != 1 or _others(before, changed[0]) != _others(now, changed[0]):
        return ""
    name = changed[0]
    value = second[name]
    start = first.get(name, 1 if value == 2 else 0)
    return with_parameter(now, name, value + value - start) if value > start else ""


def parameter_of(url: str, name: str) -> int | None:
    """Return the number in a parameter of the address, or None."""
    return _numbers(url).get(name)


def with_parameter(url: str, name: str, value: int) -> str:
    """Return the address with one parameter set and the others exactly as they were."""
    parts = urlsplit(url)
    setting = f"{quote(name)}={value}"
    pieces = [piece for piece in parts.query.split("&") if piece]
    kept = [setting if piece.partition("=")[0] == quote(name) else piece for piece in pieces]
    if setting not in kept:
        kept.append(setting)
    return urlunsplit(parts._replace(query="&".join(kept)))


def _numbers(url: str) -> dict[str, int]:
    pairs = parse_qsl(urlsplit(url).query, keep_blank_values=True)
    return {name: int(value) for name, value in pairs if value.isdecimal() and len(value) <= 9}


def _others(url: str, name: str) -> list[tuple[str, str]]:
    return [pair for pair in parse_qsl(urlsplit(url).query) if pair[0] != name]


class NextWay(NamedTuple):
    """The way to the next page, or the reason why there is none."""

    way: Way | None
    ended: str
    """The reason why this is the last page; empty when it may not be."""


def usual_way(site: Site, collection: Collection, page_number: int) -> NextWay:
    """Return the way from the current page to the next one.

    Args:
        site: the site whose page shows a page of the list.
        collection: the collection, which may give the way.
        page_number: the number of the current page, for pages that do not show it.
    """
    given = collection.next
    if given and given.parameter:
        return NextWay(Way(url=next_by_parameter(site.page.url, given.parameter)), "")
    controls = site.controls()
    if given:
        named = by_text(controls, given.text) if given.text else None
        if named:
            return NextWay(site.way_of(named), "the last page" if named.disabled else "")
        for xpath in given.xpaths:
            if site.page.locator(f"xpath={xpath}").count() == 1:
                return NextWay(Way(xpath=xpath, text=given.text), "")
    choice = choose_next(controls, page_number)
    if choice.control is not None:
        return NextWay(site.way_of(choice.control), "")
    return NextWay(None, "the last page" if choice.reason == "disabled" else "")


_FIND_MS = 3_000
_POLL_MS = 100


def replay_steps(
    site: Site, steps: Sequence[NavStep], reveal: Callable[[str], str] = lambda text: text
) -> str:
    """Replay recorded steps on the page; return why they stopped, empty if all were done.

    Args:
        site: the list, freshly opened.
        steps: the recorded steps.
        reveal: replaces the placeholders of secrets.
    """
    for number, step in enumerate(steps, 1):
        if problem := do_step(site, step, reveal):
            return f"step {number} ({step.action} {step.expected_text!r}): {problem}"
        wait_until_quiet(site.page)
    return ""


def do_step(site: Site, step: NavStep, reveal: Callable[[str], str] = lambda text: text) -> str:
    """Do one step; return the reason if it could not be done, else empty."""
    try:
        if step.action == "press":
            site.page.keyboard.press(step.key or "Enter")
            return ""
        located = _find(site, step)
        if located is None:
            return "it is not on the page"
        return _perform(pinned(located), step, reveal)
    except (Error, RowsMovedError) as error:
        return first_line(error)


def _perform(located: Locator, step: NavStep, reveal: Callable[[str], str]) -> str:
    read = run_on_element(located, "marks_texts", "name", timeout_ms=CLICK_MS)[0]
    found = compare_element(step.expected_text, (*read["texts"], read["name"]))
    # The text of a field depends on what was typed there before, so only clicks compare it.
    if found.verdict == "mismatch" and step.action == "click":
        return found.reason
    text, limit = step.text, CLICK_MS
    if step.action == "click":
        on_same(located, "click", lambda one: one.click(timeout=limit))
    elif step.action == "type":
        on_same(located, "fill", lambda one: one.fill(reveal(text), timeout=limit))
    else:
        on_same(located, "select_option", lambda one: one.select_option(label=text, timeout=limit))
    return ""


def _find(site: Site, step: NavStep) -> Locator | None:
    """Return the element from the first XPath that finds exactly one, waiting briefly."""
    for _ in range(_FIND_MS // _POLL_MS):
        for xpath in step.xpaths:
            located = site.page.locator(f"xpath={xpath}")
            if located.count() == 1:
                return located
        site.page.wait_for_timeout(_POLL_MS)
    return None


_JUMP_FIELDS = (
    "[class*=pag] input[type=number], [class*=pag] input[type=text], "
    "[class*=pag] input:not([type]), [class*=jump] input, input[name=page], "
    "input[aria-label*=page i], input[aria-label*=页]"
)
_FIELD_MS = 3_000.0


class Reached(NamedTuple):
    """The page that was reached."""

    at: Literal["next", "done", "start"]
    """`next`: the page after the last one done; `done`: the last one done; `start`: the first."""
    how: str


def go_back_to(
    site: Site, progress: CollectProgress, reveal: Callable[[str], str] = lambda text: text
) -> Reached:
    """Open the page after the last one that was done, or the closest page before it.

    These are tried in order: the address of the next page; the address of the last page, if pages
    have addresses; a field that jumps to a page; turning pages from the first one until the last
    one is recognised by its entries. If none works, collecting starts at the first page again;
    known addresses are not counted twice.
    """
    if progress.next_url and site.open(progress.next_url).kind == "ok":
        entries = site.wait_for_entries(progress.collection)
        if entries and not _is_done(entries, progress):
            return Reached("next", "its address")
    if problem := _open_list(site, progress, reveal):
        site.note(f"collect: {problem}")
    if progress.current_page_num == 0:
        return Reached("start", "nothing was done yet")
    here = site.wait_for_entries(progress.collection)
    if _is_done(here, progress):
        return Reached("done", "it is the first page")
    if _jump(site, progress):
        return Reached("done", "the page's own field for the page")
    for number in range(1, progress.current_page_num):
        way = usual_way(site, progress.collection, number).way
        if way is None or site.take(way, here, progress.collection).kind != "ok":
            break
        here = site.entries(progress.collection)
        if _is_done(here, progress):
            return Reached("done", "turning from the first page")
    _open_list(site, progress, reveal)
    return Reached("start", "the page was not found again")


def _open_list(site: Site, progress: CollectProgress, reveal: Callable[[str], str]) -> str:
    """Open the last page done if it has an address, else the list, and replay the filters."""
    own = progress.page_url and progress.page_url != progress.list_url
    if own and not progress.collection.nav_steps:
        return site.open(progress.page_url).problem
    move = site.open(progress.list_url)
    return move.problem or replay_steps(site, progress.collection.nav_steps, reveal)


def _is_done(entries: tuple[ListEntry, ...], progress: CollectProgress) -> bool:
    """Return whether more than half of the last page's entries are among these.

    Not all are required, because a list may gain and lose entries between two runs.
    """
    known = set(progress.page_items)
    same = sum(entry.key in known for entry in entries)
    return bool(known) and same > len(known) / 2


def _jump(site: Site, progress: CollectProgress) -> bool:
    field: Locator = site.page.locator(_JUMP_FIELDS)
    before = site.entries(progress.collection)
    try:
        if field.count() != 1 or not field.is_visible():
            return False
        field.fill(str(progress.current_page_num), timeout=_FIELD_MS)
        field.press("Enter", timeout=_FIELD_MS)
    except Error:
        return False
    site.grew(before, progress.collection)
    return _is_done(site.entries(progress.collection), progress)


class Pacer(Struct):
    """Keeps the rate of one collection.

    The pause is `delay * 1.5 ** level`. The level grows with each refusal, up to 3, and falls by
    one after five good pages in a row.
    """

    rate: Rate
    sleep: Callable[[float], None]
    chance: Callable[[], float] = random.random
    """Returns a random number from 0 to 1."""
    level: int = 0
    good: int = 0
    """The number of good pages in a row."""
    least: float = 0.0
    """The minimum pause, as requested by the site's robots.txt."""
    asked: float = 0.0
    """The minimum next pause, as requested in the server's last refusal."""

    def pause(self) -> None:
        shift = self.rate.jitter * (2 * self.chance() - 1)
        base = self.rate.delay * GROWTH**self.level
        # A delay of zero is meant for the user's own application, which needs no jitter either.
        own = base + shift if self.rate.delay else 0.0
        seconds, self.asked = max(0.0, own, self.least, self.asked), 0.0
        if seconds > 0:
            self.sleep(seconds)

    def succeeded(self) -> None:
        self.good += 1
        if self.level and self.good >= RECOVERY_PAGES:
            self.level, self.good = self.level - 1, 0

    def refused(self, wait_s: float = 0.0) -> None:
        """Record that the server refused a page, or that nothing loaded.

        Args:
            wait_s: the wait requested by the server.
        """
        self.asked = wait_s
        self.level, self.good = min(MAX_LEVEL, self.level + 1), 0


MAX_FAILURES = 3
"""Maximum number of consecutive failed page turns, and of a page's entries that may lead
nowhere."""
EMPTY_PAGES = 2
"""Number of consecutive pages without a new address at which the walk ends."""
LAZY_TRIES = 1
"""Number of pages on which scrolling may be fruitless before it is given up."""
ITEMS_KEPT = 20
"""Number of entries kept to recognise a page."""


class WalkLimits(Struct, frozen=True):
    """The limits of a walk."""

    target: int = 50
    """The number of addresses at which the walk ends."""
    pages: int = 10
    """The maximum number of list pages."""
    over: Callable[[], bool] = lambda: False
    """Tells whether the time is up."""


class Ports(Struct, frozen=True):
    """The functions that the walk gets from its caller."""

    pacer: Pacer
    save: Callable[[CollectProgress], CollectProgress] = lambda progress: progress
    find_next: Callable[[], NextPage | None] = lambda: None
    """Asks a model for the next page when no usual control leads there."""
    pick: Callable[[CollectProgress], tuple[ListEntry, ...]] | None = None
    """Chooses a page's entries when no pattern is known."""


class _Shown(NamedTuple):
    """The current page of the list, whose entries have been collected."""

    entries: tuple[ListEntry, ...]
    way: Way | None
    ended: str
    """The reason why there is no next page; empty when there may be one."""
    refused: str = ""
    """The server's refusal of loading more entries into the page."""


class Walk:
    """One collection under way: from the current page of a list to its end.

    The walk alternates between two steps until there is a reason to stop:

    - `_read` takes the entries of the current page, then has the page load more of them, by
      scrolling or by a "load more" control, until it brings nothing new; each growth counts as one
      more page. At the end it looks for the way to the next page.
    - `_turn` takes that way. If that fails it pauses, longer after each refusal, and tries again.

    `CollectProgress` is the whole state that outlives the walk. It is frozen: each method takes one
    and returns the next, and `_save` hands it to the caller, together with the pacer's state,
    after each batch of entries, each entry that had to be opened, and at the end. A later run can
    therefore continue from any saved progress.

    What the object itself remembers is worth nothing to a later run: scrolls in vain in a row,
    after which it scrolls no more; pages without anything new in a row, after which it ends; the
    number of the page shown; and whether a usual control has already led on.

    A walk ends as `done` when nothing is left to fetch or the limits are reached, and as `paused`
    when the time is over or the server refuses, so that a later run may go on.

    Args:
        site: the browser on the list's site.
        ports: what the caller does for the walk: pacing, saving, questions to a model.
        limits: when it has to end.
    """

    def __init__(self, site: Site, ports: Ports, limits: WalkLimits) -> None:
        self._site, self._ports, self._limits = site, ports, limits
        self._vain_scrolls = 0
        self._empty_pages = 0
        self._shown_page = 1
        """The number of the current page; entries loaded into the same page do not count."""
        self._knows_the_way = False
        """A usual control has worked before, so when it is gone the list has ended and no model is
        asked."""

    def run(self, progress: CollectProgress, *, page_is_done: bool = False) -> CollectProgress:
        """Collect from the current page to the end.

        Args:
            progress: the work already done.
            page_is_done: the current page is the last one of `progress`.

        Returns:
            The progress at the end. Status `done` means that nothing is left to fetch, `paused`
            that a later run may continue; `pause_reason` says why.
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

    def _enough(self, progress: CollectProgress) -> str:
        if len(progress.urls) >= self._limits.target:
            return "the target is reached"
        if progress.current_page_num >= self._limits.pages:
            return "the page limit is reached"
        return ""

    def _ended(self, progress: CollectProgress, status: Status, reason: str) -> CollectProgress:
        self._site.note(f"collect: {len(progress.urls)} addresses; {status}: {reason}")
        return self._save(progress, status=status, pause_reason=reason)

    def _save(self, progress: CollectProgress, **update: object) -> CollectProgress:
        pacer = self._ports.pacer
        pace = {"backoff_level": pacer.level, "consecutive_success_pages": pacer.good}
        return self._ports.save(progress.model_copy(update={**update, **pace}))

    def _read(self, progress: CollectProgress) -> tuple[CollectProgress, _Shown]:
        """Collect the entries of the current page, including those that it loads on demand."""
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

    def _entries(self, progress: CollectProgress) -> tuple[ListEntry, ...]:
        if self._ports.pick is not None:
            return self._ports.pick(progress)
        return self._site.wait_for_entries(progress.collection)

    def _taken(
        self, progress: CollectProgress, entries: tuple[ListEntry, ...]
    ) -> tuple[CollectProgress, _Shown]:
        """Add the addresses of entries to the progress and save it with the page as done."""
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

    def _followed(
        self, progress: CollectProgress, entries: tuple[ListEntry, ...]
    ) -> CollectProgress:
        """Click the entries without an address, and save the progress after each of them."""
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

    def _grown(self, progress: CollectProgress, shown: _Shown) -> tuple[ListEntry, ...]:
        """Make the page load more entries, by scrolling or by a control, and return all entries."""
        collection, site = progress.collection, self._site
        site.forget_refusals()
        if self._ports.pick is not None or self._limits.over():
            return ()
        if collection.scroll and self._vain_scrolls < LAZY_TRIES:
            site.scroll(lambda: site.has_grown(shown.entries, collection))
            if site.grew(shown.entries, collection):
                self._vain_scrolls = 0
                self._ports.pacer.succeeded()
                self._ports.pacer.pause()
                return site.entries(collection)
            # A refused scroll does not show that scrolling is futile.
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

    def _grown_at_last(
        self, progress: CollectProgress, shown: _Shown
    ) -> tuple[tuple[ListEntry, ...], str]:
        """Make the page load more entries, trying again after a pause if the server refuses.

        Returns:
            The entries, and the server's final refusal.
        """
        refusal = ""
        for _ in range(MAX_FAILURES):
            grown = self._grown(progress, shown)
            refusal = "" if grown else self._site.refusal
            if not refusal or self._limits.over():
                return grown, refusal
            self._site.note(f"collect: {refusal}")
            if too_long := self._too_long():
                return (), too_long
            self._ports.pacer.refused(self._site.wait_s)
            self._ports.pacer.pause()
        return (), refusal

    def _too_long(self) -> str:
        """Return a sentence that the server requests too long a wait; empty if it does not."""
        if (asked := self._site.wait_s) <= LONGEST_WAIT_S:
            return ""
        return (
            f"{self._site.refusal} and asks to wait {asked:.0f} s; a collection waits "
            f"{LONGEST_WAIT_S:.0f} s at most"
        )

    def _turn(self, progress: CollectProgress, shown: _Shown) -> tuple[Status, str] | None:
        """Go to the next page, trying again after a pause if that fails.

        Returns:
            None if the next page is there, else the status and reason with which the walk ends.
        """
        if shown.refused or self._limits.over():
            return "paused", shown.refused or "the time is over"
        if shown.way is None:
            return "done", "no way to a next page"
        pacer, in_vain, move = self._ports.pacer, 0, MoveResult("failed")
        before = self._site.entries(progress.collection)
        for _ in range(MAX_FAILURES):
            if self._limits.over():
                return "paused", "the time is over"
            pacer.pause()
            move = self._site.take(shown.way, before, progress.collection)
            if move.kind == "ok":
                self._shown_page += 1
                self._knows_the_way = True
                if move.problem:
                    self._site.note(f"collect: {move.problem}")
                    pacer.refused(self._site.wait_s)
                else:
                    pacer.succeeded()
                return None
            self._site.note(f"collect: page {progress.current_page_num + 1}: {move.problem}")
            in_vain += move.kind == "nothing"
            if move.kind == "forbidden":
                return "paused", move.problem
            if too_long := self._too_long():
                return "paused", too_long
            # Retrying an address would give the same page, but a control may not have been ready.
            if move.kind == "gone" or in_vain > (0 if shown.way.url else 1):
                return "done", move.problem
            pacer.refused(self._site.wait_s)
        return "paused", move.problem

    def _way_on(self, progress: CollectProgress, shown: _Shown) -> tuple[CollectProgress, _Shown]:
        """Find the way to the next page; ask the model if no usual control is found."""
        if shown.way is None and not shown.ended:
            shown = self._usual_way(progress, shown.entries)
        if shown.way is not None or shown.ended or self._knows_the_way:
            return progress, shown
        if found := self._ports.find_next():
            collection = progress.collection.model_copy(update={"next": found})
            progress = progress.model_copy(update={"collection": collection})
            shown = self._usual_way(progress, shown.entries)
        return progress, shown

    def _usual_way(self, progress: CollectProgress, entries: tuple[ListEntry, ...]) -> _Shown:
        found = usual_way(self._site, progress.collection, self._shown_page)
        return _Shown(entries, found.way, found.ended)
