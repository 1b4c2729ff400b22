"""`autoweb show-report`, `rerun` and `trace`: a look into one saved run.

`show-report` writes the report again and opens it, `rerun` runs cells again, `trace` opens
Playwright's trace of a cell in Playwright's viewer.
"""

import argparse
import os
import shlex
import subprocess
import sys
import webbrowser
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_autoweb.commands.arguments import add_json_argument, print_json

# Late imports: every `autoweb` command loads this module, and only its own run needs the rest.

if TYPE_CHECKING:
    from pytest_autoweb.results import CellResult, RunInfo

    Subparsers = argparse._SubParsersAction[argparse.ArgumentParser]


_SHOW_REPORT_ABOUT = """\
Builds index.html, report.json and summary.md from the cells on disk, and opens the report in a
browser. This also works after a run that was killed. With --json it prints the paths, the summary
and a few facts of each cell, and opens nothing.

  autoweb show-report autoweb-report --no-open
  autoweb show-report --json | jq '.cells[] | select(.outcome == "failed")'

Exit status: 0 the report is written, whatever it says; 4 it is no run folder.
"""
_RUN = Path("autoweb-report")
_MEANT = "the folder of the run; default: autoweb-report"

_RERUN_ABOUT = """\
Runs one cell of a saved run again, with the flags of that run that decide how a cell ends, and
prints the command that does it. Flags that could weaken a wall, cost more or lead to other files
are not taken over; it says which those are.
CELL is the name of its test, a part of it that fits only one, or the cell's folder.

  autoweb rerun "login[openai/gpt-5-mini]" --headed --pause
  autoweb rerun login --model ollama_chat/qwen3:8b -- --tracing=on

An outside agent is started only if --strategy or --model names it.
The case file is read as it is now; it must be one of the project, not one in a run folder. The
results go to autoweb-rerun/; the saved run is only read. Flags of pytest stand behind `--`. Start
it in the folder in which pytest was started.

Exit status: that of pytest; 4 if the cell cannot be found.
"""
_OWN = frozenset(
    ("models", "capture", "strategy", "agents", "codegen", "repeat", "controls", "report", "stdout",
     "shard",
     "blobs", "save", "autosave", "compare", "compare_fail", "store", "preview", "min_pass_rate",
     "local_analyze", "concurrency", "files", "cases_file", "mutants", "pause", "resume", "watch",
     "otel", "language", "report_max_chars", "baseline_days", "local_model")
)  # fmt: skip
"""Settings that the command sets itself, or that are about a run and not about a cell."""

_TRACE_ABOUT = """\
Opens the trace of a cell in Playwright's trace viewer: each action with the page before and after
it, the network and the console. Cells have a trace if they were run with pytest-playwright's
--tracing:

  autoweb rerun login -- --tracing=on
  autoweb trace login --run autoweb-rerun
  autoweb trace login --print

Without a display, as over SSH, it says how the trace can be looked at elsewhere. A trace shows
everything that was typed and received, so traces of cases with secrets are not kept with the run.

Exit status: 0 the viewer was opened and closed, or the path was printed; 1 there is no trace, or no
display; 4 the cell cannot be found.
"""


def add_show_report_parser(subparsers: "Subparsers") -> None:
    """Declare `autoweb show-report`."""
    show = subparsers.add_parser(
        "show-report",
        help="write the report of a run folder again, and open it",
        description=_SHOW_REPORT_ABOUT,
    )
    add_run_argument(show)
    show.add_argument("--no-open", action="store_true", help="only print where the report is")
    add_json_argument(show)
    show.set_defaults(run=run_show_report, with_variants=True)


def add_run_argument(parser: argparse.ArgumentParser) -> None:
    """Declare RUN as what follows the name of a command that works on a whole run."""
    parser.add_argument("folder", nargs="?", type=Path, default=_RUN, metavar="RUN", help=_MEANT)


def add_run_option(parser: argparse.ArgumentParser) -> None:
    """Declare `--run` for a command whose own argument names something in a run."""
    parser.add_argument("--run", dest="folder", type=Path, default=_RUN, metavar="RUN", help=_MEANT)


