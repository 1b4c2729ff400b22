"""Heeds the orders that are given to a session while it goes on, before it begins each cell."""

import time
from contextlib import suppress

import pytest

from pytest_autoweb.base import waiting
from pytest_autoweb.cell.cell_inputs import Cell
from pytest_autoweb.cell.cell_record import left_out_cell
from pytest_autoweb.results.records import CellResult, NotNeeded
from pytest_autoweb.results.runs.giving_orders import orders_held
from pytest_autoweb.results.runs.live_session import sign_closing
from pytest_autoweb.results.runs.saving import save_cell
from pytest_autoweb.results.runs.steering import Course, OrdersFile, OrdersToSession
from pytest_autoweb.session.run_session import SESSION, RunSession

LOOK_S = 0.2
"""How often a paused process looks whether it may go on."""


class SteeredCells:
    """What one process of the session knows of the orders, and what follows for its cells.

    A process looks for orders before it begins a cell. What has begun is never taken back.

    Args:
        session: this process's.
        worker: the name of this process in records.
    """

    def __init__(self, session: RunSession, worker: str) -> None:
        self._session, self._worker = session, worker
        source = session.away or OrdersFile(session.run_folder)
        self._orders = OrdersToSession(source, session.shared.started)
        self.held: set[str] = set()
        """The folders of cells that a pause keeps from beginning."""

    @property
    def course(self) -> Course:
        """Return what the orders add up to by now."""
        return self._orders.course

    def most_in_flight(self, most: int) -> int:
        """Return how many cells a process may have in flight by now.

        Args:
            most: as many as when the session began.
        """
        order = self._orders.course.in_flight
        return int(order.number) if order is not None else most

    def await_start(self, cell: Cell) -> CellResult | None:
        """Wait while the session is paused; return the saved result of a cell that was stopped.

        Returns:
            None if the cell may begin.
        """
        self.wait(cell)
        needless, why = self._why_not(cell)
        if not why:
            return None
        reason = f"not run: {why}"
        left = left_out_cell(cell, self._session.settings, self._worker, needless, reason)
        # With a full disk it is among the cells that were not run, as after an interruption.
        with suppress(OSError):
            save_cell(self._session.run_folder, left)
            self._session.deliver(cell.folder, keep=False)
        return left

    def wait(self, cell: Cell) -> None:
        """Wait while the session is paused, before a cell begins."""
        if self._orders.course.pause is not None:
            self._session.progress.emit("", "pause", "on")
            # Whatever ends the wait before its time, the cell has not begun.
            self.held.add(cell.folder)
            while self._orders.course.pause is not None:
                waiting.sleep(LOOK_S)
            self.held.discard(cell.folder)
            self._session.progress.emit("", "pause", "")

    def close(self) -> None:
        """Take no more orders to run a cell again."""
        with suppress(OSError), orders_held(self._session.run_folder):
            sign_closing(self._session.run_folder)

    def _why_not(self, cell: Cell) -> tuple[NotNeeded, str]:
        """Return why a cell is left out, as a kind and in words; empty if it may begin."""
        now = self._orders.course
        # Whoever wants one cell again wants it although others like it were stopped.
        if not cell.again and (why := now.why_not(cell.spec.name, cell.case.id)):
            return "steered", why
        away = self._session.away
        since_start = time.time() + (away.ahead_s if away else 0.0) - self._session.shared.started
        if now.time is not None and since_start > now.time.number:
            return "time", f"the time was over ({now.time.told})"
        if now.cost is not None and self._session.gateway.stats().spent_usd >= now.cost.number:
            return "money", f"the money was spent ({now.cost.told})"
        return "", ""

    def ended(self, result: CellResult) -> CellResult:
        """Return what counts as the result of a cell that has ended.

        A cell that broke because a cap was lowered meanwhile is none that the model has lost.
        """
        order = self._orders.course.cost
        refused = result.failure is not None and result.failure.cause == "budget"
        if order is None or not refused or result.outcome != "broken":
            return result
        reason = f"not run: its calls might have exceeded the cap ({order.told})"
        update = {"outcome": "skipped", "not_needed": "money", "reason": reason}
        result = result.model_copy(update=update)
        with suppress(OSError):
            save_cell(self._session.run_folder, result)
        return result


_STEERED: pytest.StashKey[SteeredCells] = pytest.StashKey()


def steered_cells(config: pytest.Config) -> SteeredCells:
    """Return what this process knows of the orders to its session."""
    if _STEERED not in config.stash:
        worker = getattr(config, "workerinput", {}).get("workerid", "main")
        config.stash[_STEERED] = SteeredCells(config.stash[SESSION], worker)
    return config.stash[_STEERED]
