"""A saved run for Python: its cells as values, and as rows for tables and data frames."""

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any, Literal

from msgspec import Struct

from pytest_autoweb.base.errors import AutowebError, SettingsError
from pytest_autoweb.results.records import Attempt, CellResult, RunInfo, Usage
from pytest_autoweb.results.runs.run_folder import read_run, refuse_other_folders

Table = Literal["cells", "attempts", "checks"]


class Run(Struct, frozen=True):
    """A saved run."""

    folder: Path
    info: RunInfo
    """Time, models, settings with their sources, versions."""
    cells: tuple[CellResult, ...]
    """Every planned cell, controls included; one that never ended is `broken` or `skipped`."""
    notes: tuple[str, ...]
    """Notes on unreadable and unsafe content."""

    def rows(self, of: Table = "cells") -> list[dict[str, Any]]:
        """Return plain values, one row for each cell, attempt or check.

        Args:
            of: `cells`, `attempts` (each with its cell's names and its calls' usage) or `checks`
                (those of each cell's last attempt). Costs are in US dollars, None where no price is
                known; durations in milliseconds; times are aware datetimes.

        Raises:
            SettingsError: there is no such table.
        """
        if of not in _ROWS:
            raise SettingsError(f"no table {of!r}; there are: {', '.join(_ROWS)}")
        return [row for cell in self.cells for row in _ROWS[of](cell)]

    def to_pandas(self, of: Table = "cells") -> Any:
        """Return `rows` as a `pandas.DataFrame`.

        Raises:
            SettingsError: pandas is not installed, or there is no such table.
        """
        return _library("pandas").DataFrame(self.rows(of))

    def to_polars(self, of: Table = "cells") -> Any:
        """Return `rows` as a `polars.DataFrame`.

        Raises:
            SettingsError: polars is not installed, or there is no such table.
        """
        # A column may begin with thousands of empty values, so its type is inferred from all of
        # them.
        return _library("polars").DataFrame(self.rows(of), infer_schema_length=None)


def load_run(folder: str | Path) -> Run:
    """Read a run from its folder, such as `autoweb-report`.

    Raises:
        SettingsError: the folder holds no run.
    """
    path = Path(folder)
    refuse_other_folders(path)
    try:
        run = read_run(path)
    except OSError as error:
        raise AutowebError(f"{path} cannot be read: {error.strerror or error}") from None
    return Run(folder=path, info=run.info, cells=run.cells, notes=run.notes)


def _library(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError as error:
        raise SettingsError(f"{name} is needed for this, and cannot be imported: {error}") from None


def _names(cell: CellResult) -> dict[str, Any]:
    return {
        "case_id": cell.case_id,
        "model": cell.model,
        "capture_mode": cell.capture_mode,
        "repeat": cell.repeat,
        "strategy": cell.strategy,
    }


def _numbers(usage: Usage) -> dict[str, Any]:
    return {
        "calls": usage.calls,
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        "cached_tokens": usage.cached_tokens,
        "reasoning_tokens": usage.reasoning_tokens,
        "cost_usd": usage.cost_usd,
    }


def _cell_rows(cell: CellResult) -> list[dict[str, Any]]:
    first = cell.attempts[0].checks_passed if cell.attempts else None
    last = cell.attempts[-1] if cell.attempts else None
    return [
        _names(cell)
        | {
            "case_path": cell.case_path,
            "tags": list(cell.tags),
            "outcome": cell.outcome,
            "first_attempt_passed": first,
            "attempts": len(cell.attempts),
            "score": last.score if last else None,
            "failure_kind": cell.failure.kind if cell.failure else None,
            "failure_type": _type(last),
            "reason": cell.reason,
            "started": cell.started,
            "duration_ms": cell.duration_ms,
            "folder": cell.folder,
        }
        | _numbers(cell.total_usage)
    ]


def _type(attempt: Attempt | None) -> str | None:
    return attempt.classification.type if attempt and attempt.classification else None


def _attempt_rows(cell: CellResult) -> list[dict[str, Any]]:
    return [
        _names(cell)
        | {
            "attempt": attempt.attempt_index,
            "checks_passed": attempt.checks_passed,
            "score": attempt.score,
            "turns": attempt.turns,
            "steps": len(attempt.step_results),
            "failure_kind": attempt.failure.kind if attempt.failure else None,
            "failure_type": _type(attempt),
            "duration_ms": attempt.duration_ms,
        }
        | _numbers(sum(attempt.usage.values(), Usage()))
        for attempt in cell.attempts
    ]


def _check_rows(cell: CellResult) -> list[dict[str, Any]]:
    checks = cell.attempts[-1].checks if cell.attempts else ()
    return [
        _names(cell)
        | {
            "check": check.index,
            "type": check.type,
            "passed": check.passed,
            "weight": check.weight,
            "expected": check.expected,
            "actual": check.actual,
            "where": check.where,
        }
        for check in checks
    ]


_ROWS: dict[str, Callable[[CellResult], list[dict[str, Any]]]] = {
    "cells": _cell_rows,
    "attempts": _attempt_rows,
    "checks": _check_rows,
}
