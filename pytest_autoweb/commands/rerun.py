"""`autoweb rerun`: run one cell of a saved run again, in view, or with another model."""

import argparse
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_autoweb.commands.show_report import add_run_option

# Late imports: every `autoweb` command loads this module, and only this one needs the rest.

if TYPE_CHECKING:
    from pytest_autoweb.results import CellResult, RunInfo

    Subparsers = argparse._SubParsersAction[argparse.ArgumentParser]

_ABOUT = """\
Runs one cell of a saved run again, with the flags of that run, and prints the command that does it.
CELL is the name of its test, a part of it that fits only one, or the cell's folder.

  autoweb rerun "login[openai/gpt-5-mini]" --headed --pause
  autoweb rerun login --model ollama_chat/qwen3:8b -- --tracing=on

The case file is read as it is now. The results go to autoweb-rerun/; the saved run is only read.
Flags of pytest stand behind `--`. Start it in the folder in which pytest was started.

Exit status: that of pytest; 4 if the cell cannot be found.
"""
_OWN = frozenset(
    ("models", "capture", "strategy", "agents", "codegen", "repeat", "controls", "report", "stdout",
     "shard",
     "blobs", "save", "autosave", "compare", "compare_fail", "store", "preview", "min_pass_rate",
     "local_analyze", "concurrency", "files", "cases_file", "mutants", "pause")
)  # fmt: skip
"""Settings that the command sets itself, or that are about a run and not about a cell."""


def add_parser(subparsers: "Subparsers") -> None:
    """Declare `autoweb rerun`."""
    parser = subparsers.add_parser(
        "rerun",
        help="run one cell of a saved run again, in view or with another model",
        description=_ABOUT,
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
    parser.set_defaults(run=run)


def add_cell_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what says which cell of which run is meant."""
    parser.add_argument("cell", metavar="CELL", help="a test's name, a part of it, or a folder")
    add_run_option(parser)


def run(args: argparse.Namespace) -> int:
    """Find the cell, build the command and run it.

    Raises:
        SettingsError: the run, or a single cell in it, cannot be found.
    """
    from pytest_autoweb.runs.saved_runs import load_run

    saved = load_run(args.folder)
    cell = find_cell(saved.cells, args.cell, args.folder)
    command = ["-m", "pytest", *pytest_flags(cell, saved.info, args)]
    print("$ python " + shlex.join(command), flush=True)
    return subprocess.run([sys.executable, *command], check=False).returncode


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
        SettingsError: the case was given inline, so there is no file to name.
    """
    from pytest_autoweb.errors import SettingsError

    if not Path(cell.case_path).is_file():
        raise SettingsError(f"there is no case file {cell.case_path} here; start it at the rootdir")
    model = args.model or cell.model
    if args.strategy:
        # An agent in the name would win.
        model = model.removesuffix(f"@{cell.strategy}")
    flags = [f"{cell.case_path}::{cell.case_id}[{model}]", f"--autoweb-models={model}"]
    if not cell.any_capture:
        flags.append(f"--autoweb-capture={cell.capture_mode}")
    flags.append(f"--autoweb-strategy={args.strategy or cell.strategy}")
    flags += _flags_of(info.settings)
    if args.headed:
        flags += ["--headed", f"--slowmo={args.slow}"]
    if args.pause:
        flags.append("--autoweb-pause")
    return [*flags, "--autoweb-report=autoweb-rerun", "--autoweb-stdout", *args.flags]


def _flags_of(settings: dict[str, dict[str, Any]]) -> Iterator[str]:
    """Yield the flags that were given for the run; what its files say holds again by itself."""
    for name, setting in settings.items():
        value = setting.get("value")
        if setting.get("source") in ("default", "ini") or name in _OWN or value in (None, "", []):
            continue
        text = ",".join(map(str, value)) if isinstance(value, list) else str(value)
        text = text.lower() if isinstance(value, bool) else text
        yield f"--autoweb-{name.replace('_', '-')}={text}"
