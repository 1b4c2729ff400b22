"""`autoweb db serve`: show trends, failures and runs of a store in the browser."""

import argparse
import os

from pytest_autoweb.cli.opened_store import add_database_argument, open_store

PORT = 8017
_DASHBOARD_EPILOG = """\
  autoweb db serve
  autoweb db serve --database sqlite:///runs.db --port 0

Prints an address with a token that gives access. Every start makes a new token, unless the
environment variable AUTOWEB_DASHBOARD_TOKEN holds one. Programs send it as `Authorization: Bearer
TOKEN`; /docs describes the REST API. The server only reads the database.

Without --host, only this machine can reach the server. With another address everything, including
the token, crosses the network unencrypted, so put a proxy with TLS in front of it.

Exit status: 4 a flag or the store cannot be used; otherwise it runs until Ctrl-C.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Serves trends of pass rate and cost, failure types, the reliability of tools, "
        "corrections, runs and cells, as pages and as a REST API."
    )
    parser.epilog = _DASHBOARD_EPILOG
    add_database_argument(parser)
    parser.add_argument(
        "--port", type=int, default=PORT, help=f"port to listen on; 0 takes a free one ({PORT})"
    )
    parser.add_argument(
        "--host", default="127.0.0.1", help="address to listen on (default: this machine only)"
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Serve the dashboard until it is stopped.

    Raises:
        SettingsError: a flag is invalid, or a package is missing.
        StoreError: the store cannot be read.
    """
    store = open_store(args.database, extras=("dashboard",))
    # Late, because only an extra brings its packages, for which `open_store` asks.
    from pytest_autoweb.store.dashboard.app import serve

    with store:
        with store.read():
            print(f"autoweb db serve of {store.display_url}; stop it with Ctrl-C", flush=True)
        token = os.environ.get("AUTOWEB_DASHBOARD_TOKEN", "")
        tell = lambda address: print(address, flush=True)  # noqa: E731
        serve(store, host=args.host, port=args.port, token=token, tell=tell)
    return 0
