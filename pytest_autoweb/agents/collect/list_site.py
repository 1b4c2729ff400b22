"""The list being collected: a real page that is opened, scrolled, paged through and watched.

The collector obeys the site's robots.txt (RFC 9309).
"""

import re
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Literal, NamedTuple
from urllib.parse import urlsplit

from playwright.sync_api import Error, Page, Request, Response
from protego import Protego

from pytest_autoweb.agents.choice.expected_text import compare
from pytest_autoweb.agents.collect.list_page import (
    Control,
    ListEntry,
    joined,
    page_controls,
    read_entries,
)
from pytest_autoweb.agents.collect.saved_state import Collection
from pytest_autoweb.base import waiting
from pytest_autoweb.base.errors import first_line
from pytest_autoweb.base.whole_characters import whole_text
from pytest_autoweb.browser.egress.browser_watch import CALL_S, WATCH
from pytest_autoweb.browser.page.frames import run_script

AGENT = "pytest-autoweb"
"""The user agent name for rules about this package; otherwise the rules for `*` apply."""
LONGEST = 500_000
"""Number of characters of a robots.txt that are read, as the RFC requires."""
_MOST_RULES = 5_000

REFUSALS = frozenset({408, 425, 429, 500, 502, 503, 504})
"""Status codes that mean "later" rather than "no"."""
LONGEST_WAIT_S = 300.0
"""If a server asks for a longer wait, the collection pauses instead."""

_LOADED_BY = ("document", "xhr", "fetch")


class RobotsUnreachable(Exception):
    """Raised when a site has a robots.txt that it does not give; its text says why."""


@dataclass(frozen=True, slots=True)
class RobotRules:
    """The rules of a robots.txt for this package."""

    known: Protego | None = None
    """None where there are none."""
    unreachable: str = ""
    """Why they could not be asked for; then everything counts as forbidden, as the RFC says."""

    @property
    def delay(self) -> float:
        """Return the site's requested seconds between two pages (`Crawl-delay`)."""
        return float(self.known.crawl_delay(AGENT) or 0.0) if self.known else 0.0

    def forbids(self, url: str) -> bool:
        """Return whether an address may not be fetched: the longest rule wins, `Allow` in a tie."""
        if self.unreachable:
            return True
        return self.known is not None and not self.known.can_fetch(url, AGENT)


def read_robots(text: str) -> RobotRules:
    """Read the rules for this package from the text of a robots.txt."""
    return RobotRules(Protego.parse("\n".join(_rule_lines(text))))


def _rule_lines(text: str) -> Iterator[str]:
    """Yield the lines of a robots.txt that are rules, with agents as the RFC compares them.

    Protego itself takes lines without a colon, and the name of an agent for a part of ours.
    """
    for line in text.removeprefix("\ufeff")[:LONGEST].splitlines()[:_MOST_RULES]:
        name, colon, value = line.partition("#")[0].partition(":")
        name, value = name.strip(), value.strip()
        if colon and name.lower() == "user-agent":
            token = re.match(r"[A-Za-z_-]+|\*", value)
            agent = token[0].lower() if token else ""
            value = agent if agent in (AGENT, "*") else "another"
        if colon:
            yield f"{name}: {value}"


@dataclass(slots=True)
class Robots:
    """The robots.txt of each origin, fetched once before the first page from there.

    Args:
        fetch: returns the text at an address, or None if there is none; raises `RobotsUnreachable`
            if that cannot be known.
        heeded: returns whether a site's rules apply.
    """

    fetch: Callable[[str], str | None]
    heeded: Callable[[str], bool] = lambda url: True
    _known: dict[str, RobotRules] = field(default_factory=dict)

    def rules(self, url: str) -> RobotRules:
        """Return the rules of an address's site."""
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not self.heeded(url):
            return RobotRules()
        origin = f"{parts.scheme}://{parts.netloc}"
        if origin not in self._known:
            try:
                self._known[origin] = read_robots(self.fetch(f"{origin}/robots.txt") or "")
            except RobotsUnreachable as problem:
                self._known[origin] = RobotRules(unreachable=str(problem))
        return self._known[origin]

    def problem(self, url: str) -> str:
        """Return a sentence that an address may not be fetched; empty if it may."""
        rules = self.rules(url)
        if not rules.forbids(url):
            return ""
        why = f"robots.txt forbids {url}"
        if rules.unreachable:
            why = f"{url} is not fetched, because {rules.unreachable}, which forbids everything"
        return f"{why}; if the site is your own, say so in the case: collect: {{own_site: true}}"


class Traffic:
    """The requests of one page since the last move.

    The class has no slots, because Playwright sets an attribute on the owner of a listener.
    """

    def __init__(self) -> None:
        self.refused: list[str] = []
        self.wait_s = 0.0
        """The longest wait requested in `Retry-After` by refusals of this move."""
        self.lost = False
        """The server refused the page itself, so there is nothing on it to press."""
        self._open = 0
        self._last = 0.0

    def start(self) -> None:
        """Begin a move: forget earlier refusals and requests."""
        self.refused.clear()
        self.wait_s = 0.0
        self._open, self._last = 0, time.monotonic()

    def quiet_for(self) -> float:
        """Return the seconds since the last request or response; 0 while a request is open."""
        return 0.0 if self._open else time.monotonic() - self._last

    @contextmanager
    def watched(self, page: Page) -> Iterator[None]:
        """Count the page's requests within the context."""
        page.on("request", self._asked)
        page.on("requestfinished", self._came)
        page.on("requestfailed", self._came)
        page.on("response", self._answered)
        try:
            yield
        finally:
            page.remove_listener("request", self._asked)
            page.remove_listener("requestfinished", self._came)
            page.remove_listener("requestfailed", self._came)
            page.remove_listener("response", self._answered)

    def _asked(self, request: Request) -> None:
        self._open += 1
        self._last = time.monotonic()

    def _came(self, request: Request) -> None:
        self._open = max(0, self._open - 1)
        self._last = time.monotonic()

    def _answered(self, response: Response) -> None:
        if response.status in REFUSALS and response.request.resource_type in _LOADED_BY:
            self.refused.append(f"{response.url} answered {response.status}")
            asked = asked_wait(response.headers.get("retry-after", ""), datetime.now(UTC))
            self.wait_s = max(self.wait_s, asked)
            self.lost = self.lost or response.request.is_navigation_request()


