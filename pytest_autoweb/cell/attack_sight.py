"""Which cells meet an attack, and which can see what it plants."""

from pytest_autoweb.base.variant_names import PERSON, AttackName
from pytest_autoweb.cell.cell_inputs import Cell
from pytest_autoweb.cell.strategies import WEBMCP
from pytest_autoweb.results.analysis.controls import is_control, proves_change
from pytest_autoweb.settings.run_settings import Settings


def is_spared(cell: Cell, settings: Settings) -> bool:
    """Return whether a cell is not attacked, because it proves something else.

    Controls that are named as models are attacked, as models are; so is the oracle that says
    whether attacks are fair, and changes of attacked pages.
    """
    model = cell.spec.name
    proves_case = is_control(model) and not proves_change(model)
    return proves_case and (settings.controls or cell.mutant is not None)


def sees(cell: Cell, way: AttackName) -> bool:
    """Return whether who drives a cell could see an instruction that is planted in this way.

    A control is asked whether the attack is fair, so it counts as seeing.
    """
    if is_control(cell.spec.name):
        return True
    if way == "image":
        return cell.spec.vision or cell.strategy == PERSON
    return way != "webmcp" or cell.strategy == WEBMCP.name


def needs_picture(cell: Cell, way: AttackName) -> bool:
    """Return whether who drives a cell sees an instruction only in a picture that it is sent."""
    return way == "image" and cell.strategy != PERSON and not is_control(cell.spec.name)
