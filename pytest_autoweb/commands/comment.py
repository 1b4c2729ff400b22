"""`autoweb comment`: write the body of one sticky comment on a pull request."""

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_autoweb.commands.show_report import add_run_argument
from pytest_autoweb.errors import AutowebError

# Late imports: every `autoweb` command loads this module, and only this one needs the rest.

if TYPE_CHECKING:
    Subparsers = argparse._SubParsersAction[argparse.ArgumentParser]

_EPILOG = """\
  autoweb comment autoweb-report --baseline latest -o comment.md
  autoweb comment --key nightly --link https://ci.example/runs/7 | gh pr comment --body-file -

The first line is a hidden marker. A job that finds a comment with that line edits it and otherwise
creates one, so a pull request has a single comment however many pushes it gets. docs/ci.md has the
script for such a job.

Exit status: 0 written, whatever the run says; 4 invalid input.
"""


def add_parser(subparsers: "Subparsers") -> None:
    """Declare `autoweb comment`."""
    comment = subparsers.add_parser(
        "comment",
        help="write a comment for a pull request about a run",
        description="Writes what a reviewer needs to know, in GitHub's markdown: score, change, "
        "improvements and regressions for each model, and the gates.",
        epilog=_EPILOG,
    )
    add_run_argument(comment)
    comment.add_argument(
        "--baseline",
        metavar="RUN",
        help="Run to compare with: a number or name in the storage folder, `latest`, a saved file "
        "or a run folder. Default: the run that it was compared with before.",
    )
    comment.add_argument(
        "--storage", type=Path, default=Path(".autoweb"), help="Folder of saved runs."
    )
    comment.add_argument(
        "--key",
        default="default",
        help="Name that keeps several comments on one pull request apart.",
    )
    comment.add_argument("--link", default="", help="Address of the whole report.")
    comment.add_argument(
        "-o", "--output", type=Path, metavar="FILE", help="Write to this file, not to stdout."
    )
    comment.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Write the comment.

    Raises:
        SettingsError: the folder, or what it is to be compared with, is not a run.
        AutowebError: the file cannot be written.
    """
    from pytest_autoweb.gates.gate_decision import rows_of
    from pytest_autoweb.report.json_report import load_any
    from pytest_autoweb.report.markdown import comment_body
    from pytest_autoweb.runs.run_folder import read_run, read_side_files, refuse_other_folders
    from pytest_autoweb.runs.saving import write_text_atomic

    refuse_other_folders(args.folder)
    rows = rows_of(read_run(args.folder))
    beside = read_side_files(args.folder)
    baseline = beside.baseline
    if args.baseline:
        baseline = load_any(args.baseline, args.storage, except_ts=rows.ts)
    body = comment_body(rows, beside.gates, baseline, key=args.key, link=args.link)
    if args.output is None:
        sys.stdout.buffer.write(body.encode())
        return 0
    try:
        write_text_atomic(args.output, body)
    except OSError as error:
        raise AutowebError(f"{args.output} cannot be written: {error.strerror}") from None
    return 0
