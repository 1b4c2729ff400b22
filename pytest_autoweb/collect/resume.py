"""The return to the page where a collection stopped, which is recognised by its entries."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Literal, NamedTuple

from pytest_autoweb.collect.navigation import replay_steps
from pytest_autoweb.collect.progress import CollectProgress
from pytest_autoweb.collect.reading import ListEntry
from pytest_autoweb.collect.site import Site
from pytest_autoweb.collect.ways import usual_way

if TYPE_CHECKING:
    from playwright.sync_api import Locator

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
    """Tell whether more than half of the last page's entries are among these.

    Not all are demanded, because a list may gain and lose entries between two runs.
    """
    known = set(progress.page_items)
    same = sum(entry.key in known for entry in entries)
    return bool(known) and same > len(known) / 2


def _jump(site: Site, progress: CollectProgress) -> bool:
    from playwright.sync_api import Error

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
