"""The way to the next page of a list: the one that is given, or a usual control."""

from typing import NamedTuple

from pytest_autoweb.collect.collection import Collection
from pytest_autoweb.collect.controls import by_text, choose_next
from pytest_autoweb.collect.paging import next_by_parameter
from pytest_autoweb.collect.site import Site, Way


class NextWay(NamedTuple):
    """The way to the next page, or the reason why there is none."""

    way: Way | None
    ended: str
    """The reason why this is the last page; empty when it may not be."""


def usual_way(site: Site, collection: Collection, page_number: int) -> NextWay:
    """Return the way from the page that is shown to the next one.

    Args:
        site: the site, whose page shows a page of the list.
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
