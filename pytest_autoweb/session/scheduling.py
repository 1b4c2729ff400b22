"""Which items come next in this process, and how xdist's controller gives workers enough of them.

A worker of xdist knows its next items only as far as it was sent them, and keeps them in a queue
that has no public name. All use of it is here.
"""

from collections.abc import Iterator
from typing import Any

import pytest
from xdist.scheduler import LoadScheduling  # type: ignore[import-untyped]


class ItemOrder:
    """The order in which this process will run its items, as far as it is known."""

    def __init__(self, session: pytest.Session) -> None:
        self._items = session.items
        self._places = {id(item): place for place, item in enumerate(session.items)}
        plugins = session.config.pluginmanager.get_plugins()
        self._queue = next((p for p in plugins if hasattr(p, "torun")), None)

    def after(self, item: pytest.Item) -> Iterator[pytest.Item]:
        """Yield the items that come after this one, which is the one that runs now."""
        if self._queue is None:
            for place in range(self._places[id(item)] + 1, len(self._items)):
                yield self._items[place]
            return
        for index in (self._queue.nextitem_index, *_queued(self._queue.torun)):
            # What is no number says that nothing more will come.
            if not isinstance(index, int):
                return
            yield self._items[index]


def _queued(torun: Any) -> list[Any]:
    """Return what stands in a worker's queue, without taking it out."""
    if hasattr(torun, "lock"):
        with torun.lock() as items:
            return list(items)
    # A `queue.Queue` before xdist 3.7.
    with torun.mutex:
        return list(torun.queue)


class FlightScheduling(LoadScheduling):  # type: ignore[misc]  # xdist's types are its own affair
    """xdist's scheduling, with as many items sent to each worker as it can have in flight.

    Args:
        config: the controller's.
        log: xdist's.
        most: cells in flight in each worker.
    """

    def __init__(self, config: pytest.Config, log: Any, most: int) -> None:
        super().__init__(config, log)
        self._most = most

    def schedule(self) -> None:
        """Distribute the first items."""
        super().schedule()
        for node in self.nodes:
            self._fill(node)

    def check_schedule(self, node: Any, duration: float = 0) -> None:
        """Send a worker more items when it has ended one."""
        super().check_schedule(node, duration)
        self._fill(node)

    def _fill(self, node: Any) -> None:
        if node.shutting_down or not self.pending:
            return
        # Not more than its share of what is left, so that all end at about the same time.
        left = len(self.pending) + sum(map(len, self.node2pending.values()))
        share = -(-left // len(self.node2pending))
        missing = min(self._most + 1, share) - len(self.node2pending[node])
        if missing > 0:
            self._send_tests(node, missing)