def run_show_report(args: argparse.Namespace) -> int:
    """Write the report and open it.

    Raises:
        SettingsError: the folder is not a run folder.
    """
    from pytest_autoweb.report.write import write_report
    from pytest_autoweb.runs.run_folder import refuse_other_folders

    refuse_other_folders(args.folder)
    report = write_report(args.folder, max_chars=8_000_000, analysis=None)
    page = (args.folder / "index.html").resolve()
    if args.json:
        cells = [_report_facts(cell) for case in report.cases for cell in case.cells]
        facts = {"exit_status": report.exit_status, "summary": report.summary, "cells": cells}
        paths = {"report": page, "data": page.with_name("report.json")}
        print_json("run", {**paths, **facts, "notes": report.notes})
        return 0
    print(page)
    if not args.no_open:
        webbrowser.open(page.as_uri())
    return 0


def _report_facts(cell: "CellResult") -> "dict[str, Any]":
    """Return what tells a reader which cell to look at; report.json has everything."""
    return {
        "cell": cell.test_name,
        "case_path": cell.case_path,
        "case_id": cell.case_id,
        "model": cell.model,
        "outcome": cell.outcome,
        "reason": cell.reason,
        "folder": cell.folder,
    }


def add_rerun_parser(subparsers: "Subparsers") -> None:
    """Declare `autoweb rerun`."""
    parser = subparsers.add_parser(
        "rerun",
        help="run one cell of a saved run again, in view or with another model",
        description=_RERUN_ABOUT,
    )
    add_cell_arguments(parser)
    parser.add_argument("--model", metavar="NAME", help="run another model instead")
    parser.add_argument(
        "--strategy",
        metavar="NAME",
        help="drive the browser in another way, if the case itself names none",
    )
    parser.add_argument("--headed", action="store_true", help="show the browser, slowly")
    parser.add_argument(
        "--slow", type=int, default=400, metavar="MS", help="with --headed: pause between actions"
    )
    parser.add_argument(
        "--pause",
        action="store_true",
        help="when it fails, leave the browser as it is until Enter is pressed",
    )
    parser.add_argument(
        "flags", nargs="*", default=[], metavar="-- FLAG", help="flags of pytest, behind `--`"
    )
    parser.set_defaults(run=run_rerun)


