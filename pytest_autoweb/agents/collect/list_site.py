"""The list being collected: a real page that is opened, scrolled, paged through and watched."""

from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from typing import Literal, NamedTuple

from msgspec import Struct, field
from playwright.sync_api import Error, Page, Response

from pytest_autoweb.agents.choice.expected_text import compare
from pytest_autoweb.agents.collect.addresses import joined
from pytest_autoweb.agents.collect.list_controls import Control, page_controls
from pytest_autoweb.agents.collect.list_page import ListEntry, read_entries
from pytest_autoweb.agents.collect.page_traffic import REFUSALS, Traffic
from pytest_autoweb.agents.collect.robots import OPEN_MS, Robots
from pytest_autoweb.agents.collect.saved_state import Collection
from pytest_autoweb.base import waiting
from pytest_autoweb.base.errors import first_line
from pytest_autoweb.base.whole_characters import whole_text
from pytest_autoweb.browser.egress.browser_watch import CALL_S, WATCH
from pytest_autoweb.browser.page.frames import run_script
from pytest_autoweb.browser.page.same_element import RowsMovedError, on_same, pinned

CLICK_MS = 5_000.0
CHANGE_MS = 10_000.0
"""The longest wait for the effect of a move."""
QUIET_MS = 700.0
"""Maximum wait for a page without requests and new entries."""
STILL_MS = 100.0
POLL_MS = 50.0
SCROLL_STEP = 500
_MAX_STEPS = 60
_MISSING = (404, 410)


class MoveResult(NamedTuple):
    """The result of a move to another page."""

    kind: Literal["ok", "nothing", "gone", "forbidden", "failed"]
    """`nothing`: the page came but shows no other entries; `gone`: there is no such page;
    `forbidden`: the site does not give it, and must not be asked again; `failed`: it may work
    later."""
    problem: str = ""


class Way(NamedTuple):
    """The way to the next page: its address, or a control to press."""

    url: str = ""
    xpath: str = ""
    text: str = ""
    """The text of the control, which is compared before it is pressed."""


