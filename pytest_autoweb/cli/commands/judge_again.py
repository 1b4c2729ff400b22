"""`autoweb run rejudge`: judge a saved run again."""

import argparse
import sys
from contextlib import ExitStack
from pathlib import Path

from msgspec.structs import replace

from pytest_autoweb.cli.json_document import add_json_argument, print_json
from pytest_autoweb.cli.judge_arguments import add_judge_arguments
from pytest_autoweb.cli.run_arguments import add_run_argument
from pytest_autoweb.report.gates.gate_decision import why_unfinished
from pytest_autoweb.results.runs.run_folder import read_run
from pytest_autoweb.session.project_variants import project_variants
from pytest_autoweb.tools.verify.verify_run import (
    RejudgeOrder,
    asked_judges,
    verification_lines,
    verify_run,
)

_VERIFY_ABOUT = """\
Judges the cells of a saved run again, by the checks that are in the case files now and from the
evidence that the run kept: the page (shown in a browser with scripts and network off), the answer,
the requests and the downloads. No server is needed, and no model unless you ask for one. The old
run is only read; a new run folder with its own report is written.

Checks that need the live page or its server (js, http, sql, file, python) keep their recorded
verdict while they are unchanged; a changed one is undecided, and its cell is at best ungraded.

  autoweb run rejudge autoweb-report
  autoweb run rejudge autoweb-report --cases cases/shop.yaml --changed-only --fail-on-change

Exit status: 0 judged; 1 with --fail-on-change, an outcome changed or the run did not come to its
end; 4 invalid input.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = _VERIFY_ABOUT
    add_run_argument(parser)
    parser.add_argument(
        "--cases",
        nargs="+",
        type=Path,
        default=[],
        metavar="FILE",
        help="case files with the checks; default: the run's own, relative to --rootdir",
    )
    parser.add_argument(
        "--changed-only",
        action="store_true",
        help="keep the recorded verdict of every check that has not changed",
    )
    add_judge_arguments(parser, about="ask models again for `judge` checks, which may cost money")
    parser.add_argument(
        "--judge-labels",
        type=Path,
        metavar="FILE",
        help="with --ask-judge: file of human verdicts; only judges that agree with them decide",
    )
    parser.add_argument(
        "--output",
        type=Path,
        metavar="DIR",
        help="folder of the new run; default: the run's folder with -verified appended",
    )
    parser.add_argument(
        "--fail-on-change",
        action="store_true",
        help="exit with 1 when the outcome of a cell changes",
    )
    add_json_argument(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Judge the run again and print the changes; return 1 if they are to fail, else 0.

    Raises:
        AutowebError: a folder or a case file cannot be used.
    """
    with project_variants(args.rootdir):
        return _judge_again(args)


def _judge_again(args: argparse.Namespace) -> int:
    folder = args.folder.resolve()
    order = RejudgeOrder(
        run_folder=folder,
        output=args.output or folder.with_name(f"{folder.name}-verified"),
        rootdir=args.rootdir.resolve(),
        case_files=tuple(path.resolve() for path in args.cases),
        changed_only=args.changed_only,
    )
    with ExitStack() as stack:
        if args.ask_judge:
            judges = asked_judges(
                read_run(folder).info.models,
                default=args.judge_model,
                labels=args.judge_labels,
                rootdir=order.rootdir,
                max_cost=args.max_cost,
            )
            order = replace(order, judge=stack.enter_context(judges))
        verification = verify_run(order)
    unfinished = why_unfinished(read_run(folder))
    page = order.output / "index.html"
    if args.json:
        changed = len(verification.changed)
        print_json(
            "verification", {"report": page, "changed": changed, "cells": verification.cells}
        )
    else:
        for line in verification_lines(verification):
            print(line)
        print(f"report: {page}")
    if unfinished:
        print(f"autoweb: {unfinished}", file=sys.stderr)
    return int(args.fail_on_change and bool(verification.changed or unfinished))
