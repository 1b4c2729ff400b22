"""`autoweb merge-reports`: merge the shards of a run into one report."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_autoweb.commands.json_output import add_json_argument, print_json

# Late imports: every `autoweb` command loads this module, and only this one needs the rest.

if TYPE_CHECKING:
    Subparsers = argparse._SubParsersAction[argparse.ArgumentParser]

EPILOG = """\
The first command runs on each machine, the second where all packed reports are collected:

  pytest cases --autoweb-models=A,B --autoweb-shard=1/4
  autoweb merge-reports autoweb-blobs --require-complete

Packed reports and run folders can be named one by one as well:

  autoweb merge-reports report-1.zip report-2.zip --output merged

A cell found in several inputs counts once: a finished result wins over an unfinished one, and then
the latest wins. Missing cells, duplicates and all differences between the inputs (settings,
versions, cases, prompts) are printed and kept in the report.

Exit status: 0 merged; 1 with --require-complete, cells have no result; 4 invalid input.
"""


def add_parser(subparsers: "Subparsers") -> None:
    """Declare `autoweb merge-reports`."""
    merge = subparsers.add_parser(
        "merge-reports",
        help="merge the packed reports of shards",
        description="Merges packed reports of --autoweb-shard, or whole run folders, into one run "
        "folder with the report that a single run would have.",
        epilog=EPILOG,
    )
    merge.add_argument(
        "paths",
        nargs="+",
        type=Path,
        metavar="PATH",
        help="a packed report (report-*.zip), a run folder, or a folder that holds any of these",
    )
    merge.add_argument(
        "--output",
        type=Path,
        default=Path("autoweb-report"),
        metavar="DIR",
        help="where the merged run goes; an earlier run there is moved aside "
        "(default: autoweb-report)",
    )
    merge.add_argument(
        "--require-complete",
        action="store_true",
        help="exit with 1 when cells have no result",
    )
    add_json_argument(merge)
    merge.set_defaults(run=run, with_variants=True)


def run(args: argparse.Namespace) -> int:
    """Merge the inputs and print what is missing or differs.

    Raises:
        AutowebError: an input is missing, broken or refused; nothing was changed.
    """
    from pytest_autoweb.report.merge import merge_reports
    from pytest_autoweb.report.terminal import terminal_lines

    merged = merge_reports(args.paths, args.output, max_chars=8_000_000)
    page = args.output / "index.html"
    if args.json:
        facts = {"missing": merged.missing, "notes": merged.report.notes}
        print_json("merge", {"report": page, "summary": merged.report.summary, **facts})
    else:
        for line, _ in terminal_lines(merged.report):
            print(line)
        print(f"report: {page}")
    return 1 if merged.missing and args.require_complete else 0
