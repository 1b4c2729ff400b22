"""`autoweb run merge`: merge the shards of a run into one report."""

import argparse
import sys
from pathlib import Path

from pytest_autoweb.cli.json_document import add_json_argument, print_json
from pytest_autoweb.report.gates.gate_decision import why_unfinished
from pytest_autoweb.report.merge import merge_reports
from pytest_autoweb.report.terminal import terminal_lines
from pytest_autoweb.results.runs.run_folder import read_run
from pytest_autoweb.session.project_variants import project_variants

_MERGE_REPORTS_EPILOG = """\
The first command runs on each machine, the second where all packed reports are collected:

  pytest cases --autoweb-models=A,B --autoweb-shard=1/4
  autoweb run merge autoweb-blobs --require-complete

Packed reports and run folders can be named one by one as well:

  autoweb run merge report-1.zip report-2.zip --output merged

A cell found in several inputs counts once: a finished result wins over an unfinished one, and then
the latest wins. Missing cells, duplicates and all differences between the inputs (settings,
versions, cases, prompts) are printed and kept in the report.

Exit status: 0 merged; 1 with --require-complete, cells have no result, or a run did not come to its
end; 4 invalid input.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Merges packed reports of --autoweb-shard, or whole run folders, into one run "
        "folder with the report that a single run would have."
    )
    parser.epilog = _MERGE_REPORTS_EPILOG
    parser.add_argument(
        "paths",
        nargs="+",
        type=Path,
        metavar="PATH",
        help="a packed report (report-*.zip), a run folder, or a folder that holds any of these",
    )
    parser.add_argument(
        "--output",
        type=Path,
        default=Path("autoweb-report"),
        metavar="DIR",
        help="where the merged run goes; an earlier run there is moved aside "
        "(default: autoweb-report)",
    )
    parser.add_argument(
        "--require-complete",
        action="store_true",
        help="exit with 1 when cells have no result, or a run did not come to its end",
    )
    add_json_argument(parser)
    parser.set_defaults(run=run)


@project_variants()
def run(args: argparse.Namespace) -> int:
    """Merge the inputs and print what is missing or differs.

    Raises:
        AutowebError: an input is missing, broken or refused; nothing was changed.
    """
    merged = merge_reports(args.paths, args.output, max_chars=8_000_000)
    page = args.output / "index.html"
    if args.json:
        facts = {"missing": merged.missing, "notes": merged.report.notes}
        print_json("merge", {"report": page, "summary": merged.report.summary, **facts})
    else:
        for line, _ in terminal_lines(merged.report):
            print(line)
        print(f"report: {page}")
    unfinished = why_unfinished(read_run(args.output))
    if unfinished:
        print(f"autoweb: {unfinished}", file=sys.stderr)
    return int(args.require_complete and bool(merged.missing or unfinished))
