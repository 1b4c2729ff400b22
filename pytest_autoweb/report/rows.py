"""A run reduced to what comparisons need: one row for each cell, small enough to keep for years."""

from collections.abc import Iterable
from datetime import datetime
from typing import Literal

from pytest_autoweb.results import CaptureMode, CellResult, Outcome, Record, RunInfo

ROWS_FORMAT: Literal["pytest-autoweb/rows"] = "pytest-autoweb/rows"


class CellSummary(Record):
    """One cell, reduced to what comparisons need."""

    case_id: str
    case_path: str
    model: str
    capture_mode: CaptureMode
    repeat: int
    strategy: str = "codegen"
    tags: tuple[str, ...] = ()
    must_pass: bool = False
    outcome: Outcome
    slow: bool = False
    score: float | None = None
    """The share of the last attempt's checks that hold, by weight."""
    calls: int = 0
    """The number of model calls."""
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = None
    """The cost in US dollars; None when no call had a price."""
    cost_complete: bool = True
    """Whether every call had a price; otherwise `cost_usd` is a lower bound or unknown."""
    duration_ms: float = 0.0
    checksums: dict[str, str]
    folder: str = ""
    """The folder of the cell, relative to its run folder."""


class RunRows(Record):
    """One run, reduced to what comparisons need."""

    format: Literal["pytest-autoweb/rows"] = ROWS_FORMAT
    version: int = 1
    ts: str
    """The start of the run in local time, as `yyyyMMdd_HHmmss_SSS`."""
    started: datetime
    name: str = ""
    """The name under which the run was saved with `--autoweb-save`."""
    commit: str = ""
    models: tuple[str, ...]
    environment: dict[str, str]
    rows: tuple[CellSummary, ...]
    """The rows of all cells, including controls."""
    workers: int = 0
    """The number of xdist workers; with different numbers, durations are not comparable."""
    shard: tuple[int, int] | None = None
    """The number of the shard and how many there are, when only a part of the cells was run."""
    interrupted: bool = False
    gates: bool | None = None
    """Whether the run passed its gates; None if it had none, or they were not decided."""

    @property
    def fit_as_baseline(self) -> bool:
        """Whether `latest` may refer to this run.

        It never refers to a part of a run. It refers to a run that failed its gates only if it was
        saved under a name, because naming it declares it to be the new level to compare with.
        """
        whole = self.shard is None and not self.interrupted
        return whole and (self.gates is not False or bool(self.name))


def run_rows(info: RunInfo, cells: Iterable[CellResult], *, name: str = "") -> RunRows:
    """Reduce a run to its rows."""
    return RunRows(
        ts=info.ts,
        started=info.started,
        name=name,
        commit=info.environment.get("git", ""),
        models=info.models,
        environment=info.environment,
        workers=info.workers,
        shard=info.shard,
        interrupted=info.interrupted,
        rows=tuple(cell_row(cell) for cell in cells),
    )


def cell_row(cell: CellResult) -> CellSummary:
    """Reduce a cell to its row."""
    usage = cell.total_usage
    lost = not cell.attempts and cell.failure is not None and cell.failure.kind == "killed"
    return CellSummary(
        **{name: getattr(cell, name) for name in _KEPT},
        score=cell.attempts[-1].score if cell.attempts else None,
        calls=usage.calls,
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cost_usd=usage.cost_usd if usage.calls or lost else 0.0,
        cost_complete=usage.unpriced_calls == 0 and not lost,
    )


_KEPT = (
    "case_id",
    "case_path",
    "model",
    "capture_mode",
    "repeat",
    "strategy",
    "tags",
    "must_pass",
    "outcome",
    "slow",
    "duration_ms",
    "checksums",
    "folder",
)
