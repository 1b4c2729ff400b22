"""The report of a large run, whose page holds a line per cell and fetches the rest when asked.

A page opened from disk may not read other files, regardless of its policy. It may show another page
in a frame, though, and exchange messages with it. So the details of a large run's cells lie in
small pages, the parts: each holds the JSON of some cells as inert data, and one script that hands
them over in exchange for the report's key. Other pages do not know the key, so they get nothing out
of a part.
"""

import hashlib
import json
import os
import secrets
import shutil
from collections.abc import Mapping
from itertools import islice
from pathlib import Path
from typing import Any, Self

from msgspec import Struct

from pytest_autoweb.base.errors import AutowebError
from pytest_autoweb.report.html_page import inert_script, part_frame
from pytest_autoweb.report.json_report import Report
from pytest_autoweb.results.analysis.comparison import Comparison
from pytest_autoweb.results.analysis.price import acted
from pytest_autoweb.results.records import Attempt, CellResult
from pytest_autoweb.results.runs.run_folder import (
    RecordedRun,
    collector_paused,
    read_run,
    size_of_cells,
)

DETAILS_FOLDER = "details"
IN_ONE_FILE = 8_000_000
"""Total size of `cell.json` files up to which `index.html` holds everything itself."""
PART_CHARS = 1_000_000
"""Length at which a part is full; a browser reads this much in some milliseconds."""

LONGEST_REASON = 300
"""Limit on the characters of a reason in a cell's line; the details have the full text."""
SHOWN = 300
"""Limit, for each kind, on a comparison's cases in the page of a large run."""


class DetailParts:
    """Writes the parts while the cells are read, and keeps the data that the numbers need.

    The parts are written into a new folder, which finally replaces an earlier report's.
    """

    def __init__(self, run_folder: Path) -> None:
        self.key = secrets.token_hex(16)
        """The key that a page must send to a part to get the details."""
        self.places: dict[str, tuple[int, int]] = {}
        """By the cell's folder: the number of its part, and its place in it, from 0."""
        self.chars = 0
        """The total length of all details."""
        self.digest = hashlib.sha256()
        """A digest of all details, in the order of the cells."""
        self._run_folder = run_folder
        self._new = run_folder / f".{DETAILS_FOLDER}.{os.getpid()}.tmp"
        self._head, self._tail = part_frame(self.key)
        self._part: list[str] = []
        self._part_chars = 0
        self._parts = 0
        shutil.rmtree(self._new, ignore_errors=True)
        self._new.mkdir(parents=True)

    def take(self, cell: CellResult) -> CellResult:
        """Write the cell's details, and return the cell without its evidence."""
        text = cell.model_dump_json()
        self.digest.update(text.encode())
        self.chars += len(text)
        self.places[cell.folder] = (self._parts, len(self._part))
        self._part.append(text)
        self._part_chars += len(text)
        if self._part_chars >= PART_CHARS:
            self._write_part()
        return without_evidence(cell)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, error: object, *_: object) -> None:
        """Replace the parts of an earlier report, unless there was an error."""
        try:
            if error is None:
                self._write_part()
                remove_details(self._run_folder)
                self._new.rename(self._run_folder / DETAILS_FOLDER)
        finally:
            shutil.rmtree(self._new, ignore_errors=True)

    def _write_part(self) -> None:
        if not self._part:
            return
        with (self._new / f"{self._parts}.html").open("w", encoding="utf-8") as file:
            file.write(self._head)
            file.writelines(inert_script(text) for text in self._part)
            file.write(self._tail)
        self._parts += 1
        self._part, self._part_chars = [], 0


def remove_details(run_folder: Path) -> None:
    """Remove the details of an earlier report of the same run."""
    folder = run_folder / DETAILS_FOLDER
    if (folder / "0.html").is_file() and not folder.is_symlink():
        shutil.rmtree(folder, ignore_errors=True)


def without_evidence(cell: CellResult) -> CellResult:
    """Return the cell without prompts, captures, scenes and calls, which are most of its size."""
    return cell.model_copy(
        update={
            "attempts": tuple(map(_light, cell.attempts)),
            "arms": tuple(
                arm.model_copy(update={"attempts": tuple(map(_light, arm.attempts))})
                for arm in cell.arms
            ),
        }
    )


def _light(attempt: Attempt) -> Attempt:
    # The report's numbers include the count of calls that were not repeated.
    calls = tuple(call for call in attempt.tool_calls if call.duplicate or call.cached)
    actions = acted(attempt.tool_calls) if attempt.actions is None else attempt.actions
    return attempt.model_copy(
        update={
            "exchanges": (),
            "snapshots": (),
            "tool_calls": calls,
            "actions": actions,
            "scene": None,
        }
    )


def lines_of(report: Report, places: Mapping[str, tuple[int, int]]) -> dict[str, Any]:
    """Return the data in the page of a large run: a line per cell, and the place of its details.

    Args:
        report: the report.
        places: part and place of each cell's details.
    """
    comparisons = tuple(map(_briefly, report.comparisons))
    baseline = report.baseline and report.baseline.model_copy(update={"rows": ()})
    summary = report.summary and report.summary.model_copy(update={"matrix": ()})
    execution = report.execution
    if execution is not None:
        brief_pairs = tuple(map(_briefly, execution.comparisons))
        execution = execution.model_copy(update={"comparisons": brief_pairs})
    update: dict[str, Any] = {
        **{"cases": (), "comparisons": comparisons, "execution": execution},
        **{"baseline": baseline, "summary": summary},
    }
    page: dict[str, Any] = json.loads(report.model_copy(update=update).model_dump_json())
    for brief, whole in zip(page["comparisons"], report.comparisons, strict=True):
        brief["cases_left_out"] = len(whole.left_out)
    page["cases"] = [
        {
            **case.model_dump(exclude={"cells"}),
            "cells": [_line(cell, *places[cell.folder]) for cell in case.cells],
        }
        for case in report.cases
    ]
    return page


def _briefly(comparison: Comparison) -> Comparison:
    differing = (case for case in comparison.cases if case.flip != "same")
    return comparison.model_copy(
        update={
            "cases": tuple(islice(differing, SHOWN)),
            "left_out": comparison.left_out[:SHOWN],
        }
    )


def _line(cell: CellResult, part: int, place: int) -> dict[str, Any]:
    line = {
        "model": cell.model,
        "outcome": cell.outcome,
        "capture_mode": cell.capture_mode,
        "repeat": cell.repeat,
        "reason": cell.reason[:LONGEST_REASON],
        "duration_ms": round(cell.duration_ms),
        "slow": cell.slow,
        "without_checks": cell.without_checks,
        "folder": cell.folder,
    }
    # Empty fields are omitted: a page of fifty thousand lines is large enough without them.
    return {name: value for name, value in line.items() if value} | {"part": part, "place": place}


class RunReading(Struct, frozen=True):
    """A run as read for its report: once, however large it is."""

    run: RecordedRun
    details: DetailParts | None = None
    """The parts with the evidence of a large run; None if the cells still hold it."""


def read_for_report(folder: Path) -> RunReading:
    """Read a run folder; for a large run, write its cells' details on the way.

    Raises:
        AutowebError: the details cannot be written.
    """
    with collector_paused():
        if size_of_cells(folder) <= IN_ONE_FILE:
            return RunReading(read_run(folder))
        try:
            with DetailParts(folder) as details:
                return RunReading(read_run(folder, details.take), details)
        except OSError as error:
            raise AutowebError(
                f"{folder / DETAILS_FOLDER} cannot be written ({error.strerror or error}); the "
                f"results of all cells are kept in {folder / 'cells'}"
            ) from error
