"""`autoweb store`: write runs from their folders into a database, and remove old ones."""

import argparse
import re
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

from pytest_autoweb.base.errors import SettingsError
from pytest_autoweb.cli.opened_store import add_store_option, open_store

_REPORT = "autoweb-report"
_STORE_EPILOG = """\
  autoweb store sync                                     the runs here, earlier ones included
  autoweb store sync autoweb-report --store sqlite:///runs.db
  autoweb store prune --older-than 90d

A run can be written any number of times: its rows are made from its folder and replace the old
ones. Without --store, the URL comes from the environment variable AUTOWEB_STORE, which keeps a
password out of the list of processes; the default is sqlite:///.autoweb/store.db.

Exit status: 0 done; 4 invalid input, or a run or a store that cannot be read.
"""
_SYNC = """\
Writes runs into the store. A run that is there already is written again, from its folder. A run
that only has the name of one there, because it comes from elsewhere, is refused.

  autoweb store sync
  autoweb store sync autoweb-report --store sqlite:///runs.db

Exit status: 0 all were written; 4 one cannot be read, or the store cannot be written.
"""
_PRUNE = """\
Removes old runs from the store. Their folders stay, so that `sync` can bring them back.

  autoweb store prune --older-than 90d
  autoweb store prune --older-than 12w --store sqlite:///runs.db

Exit status: 0 done, even if there was none; 4 invalid input, or a store that cannot be written.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Keeps runs in SQLite or Postgres, for `autoweb dashboard` and for queries."
    )
    parser.epilog = _STORE_EPILOG
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    sync = actions.add_parser("sync", help="write runs, or write them again", description=_SYNC)
    sync.add_argument(
        "runs",
        nargs="*",
        type=Path,
        metavar="RUN",
        help=f"run folders (default: {_REPORT} and earlier runs, renamed to {_REPORT}.*)",
    )
    sync.add_argument(
        "--replace",
        action="store_true",
        help="also replace a run of the same time and cells in which something else happened",
    )
    sync.set_defaults(run=run_sync)
    prune = actions.add_parser(
        "prune", help="remove old runs, but not their folders", description=_PRUNE
    )
    prune.add_argument(
        "--older-than", required=True, metavar="AGE", help="days or weeks since the run: 90d, 12w"
    )
    prune.set_defaults(run=run_prune)
    for action in (sync, prune):
        add_store_option(action)


def run_sync(args: argparse.Namespace) -> int:
    """Write runs into the store; one that cannot be read is skipped and makes the status 4.

    Raises:
        SettingsError: there is no run folder.
        StoreError: the store cannot be written.
    """
    store = open_store(args.store, must_exist=False)
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
            counts = f"{written.cells} cells, {written.tool_calls} tool calls"
            print(f"{folder}: {counts}, as {written.run_id[:8]} in {store.display_url}")
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
    store = open_store(args.store)
    # Late, for the same reason.
    from pytest_autoweb.store.sync import prune

    now = datetime.now(UTC)
    with store:
        gone = prune(store, before=now - timedelta(days=days), now=now)
    print(f"{gone} runs removed from {store.display_url}")
    return 0
