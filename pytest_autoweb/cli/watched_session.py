"""Run a session of pytest for a command, and tell of each cell that ends."""

import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pytest_autoweb.cell.mutants import read_mutants
from pytest_autoweb.cli.logged_session import refused, run_logged
from pytest_autoweb.report.foreign_text import one_line
from pytest_autoweb.results.analysis.controls import MUTANT, NOOP, ORACLE, RANDOM
from pytest_autoweb.results.runs.saving import STARTED_FILE
from pytest_autoweb.session.progress import Pace
from pytest_autoweb.tools.verify.prove_cases import MUTANTS_FILE, Start


def watched(output: Path, *, judged: bool = True, sessions: int = 1) -> Start:
    """Return what runs a session, keeps its output in a file, and tells of each cell that ends.

    Args:
        output: where the file is kept.
        judged: whether the cells have checks; without any, their outcomes tell nothing.
        sessions: how many sessions will be run at most. They are counted together, and until the
            last one the count of all cells is a lower bound.
    """
    return _Plays(output, judged=judged, sessions=sessions).run


class _Plays:
    """The cells of one or more sessions, counted together."""

    def __init__(self, output: Path, *, judged: bool, sessions: int) -> None:
        self._output, self._judged = output, judged
        self._sessions = sessions
        self._earlier = 0
        self._told: set[Path] = set()
        self._pace = Pace()

    def run(self, command: Sequence[str], folder: Path) -> int:
        """Run one session, and tell of each cell that ends.

        Raises:
            AutowebError: pytest could not run the cells.
        """
        self._output.mkdir(parents=True, exist_ok=True)
        name = next(part for part in command if part.startswith("--autoweb-report="))
        cells = Path(name.partition("=")[2])
        log, began = self._output / f"{cells.name}.log", time.time()
        self._sessions -= 1
        code = run_logged(command, folder, log, lambda: self._tell(cells, began))
        self._tell(cells, began)
        self._earlier += len(self._told)
        self._told.clear()
        if code not in (0, 1):
            raise refused(log)
        return code

    def _tell(self, folder: Path, began: float) -> None:
        """Print a line for each cell that has ended since the last look."""
        # An older run may still stand there before the session moves it aside.
        ended = {
            file
            for file in folder.glob("cells/*/*/*/cell.json")
            if file not in self._told and file.stat().st_mtime >= began - 1
        }
        if not ended:
            return
        planned = self._earlier + len(json.loads((folder / "manifest.json").read_bytes())["cells"])
        begun = sum(1 for _ in folder.glob(f"cells/*/*/*/{STARTED_FILE}"))
        running = max(0, begun - len(self._told) - len(ended))
        for file in sorted(ended, key=lambda file: file.stat().st_mtime_ns):
            self._told.add(file)
            cell = json.loads(file.read_bytes())
            done = self._earlier + len(self._told)
            so_far = self._pace.told(done, planned, running, more=self._sessions > 0)
            came = cell["outcome"] if self._judged else "played"
            line = f"[{so_far}] {cell['case_id']}: {_what_ran(cell, folder)}: {came}"
            print(one_line(line), file=sys.stderr, flush=True)


def _what_ran(cell: dict[str, Any], folder: Path) -> str:
    """Return in words what a cell did: a control, a change of the oracle, or a model."""
    controls = {ORACLE: "the oracle", NOOP: "doing nothing", RANDOM: "random actions"}
    if cell["model"] in controls:
        return f"{controls[cell['model']]}, time {cell['repeat']}"
    if not cell["model"].startswith(MUTANT):
        return str(cell["model"])
    changes = read_mutants(folder.parent / MUTANTS_FILE)
    return changes[f"{cell['case_path']}::{cell['case_id']}"][cell["model"]].name
