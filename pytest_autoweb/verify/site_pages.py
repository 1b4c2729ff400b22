"""The pages that `autoweb explore` shows to a model: the entry page, and some behind its links."""

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from playwright.sync_api import Error, Page

from pytest_autoweb.egress.origin_policy import parse_origin
from pytest_autoweb.errors import BrowserError
from pytest_autoweb.page.capture import capture_snapshot
from pytest_autoweb.page.opening import normalise_url, open_page

_OPEN_MS = 30_000
_MOST_LINKS = 300
_LINKS = f"""() => [...document.querySelectorAll('a[href]')]
  .filter(link => link.checkVisibility() && !link.target && !link.download)
  .slice(0, {_MOST_LINKS}).map(link => [link.innerText.trim().slice(0, 60),
    link.href.slice(0, 500)])"""
_LEAVES = re.compile(r"(?i)log[\s_-]?out|sign[\s_-]?out|delete|remove|unsubscribe|cancel|destroy")
"""Addresses and names behind which a mere visit may change something."""


class PageLink(NamedTuple):
    """A visible link of a page."""

    name: str
    address: str


class SeenPage(NamedTuple):
    """A page as a model is shown it."""

    url: str
    text: str


def links_of(page: Page) -> list[PageLink]:
    """Return the visible links of a page that open in its own tab."""
    return [PageLink(str(name), str(address)) for name, address in page.evaluate(_LINKS)]


def see_pages(
    page: Page, entry: str, most: int, budget: int, say: Callable[[str], None]
) -> list[SeenPage]:
    """Show the entry page, and pages of its site that links lead to, nearest first.

    Nothing is pressed and no form is sent; links whose name or address says that they end or
    delete something are left alone.

    Args:
        page: opens them.
        entry: the address of the first one.
        most: the most pages.
        budget: the most tokens of them together.
        say: is told of each page.

    Raises:
        BrowserError: the entry page cannot be opened.
    """
    seen: list[SeenPage] = []
    waiting, known = [entry], {normalise_url(entry)}
    while waiting and len(seen) < most:
        url = waiting.pop(0)
        if failure := open_page(page, url, timeout_ms=_OPEN_MS):
            if url == entry:
                raise BrowserError(failure.message)
            say(f"left out {url}: {failure.message}")
            continue
        if parse_origin(page.url) != parse_origin(entry):
            if url == entry:
                raise BrowserError(f"{entry} leads to {page.url}; start there")
            continue
        seen.append(SeenPage(page.url, _shown(page, budget // most)))
        say(f"looked at {page.url}")
        for address in _further(page, entry):
            if normalise_url(address) not in known:
                known.add(normalise_url(address))
                waiting.append(address)
    return seen


def _shown(page: Page, budget: int) -> str:
    snapshot = capture_snapshot(
        page, "ARIA", url=page.url, entry_action="", step_indexes=(), budget_tokens=budget
    )
    return snapshot.text


def _further(page: Page, entry: str) -> Iterator[str]:
    """Yield the addresses of the site that a page links to."""
    try:
        links = links_of(page)
    except Error:
        return
    for name, address in links:
        plain = address.partition("#")[0]
        if parse_origin(plain) == parse_origin(entry) and not _LEAVES.search(f"{name} {plain}"):
            yield plain
