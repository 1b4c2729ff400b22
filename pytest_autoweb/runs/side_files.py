"""The files beside the cells of a run: baseline, history, judges, gates, a later judgement."""

from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from pydantic import ConfigDict, TypeAdapter, ValidationError

from pytest_autoweb.analysis.cell_numbers import RunRows
from pytest_autoweb.analysis.past_runs import History
from pytest_autoweb.analysis.verdict_validity import AGREEMENTS, JUDGE_FILE, Agreement
from pytest_autoweb.results import CaptureModeName, Outcome, Record


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
GATES_FILE = "gates.json"

Content = TypeVar("Content")


@dataclass(frozen=True, slots=True)
class SideFiles:
    """The contents of the files that were found."""

    baseline: RunRows | None = None
    """The run that this one is compared with."""
    history: History | None = None
    gates: tuple[GateResult, ...] = ()
    judges: tuple[Agreement, ...] = ()
    """The agreement of judging models with people."""
    rejudging: Rejudging | None = None
    """The result of `autoweb verify`, if it made this run."""
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
        notes=tuple(notes),
    )


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
