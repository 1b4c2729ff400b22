"""Which cell of a run is meant by a name, a part of one, or a folder."""

from collections.abc import Sequence
from pathlib import Path

from pytest_autoweb.base.errors import SettingsError
from pytest_autoweb.report.foreign_text import one_line
from pytest_autoweb.results.records import CellResult


def only_cell(cells: Sequence[CellResult], folder: Path) -> CellResult:
    """Return the cell of a run that has only one.

    Raises:
        SettingsError: there are several; the message lists some.
    """
    if len(cells) == 1:
        return cells[0]
    raise SettingsError(f"{folder} is a run; name one of its cells behind it: {_some(cells)}")


def find_cell(cells: tuple[CellResult, ...], said: str, folder: Path) -> CellResult:
    """Return the one cell that is meant.

    Raises:
        SettingsError: none is, or several are; the message lists some.
    """
    place = Path(said)
    if place.is_file():
        place = place.parent
    if place.is_dir() and place.resolve().is_relative_to(folder.resolve()):
        said = place.resolve().relative_to(folder.resolve()).as_posix()
    fits = [cell for cell in cells if said in (cell.folder, cell.test_name)]
    fits = fits or [cell for cell in cells if said in cell.test_name]
    if len(fits) == 1:
        return fits[0]
    if fits:
        raise SettingsError(f"{len(fits)} cells fit {said!r}; name one of {_some(fits)}")
    raise SettingsError(f"no cell of the run fits {said!r}; there are {_some(cells)}")


def _some(cells: Sequence[CellResult]) -> str:
    # The run may be somebody else's.
    names = ", ".join(one_line(cell.test_name) for cell in cells[:8])
    return names + ("" if len(cells) <= 8 else ", …")
