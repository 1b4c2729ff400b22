"""The robots.txt of each site, which the collector obeys (RFC 9309)."""

import re
from collections.abc import Callable, Iterator
from urllib.parse import urlsplit

from msgspec import Struct, field
from playwright.sync_api import Error, Page
from protego import Protego

from pytest_autoweb.base.errors import first_line
from pytest_autoweb.base.whole_characters import whole_text
from pytest_autoweb.browser.egress.browser_watch import CALL_S, WATCH

AGENT = "pytest-autoweb"
"""The user agent name for rules about this package; otherwise the rules for `*` apply."""
LONGEST = 500_000
"""Number of characters of a robots.txt that are read, as the RFC requires."""
_MOST_RULES = 5_000
OPEN_MS = 30_000.0
"""The longest wait for an address of a site to open."""


class RobotsUnreachable(Exception):
    """Raised when a site has a robots.txt that it does not give; its text says why."""


class RobotRules(Struct, frozen=True):
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


class Robots(Struct):
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
