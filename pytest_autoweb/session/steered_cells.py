"""Heeds the orders that are given to a session while it goes on, before it begins each cell."""

from contextlib import suppress

import pytest

from pytest_autoweb.base import waiting
from pytest_autoweb.cell.cell_inputs import Cell
from pytest_autoweb.cell.cell_record import left_out_cell
from pytest_autoweb.results.records import CellResult
from pytest_autoweb.results.runs.saving import save_cell
from pytest_autoweb.results.runs.steering import STEERING_FILE, Course, course, orders, since
from pytest_autoweb.session.run_session import SESSION, RunSession

LOOK_S = 0.2
"""How often a paused process looks whether it may go on."""


class SteeredCells:
    """What one process of the session knows of the orders, and what follows for its cells.

    A process looks at the size of the file before it begins a cell, and reads it only when that has
    changed. What has begun is never taken back.

    Args:
        session: this process's.
        worker: the name of this process in records.
    """

    def __init__(self, session: RunSession, worker: str) -> None:
        self._session, self._worker = session, worker
        self._size = 0
        self._course = Course()
        self.held: set[str] = set()
        """The folders of cells that a pause keeps from beginning."""

    @property
    def course(self) -> Course:
        """Return what the orders add up to by now."""
        try:
            size = (self._session.run_folder / STEERING_FILE).stat().st_size
        except OSError:
            return self._course
        if size != self._size:
            self._size = size
            started = self._session.shared.started
            self._course = course(since(orders(self._session.run_folder), started))
        return self._course

    def await_start(self, cell: Cell) -> CellResult | None:
        """Wait while the session is paused; return the saved result of a cell that was stopped.

        Returns:
            None if the cell may begin.
        """
        if self.course.pause is not None:
            self._session.progress.emit("", "pause", "on")
            # Whatever ends the wait before its time, the cell has not begun.
            self.held.add(cell.folder)
            while self.course.pause is not None:
                waiting.sleep(LOOK_S)
            self.held.discard(cell.folder)
            self._session.progress.emit("", "pause", "")
        if not (why := self.course.why_not(cell.spec.name, cell.case.id)):
            return None
        reason = f"not run: {why}"
        left = left_out_cell(cell, self._session.settings, self._worker, "steered", reason)
        # With a full disk it is among the cells that were not run, as after an interruption.
        with suppress(OSError):
            save_cell(self._session.run_folder, left)
        return left


_STEERED: pytest.StashKey[SteeredCells] = pytest.StashKey()


def steered_cells(config: pytest.Config) -> SteeredCells:
    """Return what this process knows of the orders to its session."""
    if _STEERED not in config.stash:
        worker = getattr(config, "workerinput", {}).get("workerid", "main")
        config.stash[_STEERED] = SteeredCells(config.stash[SESSION], worker)
    return config.stash[_STEERED]
