"""Run a session of pytest for a command, and tell of each cell that ends."""

import json
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pytest_autoweb.base.errors import AutowebError
from pytest_autoweb.base.interruption import end_pytest
from pytest_autoweb.cell.mutants import read_mutants
from pytest_autoweb.report.wording import one_line
from pytest_autoweb.results.analysis.controls import NOOP, ORACLE
from pytest_autoweb.tools.verify.prove_cases import MUTANTS_FILE, Start

_LOOK_S = 0.3


def watched(output: Path, *, judged: bool = True) -> Start:
    """Return what runs a session, keeps its output in a file, and tells of each cell that ends.

    Args:
        output: where the file is kept.
        judged: whether the cells have checks; without any, their outcomes tell nothing.
    """

    def start(command: Sequence[str], folder: Path) -> int:
        output.mkdir(parents=True, exist_ok=True)
        name = next(part for part in command if part.startswith("--autoweb-report="))
        cells = Path(name.partition("=")[2])
        log, began = output / f"{cells.name}.log", time.time()
        with log.open("wb") as stream:
            process = subprocess.Popen(command, cwd=folder, stdout=stream, stderr=stream)
            told: set[Path] = set()
            try:
                while process.poll() is None:
                    time.sleep(_LOOK_S)
                    _tell_of_proof(cells, began, told, judged=judged)
            finally:
                end_pytest(process)
            _tell_of_proof(cells, began, told, judged=judged)
        if process.returncode not in (0, 1):
            said = log.read_text("utf-8", "replace").strip()
            raise AutowebError(f"pytest could not run the cases; it said:\n{said[-2000:]}")
        return process.returncode

    return start


def _tell_of_proof(folder: Path, began: float, told: set[Path], *, judged: bool) -> None:
    """Print a line for each cell that has ended since the last look."""
    for file in sorted(folder.glob("cells/*/*/*/cell.json")):
        # An older run may still stand there before the session moves it aside.
        if file in told or file.stat().st_mtime < began - 1:
            continue
        told.add(file)
        cell = json.loads(file.read_bytes())
        of = len(json.loads((folder / "manifest.json").read_bytes())["cells"])
        came = cell["outcome"] if judged else "played"
        line = f"[{len(told)}/{of}] {cell['case_id']}: {_what_ran(cell, folder)}: {came}"
        print(one_line(line), file=sys.stderr, flush=True)


def _what_ran(cell: dict[str, Any], folder: Path) -> str:
    """Return in words what a cell did: a control, or a change of the oracle."""
    controls = {ORACLE: "the oracle", NOOP: "doing nothing"}
    if cell["model"] in controls:
        return f"{controls[cell['model']]}, time {cell['repeat']}"
    changes = read_mutants(folder.parent / MUTANTS_FILE)
    return changes[f"{cell['case_path']}::{cell['case_id']}"][cell["model"]].name
