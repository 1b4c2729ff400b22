"""Which do-nothing controls of this process look at one page; `cell.shared_look` does the looking.

A cell may be looked at before its turn only if nothing that happens around its item could make a
difference, as for cells in flight.
"""

from collections import defaultdict

import pytest

from pytest_autoweb.cell.cell_inputs import SeenElsewhere, Sharing
from pytest_autoweb.cell.shared_look import page_key
from pytest_autoweb.session.flights.flight_bounds import item_bound, session_bound
from pytest_autoweb.session.items import CellItem
from pytest_autoweb.session.run_session import SESSION
from pytest_autoweb.session.single_runs import has_ended

FEWEST = 8
"""The fewest cells for which one page is opened together; fewer take no time worth saving."""
_PAGES: pytest.StashKey["SharedPages"] = pytest.StashKey()


class SharedPages:
    """The do-nothing controls of this process, by what must be equal to share a page.

    Each group is looked at once, when the first of its cells runs. Cells that were begun meanwhile,
    and all of them if the look failed, open pages of their own.

    Args:
        session: pytest's, whose items are final.
    """

    def __init__(self, session: pytest.Session) -> None:
        self._groups: dict[str, list[CellItem]] = defaultdict(list)
        self._key_of: dict[str, str] = {}
        self._looked: set[str] = set()
        self._seen: dict[str, SeenElsewhere] = {}
        settings = session.config.stash[SESSION].settings
        # A worker of xdist is sent a few items at a time, in an order of its own.
        if hasattr(session.config, "workerinput") or session_bound(session.config):
            return
        for item in session.items:
            if isinstance(item, CellItem) and (key := page_key(item.cell, settings)):
                self._groups[key].append(item)
                self._key_of[item.cell.folder] = key

    def sharing_of(self, item: CellItem) -> Sharing | None:
        """Return with which cells an item's cell shares a page; None if it needs its own."""
        key = self._key_of.get(item.cell.folder)
        if key is None:
            return None
        others: tuple[CellItem, ...] = ()
        if key not in self._looked:
            self._looked.add(key)
            others = tuple(each for each in self._groups[key] if self._may_follow(each, item))
        worth = len(others) + 1 >= FEWEST and not item_bound(item, item)
        return Sharing(tuple(each.cell for each in others) if worth else (), self._seen)

    @staticmethod
    def _may_follow(other: CellItem, item: CellItem) -> bool:
        if other is item or has_ended(item.config, other.cell):
            return False
        return not item_bound(other, item)


def sharing_of(item: pytest.Item) -> Sharing | None:
    """Return with which cells an item's cell shares a page; None if it needs its own."""
    stash = item.config.stash
    if not isinstance(item, CellItem) or stash[SESSION].away is not None:
        return None
    if _PAGES not in stash:
        stash[_PAGES] = SharedPages(item.session)
    return stash[_PAGES].sharing_of(item)
