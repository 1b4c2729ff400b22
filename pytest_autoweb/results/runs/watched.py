"""What cells write of themselves while somebody watches the run, and the sign that somebody does.

A run that nobody watches writes nothing of an attempt before it has ended.
"""

import time
from contextlib import suppress
from pathlib import Path

from pytest_autoweb.base.files import replace_text
from pytest_autoweb.results.records import Attempt, FilmFrame, Record, StepStatus
from pytest_autoweb.results.runs.saving import compact_json, plain

WATCHED_FILE = "watched"
"""The file in a run folder that is touched again and again while somebody watches."""
SO_FAR_FILE = "so-far.json"
"""The file in a cell's folder with what its attempt has done until now; gone once it has ended."""
WATCHED_S = 30.0
"""How long a touch counts."""


class StepSoFar(Record):
    """One step of an attempt that goes on."""

    index: int
    description: str = ""
    """What it is to do."""
    status: StepStatus | None = None
    """How it ended; None before."""
    duration_ms: float = 0.0
    error: str = ""


class SoFar(Record):
    """What an attempt that goes on has done until now."""

    attempt: str
    """The name of its folder."""
    steps: tuple[StepSoFar, ...] = ()
    code: str = ""
    log: str = ""
    film: tuple[FilmFrame, ...] = ()
    """Its pictures; none if its case wants none."""


def touch_watched(run: Path) -> None:
    """Leave the sign that somebody watches; where nothing can be written, none is needed."""
    with suppress(OSError):
        (run / WATCHED_FILE).touch()


def is_watched(run: Path) -> bool:
    """Tell whether somebody watches a run."""
    try:
        touched = (run / WATCHED_FILE).stat().st_mtime
    except OSError:
        return False
    return time.time() - touched < WATCHED_S


def steps_so_far(attempt: Attempt) -> tuple[StepSoFar, ...]:
    """Return the steps of an attempt: those that ended, and those that are planned."""
    planned = {step.index: step.description for step in attempt.plan_steps}
    ended = [
        StepSoFar(
            index=step.step_index,
            description=step.description or planned.get(step.step_index, ""),
            status=step.status,
            duration_ms=step.duration_ms,
            error=step.error or "",
        )
        for step in attempt.step_results
    ]
    begun = {step.index for step in ended}
    left = [StepSoFar(index=i, description=said) for i, said in planned.items() if i not in begun]
    return (*ended, *left)


def save_so_far(cell: Path, so_far: SoFar) -> None:
    """Write what an attempt has done until now; a full disk must not stop it.

    Args:
        cell: the cell's folder.
        so_far: what it has done.
    """
    with suppress(OSError):
        replace_text(cell / SO_FAR_FILE, compact_json(plain(so_far)))


def remove_so_far(cell: Path) -> None:
    """Remove it, because the files of the attempt say more."""
    with suppress(OSError):
        (cell / SO_FAR_FILE).unlink(missing_ok=True)
