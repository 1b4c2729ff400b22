"""The record of a cell: its row of the manifest, and its result where no attempt was made."""

from datetime import UTC, datetime

from pytest_autoweb.agents.attempt.strategy import Strategy
from pytest_autoweb.cases.case import Case
from pytest_autoweb.cell.cell_inputs import Cell, CellResources
from pytest_autoweb.cell.cell_setting import setting_of, strategy_for
from pytest_autoweb.cell.checksums import checksums_of
from pytest_autoweb.results.records import CellResult, Failure, NotNeeded, Outcome, PlannedCell
from pytest_autoweb.results.runs.saving import save_cell
from pytest_autoweb.settings.run_settings import Settings


def planned_cell(cell: Cell) -> PlannedCell:
    return row_of(cell, strategy_for(cell))


def row_of(cell: Cell, strategy: Strategy, case: Case | None = None) -> PlannedCell:
    """Return the cell's row of the manifest, with its final texts if the case is resolved."""
    return PlannedCell(
        case_id=cell.case.id,
        case_path=cell.case_path,
        line=cell.case.line or None,
        entry_url=case.entry_url if case else cell.case.entry_url_template,
        user_task=case.user_task if case else cell.case.user_task_template,
        tags=cell.case.tags,
        must_pass=cell.case.must_pass,
        without_checks=not cell.case.has_expect and cell.called is None,
        with_points=cell.case.has_points,
        model=cell.spec.name,
        page_change=cell.spec.perturb,
        capture_mode=cell.mode,
        repeat=cell.repeat,
        strategy=cell.strategy,
        any_capture=not strategy.uses_capture,
        nodeid=cell.nodeid,
        folder=cell.folder,
    )


def broken_cell(cell: Cell, resources: CellResources, failure: Failure) -> CellResult:
    return _without_attempts(cell, resources, "broken", failure.message, failure)


def unsaved_cell(cell: Cell, failure: Failure) -> CellResult:
    """Return the result of a cell for which there is no place to save anything."""
    return CellResult(
        **dict(planned_cell(cell)),
        dialect=cell.spec.dialect,
        outcome="broken",
        reason=failure.message,
        failure=failure,
        started=datetime.now(UTC),
    )


def left_out_cell(
    cell: Cell, settings: Settings, worker: str, needless: NotNeeded, reason: str
) -> CellResult:
    """Return the result, which is not saved yet, of a cell that a run need not or may not begin."""
    setting = setting_of(cell, settings)
    return CellResult(
        **dict(row_of(cell, setting.strategy)),
        dialect=cell.spec.dialect,
        outcome="skipped",
        not_needed=needless,
        reason=reason,
        started=datetime.now(UTC),
        worker=worker,
        checksums=checksums_of(setting),
        agent=setting.agent,
    )


def skipped_cell(cell: Cell, resources: CellResources, reason: str) -> CellResult:
    return _without_attempts(cell, resources, "skipped", reason)


def _without_attempts(
    cell: Cell,
    resources: CellResources,
    outcome: Outcome,
    reason: str,
    failure: Failure | None = None,
) -> CellResult:
    setting = setting_of(cell, resources.settings)
    result = CellResult(
        **dict(row_of(cell, setting.strategy)),
        dialect=cell.spec.dialect,
        outcome=outcome,
        reason=reason,
        failure=failure,
        started=datetime.now(UTC),
        worker=resources.worker,
        checksums=checksums_of(setting),
        agent=setting.agent,
    )
    try:
        save_cell(resources.run_folder, result)
    except OSError:
        # Readers of the run folder see a cell that began and left no result.
        if outcome != "broken":
            raise
    return result
