"""A run reduced to what comparisons need: one row per cell, small enough to keep for years."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Literal

from pytest_autoweb.results import CaptureMode, CellResult, Outcome, Record, RunInfo

ROWS_FORMAT: Literal["pytest-autoweb/rows"] = "pytest-autoweb/rows"


class CellRow(Record):
    """One cell."""

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
    """Share of check weight of the last attempt."""
    calls: int = 0
    """Model calls."""
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = None
    """None: no call had a price."""
    cost_complete: bool = True
    """False: `cost_usd` is a lower bound or unknown."""
    duration_ms: float = 0.0
    checksums: dict[str, str]
    folder: str = ""
    """Of the cell, below its run folder."""


class RunRows(Record):
    """One run."""

    format: Literal["pytest-autoweb/rows"] = ROWS_FORMAT
    version: int = 1
    ts: str
    """`yyyyMMdd_HHmmss_SSS`, local time."""
    started: datetime
    name: str = ""
    """As saved with `--autoweb-save`."""
    commit: str = ""
    models: tuple[str, ...]
    environment: dict[str, str]
    rows: tuple[CellRow, ...]
    """Controls included."""
    workers: int = 0
    """xdist workers; durations of runs with other numbers are not comparable."""
    shard: tuple[int, int] | None = None
    """Number and count, when only a part of the cells was run."""
    interrupted: bool = False
    gates: bool | None = None
    """Whether the run passed its gates; None: it had none, or they were not decided."""

    @property
    def fit_as_baseline(self) -> bool:
        """Whether `latest` may mean this run.

        A part of a run never is. A run that failed its gates is only when it was saved under a
        name, which is its author's word that this is the level to compare with from now on.
        """
        whole = self.shard is None and not self.interrupted
        return whole and (self.gates is not False or bool(self.name))


def run_rows(info: RunInfo, cells: Iterable[CellResult], *, name: str = "") -> RunRows:
    """Reduce a run."""
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


def cell_row(cell: CellResult) -> CellRow:
    """Reduce a cell."""
    usage = cell.total_usage
    lost = not cell.attempts and cell.failure is not None and cell.failure.kind == "killed"
    return CellRow(
        **{name: getattr(cell, name) for name in _KEPT},
        score=cell.attempts[-1].score if cell.attempts else None,
        calls=usage.calls,
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cost_usd=usage.cost_usd if usage.calls or lost else 0.0,
        cost_complete=usage.unpriced_calls == 0 and not lost,
    )


def by_model(rows: Sequence[CellRow]) -> dict[str, list[CellRow]]:
    """Return the rows of each model, in their order."""
    models: dict[str, list[CellRow]] = defaultdict(list)
    for row in rows:
        models[row.model].append(row)
    return dict(models)


def has_unknown_cost(row: CellRow) -> bool:
    """Return whether some of the cell's calls have no known price."""
    return row.cost_usd is None or not row.cost_complete


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
