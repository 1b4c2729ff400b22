"""The slow cells of a run: those that needed a larger time limit, then the longest ones."""

from collections import defaultdict
from collections.abc import Sequence

from pytest_autoweb.report.statistics import percentile
from pytest_autoweb.results import CaptureModeName, CellResult, Outcome, Record

LISTED = 20
"""The most cells with a continued step that are listed."""
LONGEST = 5
"""How many of the longest other cells are listed."""


class SlowCell(Record):
    """One cell that took long."""

    case_id: str
    """The id of the case."""
    case_path: str
    """Path of the case file, relative to the rootdir."""
    model: str
    """Name of the model."""
    capture_mode: CaptureModeName
    """How the page was shown to the model."""
    repeat: int
    """Number of the repeat, from 1."""
    outcome: Outcome
    """What became of the cell."""
    continued: bool
    """Whether a step ran out of time once and was continued with a larger limit."""
    seconds: float
    """Seconds the cell took."""
    median_s: float
    """The median duration of the model's cells, in seconds."""
    folder: str
    """The folder of the cell, relative to the run folder."""


def slowest(cells: Sequence[CellResult]) -> tuple[SlowCell, ...]:
    """Return cells with a continued step, then the longest others, each group longest first."""
    times: dict[str, list[float]] = defaultdict(list)
    for cell in cells:
        if cell.duration_ms > 0:
            times[cell.model].append(cell.duration_ms / 1000)
    ordered = sorted(cells, key=lambda cell: -cell.duration_ms)
    continued = [cell for cell in ordered if cell.slow][:LISTED]
    longest = [cell for cell in ordered if not cell.slow and cell.duration_ms > 0][:LONGEST]
    return tuple(
        SlowCell(
            case_id=cell.case_id,
            case_path=cell.case_path,
            model=cell.model,
            capture_mode=cell.capture_mode,
            repeat=cell.repeat,
            outcome=cell.outcome,
            continued=cell.slow,
            seconds=cell.duration_ms / 1000,
            median_s=percentile(times.get(cell.model, []), 0.5) or 0.0,
            folder=cell.folder,
        )
        for cell in (*continued, *longest)
    )
