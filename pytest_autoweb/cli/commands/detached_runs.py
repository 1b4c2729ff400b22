"""`autoweb run wait` and `autoweb run stop`: the end of a run that another terminal has started."""

import argparse
import sys
import time
from pathlib import Path

from pytest_autoweb.base.values.flag_texts import until
from pytest_autoweb.cli.run_arguments import add_run_argument
from pytest_autoweb.report.foreign_text import clean_lines
from pytest_autoweb.results.runs.giving_orders import give_order
from pytest_autoweb.results.runs.live_session import (
    LOG_FILE,
    LiveSession,
    death_told,
    interrupt,
    kill,
    living_session,
    session_of,
)
from pytest_autoweb.results.runs.run_folder import read_exit_status, refuse_other_folders
from pytest_autoweb.results.runs.steering import Order, orders, since

_WAIT = """\
Waits for the end of a run that goes on, such as one of --autoweb-detach, and prints the last lines
of its output.

  autoweb run wait autoweb-report
  autoweb run wait autoweb-report --timeout 30m

Exit status: that of the session; 3 it ended without one, because it was killed; 124 it still goes
on after the time of --timeout; 4 there is no such run.
"""
_STOP = """\
Ends a run that goes on as Ctrl-C does: cells under way count as broken, and the report is written.
A second call kills it, and so does --now; then `autoweb run show` writes the report of the cells
that have ended.

  autoweb run stop autoweb-report
  autoweb run stop autoweb-report --now

Exit status: 0 it has ended; 1 it is still writing its report; 4 it has ended before.
"""
_KILLED, _TIME_OVER = 3, 124
_LOOK_S = 0.2
_END_S = 60.0
_LINES, _TAIL_BYTES = 20, 20_000


def add_wait_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = _WAIT
    add_run_argument(parser)
    parser.add_argument(
        "--timeout", type=_seconds, metavar="TIME", help="wait no longer than 90s, 30m or 2h"
    )
    parser.set_defaults(run=run_wait)


def add_stop_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = _STOP
    add_run_argument(parser)
    parser.add_argument("--now", action="store_true", help="kill it, without a report")
    parser.set_defaults(run=run_stop)


def _seconds(text: str) -> float:
    try:
        found = until(text).seconds
    except ValueError:
        found = None
    if found is None:
        raise argparse.ArgumentTypeError(f"{text!r} is not a time; write 90s, 30m or 2h")
    return found


def run_wait(args: argparse.Namespace) -> int:
    """Wait for the end of the session, and return its exit status.

    Raises:
        SettingsError: there is no run, or its session is on another machine.
    """
    refuse_other_folders(args.folder)
    found = session_of(args.folder)
    if found is not None and (found.is_alive or not found.is_here):
        session = living_session(args.folder)
        if not _ended(session, args.timeout):
            print(f"autoweb: {args.folder} still goes on", file=sys.stderr)
            return _TIME_OVER
    print(_last_lines(args.folder), end="")
    status = read_exit_status(args.folder)
    if status is None:
        print(
            f"autoweb: {args.folder}: {death_told(args.folder)}; `autoweb run show {args.folder}` "
            "writes the report of those that have",
            file=sys.stderr,
        )
    return _KILLED if status is None else status


def run_stop(args: argparse.Namespace) -> int:
    """Interrupt the session, or kill it.

    Raises:
        SettingsError: it has ended, or is on another machine.
    """
    session = living_session(args.folder)
    asked = any(order.kind == "stop" for order in since(orders(args.folder), session.started))
    give_order(args.folder, Order("stop", by="autoweb run stop"))
    if asked or args.now:
        kill(session)
        _ended(session, _END_S)
        print(f"killed; `autoweb run show {args.folder}` writes the report of what has ended")
        return 0
    interrupt(session)
    if _ended(session, _END_S):
        print(f"ended with exit status {read_exit_status(args.folder)}: {args.folder}/index.html")
        return 0
    print(f"interrupted, but {args.folder} still goes on; the same command again kills it")
    return 1


def _ended(session: LiveSession, timeout: float | None) -> bool:
    """Wait for the end of a session's process; tell whether it came in time."""
    over = None if timeout is None else time.monotonic() + timeout
    while session.is_alive:
        if over is not None and time.monotonic() >= over:
            return False
        time.sleep(_LOOK_S)
    return True


def _last_lines(folder: Path) -> str:
    """Return the end of what the session printed; empty if it had a terminal."""
    try:
        said = (folder / LOG_FILE).read_bytes()[-_TAIL_BYTES:]
    except OSError:
        return ""
    lines = said.decode("utf-8", "replace").splitlines()[-_LINES:]
    return clean_lines("\n".join(lines)) + "\n"
