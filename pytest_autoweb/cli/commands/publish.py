"""`autoweb run publish`: write run folders as static pages, with a leaderboard over all of them."""

import argparse
from pathlib import Path

from pytest_autoweb.base.errors import SettingsError
from pytest_autoweb.cli.run_arguments import named_run, whole_run
from pytest_autoweb.report.foreign_text import one_line
from pytest_autoweb.report.wording import columns, count_of, rate
from pytest_autoweb.tools.publishing.leaderboard import Leaderboard
from pytest_autoweb.tools.publishing.published_site import publish, run_folders

_PUBLISH_EPILOG = """\
RUN is a run folder, the number or name of a saved run, or a folder with several. The pages open
from disk and from any web server: index.html with the leaderboard, paired tests, every cell, what
was left out and why, and where each number comes from; leaderboard.json with the same; runs/NAME
with each run's own report and results, which `autoweb run compare` and `autoweb run rejudge` read
like any other run.

  autoweb run publish autoweb-report -o site
  autoweb run publish runs/monday runs/tuesday --title "Shop, November" -o site

Each model of each run is an entry. Cases count as the same only if file, id, task and checks are.
An earlier publication in the same place is replaced. Reports are written anew, and of a run's
files only results, pictures and texts are copied, recognised by their content; stored pages,
scripts and downloads become texts (NAME.txt), so that nothing of a run is a page of your site.
Traces and videos stay where they are, since they hold what was typed and sent in clear, unless
--recordings asks for them.

Exit status: 0 the pages are written; 4 invalid input, or a run cannot be published.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Writes static pages for runs: a leaderboard with intervals and paired tests, "
        "in which every number leads to its cells."
    )
    parser.epilog = _PUBLISH_EPILOG
    parser.add_argument(
        "runs",
        nargs="*",
        type=named_run,
        metavar="RUN",
        help="a run, or a folder with several; default: the last whole run",
    )
    parser.add_argument(
        "-o", "--output", type=Path, default=Path("autoweb-site"), metavar="DIR",
        help="the folder of the pages (autoweb-site)",
    )  # fmt: skip
    parser.add_argument("--title", default="", help="what is compared, as its heading")
    parser.add_argument(
        "--recordings", action="store_true", help="also publish traces and videos of cells"
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Write the pages and say what is in them.

    Raises:
        AutowebError: a run cannot be read, or the pages cannot be written.
    """
    folders = run_folders(args.runs or [whole_run()])
    if not folders:
        raise SettingsError("there is no run to publish")
    title = args.title or "Leaderboard"
    board = publish(folders, args.output, title, recordings=args.recordings)
    _tell_of_leaderboard(args.output, board)
    return 0


def _tell_of_leaderboard(target: Path, board: Leaderboard) -> None:
    rows = [["", "first attempt", "after repair", "cells"]]
    for row in board.summary.models:
        numbers = row.numbers
        rows.append(
            [
                one_line(row.model),
                rate(numbers.first_attempt.all_trials),
                rate(numbers.after_repair.all_trials),
                str(numbers.cells),
            ]
        )
    if len(rows) > 1:
        print("\n".join(columns(rows)))
    else:
        print("controls alone, so there is no model to rank")
    if board.summary.verdict:
        print(one_line(board.summary.verdict, 400))
    print(
        f"{count_of(len(board.runs), 'run')}, {count_of(len(board.cells), 'cell')}, "
        f"{len(board.excluded)} left out of some number: {target / 'index.html'}"
    )
