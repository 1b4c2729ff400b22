"""`autoweb run show`: write the report of a saved run again, and open it."""

import argparse
import webbrowser
from typing import Any

from pytest_autoweb.cli.json_document import add_json_argument, print_json
from pytest_autoweb.cli.run_arguments import add_run_argument
from pytest_autoweb.report.write import write_report
from pytest_autoweb.results.records import CellResult
from pytest_autoweb.results.runs.run_folder import refuse_other_folders
from pytest_autoweb.session.project_variants import project_variants

_SHOW_REPORT_ABOUT = """\
Builds index.html, report.json and summary.md from the cells on disk, and opens the report in a
browser. This also works after a run that was killed. With --json it prints the paths, the summary
and a few facts of each cell, and opens nothing.

  autoweb run show autoweb-report --no-open
  autoweb run show --json | jq '.cells[] | select(.outcome == "failed")'

Exit status: 0 the report is written, whatever it says; 4 it is not a run folder.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = _SHOW_REPORT_ABOUT
    add_run_argument(parser)
    parser.add_argument("--no-open", action="store_true", help="only print where the report is")
    add_json_argument(parser)
    parser.set_defaults(run=run)


@project_variants()
def run(args: argparse.Namespace) -> int:
    """Write the report and open it.

    Raises:
        SettingsError: the folder is not a run folder.
    """
    refuse_other_folders(args.folder)
    report = write_report(args.folder, max_chars=8_000_000, analysis=None)
    page = (args.folder / "index.html").resolve()
    if args.json:
        cells = [_report_facts(cell) for case in report.cases for cell in case.cells]
        facts = {"exit_status": report.exit_status, "summary": report.summary, "cells": cells}
        paths = {"report": page, "data": page.with_name("report.json")}
        print_json("run", {**paths, **facts, "notes": report.notes})
        return 0
    print(page)
    if not args.no_open:
        webbrowser.open(page.as_uri())
    return 0


def _report_facts(cell: CellResult) -> dict[str, Any]:
    """Return what tells a reader which cell to look at; report.json has everything."""
    return {
        "cell": cell.test_name,
        "case_path": cell.case_path,
        "case_id": cell.case_id,
        "model": cell.model,
        "outcome": cell.outcome,
        "reason": cell.reason,
        "folder": cell.folder,
    }
