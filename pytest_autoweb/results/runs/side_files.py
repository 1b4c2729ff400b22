"""The files of a run folder that are about the whole run, next to its cells.

Baseline, history, agreement of judges, decisions of gates, a later rejudging, what was merged.
"""

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Literal, TypeVar

from msgspec import Struct
from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from pytest_autoweb.results.analysis.cell_numbers import RunRows
from pytest_autoweb.results.analysis.early_decision import PairDecision
from pytest_autoweb.results.analysis.judge_agreement import AGREEMENTS, JUDGE_FILE, Agreement
from pytest_autoweb.results.analysis.past_runs import History
from pytest_autoweb.results.records import CaptureModeName, Outcome, Record
from pytest_autoweb.results.runs.steering import Order, orders

MERGE_FILE = "merge.json"


class GateResult(Record):
    """One gate's decision."""

    name: str
    """What is demanded, e.g. `pass rate` or `group smoke`."""
    model: str = ""
    """The model it is about; empty if it is about the whole run."""
    passed: bool | None
    """Whether the gate passed; None if it was not decided, e.g. because there is no run to compare
    with."""
    message: str
    """The decision in one sentence."""
    details: tuple[str, ...] = ()
    """What the decision rests on, one line each."""
    soft: bool = False
    """Whether the result is only reported and does not change the exit code."""
    notice: bool = False
    """Whether it only informs the reader, such as about the run that was compared with. It is
    shown beside the gates and not counted as one."""

    @property
    def failed(self) -> bool:
        """Tell whether it fails the run."""
        return self.passed is False and not self.soft

    @property
    def title(self) -> str:
        """Return the gate's name, with the model if it is about one."""
        return f"{self.name} ({self.model})" if self.model else self.name


VERIFICATION_FILE = "verification.json"


class RejudgedCell(Record):
    """A cell that was judged again, offline."""

    model_config = ConfigDict(extra="ignore")

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
    before: Outcome
    """The outcome in the run itself."""
    after: Outcome
    """Its outcome now."""
    notes: tuple[str, ...] = ()
    """Sentences with what a reader must know about the new verdict."""


class Rejudging(Record):
    """A run that was judged again; other fields of the file are for the command line."""

    model_config = ConfigDict(extra="ignore")

    ts: str
    """The `ts` of the run that was judged again."""
    cells: tuple[RejudgedCell, ...]
    """All cells that were judged again."""


BASELINE_FILE = "baseline.json"
HISTORY_FILE = "history.json"
UNTIL_FILE = "until.jsonl"
GATES_FILE = "gates.json"

Content = TypeVar("Content")


class SideFiles(Struct, frozen=True):
    """The contents of the files that were found."""

    baseline: RunRows | None = None
    """The run to compare with."""
    history: History | None = None
    gates: tuple[GateResult, ...] = ()
    judges: tuple[Agreement, ...] = ()
    """The agreement of judging models with people."""
    rejudging: Rejudging | None = None
    """The result of `autoweb run rejudge`, if it made this run."""
    decisions: tuple[PairDecision, ...] = ()
    """The pairs of models that were decided early, with `--autoweb-until`."""
    steered: tuple[Order, ...] = ()
    """What was ordered while the run went on."""
    notes: tuple[str, ...] = ()
    """Sentences about files that could not be read."""


NO_SIDE_FILES = SideFiles()


def read_side_files(folder: Path) -> SideFiles:
    """Read the files that exist in a run folder."""
    notes: list[str] = []
    return SideFiles(
        baseline=_read(folder / BASELINE_FILE, TypeAdapter(RunRows), notes),
        history=_read(folder / HISTORY_FILE, TypeAdapter(History), notes),
        gates=_read(folder / GATES_FILE, TypeAdapter(tuple[GateResult, ...]), notes) or (),
        judges=_read(folder / JUDGE_FILE, AGREEMENTS, notes) or (),
        rejudging=_read(folder / VERIFICATION_FILE, TypeAdapter(Rejudging), notes),
        decisions=tuple(_read_decisions(folder / UNTIL_FILE)),
        steered=orders(folder),
        notes=tuple(notes),
    )


def _read_decisions(path: Path) -> Iterator[PairDecision]:
    """Yield each pair's first decision; processes that decide at once may both have told it."""
    try:
        lines = path.read_bytes().splitlines()
    except OSError:
        return
    found: set[frozenset[str]] = set()
    for line in lines:
        try:
            decision = _DecidedLine.model_validate_json(line).decision
        except ValidationError:
            continue
        if (pair := frozenset((decision.better, decision.worse))) not in found:
            found.add(pair)
            yield decision


class _DecidedLine(BaseModel):
    event: Literal["decided"]
    decision: PairDecision


def _read(path: Path, kind: TypeAdapter[Content], notes: list[str]) -> Content | None:
    if not path.exists():
        return None
    try:
        return kind.validate_json(path.read_bytes())
    except OSError as error:
        problem = error.strerror or str(error)
    except ValidationError as error:
        problem = error.errors(include_url=False, include_input=False)[0]["msg"]
    notes.append(f"{path.name} cannot be read ({problem}); the report is without it")
    return None


class MergedSource(Record):
    """One of the runs behind a merged one."""

    name: str
    """The number of the shard, or else the name of the file or folder."""
    ts: str
    shard: tuple[int, int] | None
    started: datetime
    duration_s: float
    workers: int
    """The number of xdist workers."""
    cells: int
    """The number of cells in the source."""


class MergeInfo(Record):
    """The content of `merge.json`."""

    format: Literal["pytest-autoweb/merge"] = "pytest-autoweb/merge"
    version: int = 1
    sources: tuple[MergedSource, ...]
    notes: tuple[str, ...]
    """Sentences about what is missing, was found twice, or differs between the sources."""
