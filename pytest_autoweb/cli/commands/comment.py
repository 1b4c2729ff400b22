"""`autoweb comment`: write a comparison as the body of one sticky comment on a pull request."""

import argparse
import sys
from pathlib import Path

from pytest_autoweb.base.errors import AutowebError
from pytest_autoweb.cli.run_arguments import add_run_argument
from pytest_autoweb.report.gates.gate_decision import rows_of, why_unfinished
from pytest_autoweb.report.json_report import load_any
from pytest_autoweb.report.markdown import comment_body
from pytest_autoweb.report.plain_stream import plain_text
from pytest_autoweb.results.runs.run_folder import read_run, refuse_other_folders
from pytest_autoweb.results.runs.saving import write_text_atomic
from pytest_autoweb.results.runs.side_files import read_side_files

_COMMENT_EPILOG = """\
  autoweb comment autoweb-report --baseline latest -o comment.md
  autoweb comment --key nightly --link https://ci.example/runs/7 | gh pr comment --body-file -

The first line is a hidden marker. A job that finds a comment with that line edits it and otherwise
creates one, so a pull request has a single comment however many pushes it gets. docs/ci.md has the
script for such a job.

Exit status: 0 written, whatever the run says; 4 invalid input.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Writes what a reviewer needs to know, in GitHub's markdown: score, change, "
        "improvements and regressions for each model, and the gates."
    )
    parser.epilog = _COMMENT_EPILOG
    add_run_argument(parser)
    parser.add_argument(
        "--baseline",
        metavar="RUN",
        help="Run to compare with: a number or name in the storage folder, `latest`, a saved file "
        "or a run folder. Default: the run that it was compared with before.",
    )
    parser.add_argument(
        "--storage", type=Path, default=Path(".autoweb"), help="Folder of saved runs."
    )
    parser.add_argument(
        "--key",
        default="default",
        help="Name that keeps several comments on one pull request apart.",
    )
    parser.add_argument("--link", default="", help="Address of the whole report.")
    parser.add_argument(
        "-o", "--output", type=Path, metavar="FILE", help="Write to this file, not to stdout."
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Write the comment.

    Raises:
        SettingsError: the folder, or what it is to be compared with, is not a run.
        AutowebError: the file cannot be written.
    """
    refuse_other_folders(args.folder)
    recorded = read_run(args.folder)
    rows = rows_of(recorded)
    beside = read_side_files(args.folder)
    baseline = beside.baseline
    if args.baseline:
        baseline = load_any(args.baseline, args.storage, except_ts=rows.ts)
    body = comment_body(
        *(rows, beside.gates, baseline),
        key=args.key,
        link=args.link,
        unfinished=why_unfinished(recorded),
    )
    if args.output is None:
        sys.stdout.buffer.write(plain_text(body).encode())
        return 0
    try:
        write_text_atomic(args.output, body)
    except OSError as error:
        raise AutowebError(f"{args.output} cannot be written: {error.strerror}") from None
    return 0
