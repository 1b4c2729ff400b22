"""Small MADE-UP runs for a store, and everything that a store holds."""

from datetime import timedelta
from pathlib import Path
from typing import Any

from made_up_run import BEGAN, CellKey, cell, save_run
from sqlalchemy import select

from pytest_autoweb.results.records import (
    Attempt,
    CellResult,
    CheckResult,
    Failure,
    ToolCall,
    Usage,
)
from pytest_autoweb.store.database import Store
from pytest_autoweb.store.tables import Base

Content = dict[str, list[tuple[Any, ...]]]

METHODS = ("click", "fill", "inner_text")


def call(method: str, ok: bool, *, duplicate: bool = False, ms: float = 10.0) -> ToolCall:
    return ToolCall(
        step_index=1,
        seq=0,
        target="page.get_by_role('button')",
        method=method,
        arguments="'a\0b'",
        acting=method != "inner_text",
        ok=ok,
        error=None if ok else "Error: strict mode violation: resolved to 2 elements",
        duration_ms=ms,
        duplicate=duplicate,
    )


def attempt(index: int, calls: list[ToolCall], passed: bool | None) -> Attempt:
    check = CheckResult(index=0, type="url", passed=passed, expected="/\0x", actual="/")
    return Attempt(
        attempt_index=index,
        repair_attempt=index > 1,
        tool_calls=tuple(calls),
        checks=(check,),
        checks_passed=passed,
        executed=all(made.ok for made in calls),
        code=f"# Step 1, try {index}",
        failure=None if passed else Failure(kind="check", message="check 1 (url) does not hold"),
        usage={"plan": Usage(calls=1, input_tokens=10, output_tokens=2, cost_usd=0.01)},
        duration_ms=1000.0,
    )


def tried(case_id: str, model: str, *attempts: Attempt, day: int = 0, **changes: Any) -> CellResult:
    """A cell with its outcome, as the pipeline settles it."""
    passed = attempts[-1].checks_passed
    outcome = ("passed" if len(attempts) == 1 else "healed") if passed else "failed"
    total = sum((one.usage["plan"] for one in attempts), Usage())
    changes = {"attempts": attempts, "usage": {"plan": total}, **changes}
    changes.setdefault("started", BEGAN + timedelta(days=day))
    return cell(CellKey(case_id, model), outcome, **changes)  # type: ignore[arg-type]


def save(folder: Path, cells: list[CellResult], day: int = 0, **changes: Any) -> Path:
    began = BEGAN + timedelta(days=day)
    changes = {"ts": f"{began:%Y%m%d_%H%M%S}_{day % 1000:03}", "started": began, **changes}
    return save_run(folder, cells, **changes)


def content(store: Store) -> Content:
    """Every row of every table, in an order of its own."""
    with store.read() as connection:
        return {
            table.name: sorted(
                (tuple(row) for row in connection.execute(select(table))), key=lambda row: str(row)
            )
            for table in Base.metadata.sorted_tables
        }
