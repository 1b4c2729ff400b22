"""Arguments that name a saved run, or one cell of it."""

import argparse
from pathlib import Path

from pytest_autoweb.base.errors import SettingsError
from pytest_autoweb.report.wording import one_line
from pytest_autoweb.results.records import CellResult

_RUN = Path("autoweb-report")
_MEANT = "the folder of the run; default: autoweb-report"


def add_run_argument(parser: argparse.ArgumentParser) -> None:
    """Declare RUN as what follows the name of a command that works on a whole run."""
    parser.add_argument("folder", nargs="?", type=Path, default=_RUN, metavar="RUN", help=_MEANT)


def add_run_option(parser: argparse.ArgumentParser) -> None:
    """Declare `--run` for a command whose own argument names something in a run."""
    parser.add_argument("--run", dest="folder", type=Path, default=_RUN, metavar="RUN", help=_MEANT)


def add_cell_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what says which cell of which run is meant."""
    parser.add_argument("cell", metavar="CELL", help="a test's name, a part of it, or a folder")
    add_run_option(parser)


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
    # The run may be somebody else's.
    names = ", ".join(one_line(cell.test_name) for cell in (fits or cells)[:8])
    more = "" if len(fits or cells) <= 8 else ", …"
    if fits:
        raise SettingsError(f"{len(fits)} cells fit {said!r}; name one of {names}{more}")
    raise SettingsError(f"no cell of the run fits {said!r}; there are {names}{more}")