def asked_wait(header: str, now: datetime) -> float:
    """Return the seconds requested by `Retry-After`, a number or a date; 0 if it is empty.

    Args:
        header: the header's value.
        now: the current time, to which a date is relative.
    """
    with suppress(ValueError):
        return max(0.0, float(header)) if header.strip().isascii() else 0.0
    with suppress(ValueError, TypeError):
        until = parsedate_to_datetime(header)
        until = until if until.tzinfo else until.replace(tzinfo=UTC)
        return max(0.0, (until - now).total_seconds())
    return 0.0


OPEN_MS = 30_000.0
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


@dataclass(slots=True)
class Site:
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
        """Open an address in the page."""
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
        """Return the controls of the page."""
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
            says = whole_text(located.inner_text(timeout=CLICK_MS)).strip()
            if says and not (found := compare(way.text, says)).allowed:
                return found.reason
            located.click(timeout=CLICK_MS)
        except Error as error:
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


def robots_of(page: Page, allows: Callable[[str], bool], heeded: Callable[[str], bool]) -> Robots:
    """Return the sites' robots.txt files, fetched in tabs of the page's browser.

    Args:
        page: the page, whose context opens the tabs.
        allows: returns whether an address may be opened.
        heeded: returns whether a site's rules apply.
    """

    def fetch(url: str) -> str | None:
        if not allows(url):
            return None
        # In a tab of the attempt's own context, so that this request goes through its proxy and
        # rules like every other one.
        tab = page.context.new_page()
        try:
            with WATCH.within(lambda: CALL_S):
                return _robots_text(tab, url)
        finally:
            tab.close()

    return Robots(fetch, heeded)


def _robots_text(tab: Page, url: str) -> str | None:
    """Return the text of a robots.txt, or None if the site says that it has none.

    Raises:
        RobotsUnreachable: the site does not answer, or not properly.
    """
    try:
        response = tab.goto(url, timeout=OPEN_MS, wait_until="domcontentloaded")
        if response is None or 400 <= response.status < 500:
            return None
        if not 200 <= response.status < 300:
            raise RobotsUnreachable(f"{url} answered {response.status}")
        return whole_text(tab.evaluate(f"document.body.textContent.slice(0, {LONGEST})"))
    except Error as error:
        # What a server calls a file is downloaded, not shown.
        if "download" in str(error).lower() or "ERR_ABORTED" in str(error):
            return _robots_file(tab, url)
        raise RobotsUnreachable(f"{url} could not be read ({first_line(error)})") from None


def _robots_file(tab: Page, url: str) -> str | None:
    """Return the text of a robots.txt that a page cannot show; see `_robots_text`."""
    try:
        answer = tab.context.request.get(url, timeout=OPEN_MS)
        if answer.ok:
            return answer.body()[: 2 * LONGEST].decode("utf-8", "replace")
    except Error as error:
        raise RobotsUnreachable(f"{url} could not be read ({first_line(error)})") from None
    if 400 <= answer.status < 500:
        return None
    raise RobotsUnreachable(f"{url} answered {answer.status}")


LEAVE_MS = 3_000.0
"""Time limit for a click to lead to another page before it counts as leading nowhere."""
_POLL_MS = 50.0


class Opened(NamedTuple):
    """The address that an entry led to, or the problem."""

    url: str
    problem: str


def follow(site: Site, entry: ListEntry) -> Opened:
    """Click an entry and come back to the list; a new tab is closed.

    Going back in the history is tried first; if that fails, the list's address is opened again.
    """
    page, before = site.page, site.page.url
    popups: list[Page] = []

    def opened(popup: Page) -> None:
        popups.append(popup)

    page.on("popup", opened)
    try:
        if problem := site.press(Way(xpath=entry.path, text=entry.text)):
            return Opened("", problem)
        for _ in _polls(page):
            if popups or page.url != before:
                break
    finally:
        page.remove_listener("popup", opened)
    if popups:
        url = _address_of(popups[0])
        for popup in popups:
            popup.close()
        return Opened(url, "" if url else "the new tab has no address")
    if page.url == before:
        return Opened("", f"{entry.text!r} led nowhere")
    url = page.url
    return Opened(url, _come_back(site, before))


def _polls(page: Page) -> Iterator[None]:
    for _ in range(int(LEAVE_MS / _POLL_MS)):
        yield
        page.wait_for_timeout(_POLL_MS)


def _address_of(popup: Page) -> str:
    try:
        popup.wait_for_load_state("domcontentloaded", timeout=CLICK_MS)
    except Error:
        return ""
    return "" if popup.url == "about:blank" else popup.url


def _come_back(site: Site, before: str) -> str:
    try:
        site.page.go_back(timeout=CLICK_MS, wait_until="domcontentloaded")
    except Error:
        return site.open(before).problem
    return "" if site.page.url == before else site.open(before).problem
