"""Which cells can see what an attack plants."""

from pytest_autoweb.base.variant_names import PERSON, AttackName
from pytest_autoweb.cell.cell_inputs import Cell
from pytest_autoweb.cell.strategies import WEBMCP
from pytest_autoweb.results.analysis.controls import is_control


def sees(cell: Cell, way: AttackName) -> bool:
    """Return whether who drives a cell can see an instruction that is planted in this way.

    A control is asked whether the attack is fair, so it counts as seeing.
    """
    if is_control(cell.spec.name):
        return True
    if way == "image":
        return cell.spec.vision or cell.strategy == PERSON
    return way != "webmcp" or cell.strategy == WEBMCP.name
