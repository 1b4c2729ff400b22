"""A MADE-UP run with everything that can lie beside its cells: baseline, history, gates, judges."""

import json
from datetime import timedelta
from pathlib import Path

from made_up_run import BEGAN, CellKey, realistic_cells, run_info, save_run

from pytest_autoweb.results.analysis.cell_numbers import RunRows, run_rows
from pytest_autoweb.results.analysis.judge_agreement import agreements, save_agreements
from pytest_autoweb.results.analysis.past_runs import history_of
from pytest_autoweb.results.records import CellResult
from pytest_autoweb.results.runs.saving import json_text, plain
from pytest_autoweb.results.runs.side_files import GateResult

WEAK_CASE = "enter-time"
"""Doing nothing passes it."""

GATES = (
    GateResult(name="pass rate", model="openai/gpt-5-mini", passed=True, message="80% passed."),
    GateResult(name="cost", passed=None, message="No cost is known."),
    GateResult(name="drop", passed=False, soft=True, message="25 points fewer, by chance."),
    GateResult(
        name="pinned cases",
        passed=False,
        message="1 pinned case failed.",
        details=("login on ollama_chat/qwen3:8b: check 1 (url) does not hold",),
    ),
)


def cells_of(seed: int, *, repeats: int = 1, version: str = "") -> list[CellResult]:
    """Cells of the realistic run, with checksums, over several repeats."""
    cells = []
    for repeat in range(1, repeats + 1):
        for each in realistic_cells(seed * 10 + repeat):
            weak = each.case_id == WEAK_CASE and each.model == "builtin/noop"
            changes = {
                "repeat": repeat,
                "folder": CellKey(each.case_id, each.model, each.capture_mode, repeat).folder,
                "checksums": {"case": each.case_id + version, "checks": "c", "prompts": "p"},
                "outcome": "passed" if weak else each.outcome,
            }
            cells.append(each.model_copy(update=changes))
    return cells


def rows_of(seed: int, days: int, *, repeats: int = 1, version: str = "") -> RunRows:
    """An earlier run, so many days ago."""
    cells = cells_of(seed, repeats=repeats, version=version)
    info = run_info(
        cells,
        ts=f"20261{121 - days}_093000_000",
        started=BEGAN - timedelta(days=days),
        environment={"git": f"c0ffee{days}"},
    )
    return run_rows(info, cells, name="main" if days == 1 else "")


def rich_run(folder: Path, *, repeats: int = 1, seed: int = 5) -> list[CellResult]:
    """Save a run and all the files beside it; the report is still to be written."""
    cells = cells_of(seed, repeats=repeats)
    save_run(folder, cells)
    earlier = [
        rows_of(seed + days, days, repeats=repeats, version="old" if days > 4 else "")
        for days in range(1, 7)
    ]
    history = history_of(earlier, run_rows(run_info(cells), cells))
    (folder / "baseline.json").write_text(json_text(earlier[0]))
    (folder / "history.json").write_text(json_text(history))
    (folder / "gates.json").write_text(json.dumps(plain(GATES)))
    pairs = [("pass", "pass")] * 14 + [("fail", "fail")] * 9 + [("fail", "pass"), ("pass", "none")]
    save_agreements(folder, agreements({"openai/judge (prompt 1a2b3c)": pairs}))
    return cells
