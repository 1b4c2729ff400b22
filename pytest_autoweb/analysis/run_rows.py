"""A run reduced to what comparisons need: one row for each cell, small enough to keep for years."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Literal

from pytest_autoweb.results import CaptureModeName, CellResult, Outcome, Record, RunInfo

ROWS_FORMAT: Literal["pytest-autoweb/rows"] = "pytest-autoweb/rows"


class CellSummary(Record):
    """One cell, reduced to what comparisons need."""

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
    any_capture: bool = False
    """Whether it stands for all capture modes, because its strategy shows pages in its own form."""
    tags: tuple[str, ...] = ()
    """The case's tags."""
    must_pass: bool = False
    """Whether the case is pinned: each of its cells has to pass."""
    outcome: Outcome
    """What became of the cell."""
    slow: bool = False
    """Passed, but only after a step was continued with a larger time limit."""
    score: float | None = None
    """The share of the last attempt's checks that hold, by weight."""
    calls: int = 0
    """The number of model calls."""
    input_tokens: int = 0
    """Tokens sent to the model."""
    output_tokens: int = 0
    """Tokens the model wrote."""
    cost_usd: float | None = None
    """The cost in US dollars; None when no call had a price."""
    cost_complete: bool = True
    """Whether every call had a price; otherwise `cost_usd` is a lower bound or unknown."""
    duration_ms: float = 0.0
    """Milliseconds the cell took."""
    checksums: dict[str, str]
    """What the cell rests on, such as its case and its checks, as checksums."""
    folder: str = ""
    """The folder of the cell, relative to its run folder."""


class RunRows(Record):
    """One run, reduced to what comparisons need."""

    format: Literal["pytest-autoweb/rows"] = ROWS_FORMAT
    """Tells this document from other JSON files."""
    version: int = 1
    """Rises when older programs can no longer read the rows."""
    ts: str
    """The start of the run in local time, as `yyyyMMdd_HHmmss_SSS`."""
    started: datetime
    """When the run began."""
    name: str = ""
    """The name under which the run was saved with `--autoweb-save`."""
    commit: str = ""
    """The commit of the project, if it is known."""
    models: tuple[str, ...]
    """The models of the run, controls included."""
    environment: dict[str, str]
    """Versions and the machine, by name."""
    rows: tuple[CellSummary, ...]
    """Controls included."""
    workers: int = 0
    """The number of xdist workers; with different numbers, durations are not comparable."""
    shard: tuple[int, int] | None = None
    """The number of the shard and how many there are, when only a part of the cells was run."""
    interrupted: bool = False
    """Whether the run was stopped before its end."""
    gates: bool | None = None
    """Whether the run passed its gates; None if it had none, or they were not decided."""

    @property
    def fit_as_baseline(self) -> bool:
        """Tell whether `latest` may refer to this run.

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
    """Reduce a cell: what a row has of the cell's own fields is kept, the rest is added up."""
    kept = CellSummary.model_fields.keys() & CellResult.model_fields.keys()
    usage = cell.total_usage
    lost = not cell.attempts and cell.failure is not None and cell.failure.kind == "killed"
    return CellSummary(
        **{name: getattr(cell, name) for name in kept},
        score=cell.attempts[-1].score if cell.attempts else None,
        calls=usage.calls,
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        # A cell without calls costs nothing, but a killed one may have made calls of which there is
        # no record.
        cost_usd=usage.cost_usd if usage.calls or lost else 0.0,
        cost_complete=usage.unpriced_calls == 0 and not lost,
    )


def by_model(rows: Sequence[CellSummary]) -> dict[str, list[CellSummary]]:
    """Return the rows of each model, in their order."""
    models: dict[str, list[CellSummary]] = defaultdict(list)
    for row in rows:
        models[row.model].append(row)
    return dict(models)


def has_unknown_cost(row: CellSummary) -> bool:
    """Return whether some of the cell's calls have no known price."""
    return row.cost_usd is None or not row.cost_complete
