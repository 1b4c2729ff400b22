"""Clicks an entry that has no address, to see where it leads, and comes back to the list."""

from collections.abc import Iterator
from typing import NamedTuple

from playwright.sync_api import Error, Page

from pytest_autoweb.agents.collect.list_page import ListEntry
from pytest_autoweb.agents.collect.list_site import CLICK_MS, POLL_MS, Site, Way

LEAVE_MS = 3_000.0
"""Time limit for a click to lead to another page before it counts as leading nowhere."""


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
    for _ in range(int(LEAVE_MS / POLL_MS)):
        yield
        page.wait_for_timeout(POLL_MS)


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
