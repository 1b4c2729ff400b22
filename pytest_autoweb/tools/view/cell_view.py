"""One cell as far as it has come: what its files say, for the page that shows it."""

from pathlib import Path
from typing import Any

from pytest_autoweb.results.records import Attempt, CellResult
from pytest_autoweb.results.runs.inert_copies import DOWNLOADS_FOLDER, SCRIPT_FILE
from pytest_autoweb.results.runs.run_folder import saved_cell
from pytest_autoweb.results.runs.watched import SO_FAR_FILE, SoFar
from pytest_autoweb.tools.view.followed_run import read_so_far

LOG_FILE = "run.log"
PICTURES = {".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".png": "image/png"}
"""The kinds of pictures that are shown, by the ends of their names."""
_MOST_CHARS = 200_000
"""The most that is shown of a script or a log."""
_MOST_AGAIN = 20


def cell_view(run: Path, folder: str) -> dict[str, Any]:
    """Return what is known of a cell: its result, or else what has been written of it until now.

    Args:
        run: the run folder.
        folder: the cell's folder in it, which must be one of the run's.
    """
    saved = saved_cell(run, folder)
    if isinstance(saved, CellResult):
        return {
            "outcome": saved.outcome,
            "reason": saved.reason,
            "task": saved.user_task,
            "attempts": [_ended(attempt) for attempt in saved.attempts],
            "again": [_further(run, f"{folder}/{place.name}") for place in _again(run / folder)],
        }
    so_far = read_so_far(run / folder / SO_FAR_FILE)
    attempts = [_earlier(place) for place in _attempts(run / folder)]
    if so_far is not None:
        attempts = [each for each in attempts if each["name"] != so_far.attempt]
        attempts.append(_going(so_far))
    return {"outcome": None, "reason": saved, "task": "", "attempts": attempts, "again": []}


def _further(run: Path, folder: str) -> dict[str, Any]:
    """Return what is known of a further run of a cell: its last attempt, and how it ended."""
    view = cell_view(run, folder)
    attempts = view["attempts"] or [{"code": "", "log": ""}]
    texts = {name: attempts[-1][name] for name in ("code", "log")}
    return {
        "name": folder.rpartition("/")[2],
        "outcome": view["outcome"],
        "reason": view["reason"],
        **texts,
    }


def _ended(attempt: Attempt) -> dict[str, Any]:
    planned = {step.index: step.description for step in attempt.plan_steps}
    return {
        "name": f"attempt-{attempt.attempt_index}",
        "code": _cut(attempt.code),
        "log": _cut("\n".join(filter(None, (attempt.run_log_head, attempt.run_log_tail)))),
        "steps": [
            {
                "index": step.step_index,
                "description": step.description or planned.get(step.step_index, ""),
                "status": step.status,
                "duration_ms": step.duration_ms,
                "error": step.error or "",
            }
            for step in attempt.step_results
        ],
        "checks": [
            {"type": check.type, "passed": check.passed, "actual": str(check.actual)[:500]}
            for check in attempt.checks
        ],
        "film": [frame.model_dump() for frame in attempt.film],
    }


def _going(so_far: SoFar) -> dict[str, Any]:
    return {
        "name": so_far.attempt,
        "code": _cut(so_far.code),
        "log": _cut(so_far.log),
        "steps": [step.model_dump() for step in so_far.steps],
        "checks": [],
        "film": [frame.model_dump() for frame in so_far.film],
    }


def _earlier(attempt: Path) -> dict[str, Any]:
    """Return the texts of an attempt of a cell that goes on, once it has ended."""
    return {
        "name": attempt.name,
        "code": _read(attempt / SCRIPT_FILE),
        "log": _read(attempt / LOG_FILE),
        "steps": [],
        "checks": [],
        "film": [],
    }


def _attempts(cell: Path) -> list[Path]:
    return _folders(cell, "attempt-*")


def _again(cell: Path) -> list[Path]:
    # A further run has none of its own, whatever somebody may have put into its folder.
    return [] if cell.name.startswith("again-") else _folders(cell, "again-*")[:_MOST_AGAIN]


def _folders(cell: Path, names: str) -> list[Path]:
    try:
        return sorted(place for place in cell.glob(names) if place.is_dir())
    except OSError:
        return []


def _read(file: Path) -> str:
    try:
        with file.open(encoding="utf-8", errors="replace") as opened:
            return _cut(opened.read(_MOST_CHARS + 1))
    except OSError:
        return ""


def _cut(text: str) -> str:
    return text if len(text) <= _MOST_CHARS else f"{text[:_MOST_CHARS]}…"


def picture_file(run: Path, folder: str, name: str) -> tuple[Path, str] | None:
    """Return a picture of a cell with its content type, or None if a path leads to no such thing.

    Args:
        run: the run folder.
        folder: the cell's folder in it, which must be one of the run's.
        name: the path of the picture, below the cell's folder, as a request gives it.
    """
    parts = name.split("/")
    kind = PICTURES.get(Path(name).suffix.lower())
    if kind is None or DOWNLOADS_FOLDER in parts or "\\" in name or "\0" in name:
        return None
    cell = (run / folder).resolve()
    file = (cell / name).resolve()
    # What a link leads to, or two dots, is not the cell's.
    return (file, kind) if file.is_relative_to(cell) and file.is_file() else None
