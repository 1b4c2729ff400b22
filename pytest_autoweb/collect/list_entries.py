"""Reads a list page: its entries, and the controls that lead on."""

from collections.abc import Iterable
from typing import NamedTuple

from playwright.sync_api import Page

from pytest_autoweb.collect.list_addresses import Place, fits, joined, read_place
from pytest_autoweb.collect.next_page_control import Control, read_controls
from pytest_autoweb.collect.saved_state import Collection
from pytest_autoweb.errors import CaseError
from pytest_autoweb.page.run_script import run_script


class ListEntry(NamedTuple):
    """One entry of a list."""

    url: str
    """The address it leads to; empty when only a click can tell."""
    text: str
    place: Place = ()
    path: str = ""
    """The XPath of this element alone."""

    @property
    def key(self) -> str:
        """Return the address or text by which the entry is recognised."""
        return self.url or self.text


def read_entries(page: Page, collection: Collection) -> tuple[ListEntry, ...]:
    """Return the entries that a collection's pattern finds on the page, in the order of the page.

    Entries without an address are only found by an XPath.

    Raises:
        CaseError: the XPath is invalid.
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


def page_controls(page: Page) -> tuple[Control, ...]:
    """Return the clickable controls of the page."""
    return read_controls(run_script(page, "clickable_candidates")["controls"])
