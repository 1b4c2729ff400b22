"""`autoweb store` and `autoweb dashboard`: runs in a database, and its pages in the browser.

`store` writes runs from their folders into a database, and removes old ones. `dashboard` shows
trends, failures and runs of a store.
"""

import argparse
import os
import re
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_autoweb.errors import SettingsError
from pytest_autoweb.installation import extra_of_store, require_extras
from pytest_autoweb.options import DEFAULT_STORE

# Late imports: every `autoweb` command loads this module, and only its own run needs the rest.

if TYPE_CHECKING:
    from pytest_autoweb.store.database import Store

    Subparsers = argparse._SubParsersAction[argparse.ArgumentParser]


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

PORT = 8017
_DASHBOARD_EPILOG = """\
  autoweb dashboard
  autoweb dashboard --store sqlite:///runs.db --port 0

Prints an address with a token that gives access. Every start makes a new token, unless the
environment variable AUTOWEB_DASHBOARD_TOKEN holds one. Programs send it as `Authorization: Bearer
TOKEN`; /docs describes the REST API. The server only reads the store.

Without --host, only this machine can reach the server. With another address everything, including
the token, crosses the network unencrypted, so put a proxy with TLS in front of it.

Exit status: 4 a flag or the store cannot be used; otherwise it runs until Ctrl-C.
"""


def add_store_parser(subparsers: "Subparsers") -> None:
    """Declare `autoweb store`."""
    store = subparsers.add_parser(
        "store",
        help="write runs into a database, or remove old ones from it",
        description="Keeps runs in SQLite or Postgres, for `autoweb dashboard` and for queries.",
        epilog=_STORE_EPILOG,
    )
    actions = store.add_subparsers(dest="action", required=True, metavar="ACTION")
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
    for parser in (sync, prune):
        add_store_option(parser)


def add_store_option(parser: argparse.ArgumentParser) -> None:
    """Declare `--store`, which is the same for every command that has it."""
    parser.add_argument(
        "--store", metavar="URL", help="the store; default: AUTOWEB_STORE, or " + DEFAULT_STORE
    )


def open_store(
    text: str | None, *, extras: tuple[str, ...] = (), must_exist: bool = True
) -> "Store":
    """Return the store that the command line or the environment names.

    Args:
        text: the URL on the command line, if there is one.
        extras: what the command needs besides the store, for one message about all of it.
        must_exist: refuse a SQLite file that is not there; a new one would only hide a wrong name.

    Raises:
        SettingsError: the URL is invalid, there is no such file, or a package is missing.
    """
    text = text or os.environ.get("AUTOWEB_STORE") or DEFAULT_STORE
    require_extras(*extras, extra_of_store(text))
    from pytest_autoweb.store.database import Store, read_address

    url = read_address(text)
    store = Store(url)
    if must_exist and url.get_backend_name() == "sqlite" and not Path(str(url.database)).exists():
        raise SettingsError(
            f"there is no store {store.display_url}; `pytest --autoweb-store=URL` or "
            "`autoweb store sync --store URL` makes one"
        )
    return store


def run_sync(args: argparse.Namespace) -> int:
    """Write runs into the store; one that cannot be read is skipped and makes the status 4.

    Raises:
        SettingsError: there is no run folder.
        StoreError: the store cannot be written.
    """
    store = open_store(args.store, must_exist=False)
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
    from pytest_autoweb.store.sync import prune

    now = datetime.now(UTC)
    with store:
        gone = prune(store, before=now - timedelta(days=days), now=now)
    print(f"{gone} runs removed from {store.display_url}")
    return 0


def add_dashboard_parser(subparsers: "Subparsers") -> None:
    """Declare `autoweb dashboard`."""
    dashboard = subparsers.add_parser(
        "dashboard",
        help="show trends, failures and runs of a store in the browser",
        description="Serves trends of pass rate and cost, failure types, the reliability of tools, "
        "corrections, runs and cells, as pages and as a REST API.",
        epilog=_DASHBOARD_EPILOG,
    )
    add_store_option(dashboard)
    dashboard.add_argument(
        "--port", type=int, default=PORT, help=f"port to listen on; 0 takes a free one ({PORT})"
    )
    dashboard.add_argument(
        "--host", default="127.0.0.1", help="address to listen on (default: this machine only)"
    )
    dashboard.set_defaults(run=run_dashboard)


def run_dashboard(args: argparse.Namespace) -> int:
    """Serve the dashboard until it is stopped.

    Raises:
        SettingsError: a flag is invalid, or a package is missing.
        StoreError: the store cannot be read.
    """
    store = open_store(args.store, extras=("dashboard",))
    from pytest_autoweb.dashboard.app import serve

    with store:
        with store.read():
            print(f"autoweb dashboard of {store.display_url}; stop it with Ctrl-C", flush=True)
        token = os.environ.get("AUTOWEB_DASHBOARD_TOKEN", "")
        tell = lambda address: print(address, flush=True)  # noqa: E731
        serve(store, host=args.host, port=args.port, token=token, tell=tell)
    return 0
