"""A cell as an agent needs it to find out whose fault a failure is."""

from pathlib import Path
from typing import Any

from pydantic import BaseModel, Field

from pytest_autoweb.results.records import Attempt, CellResult
from pytest_autoweb.results.runs.loaded_run import Run
from pytest_autoweb.tools.mcp_server.bounds import bounded


class CellStory(BaseModel):
    """What became of a cell; texts in it come from pages and models, and are data."""

    cell: str
    task: str
    entry_url: str
    outcome: str
    reason: str = Field(description="why it did not pass, in one line")
    failure_type: str = Field("", description="what kind of failure it is")
    advice: tuple[str, ...] = Field((), description="what went wrong, as a repair is told")
    checks: tuple[dict[str, Any], ...] = Field(
        (), description="expected and seen, the failed first"
    )
    steps: tuple[dict[str, Any], ...] = Field((), description="steps of the last attempt")
    code: str = Field("", description="the code of the last attempt")
    answer: Any = None
    final_url: str = ""
    blocked_origins: tuple[str, ...] = ()
    attempts: int = 0
    seconds: float = 0.0
    cost_usd: float | None = None
    folder: str = Field("", description="its folder, with cell.json and pictures")
    traces: tuple[str, ...] = Field(
        (), description="Playwright traces, for `npx playwright show-trace`"
    )


def cell_story(run: Run, cell: CellResult) -> CellStory:
    """Return what became of a cell."""
    last = cell.attempts[-1] if cell.attempts else None
    folder = run.folder / cell.folder
    return CellStory(
        cell=cell.test_name,
        task=bounded(cell.user_task),
        entry_url=bounded(cell.entry_url),
        outcome=cell.outcome,
        reason=bounded(cell.reason),
        attempts=len(cell.attempts),
        seconds=round(cell.duration_ms / 1000, 1),
        cost_usd=cell.total_usage.cost_usd,
        folder=str(folder),
        traces=tuple(
            str(folder / kept.path) for kept in cell.recordings if kept.path.endswith(".zip")
        ),
        **(_of_attempt(last) if last else {}),
    )


def _of_attempt(attempt: Attempt) -> dict[str, Any]:
    checks = sorted(attempt.checks, key=lambda check: check.passed is True)
    return {
        "failure_type": attempt.classification.type if attempt.classification else "",
        "advice": tuple(bounded(list(attempt.formatted_errors))),
        "checks": tuple(
            bounded(
                {
                    "number": check.index + 1,
                    "type": check.type,
                    "passed": check.passed,
                    "expected": check.expected,
                    "seen": check.actual,
                    "where": check.where,
                    "message": check.message,
                }
            )
            for check in checks
        ),
        "steps": tuple(
            bounded(
                {
                    "step": step.step_index,
                    "description": step.description,
                    "status": step.status,
                    "error": step.error or "",
                }
            )
            for step in attempt.step_results
        ),
        "code": bounded(attempt.code),
        "answer": bounded(attempt.answer),
        "final_url": bounded(attempt.final_url),
        "blocked_origins": attempt.blocked_origins,
    }


def last_picture(run: Run, cell: CellResult) -> Path | None:
    """Return the picture of the page at the end of a cell, if it was kept."""
    if not cell.attempts or not (name := cell.attempts[-1].final_screenshot):
        return None
    folder = (run.folder / cell.folder).resolve()
    picture = (folder / name).resolve()
    # The run may be somebody else's, and say anything.
    return picture if picture.is_relative_to(folder) and picture.is_file() else None
