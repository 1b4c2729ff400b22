"""Learns from the oracle's runs what solutions write, and keeps it beside the cases."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from pytest_autoweb.base.errors import first_line
from pytest_autoweb.judging.evidence.written import Write
from pytest_autoweb.judging.solution_writes import CaseWrites, keep_writes, learn, read_writes
from pytest_autoweb.report.wording import count_of
from pytest_autoweb.results.analysis.cell_numbers import CaseKey
from pytest_autoweb.results.analysis.controls import ORACLE, control_rows
from pytest_autoweb.results.records import CellResult
from pytest_autoweb.results.runs.foreign_run import NoCaseFile, case_file
from pytest_autoweb.results.runs.run_folder import read_run


def keep_learned(folder: Path, rootdir: Path) -> Iterator[str]:
    """Keep what the oracles of a run of controls write, of cases in which they always pass.

    Args:
        folder: the run of controls.
        rootdir: pytest's, where the case files are looked for.

    Yields:
        A sentence for each file.
    """
    cells = read_run(folder).cells
    sound = {(row.case_path, row.case_id) for row in control_rows(cells) if row.oracle == "holds"}
    runs: dict[CaseKey, list[CellResult]] = {}
    for cell in cells:
        if cell.model == ORACLE and (cell.case_path, cell.case_id) in sound:
            runs.setdefault((cell.case_path, cell.case_id), []).append(cell)
    solutions: dict[str, dict[str, CaseWrites]] = {}
    for (path, case_id), played in runs.items():
        if learned := _learned(folder, played):
            solutions.setdefault(path, {})[case_id] = learned
    for path, found in solutions.items():
        try:
            kept = keep_writes(case_file(path, rootdir, folder), found)
        except (OSError, NoCaseFile) as error:
            yield f"what the solutions of {path} write could not be kept: {first_line(error)}"
        else:
            shown = kept.relative_to(rootdir) if kept.is_relative_to(rootdir) else kept
            yield f"what {count_of(len(found), 'solution')} may write: {shown}"


def _learned(folder: Path, played: Sequence[CellResult]) -> CaseWrites | None:
    """Return what all runs of an oracle write; None if not every run has told it."""
    taken = [_writes(folder, cell) for cell in played]
    known = [writes for writes in taken if writes is not None]
    sums = {cell.checksums.get("case", "") for cell in played}
    if len(known) < len(played) or len(sums) != 1:
        return None
    moments = [moment for cell in played for moment in (cell.started, cell.started.astimezone())]
    days = {f"{moment:%Y-%m-%d}" for moment in moments}
    return CaseWrites(checksum=sums.pop(), runs=len(known), writes=learn(known, days))


def _writes(folder: Path, cell: CellResult) -> tuple[Write, ...] | None:
    name = cell.attempts[-1].evidence.get("writes") if cell.attempts else None
    try:
        return read_writes((folder / cell.folder / name).read_text("utf-8")) if name else None
    except (OSError, ValueError):
        return None
