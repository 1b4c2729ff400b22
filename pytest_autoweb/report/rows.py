"""A run reduced to what comparisons need: one row per cell, small enough to keep for years."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Literal

from pytest_autoweb.results import CaptureModeName, CellResult, Outcome, Record, RunInfo

ROWS_FORMAT: Literal["pytest-autoweb/rows"] = "pytest-autoweb/rows"


class CellRow(Record):
    """One cell."""

    case_id: str
    """The id of the case."""
    case_path: str
    """Path of the case file, relative to the rootdir."""
    model: str
    """Name of the model."""
    capture_mode: CaptureModeName
    """How the page was shown to the model."""
    repeat: int
    """Number of the repeat, from 1."""
    strategy: str = "codegen"
    """How the task was carried out, such as `codegen` or `act`."""
    tags: tuple[str, ...] = ()
    """The case's tags."""
    must_pass: bool = False
    """Whether the case is pinned: each of its cells has to pass."""
    outcome: Outcome
    """What became of the cell."""
    slow: bool = False
    """Passed, but only after a step was continued with a larger time limit."""
    score: float | None = None
    """Share of check weight of the last attempt."""
    calls: int = 0
    """Model calls."""
    input_tokens: int = 0
    """Tokens sent to the model."""
    output_tokens: int = 0
    """Tokens the model wrote."""
    cost_usd: float | None = None
    """None: no call had a price."""
    cost_complete: bool = True
    """False: `cost_usd` is a lower bound or unknown."""
    duration_ms: float = 0.0
    """Milliseconds the cell took."""
    checksums: dict[str, str]
    """What the cell rests on, such as its case and its checks, as checksums."""
    folder: str = ""
    """Of the cell, below its run folder."""


class RunRows(Record):
    """One run."""

    format: Literal["pytest-autoweb/rows"] = ROWS_FORMAT
    """Tells this document from other JSON files."""
    version: int = 1
    """Rises when older programs can no longer read the rows."""
    ts: str
    """`yyyyMMdd_HHmmss_SSS`, local time."""
    started: datetime
    """When the run began."""
    name: str = ""
    """As saved with `--autoweb-save`."""
    commit: str = ""
    """The commit of the project, if it is known."""
    models: tuple[str, ...]
    """The models of the run, controls included."""
    environment: dict[str, str]
    """Versions and the machine, by name."""
    rows: tuple[CellRow, ...]
    """Controls included."""
    workers: int = 0
    """xdist workers; durations of runs with other numbers are not comparable."""
    shard: tuple[int, int] | None = None
    """Number and count, when only a part of the cells was run."""
    interrupted: bool = False
    """Whether the run was stopped before its end."""
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
    """Reduce a cell: what a row has of the cell's own fields is kept, the rest is added up."""
    kept = CellRow.model_fields.keys() & CellResult.model_fields.keys()
    usage = cell.total_usage
    lost = not cell.attempts and cell.failure is not None and cell.failure.kind == "killed"
    return CellRow(
        **{name: getattr(cell, name) for name in kept},
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
