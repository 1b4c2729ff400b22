"""Builds reduced runs out of MADE-UP outcomes, one letter a cell."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from pytest_autoweb.results.analysis.cell_numbers import CellSummary, RunRows
from pytest_autoweb.results.records import Outcome

BEGAN = datetime(2026, 11, 21, 9, 30, tzinfo=UTC)
SUMS = {"case": "c1", "checks": "k1", "prompts": "p1", "capture": "ARIA_SNAPSHOT/8000"}

_OUTCOMES: dict[str, Outcome] = {
    "P": "passed",
    "H": "healed",
    "F": "failed",
    "B": "broken",
    "U": "ungraded",
    "O": "off_record",
    "S": "skipped",
}


def row(case_id: str, outcome: str, model: str = "m", **changes: Any) -> CellSummary:
    """A cell, its outcome as one letter; `changes` replace any field."""
    fields: dict[str, Any] = {
        "case_id": case_id,
        "case_path": "cases/shop.yaml",
        "model": model,
        "capture_mode": "ARIA_SNAPSHOT",
        "repeat": 1,
        "outcome": _OUTCOMES[outcome],
        "score": None if outcome in "BUS" else float(outcome != "F"),
        "calls": 2,
        "cost_usd": 0.01,
        "duration_ms": 2000.0,
        "checksums": SUMS,
    }
    return CellSummary(**{**fields, **changes})


def cells(outcomes: Mapping[str, str], model: str = "m", **changes: Any) -> list[CellSummary]:
    """The cells of a model: per case its repeats as letters, e.g. `{"login": "PPF"}`."""
    return [
        row(case_id, letter, model, repeat=repeat, **changes)
        for case_id, letters in outcomes.items()
        for repeat, letter in enumerate(letters, start=1)
    ]


def cases(letters: str, model: str = "m", **changes: Any) -> list[CellSummary]:
    """One cell a case, the cases named `c01`, `c02` …"""
    named = {f"c{number:02}": letter for number, letter in enumerate(letters, start=1)}
    return cells(named, model, **changes)


def run(*groups: list[CellSummary], day: int = 0, **changes: Any) -> RunRows:
    """A run of some cells, `day` days after the first."""
    rows = tuple(cell for group in groups for cell in group)
    began = BEGAN + timedelta(days=day)
    fields: dict[str, Any] = {
        "ts": f"{began:%Y%m%d_%H%M%S}_000",
        "started": began,
        "models": tuple(dict.fromkeys(cell.model for cell in rows)),
        "environment": {"python": "3.12"},
        "rows": rows,
    }
    return RunRows(**{**fields, **changes})
