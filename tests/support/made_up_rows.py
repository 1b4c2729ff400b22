"""Rows of runs that never took place, for everything that compares runs."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from made_up_run import BEGAN

from pytest_autoweb.report.rows import CellRow, RunRows
from pytest_autoweb.results import Outcome

MODEL = "fake/model"
OUTCOMES: dict[str, Outcome] = {
    "p": "passed",
    "h": "healed",
    "f": "failed",
    "b": "broken",
    "u": "ungraded",
    "s": "skipped",
}
SUMS = {"case": "c", "checks": "k", "prompts": "p", "capture": "s"}


def row(case_id: str, outcome: Outcome, repeat: int = 1, **changes: Any) -> CellRow:
    """One cell; `changes` replace any field."""
    fields: dict[str, Any] = {
        "case_id": case_id,
        "case_path": "cases/shop.yaml",
        "model": MODEL,
        "capture_mode": "ARIA_SNAPSHOT",
        "repeat": repeat,
        "outcome": outcome,
        "checksums": SUMS,
        "cost_usd": 0.01,
        "calls": 2,
        "duration_ms": 1000.0,
    }
    return CellRow(**{**fields, **changes})


def cells(outcomes: Mapping[str, str], **changes: Any) -> tuple[CellRow, ...]:
    """Cells from letters: `{"login": "ppf"}` are three repeats of one case."""
    return tuple(
        row(case_id, OUTCOMES[letter], repeat, **changes)
        for case_id, letters in outcomes.items()
        for repeat, letter in enumerate(letters, start=1)
    )


def run_of(rows: tuple[CellRow, ...], day: int = 0, **changes: Any) -> RunRows:
    """A run, so many days after the first one."""
    started = BEGAN + timedelta(days=day)
    fields: dict[str, Any] = {
        "ts": f"{started:%Y%m%d_%H%M%S}_000",
        "started": started,
        "commit": "abc1234",
        "models": tuple(dict.fromkeys(each.model for each in rows)),
        "environment": {"git": "abc1234", "platform": "Linux", "cpus": "2"},
        "rows": rows,
    }
    return RunRows(**{**fields, **changes})


def made_up(outcomes: Mapping[str, str], day: int = 0, **changes: Any) -> RunRows:
    """A run of one model, from letters; `changes` replace fields of its cells."""
    return run_of(cells(outcomes, **changes), day)
