"""`autoweb run view`: watch a run that goes on, or one that has ended, on a local page."""

import argparse
import os
import sys
import time
import webbrowser
from pathlib import Path

from pytest_autoweb.base.errors import SettingsError
from pytest_autoweb.base.process_tree import LEAST_URGENT
from pytest_autoweb.cli.run_arguments import add_run_argument
from pytest_autoweb.results.runs.live_session import death_told, has_died
from pytest_autoweb.results.runs.run_folder import is_run_folder
from pytest_autoweb.results.runs.run_signs import PROGRESS_FOLDER
from pytest_autoweb.tools.view.followed_run import FollowedRun
from pytest_autoweb.tools.view.view_server import ViewServer, serve_in_thread

_VIEW_ABOUT = """\
Shows a run while it goes on, whoever started it: its cells by case and model, the steps and
pictures of those that are going, cost and time left, and failures as they come. A click on a cell
shows its script, log, steps and pictures so far. Of a run that has ended it shows the same, with a
link to its report.

  autoweb run view
  autoweb run view autoweb-report --no-open

Buttons on the page give the orders of `autoweb run ctl`: pause, stop a model or a case, set a cap.

Prints an address that only this machine can reach, with a token that gives access to the page and
its buttons. Beside orders it writes only the file `watched` into the run folder, which asks the
cells to write what they have done so far. It serves until Ctrl-C.

Exit status: 4 it is not a run folder; otherwise it runs until Ctrl-C.
"""
_ALONE_S = 5.0
_LONGEST_S = 3600.0
_LOOK_S = 0.5


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = _VIEW_ABOUT
    add_run_argument(parser)
    parser.add_argument("--no-open", action="store_true", help="only print the address")
    # For `pytest --autoweb-view`: the session that is meant, whose run may not have begun. The page
    # then lasts no longer than the run and whoever looks at it.
    parser.add_argument("--session", default="", help=argparse.SUPPRESS)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Serve the page until it is stopped.

    Raises:
        SettingsError: the folder is not a run folder.
    """
    folder: Path = args.folder
    if not args.session and not (is_run_folder(folder) or (folder / PROGRESS_FOLDER).is_dir()):
        raise SettingsError(
            f"there is no run in {folder}; name the folder to which `pytest "
            "--autoweb-models=NAME` writes, by default autoweb-report"
        )
    if sys.platform != "win32":
        # Whoever watches must not slow down what is watched.
        os.nice(LEAST_URGENT)
    with ViewServer(FollowedRun(folder, args.session)) as server:
        thread = serve_in_thread(server)
        print(server.address, flush=True)
        if not args.session and has_died(folder):
            print(f"autoweb: {folder}: {death_told(folder)}", file=sys.stderr)
        if args.session:
            _wait_for_the_end(server)
        else:
            if not args.no_open:
                webbrowser.open(server.address)
            while thread.is_alive():
                thread.join(_LOOK_S)
        server.closed.set()
        server.shutdown()
    return 0


def _wait_for_the_end(server: ViewServer) -> None:
    """Wait until the run has ended and nobody looks any more; at most an hour after its end."""
    owner, alone_since, ended_at = os.getppid(), time.monotonic(), None
    while True:
        time.sleep(_LOOK_S)
        now = time.monotonic()
        with server.lock:
            server.look()
            if server.watchers:
                alone_since = now
            over = server.run.phase in ("ended", "died") or os.getppid() != owner
        ended_at = (ended_at or now) if over else None
        if ended_at is not None and (
            now - max(alone_since, ended_at) > _ALONE_S or now - ended_at > _LONGEST_S
        ):
            return