class Site(Struct):
    """The operations on the page of a list."""

    page: Page
    allows: Callable[[str], bool]
    """Returns whether an address may be opened."""
    note: Callable[[str], None] = lambda line: None
    robots: Robots | None = None
    """The sites' rules; None where they do not apply, as on the user's own site."""
    _traffic: Traffic = field(default_factory=Traffic)

    def watched(self) -> AbstractContextManager[None]:
        """Return a context in which the page's requests and the server's refusals are watched."""
        return self._traffic.watched(self.page)

    @property
    def refusal(self) -> str:
        """The server's refusals since the last move; empty when there were none."""
        return next(iter(self._traffic.refused), "")

    @property
    def wait_s(self) -> float:
        """Return the seconds of waiting requested by refusals since the last move; 0 for none."""
        return self._traffic.wait_s

    def forget_refusals(self) -> None:
        """Forget earlier refusals, so that they are not attributed to later actions."""
        self._traffic.start()

    def forbidden(self, url: str) -> str:
        """Return a sentence that robots.txt forbids an address; empty if it does not."""
        return self.robots.problem(url) if self.robots else ""

    def open(self, url: str) -> MoveResult:
        return self._loaded(
            url, lambda: self.page.goto(url, timeout=OPEN_MS, wait_until="domcontentloaded")
        )

    def _loaded(self, url: str, load: Callable[[], Response | None]) -> MoveResult:
        if not self.allows(url):
            return MoveResult("gone", f"{url} is at no allowed origin")
        if problem := self.forbidden(url):
            return MoveResult("forbidden", problem)
        self._traffic.start()
        try:
            with WATCH.within(lambda: CALL_S):
                response = load()
        except Error as error:
            return MoveResult("failed", f"{url} could not be opened: {first_line(error)}")
        if response is None or response.status < 400:
            return MoveResult("ok")
        problem = f"{url} answered {response.status}"
        if response.status in _MISSING:
            return MoveResult("gone", problem)
        # A server whose refusal means "no", not "later", is not asked again.
        return MoveResult("failed" if response.status in REFUSALS else "forbidden", problem)

    def entries(self, collection: Collection) -> tuple[ListEntry, ...]:
        """Return the entries that the pattern finds, once two consecutive readings agree."""
        ends = waiting.now() + CHANGE_MS / 1000
        found: tuple[ListEntry, ...] | None = None
        while waiting.now() < ends:
            with suppress(Error):  # the page is being replaced
                before, found = found, read_entries(self.page, collection)
                if found == before:
                    return found
            self.page.wait_for_timeout(STILL_MS)
        return found or ()

    def controls(self) -> tuple[Control, ...]:
        return page_controls(self.page)

    def way_of(self, control: Control) -> Way:
        """Return the way through a control, with its own address if it is a link."""
        url = joined(self.page.url, control.href) if control.leads_away else ""
        return Way(url, control.path, control.name)

    def take(self, way: Way, shown: tuple[ListEntry, ...], collection: Collection) -> MoveResult:
        """Go to another page and wait until it shows entries other than those shown before."""
        before = {entry.key for entry in shown}

        def turned() -> bool:
            now = [entry.key for entry in self._now(collection)]
            return bool(now) and not before.issuperset(now)

        move = self._go(way)
        if move.kind != "ok":
            return move
        if self._wait(turned):
            # The page has loaded: a refusal of something else on it is no reason to fetch it again.
            return MoveResult("ok", self.refusal)
        if self.refusal:
            return MoveResult("failed", self.refusal)
        return MoveResult("nothing", f"{way.text or way.url} led to nothing new")

    def _go(self, way: Way) -> MoveResult:
        if way.url:
            return self.open(way.url)
        if self._traffic.lost:
            # The refused page has replaced the control, so its address is requested again.
            self._traffic.lost = False
            reload = self.page.reload
            return self._loaded(self.page.url, lambda: reload(wait_until="domcontentloaded"))
        problem = self.press(way)
        return MoveResult("failed", problem) if problem else MoveResult("ok")

    def press(self, way: Way) -> str:
        """Click a control if it still has the expected text; return the problem if it fails."""
        self._traffic.start()
        located = self.page.locator(f"xpath={way.xpath}")
        try:
            if (count := located.count()) != 1:
                return f"{way.text!r} is there {count} times"
            located = pinned(located)
            says = whole_text(located.inner_text(timeout=CLICK_MS)).strip()
            if says and not (found := compare(way.text, says)).allowed:
                return found.reason
            on_same(located, "click", lambda one: one.click(timeout=CLICK_MS))
        except (Error, RowsMovedError) as error:
            return f"{way.text!r} could not be clicked: {first_line(error)}"
        return ""

    def scroll(self, enough: Callable[[], bool] = lambda: False) -> None:
        """Scroll the page, and the boxes in it that hold a list, to the end, step by step.

        Args:
            enough: returns whether to stop at the current position. It is only called where a box
                scrolls, because boxes often show no more entries than fit into them.
        """
        self._traffic.start()
        # Up first: pages load more on a scroll event, and at the end there would be none.
        run_script(self.page, "scroll_list", -SCROLL_STEP)
        # Up and down within one frame would not trigger any event.
        self.page.wait_for_timeout(POLL_MS)
        for _ in range(_MAX_STEPS):
            moved = run_script(self.page, "scroll_list", SCROLL_STEP)
            if moved["ended"]:
                return
            self.page.wait_for_timeout(POLL_MS)
            if moved["boxes"] and enough():
                return

    def step_down(self) -> bool:
        """Scroll down by one step; return whether the end is reached."""
        at_end = bool(run_script(self.page, "scroll_list", SCROLL_STEP)["ended"])
        self.page.wait_for_timeout(STILL_MS)
        return at_end

    def peek(self, url: str) -> str:
        """Open an address in a new tab and close it; return the problem if it shows no page."""
        if not self.allows(url) or self.forbidden(url):
            return ""  # It may still be a detail page, just one that must not be visited.
        tab = self.page.context.new_page()
        try:
            return Site(tab, self.allows).open(url).problem
        finally:
            tab.close()

    def grew(self, shown: tuple[ListEntry, ...], collection: Collection) -> bool:
        """Return whether new entries appear after pressing or scrolling."""
        return self._wait(lambda: self.has_grown(shown, collection))

    def has_grown(self, shown: tuple[ListEntry, ...], collection: Collection) -> bool:
        """Return whether there are new entries now."""
        before = {entry.key for entry in shown}
        return any(entry.key not in before for entry in self._now(collection))

    def wait_for_entries(self, collection: Collection) -> tuple[ListEntry, ...]:
        """Return the entries as soon as there are any, or nothing after a while."""
        self._wait(lambda: bool(self._now(collection)))
        return self.entries(collection)

    def _now(self, collection: Collection) -> tuple[ListEntry, ...]:
        """Return the current entries; none while the page is being replaced."""
        with suppress(Error):
            return read_entries(self.page, collection)
        return ()

    def _wait(self, done: Callable[[], bool]) -> bool:
        """Wait for a condition, but only while the page is active and nothing is refused."""
        began = waiting.now()
        ends = began + CHANGE_MS / 1000
        while not done():
            # The earlier scrolling may have taken longer, and its effect may depend on a timer.
            idle = min(self._traffic.quiet_for(), waiting.now() - began)
            quiet = idle > QUIET_MS / 1000
            if self._traffic.refused or quiet or waiting.now() > ends:
                return False
            self.page.wait_for_timeout(POLL_MS)
        return True
