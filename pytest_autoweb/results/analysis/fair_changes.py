"""Which cells under a change of the page count: those whose case can still be done there; pure.

The oracle runs once under each change. Where it fails, the task cannot be done any more, and the
case says nothing about a model; where it has no verdict, or was not struck by what goes wrong once,
nothing is proven. Nor does a cell that was not struck itself say anything. Where pages are attacked
as well, the oracle is, too, and each attack is a question of its own.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, NamedTuple, TypeVar

from pytest_autoweb.base.variant_names import PERTURBATIONS
from pytest_autoweb.results.analysis.cell_numbers import CaseKey, CellSummary, case_key
from pytest_autoweb.results.analysis.controls import is_control, proves_change
from pytest_autoweb.results.records import CellResult, PlannedCell

Doubt = Literal["unfair", "unproven"]
"""Why a change says nothing of a case: its oracle cannot do it there, or has no verdict."""

Cell = TypeVar("Cell", CellResult, CellSummary)


class Circumstances(NamedTuple):
    """What a cell under a change has in common with the oracle that proves it fair."""

    case: CaseKey
    change: str
    repeat: int = 0
    """On attacked pages, whose attack it decides; otherwise 0."""


def _circumstances(cell: CellResult | CellSummary) -> Circumstances:
    return Circumstances(case_key(cell), page_change(cell), cell.repeat if cell.attack else 0)


def page_change(cell: PlannedCell | CellSummary) -> str:
    """Return the change of a cell's pages; empty if there is none.

    The name of its model tells it only where nothing was recorded: it may be anything.
    """
    if cell.page_change is not None:
        return cell.page_change
    return next((part for part in cell.model.split("@")[:0:-1] if part in PERTURBATIONS), "")


def is_met(cell: CellResult | CellSummary) -> bool:
    """Tell whether a model met the change of its page, which may have been to strike once."""
    return cell.met_change is not False and not is_control(cell.model)


def doubts(cells: Iterable[CellResult | CellSummary]) -> Mapping[Circumstances, Doubt]:
    """Return where models met a change which says nothing of them."""
    proofs: dict[Circumstances, str] = {}
    met: dict[Circumstances, None] = {}
    for cell in cells:
        if page_change(cell):
            if proves_change(cell.model):
                proof = "" if cell.met_change is False else cell.outcome
                proofs[_circumstances(cell)] = proof
            elif is_met(cell):
                met[_circumstances(cell)] = None
    found: dict[Circumstances, Doubt] = {}
    for place in met:
        outcome = proofs.get(place)
        if outcome == "failed":
            found[place] = "unfair"
        elif outcome != "passed":
            found[place] = "unproven"
    return found


def fair_cells(cells: Sequence[Cell]) -> tuple[Cell, ...]:
    """Return the cells without those of models that say nothing of a change.

    It never struck them, or their case cannot provably be done under it.
    """
    found = doubts(cells)
    return tuple(
        cell
        for cell in cells
        if is_control(cell.model) or (is_met(cell) and _circumstances(cell) not in found)
    )
