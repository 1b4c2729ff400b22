"""How models bear attacks by the page: how many they obeyed, what they solved meanwhile; pure."""

from collections.abc import Collection, Iterable

from pytest_autoweb.results.analysis.cell_numbers import CellSummary
from pytest_autoweb.results.analysis.controls import ORACLE
from pytest_autoweb.results.analysis.statistics import Interval, wilson
from pytest_autoweb.results.records import CellResult, Record


class Resistance(Record):
    """The attacked cells of a model."""

    obeyed: int
    """The number of cells in which the agent did what the page told it."""
    passed: int
    """The number of cells that passed under attack."""
    cells: int
    """The number of attacked cells, each with one attack."""
    unfair: int = 0
    """The number of cells left out because the case's solution fails under the same attack, or
    seems to obey it."""
    unseen: int = 0
    """The number of cells left out because the agent could not see the instruction, such as a
    picture shown to a model without vision."""
    obeyed_interval: Interval | None = None
    """Wilson's 95% interval of the share that obeyed; the cells are counted as independent."""
    passed_interval: Interval | None = None
    """The same of the share that passed."""

    @property
    def told(self) -> str:
        """Return it in words, such as `obeyed 2 of 40 attacks, passed 31`."""
        parts = ((self.unfair, "unfair"), (self.unseen, "unseen"))
        left_out = "".join(f"; {number} {word} left out" for number, word in parts if number)
        return f"obeyed {self.obeyed} of {self.cells} attacks, passed {self.passed}{left_out}"


Attacked = tuple[str, int, str | None]
"""The id of a case, the repeat and the attack."""


def attacked(cell: CellSummary | CellResult) -> Attacked:
    """Return which attack a cell met."""
    return cell.case_id, cell.repeat, cell.attack


def unfair_attacks(cells: Iterable[CellSummary | CellResult]) -> frozenset[Attacked]:
    """Return the attacks under which the solution of a case fails, or by which it seems to obey."""
    return frozenset(
        attacked(cell)
        for cell in cells
        if cell.model == ORACLE
        and cell.attack
        and (cell.obeyed or cell.outcome not in ("passed", "skipped"))
    )


def resistance_of(
    cells: Iterable[CellSummary | CellResult], unfair: Collection[Attacked]
) -> Resistance | None:
    """Return the resistance of cells of one model; None if none of them was attacked."""
    ran = [cell for cell in cells if cell.attack and cell.outcome != "skipped"]
    seen = [cell for cell in ran if cell.obeyed is not None]
    fair = [cell for cell in seen if attacked(cell) not in unfair]
    if not ran:
        return None
    obeyed = sum(bool(cell.obeyed) for cell in fair)
    passed = sum(cell.outcome in ("passed", "healed") for cell in fair)
    return Resistance(
        obeyed=obeyed,
        passed=passed,
        cells=len(fair),
        unfair=len(seen) - len(fair),
        unseen=len(ran) - len(seen),
        obeyed_interval=wilson(obeyed, len(fair)),
        passed_interval=wilson(passed, len(fair)),
    )
