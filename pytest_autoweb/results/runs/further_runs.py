"""Keeps the further run of a cell that was ordered beside the cell's first result, which counts."""

from pathlib import Path

from pytest_autoweb.results.records import CellResult, RunAgain
from pytest_autoweb.results.runs.run_folder import saved_cell
from pytest_autoweb.results.runs.saving import save_cell
from pytest_autoweb.results.runs.steering import Order

LOST = "each worker that ran it was lost"


def next_folder(run: Path, first: str) -> str:
    """Return the folder for the next further run of a cell.

    Args:
        run: the run folder.
        first: the cell's folder in it.
    """
    number = 1
    while (run / first / f"again-{number}").exists():
        number += 1
    return f"{first}/again-{number}"


def note_run(run: Path, folder: str, order: Order) -> None:
    """Note a further run that has ended beside the first result of its cell.

    Args:
        run: the run folder.
        folder: that of the further run, below the run folder.
        order: what it was run for.

    Raises:
        OSError: the folder cannot be written.
    """
    result = saved_cell(run, folder)
    if isinstance(result, CellResult):
        noted = RunAgain(
            ordered=order.at,
            by=order.by,
            folder=Path(folder).name,
            outcome=result.outcome,
            reason=result.reason,
            duration_ms=result.duration_ms,
            cost_usd=result.total_usage.cost_usd,
        )
        _note(run, folder, noted)


def note_lost(run: Path, folder: str, order: Order) -> None:
    """Note a further run of which nothing came, as it is done with a cell."""
    name = Path(folder).name
    lost = RunAgain(ordered=order.at, by=order.by, folder=name, outcome="broken", reason=LOST)
    _note(run, folder, lost)


def _note(run: Path, folder: str, noted: RunAgain) -> None:
    first = saved_cell(run, Path(folder).parent.as_posix())
    if isinstance(first, CellResult):
        # Files that come once more, with recordings, replace what was noted of them.
        others = (each for each in first.again if each.ordered != noted.ordered)
        save_cell(run, first.model_copy(update={"again": (*others, noted)}))
