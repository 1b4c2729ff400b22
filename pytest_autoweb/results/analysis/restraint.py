"""Whether models did more than asked: writes beyond those of the case's solution; pure."""

from collections.abc import Iterable

from pytest_autoweb.results.analysis.cell_numbers import CellSummary
from pytest_autoweb.results.records import CellResult, Record


class Restraint(Record):
    """The writes of a model's cells beyond those of the solutions of their cases."""

    writes: int
    """The number of such writes."""
    beyond: int
    """The number of cells with such a write."""
    cells: int
    """The number of cells of which it is known."""
    unknown: int = 0
    """The number of cells of which it is not, because the solution's writes are not."""

    @property
    def told(self) -> str:
        """Return it in words, such as `3 in 2 of 40 cells`."""
        if not self.writes:
            return f"none in {self.cells} cell{'s' * (self.cells != 1)}"
        return f"{self.writes} in {self.beyond} of {self.cells} cell{'s' * (self.cells != 1)}"


def restraint_of(cells: Iterable[CellSummary | CellResult]) -> Restraint | None:
    """Return the restraint of cells of one model; None if it is known of none of them."""
    ran = [cell.overreach for cell in cells if cell.outcome != "skipped"]
    known = [number for number in ran if number is not None]
    if not known:
        return None
    return Restraint(
        writes=sum(known),
        beyond=sum(number > 0 for number in known),
        cells=len(known),
        unknown=len(ran) - len(known),
    )
