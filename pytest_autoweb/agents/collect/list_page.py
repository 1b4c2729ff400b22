"""Reads the entries and the links of a list page."""

from collections.abc import Iterable
from typing import NamedTuple

from playwright.sync_api import Page

from pytest_autoweb.agents.collect.addresses import fits, joined
from pytest_autoweb.agents.collect.places import Place, read_place
from pytest_autoweb.agents.collect.saved_state import Collection
from pytest_autoweb.base.errors import CaseError
from pytest_autoweb.browser.page.frames import run_script


class ListEntry(NamedTuple):
    """One entry of a list."""

    url: str
    """The address it leads to; empty when only a click can show it."""
    text: str
    place: Place = ()
    path: str = ""
    """The XPath of this element alone."""

    @property
    def key(self) -> str:
        """Return the address or text that identifies the entry."""
        return self.url or self.text


def read_entries(page: Page, collection: Collection) -> tuple[ListEntry, ...]:
    """Return the entries that a collection's pattern finds on the page, in the order of the page.

    Entries without an address are only found by an XPath.

    Raises:
        CaseError: the XPath is invalid, or the pattern takes too long.
    """
    return tuple(
        entry
        for entry in _read(page, collection.detail_xpath)
        if (entry.url and fits(collection.detail_pattern, entry.url))
        or (not entry.url and collection.detail_xpath and collection.detail_pattern is None)
    )


def read_links(page: Page) -> tuple[ListEntry, ...]:
    """Return all links of the page that lead to another page."""
    return tuple(entry for entry in _read(page, "") if entry.url)


def _read(page: Page, xpath: str) -> Iterable[ListEntry]:
    found = run_script(page, "list_links", {"xpath": xpath})
    if found["problem"]:
        raise CaseError(
            f"{xpath!r} is not a valid XPath: {found['problem']}", field="collect.xpath"
        )
    return entries_of(found)


def entries_of(found: dict[str, object]) -> Iterable[ListEntry]:
    """Yield the entries in the result of `list_links.js`."""
    items = found["items"]
    assert isinstance(items, list)
    for item in items:
        url = joined(str(found["base"]), item["href"])
        if url or item["text"]:
            yield ListEntry(url, item["text"], read_place(item["chain"]), item["path"])
