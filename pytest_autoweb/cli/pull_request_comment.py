"""A comparison as the body of one sticky comment on a pull request."""

import argparse
import sys
from pathlib import Path

from pytest_autoweb.base.errors import AutowebError
from pytest_autoweb.report.gates.gate_decision import rows_of, why_unfinished
from pytest_autoweb.report.json_report import load_any
from pytest_autoweb.report.markdown import comment_body
from pytest_autoweb.report.plain_stream import plain_text
from pytest_autoweb.results.runs.run_folder import read_run
from pytest_autoweb.results.runs.saving import write_text_atomic
from pytest_autoweb.results.runs.side_files import read_side_files


def add_comment_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare `--comment` and what it takes."""
    parser.add_argument(
        "--comment", action="store_true", help="write a comment for a pull request about the run"
    )
    parser.add_argument(
        "--baseline",
        metavar="RUN",
        help="with --comment: the run to compare with, by number, name, file or folder, or "
        "`latest`; default: the one that it was compared with before",
    )
    parser.add_argument(
        "--key",
        default="default",
        help="with --comment: a name that keeps several comments on one pull request apart",
    )
    parser.add_argument("--link", default="", help="with --comment: address of the whole report")
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        metavar="FILE",
        help="with --comment: write it to this file, not to stdout",
    )


def write_comment(args: argparse.Namespace) -> int:
    """Write the comment, and return 0 whatever it says.

    Raises:
        SettingsError: what the run is to be compared with is no run.
        AutowebError: the file cannot be written.
    """
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
