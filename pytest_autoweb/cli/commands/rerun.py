"""`autoweb run rerun`: run one cell of a saved run again."""

import argparse
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

from pytest_autoweb.agents.outside.adapters import ADAPTERS
from pytest_autoweb.base.errors import SettingsError
from pytest_autoweb.base.interruption import run_pytest
from pytest_autoweb.base.variant_names import CODEGEN_WAYS
from pytest_autoweb.cli.arguments import add_pytest_flags
from pytest_autoweb.cli.run_arguments import add_cell_arguments, named_cell
from pytest_autoweb.results.records import CellResult
from pytest_autoweb.results.runs.foreign_run import case_file
from pytest_autoweb.results.runs.loaded_run import Run
from pytest_autoweb.settings.agent_command import COMMAND
from pytest_autoweb.settings.rerun_settings import OF_RUNS, taken_settings

_RERUN_ABOUT = """\
Runs one cell of a saved run again, with the flags of that run that decide how a cell ends, and
prints the command that does it. Flags that could weaken a wall, cost more or lead to other files
are not taken over; it says which those are.
RUN is the run's folder, or the number or name under which it was saved; without it, the latest is
meant. CELL is the name of a test, a part of it that fits only one, or the cell's folder.

  autoweb run rerun "login[openai/gpt-5-mini]" --headed --pause
  autoweb run rerun login --model ollama_chat/qwen3:8b -- --tracing=on

An outside agent is started only if --agent or --model names it.
The case file is read as it is now; it must be one of the project, not one in a run folder. The
results go to autoweb-rerun/; the saved run is only read. Flags of pytest stand behind `--`. Start
it in the folder in which pytest was started.

Exit status: that of pytest; 4 if the cell cannot be found.
"""
_OWN = OF_RUNS | {"capture", "agent", "strategy", "agents", "codegen"}
"""Settings that the command sets itself, or that are about a run and not about a cell."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = _RERUN_ABOUT
    add_cell_arguments(parser)
    parser.add_argument("--model", metavar="NAME", help="run another model instead")
    parser.add_argument(
        "--agent", metavar="NAME", help="run another agent, if the case itself names none"
    )
    # The name of earlier versions.
    parser.add_argument("--strategy", dest="agent", help=argparse.SUPPRESS)
    parser.add_argument("--headed", action="store_true", help="show the browser, slowly")
    parser.add_argument(
        "--slow", type=int, default=400, metavar="MS", help="with --headed: pause between actions"
    )
    parser.add_argument(
        "--pause",
        action="store_true",
        help="when it fails, leave the browser as it is until Enter is pressed",
    )
    add_pytest_flags(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Find the cell, build the command and run it.

    Raises:
        SettingsError: the run, or a single cell in it, cannot be found.
    """
    saved, cell = named_cell(args)
    command = ["-m", "pytest", *pytest_flags(cell, saved, args)]
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


def pytest_flags(cell: CellResult, run: Run, args: argparse.Namespace) -> list[str]:
    """Return the arguments of pytest that run the cell again as it was run.

    Raises:
        SettingsError: the case was given inline, its file is not one of the project, or the run
            names several models for one cell.
    """
    file = case_file(cell.case_path, Path(), run.folder).as_posix()
    # What begins with one of these, pytest reads as a flag or as a file of arguments.
    file = f"./{file}" if file.startswith(("-", "@")) else file
    model = args.model or cell.model
    if "," in model:
        raise SettingsError(f"{model!r} is several models; name one with --model")
    if args.agent:
        # An agent in the name would win.
        model = _without_agent(model, cell.strategy)
    _refuse_agents(cell, model, args)
    flags = [f"{file}::{cell.case_id}[{model}]", f"--autoweb-models={model}"]
    if not cell.any_capture:
        flags.append(f"--autoweb-capture={cell.capture_mode}")
    flags.append(f"--autoweb-agent={args.agent or _agent_of(cell, run)}")
    flags += taken_settings(run.info.settings, _OWN).flags
    if args.headed:
        flags += ["--headed", f"--slowmo={args.slow}"]
    if args.pause:
        flags.append("--autoweb-pause")
    return [*flags, "--autoweb-report=autoweb-rerun", "--autoweb-stdout", *args.flags]


def _agent_of(cell: CellResult, run: Run) -> str:
    """Return the agent of a cell, with the way of writing that the run had for all models."""
    said = run.info.settings.get("codegen", {})
    way = said.get("value") if isinstance(said, dict) else None
    if cell.strategy != "codegen" or way not in [[way] for way in CODEGEN_WAYS]:
        return cell.strategy
    return f"codegen:{way[0]}"


def _without_agent(model: str, agent: str) -> str:
    """Return a model's name without the agent that it ends in, variant included."""
    plain, _, ending = model.rpartition("@")
    return plain if plain and ending.partition(":")[0] == agent else model


def _refuse_agents(cell: CellResult, model: str, args: argparse.Namespace) -> None:
    """Refuse to start an outside agent only because the run names it: none of our walls holds it.

    Raises:
        SettingsError: the person who reruns the cell must name it.
    """
    in_model = "" if args.model else model.rpartition("@")[2]
    for name in (in_model, args.agent or cell.strategy):
        if name != args.agent and name in (*ADAPTERS, COMMAND):
            raise SettingsError(
                f"the run names the outside agent {name!r}, whose browser nothing here holds back; "
                f"if it is to be started, name it: --agent {name}"
            )
