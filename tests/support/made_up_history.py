"""A MADE-UP run with everything that can lie beside its cells: baseline, history, gates, judges."""

import json
from datetime import timedelta
from pathlib import Path

from made_up_run import BEGAN, CellKey, realistic_cells, run_info, save_run

from pytest_autoweb.results.analysis.cell_numbers import RunRows, run_rows
from pytest_autoweb.results.analysis.judge_agreement import agreements, save_agreements
from pytest_autoweb.results.analysis.past_runs import history_of
from pytest_autoweb.results.records import Attempt, CellResult, CheckResult, JudgeVote
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
                "attempts": tuple(map(_with_votes, each.attempts)),
            }
            cells.append(each.model_copy(update=changes))
    return cells


def _with_votes(attempt: Attempt) -> Attempt:
    """The attempt with the advice of three judges, of whom one often sees it differently."""
    other = "pass" if len(attempt.exchanges) + attempt.attempt_index % 2 else "no_verdict"
    held = "pass" if attempt.checks_passed else "fail"
    votes = tuple(
        JudgeVote(judge=f"openai/judge-{name} (prompt 1a2b3c)", verdict=verdict, reason="seen")
        for name, verdict in (("a", held), ("b", held), ("c", other))
    )
    check = CheckResult(
        index=len(attempt.checks),
        type="judge",
        passed=held == "pass",
        expected="rubric: the account is shown",
        actual=f"{held}: 3 judges",
        where=f"majority of {', '.join(vote.judge for vote in votes)}",
        finding=held,
        advisory=True,
        votes=votes,
    )
    return attempt.model_copy(update={"checks": (*attempt.checks, check)})


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
