"""How xdist's controller sends items to its workers, which may have several cells in flight.

Apart from what workers do, because xdist's own modules take 60 ms to import and only the controller
needs them.
"""

from collections.abc import Callable
from typing import Any

import pytest
from xdist.scheduler import LoadScheduling  # type: ignore[import-untyped]


class FlightScheduling(LoadScheduling):  # type: ignore[misc]  # xdist's types are its own affair
    """xdist's scheduling, with as many items sent to each worker as it can have in flight.

    Args:
        config: the controller's.
        log: xdist's.
        most: returns how many cells each worker may have in flight, which an order may change.
        order: puts the ids of items that are not sent yet in order; None leaves them as they are.
    """

    def __init__(
        self,
        config: pytest.Config,
        log: Any,
        most: Callable[[], int],
        order: Callable[[list[str]], list[str]] | None = None,
    ) -> None:
        super().__init__(config, log)
        self._most, self._order = most, order
        if order is not None and getattr(self, "maxschedchunk", None) is None:
            # What was sent cannot be called back when another item has become more urgent.
            self.maxschedchunk = most() + 1

    def schedule(self) -> None:
        """Distribute the first items."""
        super().schedule()
        for node in self.nodes:
            self._fill(node)

    def check_schedule(self, node: Any, duration: float = 0) -> None:
        """Send a worker more items when it has ended one."""
        super().check_schedule(node, duration)
        self._fill(node)

    def _send_tests(self, node: Any, num: int) -> None:
        """Send a worker the items that come next."""
        if self._order is not None and self.pending:
            # A plugin may have doubled an item.
            at: dict[str, list[int]] = {}
            for index in self.pending:
                at.setdefault(self.collection[index], []).append(index)
            self.pending[:] = [index for nodeid in self._order(list(at)) for index in at[nodeid]]
        super()._send_tests(node, num)

    def _fill(self, node: Any) -> None:
        most = self._most()
        if most < 2 or node.shutting_down or not self.pending:
            return
        # Not more than its share of what is left, so that all end at about the same time.
        left = len(self.pending) + sum(map(len, self.node2pending.values()))
        share = -(-left // len(self.node2pending))
        missing = min(most + 1, share) - len(self.node2pending[node])
        if missing > 0:
            self._send_tests(node, missing)
