"""What lies beside the cells of a run: baseline, history, judges, gates, a later judgement.

Each is one file of the run folder, written before the report, so that the report stays a function
of its folder. A file that cannot be read is said in a note and otherwise ignored.
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
    """What was found."""

    baseline: RunRows | None = None
    """The run compared with."""
    history: History | None = None
    gates: tuple[GateResult, ...] = ()
    judges: tuple[Agreement, ...] = ()
    """How far the judging models agree with people."""
    rejudging: Rejudging | None = None
    """What `autoweb verify` did."""
    notes: tuple[str, ...] = ()
    """What could not be read, in sentences."""


NO_SIDE_FILES = SideFiles()


def read_side_files(folder: Path) -> SideFiles:
    """Read what there is."""
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
