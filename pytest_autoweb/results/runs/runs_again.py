"""What a report says of cells that were run again by order, and of orders that came to nothing."""

from collections.abc import Iterator, Sequence

from pytest_autoweb.results.records import CellResult
from pytest_autoweb.results.runs.steering import Order

_LISTED = 5


def again_notes(cells: Sequence[CellResult], given: Sequence[Order]) -> Iterator[str]:
    """Yield which cells were run again and how that ended, and that the first result counts.

    Args:
        cells: those of a run.
        given: all orders to it.
    """
    told = [
        f"{cell.test_name} at {run.ordered.astimezone():%H:%M:%S}: {run.outcome} "
        f"(first: {cell.outcome})"
        for cell in cells
        for run in cell.again
    ]
    if told:
        more = f"; and {len(told) - _LISTED} more" if len(told) > _LISTED else ""
        yield (
            f"run again by order: {'; '.join(told[:_LISTED])}{more}; the first result of a cell "
            "counts, because whoever ordered another run may have seen it"
        )
    done = {run.ordered for cell in cells for run in cell.again}
    named = {name: cell for cell in cells for name in (cell.test_name, cell.nodeid)}
    for order in given:
        cell = named.get(order.value) if order.kind == "again" else None
        # A resumed run may have replaced the cell since, and its further runs with it.
        if cell is not None and order.at not in done and cell.started < order.at:
            yield f"{order.value} was not run again, as ordered at {order.time}: the run ended"