def add_cell_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what says which cell of which run is meant."""
    parser.add_argument("cell", metavar="CELL", help="a test's name, a part of it, or a folder")
    add_run_option(parser)


def run_rerun(args: argparse.Namespace) -> int:
    """Find the cell, build the command and run it.

    Raises:
        SettingsError: the run, or a single cell in it, cannot be found.
    """
    from pytest_autoweb.interruption import run_pytest
    from pytest_autoweb.runs.foreign_run import taken_settings
    from pytest_autoweb.runs.saved_runs import load_run

    saved = load_run(args.folder)
    cell = find_cell(saved.cells, args.cell, args.folder)
    command = ["-m", "pytest", *pytest_flags(cell, saved.info, args)]
    _tell_of_left(taken_settings(saved.info.settings, _OWN).left)
    print("$ python " + shlex.join(command), flush=True)
    return run_pytest([sys.executable, *command])


def _tell_of_left(flags: Sequence[str]) -> None:
    """Say which flags of the run do not hold again."""
    if not flags:
        return
    print(
        "autoweb: these flags of the run are not taken over, because it may come from anyone; "
        "give those that you want behind `--`:",
        *flags,
        sep="\n  ",
        file=sys.stderr,
        flush=True,
    )


def find_cell(cells: "tuple[CellResult, ...]", said: str, folder: Path) -> "CellResult":
    """Return the one cell that is meant.

    Raises:
        SettingsError: none is, or several are; the message lists some.
    """
    from pytest_autoweb.errors import SettingsError
    from pytest_autoweb.report.wording import one_line

    place = Path(said)
    if place.is_file():
        place = place.parent
    if place.is_dir() and place.resolve().is_relative_to(folder.resolve()):
        said = place.resolve().relative_to(folder.resolve()).as_posix()
    fits = [cell for cell in cells if said in (cell.folder, cell.test_name)]
    fits = fits or [cell for cell in cells if said in cell.test_name]
    if len(fits) == 1:
        return fits[0]
    # The run may be somebody else's.
    names = ", ".join(one_line(cell.test_name) for cell in (fits or cells)[:8])
    more = "" if len(fits or cells) <= 8 else ", …"
    if fits:
        raise SettingsError(f"{len(fits)} cells fit {said!r}; name one of {names}{more}")
    raise SettingsError(f"no cell of the run fits {said!r}; there are {names}{more}")


def pytest_flags(cell: "CellResult", info: "RunInfo", args: argparse.Namespace) -> list[str]:
    """Return the arguments of pytest that run the cell again as it was run.

    Raises:
        SettingsError: the case was given inline, its file is not one of the project, or the run
            names several models for one cell.
    """
    from pytest_autoweb.errors import SettingsError
    from pytest_autoweb.runs.foreign_run import case_file, taken_settings

    file = case_file(cell.case_path, Path(), args.folder).as_posix()
    # What begins with one of these, pytest reads as a flag or as a file of arguments.
    file = f"./{file}" if file.startswith(("-", "@")) else file
    model = args.model or cell.model
    if "," in model:
        raise SettingsError(f"{model!r} is several models; name one with --model")
    if args.strategy:
        # An agent in the name would win.
        model = model.removesuffix(f"@{cell.strategy}")
    _refuse_agents(cell, model, args)
    flags = [f"{file}::{cell.case_id}[{model}]", f"--autoweb-models={model}"]
    if not cell.any_capture:
        flags.append(f"--autoweb-capture={cell.capture_mode}")
    flags.append(f"--autoweb-strategy={args.strategy or cell.strategy}")
    flags += taken_settings(info.settings, _OWN).flags
    if args.headed:
        flags += ["--headed", f"--slowmo={args.slow}"]
    if args.pause:
        flags.append("--autoweb-pause")
    return [*flags, "--autoweb-report=autoweb-rerun", "--autoweb-stdout", *args.flags]


def _refuse_agents(cell: "CellResult", model: str, args: argparse.Namespace) -> None:
    """Refuse to start an outside agent only because the run names it: none of our walls holds it.

    Raises:
        SettingsError: it must be named by whoever runs the cell again.
    """
    from pytest_autoweb.agents.adapters import ADAPTERS
    from pytest_autoweb.errors import SettingsError
    from pytest_autoweb.specs import COMMAND

    in_model = "" if args.model else model.rpartition("@")[2]
    for name in (in_model, args.strategy or cell.strategy):
        if name != args.strategy and name in (*ADAPTERS, COMMAND):
            raise SettingsError(
                f"the run names the outside agent {name!r}, whose browser nothing here holds back; "
                f"if it is to be started, name it: --strategy {name}"
            )


def add_trace_parser(subparsers: "Subparsers") -> None:
    """Declare `autoweb trace`."""
    parser = subparsers.add_parser(
        "trace",
        help="open Playwright's trace of a cell",
        description=_TRACE_ABOUT,
    )
    add_cell_arguments(parser)
    parser.add_argument(
        "--number",
        type=int,
        metavar="N",
        help="which trace of several, from 1: there is one for each attempt; default: the last",
    )
    parser.add_argument("--print", action="store_true", help="only print the path of the trace")
    parser.set_defaults(run=run_trace)


def run_trace(args: argparse.Namespace) -> int:
    """Find the trace and open it.

    Raises:
        SettingsError: the run, a single cell in it, or the trace of this number cannot be found.
    """
    from pytest_autoweb.report.wording import one_line
    from pytest_autoweb.runs.saved_runs import load_run

    cell = find_cell(load_run(args.folder).cells, args.cell, args.folder)
    traces = [kept for kept in cell.recordings if kept.file.endswith(".zip")]
    paths = [args.folder / cell.folder / trace.path for trace in traces if trace.path]
    # The run may be somebody else's, and name any file.
    paths = [path for path in paths if path.resolve().is_relative_to(args.folder.resolve())]
    paths = [path for path in paths if path.is_file()]
    if not paths:
        why = "; ".join(one_line(f"{trace.file} was {trace.note}") for trace in traces)
        print(f"autoweb: {why or _how_to_record(cell, args.folder)}", file=sys.stderr)
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


def has_display(environ: Mapping[str, str], platform: str) -> bool:
    """Tell whether a window can be opened here and would be seen."""
    if platform in ("darwin", "win32"):
        return "SSH_CONNECTION" not in environ
    # Over SSH with a forwarded display, there is one.
    return bool(environ.get("DISPLAY") or environ.get("WAYLAND_DISPLAY"))


def _chosen(paths: list[Path], number: int | None) -> Path:
    from pytest_autoweb.errors import SettingsError

    if number is None:
        return paths[-1]
    if not 1 <= number <= len(paths):
        raise SettingsError(f"--number: the cell has {len(paths)} traces, numbered from 1")
    return paths[number - 1]


def _how_to_record(cell: "CellResult", folder: Path) -> str:
    from shlex import quote

    # The folder's name is safe to print and fits one cell; the test's may be anybody's.
    again = f"autoweb rerun {quote(cell.folder)} --run {quote(str(folder))} -- --tracing=on"
    look = "autoweb trace CELL --run autoweb-rerun"
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
