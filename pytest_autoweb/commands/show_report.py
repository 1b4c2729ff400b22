"""`autoweb show-report`: write the report of a run folder again, and open it."""

import argparse
import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING

# Late imports: every `autoweb` command loads this module, and only this one needs the rest.

if TYPE_CHECKING:
    Subparsers = argparse._SubParsersAction[argparse.ArgumentParser]


def add_parser(subparsers: "Subparsers") -> None:
    """Declare `autoweb show-report`."""
    show = subparsers.add_parser(
        "show-report",
        help="write the report of a run folder again, and open it",
        description="Builds index.html, report.json and summary.md from the cells on disk. This "
        "also works after a run that was killed.",
    )
    show.add_argument("folder", nargs="?", type=Path, default=Path("autoweb-report"))
    show.add_argument("--no-open", action="store_true", help="only print where the report is")
    show.set_defaults(run=run, with_variants=True)


def run(args: argparse.Namespace) -> int:
    """Write the report and open it.

    Raises:
        SettingsError: the folder is not a run folder.
    """
    from pytest_autoweb.report.write import write_report
    from pytest_autoweb.runs.run_folder import refuse_other_folders

    refuse_other_folders(args.folder)
    write_report(args.folder, max_chars=8_000_000, analysis=None)
    page = (args.folder / "index.html").resolve()
    print(page)
    if not args.no_open:
        webbrowser.open(page.as_uri())
    return 0
