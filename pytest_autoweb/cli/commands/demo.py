"""`autoweb demo`: two recorded models in a small shop, within seconds."""

import argparse
import json
import shutil
import sys
import time
import webbrowser
from collections.abc import Sequence
from pathlib import Path
from textwrap import fill

from pytest_autoweb.cli.arguments import text_path
from pytest_autoweb.cli.logged_session import refused, run_logged
from pytest_autoweb.report.foreign_text import one_line, whole_words
from pytest_autoweb.tools.demo.laid_out import (
    Recorded,
    lay_out,
    recorded_models,
    session_command,
    session_environment,
)

_DEMO_ABOUT = """\
Runs eight tasks in a small tea shop on two models, without a key or a download: the shop and the
browser are real, and the models' replies were recorded. It takes less than a minute and ends with
four lines: who won and how surely, what the loser did wrong in one case, what it costs, and where
the report is.

  autoweb demo --open
  autoweb demo FOLDER

Shop, cases, recordings and report are kept in autoweb-demo/ (or FOLDER); nothing in it is
overwritten, and an earlier report is moved aside. `cd autoweb-demo` and run the same tasks, with
four more like them, on models of yours:

  pytest shop.yaml --autoweb-models=openai/gpt-5-mini

Exit status: 0 the run is shown, whoever won; 4 the folder holds something else, or the cases could
not be run.
"""
_REPORT = "autoweb-report"
_LINES = 4
"""The number of lines of progress where there is no terminal."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = _DEMO_ABOUT
    parser.add_argument(
        "folder",
        nargs="?",
        type=text_path,
        default=Path("autoweb-demo"),
        metavar="FOLDER",
        help="where shop, cases and report are kept; default: autoweb-demo",
    )
    parser.add_argument("--open", action="store_true", help="open the report in a browser")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Run the cases and print what came of it.

    Raises:
        AutowebError: the folder cannot be used, or the cases could not be run.
    """
    models = recorded_models()
    lay_out(args.folder)
    _say(_about(models, args.folder))
    names = tuple(each.model for each in models)
    _play(names, args.folder)
    # Late, because what reads a run takes as long to import as the session takes to begin.
    from pytest_autoweb.tools.demo.conclusion import conclude

    won, wrong, costs = conclude(args.folder / _REPORT)
    page = (args.folder / _REPORT / "index.html").resolve()
    for what, line in (("Who won", won), ("What went wrong", wrong), ("What it cost", costs)):
        _say(f"{what}: {line}")
    print(f"Report: {page}", flush=True)
    if args.open:
        webbrowser.open(page.as_uri())
    return 0


def _about(models: Sequence[Recorded], folder: Path) -> str:
    names = " and ".join(f"{each.model} ({each.quantisation})" for each in models)
    date = max(each.date for each in models)
    return (
        f"Eight tasks in a small shop, in a real browser, on {names}, whose replies were recorded "
        f"on {date}. Everything is kept in {folder}/."
    )


def _say(text: str) -> None:
    """Print a paragraph, filled to the width of a terminal."""
    if sys.stdout.isatty():
        room = min(100, shutil.get_terminal_size().columns - 1)
        # A model's name is no two words.
        text = fill(text, room, break_on_hyphens=False)
    print(text, flush=True)


def _play(models: tuple[str, ...], folder: Path) -> None:
    """Run the session, tell of its progress on stderr, and keep what it says in `pytest.log`.

    Args:
        models: the recorded ones.
        folder: of the demo.

    Raises:
        AutowebError: pytest could not run the cases.
    """
    log, report = folder / "pytest.log", folder / _REPORT
    live, began = _LiveLine(), time.time()
    command = session_command(models, Path(_REPORT))
    seen = _Ended(report, began)

    def look() -> None:
        # Late, because the session has begun by now.
        from pytest_autoweb.tools.demo.conclusion import tally

        seen.look()
        if seen.planned:
            live.show(tally(seen.cells, seen.planned), len(seen.cells), seen.planned)

    live.show("starting the browser", ended=0, planned=0)
    try:
        code = run_logged(command, folder, log, look, session_environment())
    finally:
        live.clear()
    if code not in (0, 1):
        raise refused(log)


class _Ended:
    """The cells of a run that have ended, as its folder shows them.

    Args:
        folder: the run folder, which may still be that of an earlier run.
        began: when the session was started.
    """

    def __init__(self, folder: Path, began: float) -> None:
        self._folder, self._began = folder, began
        self._read: set[Path] = set()
        self.planned = 0
        """The number of all cells; 0 until it is known."""
        self.cells: list[tuple[str, bool]] = []
        """The model of each, and whether it passed."""

    def look(self) -> None:
        """Read what is new."""
        manifest = self._folder / "manifest.json"
        if not self.planned and self._is_new(manifest):
            self.planned = len(json.loads(manifest.read_bytes())["cells"])
        if not self.planned:
            return
        for file in sorted(self._folder.glob("cells/*/*/*/cell.json")):
            if file not in self._read:
                self._read.add(file)
                cell = json.loads(file.read_bytes())
                self.cells.append((cell["model"], cell["outcome"] in ("passed", "healed")))

    def _is_new(self, file: Path) -> bool:
        try:
            return file.stat().st_mtime > self._began - 1
        except OSError:
            return False


class _LiveLine:
    """A line on stderr that is written over in a terminal; elsewhere a few lines below each other.

    What is said on stdout stays alone there.
    """

    def __init__(self) -> None:
        self._terminal = sys.stderr.isatty()
        self._shown = ""
        self._quarter = 0

    def show(self, text: str, ended: int, planned: int) -> None:
        """Show the state of a run with so many ended and planned cells."""
        if text == self._shown:
            return
        self._shown = text
        if self._terminal:
            room = shutil.get_terminal_size().columns - 1
            self._write(f"\r\x1b[K{whole_words(text, room)}")
        elif planned and (quarter := ended * _LINES // planned) > self._quarter:
            self._quarter = quarter
            self._write(f"{one_line(text)}\n")

    def clear(self) -> None:
        """Remove the line from a terminal."""
        if self._terminal:
            self._write("\r\x1b[K")

    def _write(self, text: str) -> None:
        print(text, end="", file=sys.stderr, flush=True)
