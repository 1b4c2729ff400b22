"""The files beside the cells of a run: baseline, history, judges, gates and a later judgement.

They are written into the run folder before the report, so that the report depends on nothing but
its folder. A file that cannot be read is ignored, except for a note about it.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from pydantic import TypeAdapter, ValidationError

from pytest_autoweb.report.gate_result import GateResult
from pytest_autoweb.report.history import History
from pytest_autoweb.report.judge_agreement import AGREEMENTS, JUDGE_FILE, Agreement
from pytest_autoweb.report.rejudged import VERIFICATION_FILE, Rejudging
from pytest_autoweb.report.rows import RunRows

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
