"""`autoweb show-report`: write the report of a run folder anew, and open it."""

import argparse
import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_autoweb.errors import SettingsError

if TYPE_CHECKING:
    Subparsers = argparse._SubParsersAction[argparse.ArgumentParser]


def add_parser(subparsers: "Subparsers") -> None:
    """Declare `autoweb show-report`."""
    show = subparsers.add_parser(
        "show-report",
        help="write the report of a run folder anew, and open it",
        description="Builds index.html, report.json and summary.md from the cells on disk, also "
        "after a run that was killed.",
    )
    show.add_argument("folder", nargs="?", type=Path, default=Path("autoweb-report"))
    show.add_argument("--no-open", action="store_true", help="only print where the report is")
    show.set_defaults(run=run, with_variants=True)


def run(args: argparse.Namespace) -> int:
    """Write and open the report.

    Raises:
        SettingsError: the folder is not that of a run.
    """
    from pytest_autoweb.report.write import write_report

    if not (args.folder / "cells").is_dir() and not (args.folder / "manifest.json").is_file():
        raise SettingsError(f"{args.folder} is no run folder: it holds neither cells nor manifest")
    write_report(args.folder, max_chars=8_000_000, analysis=None)
    page = (args.folder / "index.html").resolve()
    print(page)
    if not args.no_open:
        webbrowser.open(page.as_uri())
    return 0
