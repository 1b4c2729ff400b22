"""`autoweb run trace`: open Playwright's trace of a cell in Playwright's viewer."""

import argparse
import os
import subprocess
import sys
from pathlib import Path
from shlex import quote

from pytest_autoweb.base.display import has_display
from pytest_autoweb.base.errors import SettingsError
from pytest_autoweb.cli.run_arguments import add_cell_arguments, named_cell
from pytest_autoweb.report.foreign_text import one_line
from pytest_autoweb.results.records import CellResult
from pytest_autoweb.results.runs.private_traces import private_traces

_TRACE_ABOUT = """\
Opens the trace of a cell in Playwright's trace viewer: each action with the page before and after
it, the network and the console. Cells have a trace if they were run with pytest-playwright's
--tracing:

  autoweb run rerun login -- --tracing=on
  autoweb run trace autoweb-rerun login
  autoweb run trace login --print

Without a display, as over SSH, it says how the trace can be looked at elsewhere. A trace shows
everything that was typed and received, so traces of cases with secrets are not kept with the run
but in a folder of yours on the machine that ran it, where this command finds them.

Exit status: 0 the viewer was opened and closed, or the path was printed; 1 there is no trace, or no
display; 4 the cell cannot be found.
"""
_SECRETS = "this trace shows the case's secrets: do not share it"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = _TRACE_ABOUT
    add_cell_arguments(parser)
    parser.add_argument(
        "--number",
        type=int,
        metavar="N",
        help="which trace of several, from 1: there is one for each attempt; default: the last",
    )
    parser.add_argument("--print", action="store_true", help="only print the path of the trace")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Find the trace and open it.

    Raises:
        SettingsError: the run, a single cell in it, or the trace of this number cannot be found.
    """
    run, cell = named_cell(args)
    traces = [kept for kept in cell.recordings if kept.file.endswith(".zip")]
    paths = [run.folder / cell.folder / trace.path for trace in traces if trace.path]
    # The run may be somebody else's, and name any file.
    paths = [path for path in paths if path.resolve().is_relative_to(run.folder.resolve())]
    paths = [path for path in paths if path.is_file()]
    if not paths and traces:
        paths = private_traces(run.folder, run.info.ts, cell.folder)
        if paths:
            print(f"autoweb: {_SECRETS}", file=sys.stderr)
    if not paths:
        why = "; ".join(one_line(f"{trace.file} was {trace.note}") for trace in traces)
        print(f"autoweb: {why or _how_to_record(cell, run.folder)}", file=sys.stderr)
        return 1
    path = _chosen(paths, args.number)
    if args.print:
        print(path)
        return 0
    if not has_display(os.environ, sys.platform):
        print(path)
        print(f"autoweb: there is no display for the viewer. {_elsewhere(path)}", file=sys.stderr)
        return 1
    command = [sys.executable, "-m", "playwright", "show-trace", str(path)]
    if not subprocess.run(command, check=False).returncode:
        return 0
    print(f"autoweb: the viewer could not be opened. {_elsewhere(path)}", file=sys.stderr)
    return 1


def _chosen(paths: list[Path], number: int | None) -> Path:
    if number is None:
        return paths[-1]
    if not 1 <= number <= len(paths):
        raise SettingsError(f"--number: the cell has {len(paths)} traces, numbered from 1")
    return paths[number - 1]


def _how_to_record(cell: CellResult, folder: Path) -> str:
    # The folder's name is safe to print and fits one cell; the test's may be anybody's.
    again = f"autoweb run rerun {quote(str(folder))} {quote(cell.folder)} -- --tracing=on"
    look = "autoweb run trace autoweb-rerun"
    return f"the cell has no trace; make one with\n  {again}\n  {look}"


def _elsewhere(path: Path) -> str:
    return (
        "On this machine, run\n"
        f"  {Path(sys.executable).name} -m playwright show-trace --host 127.0.0.1 --port 9323 "
        f'"{path}"\n'
        "and on yours `ssh -L 9323:127.0.0.1:9323 HOST`, and open http://127.0.0.1:9323; or copy "
        "the file to your machine and drop it on https://trace.playwright.dev, which reads it in "
        "your browser and sends it nowhere"
    )
