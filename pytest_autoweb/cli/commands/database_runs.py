"""`autoweb db`: write runs from their folders into a database, and remove old ones."""

import argparse
import re
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

from pytest_autoweb.base.errors import SettingsError
from pytest_autoweb.cli.opened_store import add_database_argument, open_store
from pytest_autoweb.cli.run_arguments import named_run
from pytest_autoweb.report.wording import count_of

_REPORT = "autoweb-report"
_SYNC = """\
Writes runs into the database. A run that is there already is written again, from its folder: its
rows are made anew and replace the old ones. A run that only has the name of one there, because it
comes from elsewhere, is refused. Without --database, the URL comes from the environment variable
AUTOWEB_DATABASE, which keeps a password out of the list of processes.

  autoweb db sync
  autoweb db sync autoweb-report --database sqlite:///runs.db

Exit status: 0 all were written; 4 one cannot be read, or the database cannot be written.
"""
_PRUNE = """\
Removes old runs from the database. Their folders stay, so that `sync` can bring them back.

  autoweb db prune --older-than 90d
  autoweb db prune --older-than 12w --database sqlite:///runs.db

Exit status: 0 done, even if there was none; 4 invalid input, or a database that cannot be written.
"""


def add_sync_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = _SYNC
    parser.add_argument(
        "runs",
        nargs="*",
        type=named_run,
        metavar="RUN",
        help=f"runs; default: {_REPORT} and earlier ones, renamed to {_REPORT}.*",
    )
    parser.add_argument(
        "--replace",
        action="store_true",
        help="also replace a run of the same time and cells in which something else happened",
    )
    add_database_argument(parser)
    parser.set_defaults(run=run_sync)


def add_prune_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = _PRUNE
    parser.add_argument(
        "--older-than", required=True, metavar="AGE", help="days or weeks since the run: 90d, 12w"
    )
    add_database_argument(parser)
    parser.set_defaults(run=run_prune)


def run_sync(args: argparse.Namespace) -> int:
    """Write runs into the store; one that cannot be read is skipped and makes the status 4.

    Raises:
        SettingsError: there is no run folder.
        StoreError: the store cannot be written.
    """
    store = open_store(args.database, must_exist=False)
    # Late, because only an extra brings its packages, for which `open_store` asks.
    from pytest_autoweb.store.sync import sync_run

    runs = args.runs or sorted(p for p in Path().glob(f"{_REPORT}*") if (p / "cells").is_dir())
    if not runs:
        raise SettingsError(f"there is no run folder {_REPORT} here; name one")
    refused = 0
    with store:
        for folder in runs:
            try:
                written = sync_run(store, folder, replace=args.replace)
            except SettingsError as error:
                print(f"autoweb: {error}", file=sys.stderr)
                refused += 1
                continue
            cells = count_of(written.cells, "cell")
            calls = count_of(written.tool_calls, "tool call")
            print(f"{folder}: {cells}, {calls}, as {written.run_id[:8]} in {store.display_url}")
    return 4 if refused else 0


def run_prune(args: argparse.Namespace) -> int:
    """Remove old runs from the store.

    Raises:
        SettingsError: the age is invalid.
        StoreError: the store cannot be written.
    """
    age = re.fullmatch(r"(\d{1,5})([dw]?)", args.older_than)
    if age is None:
        raise SettingsError(f"--older-than: {args.older_than!r} is not an age; write 90d or 12w")
    days = int(age[1]) * (7 if age[2] == "w" else 1)
    store = open_store(args.database)
    # Late, for the same reason.
    from pytest_autoweb.store.sync import prune

    now = datetime.now(UTC)
    with store:
        gone = prune(store, before=now - timedelta(days=days), now=now)
    print(f"{count_of(gone, 'run')} removed from {store.display_url}")
    return 0
