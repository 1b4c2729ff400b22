"""The clicking of entries without an address, to see where they lead."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from pytest_autoweb.collect.reading import ListEntry
from pytest_autoweb.collect.site import CLICK_MS, Site, Way

if TYPE_CHECKING:
    from playwright.sync_api import Page

LEAVE_MS = 3_000.0
"""How long a click may take to lead to another page before it counts as leading nowhere."""
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

    def opened(popup: "Page") -> None:
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


def _polls(page: "Page") -> Iterator[None]:
    for _ in range(int(LEAVE_MS / _POLL_MS)):
        yield
        page.wait_for_timeout(_POLL_MS)


def _address_of(popup: "Page") -> str:
    from playwright.sync_api import Error

    try:
        popup.wait_for_load_state("domcontentloaded", timeout=CLICK_MS)
    except Error:
        return ""
    return "" if popup.url == "about:blank" else popup.url


def _come_back(site: Site, before: str) -> str:
    from playwright.sync_api import Error

    try:
        site.page.go_back(timeout=CLICK_MS, wait_until="domcontentloaded")
    except Error:
        return site.open(before).problem
    return "" if site.page.url == before else site.open(before).problem
