"""Which worker of a cluster carries out which order to run a cell again, and until when.

Workers ask between their cells, and after their last one. An order is given to one of them; if that
is lost, to another.
"""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from datetime import datetime
from pathlib import Path

from msgspec import Struct

from pytest_autoweb.results.records import PlannedCell
from pytest_autoweb.results.runs.further_runs import next_folder, note_lost, note_run
from pytest_autoweb.results.runs.saving import CELL_FILE, mark_started
from pytest_autoweb.results.runs.steering import Order, OrdersFile, OrdersToSession

_MOST_LOST = 3
"""How many workers may be lost with an order before it counts as the cause of the loss."""


class _Taken(Struct):
    """An order that a worker has been given."""

    order: Order
    folder: str
    """That of the further run, below the run folder."""
    worker: str = ""
    """The worker; empty if it was lost."""
    lost: int = 0
    """How many workers were lost with it."""
    arrived: bool = False
    """Whether the files of the run have come."""


class OrderedRuns:
    """The orders to run a cell again, on the session's machine; the caller lets one in at a time.

    Args:
        run: the run folder.
        started: when the session began, in seconds since the epoch.
    """

    def __init__(self, run: Path, started: float) -> None:
        self._run = run
        self._orders = OrdersToSession(OrdersFile(run), started)
        self._cells: dict[str, str] | None = None
        self._taken: dict[datetime, _Taken] = {}
        self._open: set[str] = set()

    def plan(self, worker: str, cells: Iterable[PlannedCell]) -> None:
        """Let a worker take part that has collected the same cells as the first one."""
        named = {name: cell.folder for cell in cells for name in (cell.test_name, cell.nodeid)}
        self._cells = named if self._cells is None else self._cells
        if named == self._cells:
            self._open.add(worker)

    def __contains__(self, folder: str) -> bool:
        """Tell whether a folder is that of a further run."""
        return any(taken.folder == folder for taken in self._taken.values())

    @property
    def waits(self) -> bool:
        """Tell whether an order waits for a worker."""
        return next(self._waiting(), None) is not None

    def _waiting(self) -> Iterator[tuple[Order, str]]:
        """Yield the orders that nobody carries out, with the folders of the cells' first runs."""
        for order in self._orders.course.again:
            taken = self._taken.get(order.at)
            first = (self._cells or {}).get(order.value, "")
            # Whoever orders by hand may name a cell that has not ended.
            if (taken is None or not taken.worker) and (self._run / first / CELL_FILE).exists():
                yield order, first

    def give(self, worker: str) -> tuple[Order, str] | None:
        """Give a worker an order to carry out, with the folder of the run; None if none waits."""
        if worker not in self._open or (found := next(self._waiting(), None)) is None:
            return None
        order, first = found
        if order.at not in self._taken:
            folder = next_folder(self._run, first)
            self._taken[order.at] = _Taken(order, folder)
        taken = self._taken[order.at]
        taken.worker = worker
        # It also keeps the number from being given to another run. With a full disk, the run fails
        # by itself.
        with suppress(OSError):
            mark_started(self._run, taken.folder)
        return order, taken.folder

    def note(self, folder: str) -> None:
        """Note a further run, whose files have come, beside the first result of the cell."""
        for taken in self._taken.values():
            if taken.folder == folder:
                taken.arrived = True
                # With a full disk its own files say it.
                with suppress(OSError):
                    note_run(self._run, folder, taken.order)

    def lose(self, worker: str) -> None:
        """Let other workers carry out what a lost one has not."""
        self._open.discard(worker)
        for taken in self._taken.values():
            if taken.worker != worker or taken.arrived:
                continue
            taken.lost += 1
            if taken.lost < _MOST_LOST:
                taken.worker = ""
                continue
            with suppress(OSError):
                note_lost(self._run, taken.folder, taken.order)

    def close(self, worker: str) -> bool:
        """Let a worker carry out nothing more, unless an order waits; tell whether that is so."""
        if worker in self._open and self.waits:
            return False
        self._open.discard(worker)
        return True

    @property
    def closed(self) -> bool:
        """Tell whether no worker is left that would carry out an order."""
        return not self._open
