"""Arguments that name a saved run, or one cell of it.

They are the same for every command: the run first, a cell behind it, and without a run the latest.
"""

import argparse
import os
import sys
from pathlib import Path
from typing import NamedTuple

from pytest_autoweb.report.named_cells import find_cell, only_cell
from pytest_autoweb.results.records import CellResult
from pytest_autoweb.results.runs.loaded_run import Run, load_run
from pytest_autoweb.results.runs.run_folder import is_run_folder
from pytest_autoweb.results.runs.run_names import folder_of_run, last_whole_run

REPORT = Path("autoweb-report")
_MEANT = (
    "the run: its folder, or the number or name under which it was saved; default: the latest, "
    f"in {REPORT}"
)


class NamedCell(NamedTuple):
    """A cell, and the run that it is in."""

    run: Run
    cell: CellResult


def add_run_argument(parser: argparse.ArgumentParser) -> None:
    """Declare RUN for a command that works on a whole run; `args.folder` is its folder."""
    parser.add_argument(
        "folder", nargs="?", type=named_run, default=REPORT, metavar="RUN", help=_MEANT
    )


def add_cell_arguments(parser: argparse.ArgumentParser, cell: str | None = None) -> None:
    """Declare what says which cell of which run is meant, for `named_cell`.

    Args:
        parser: of the command.
        cell: a help text of CELL, where it may be missing.
    """
    parser.add_argument("named", nargs="?", default="", metavar="RUN", help=_MEANT)
    parser.add_argument(
        "cell",
        nargs="?" if cell else None,
        metavar="CELL",
        help=cell or "a test's name, a part of it, or a folder",
    )
    # The way of earlier versions to name the run.
    parser.add_argument("--run", dest="run_option", default="", help=argparse.SUPPRESS)


def add_dir_argument(parser: argparse.ArgumentParser) -> None:
    """Declare `--dir`, the folder of saved runs; `args.storage` is its path."""
    default = Path(os.environ.get("AUTOWEB_DIR") or ".autoweb")
    parser.add_argument(
        "--dir",
        dest="storage",
        type=Path,
        default=default,
        metavar="DIR",
        help="folder of saved runs; default: AUTOWEB_DIR, or .autoweb",
    )
    # The name of earlier versions.
    parser.add_argument(
        "--storage", dest="storage", type=Path, default=default, help=argparse.SUPPRESS
    )


def named_run(text: str) -> Path:
    """Return the folder of the run that an argument names.

    Raises:
        SettingsError: it was saved, but its folder is gone.
    """
    return folder_of_run(text, Path(os.environ.get("AUTOWEB_DIR") or ".autoweb"), REPORT)


def whole_run() -> Path:
    """Return the run that is meant where none is named and a part of the cells will not do.

    Raises:
        SettingsError: there are only parts.
    """
    found = last_whole_run(REPORT)
    if found.notice:
        print(f"autoweb: {found.notice}", file=sys.stderr)
    return found.folder


def names_run(text: str) -> bool:
    """Tell whether an argument names a run, rather than a cell of the latest one."""
    return is_run_folder(named_run(text))


def named_cell(args: argparse.Namespace) -> NamedCell:
    """Return the cell that `RUN CELL`, or CELL alone, means; a folder of a cell names both.

    Raises:
        SettingsError: the run, or a single cell in it, cannot be found.
    """
    folder = named_run(args.named or args.run_option)
    said = args.cell
    if not args.named and not args.run_option and (around := run_around(Path(said))):
        folder = around
    run = load_run(folder)
    if Path(said).resolve() == folder.resolve():
        return NamedCell(run, only_cell(run.cells, folder))
    return NamedCell(run, find_cell(run.cells, said, folder))


def run_around(place: Path) -> Path | None:
    """Return the run folder that a path is, or lies in."""
    if not place.exists():
        return None
    whole = place.resolve()
    found = next((each for each in (whole, *whole.parents) if is_run_folder(each)), None)
    if found is None:
        return None
    here = Path.cwd()
    return found.relative_to(here) if found.is_relative_to(here) else found
