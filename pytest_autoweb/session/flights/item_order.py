"""The order in which this process will run its items, as far as it is known.

Pytest runs them strictly one after another. Without workers their order is that of the session; a
worker of xdist only knows those that it was sent.
"""

from collections.abc import Iterator
from itertools import chain

import pytest

from pytest_autoweb.session.xdist_internals import sent_items


class ItemOrder:
    """The items of a session that this process will run.

    Args:
        session: pytest's.
    """

    def __init__(self, session: pytest.Session) -> None:
        self._items = session.items
        self._place = 0
        self._sent = sent_items(session.config)

    def after(self, item: pytest.Item) -> Iterator[pytest.Item]:
        """Yield the items that come after this one, which is the one that runs now.

        A cell that is run again by order has no place of its own among the items.
        """
        item = getattr(item, "runs_after", item)
        if self._sent is None:
            # Found anew each time, because the order of what comes later may change.
            every = range(len(self._items))
            places = chain(every[self._place :], every[: self._place])
            self._place = next(place for place in places if self._items[place] is item)
            for place in range(self._place + 1, len(self._items)):
                yield self._items[place]
            return
        for index in self._sent.coming():
            if not isinstance(index, int):
                return
            yield self._items[index]
