"""Resumes a run that ended early: which of its cells are kept, and why others run again."""

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import pytest

from pytest_autoweb.base.errors import SettingsError
from pytest_autoweb.cell.cell_inputs import Cell
from pytest_autoweb.cell.cell_setting import setting_of
from pytest_autoweb.cell.checksums import checksums_of
from pytest_autoweb.models.spending import read_ledger
from pytest_autoweb.report.wording import count_of
from pytest_autoweb.results.records import CellResult, PlannedCell, Resumption, RunInfo
from pytest_autoweb.results.runs.run_folder import (
    read_manifest,
    read_run,
    refuse_other_folders,
    saved_cell,
)
from pytest_autoweb.results.runs.saving import check_run_folder, move_to_replaced
from pytest_autoweb.results.runs.side_files import MERGE_FILE
from pytest_autoweb.settings.run_settings import Settings

NEW = "had not run"
DIED = "cut off: no result was saved"
ASKED_FOR = "asked for by name or --lf"
_WITHOUT_VERDICT = ("broken", "skipped")
_WORDS = {
    "case": "the case",
    "checks": "the checks",
    "prompts": "the prompts",
    "capture": "how pages are shown",
    "model": "the model's settings",
    "agent": "the outside agent",
    "settings": "the run's settings",
    "versions": "the versions",
    "traffic": "the recorded traffic",
    "writes": "what the solution writes",
}
_NAMED = 3


class EarlierRun(NamedTuple):
    """The run that a session resumes, as found."""

    info: RunInfo
    planned: int
    ended: int
    """The number of cells whose results are kept unless something they depend on has changed."""
    spent_usd: float

    def told(self) -> str:
        """Return a line for the header."""
        return (
            f"resumes the run of {self.info.started.astimezone():%Y-%m-%d %H:%M}: {self.ended} of "
            f"its {count_of(self.planned, 'cell')} have ended"
        )


def find_earlier_run(folder: Path, ts: str) -> EarlierRun:
    """Read the earlier run in a folder.

    Args:
        folder: the run folder.
        ts: the id of the run, which identifies its ledger.

    Raises:
        SettingsError: there is no run, it was merged, or its folder cannot be written.
    """
    try:
        refuse_other_folders(folder)
        check_run_folder(folder)
    except SettingsError as error:
        raise SettingsError(
            f"--autoweb-resume: {error}; for the run in the folder of --autoweb-report write "
            "--autoweb-resume=latest, or the flag at the end"
        ) from None
    if (folder / MERGE_FILE).exists():
        raise SettingsError(f"--autoweb-resume: {folder} was merged; resume its shards instead")
    run = read_run(folder, lambda cell: cell.model_copy(update={"attempts": ()}))
    ledger = read_ledger(folder, ts)
    return EarlierRun(
        info=run.info,
        planned=len(run.cells),
        ended=sum(cell.outcome not in _WITHOUT_VERDICT for cell in run.cells),
        spent_usd=sum(map(_cost, run.cells)) if ledger is None else ledger,
    )


def _cost(cell: CellResult) -> float:
    used = [cell.total_usage, *(arm.usage for arm in cell.arms)]
    return sum(usage.cost_usd or 0.0 for usage in used)


def all_planned(folder: Path, cells: Sequence[PlannedCell]) -> list[PlannedCell]:
    """Return the cells that the run had planned before, plus new ones."""
    new = {cell.folder: cell for cell in cells}
    before = [new.pop(cell.folder, cell) for cell in read_manifest(folder).cells]
    return [*before, *new.values()]


class ResumedCells:
    """Decides which cells of a resumed run are kept and which run again.

    Cells named on the command line or selected by `--lf` always run.

    Args:
        config: pytest's.
        folder: the run folder.
        told: the file to which all processes append the cells they keep and those they run again.
    """

    def __init__(self, config: pytest.Config, folder: Path, told: Path) -> None:
        self._folder, self._told = folder, told
        failed = getattr(config.pluginmanager.get_plugin("lfplugin"), "lastfailed", {})
        # With `--lf` and no failure on record, pytest runs everything, which was not the request.
        asked = failed if config.getoption("lf", False) else ()
        self._failed = frozenset(map(str, asked))
        self._named = tuple(str(name) for name in config.args if "[" in str(name))
        self._keeps: dict[str, bool] = {}
        self._stamp = f"{datetime.now():%Y%m%d_%H%M%S}"

    def kept(self, cell: Cell, settings: Settings) -> CellResult | None:
        """Return the saved result of a cell, or None if the cell is to run.

        Earlier files of a cell that runs again are moved to `replaced/`, not erased.
        """
        if not self._keeps.get(cell.folder, True):
            return None
        saved = saved_cell(self._folder, cell.folder)
        if cell.folder not in self._keeps:
            why = self._why(cell, settings, saved)
            self._keeps[cell.folder] = not why
            with self._told.open("a", encoding="utf-8") as file:
                file.write(json.dumps([cell.nodeid, why]) + "\n")
            if why and (self._folder / cell.folder).exists():
                move_to_replaced(self._folder, cell.folder, self._stamp)
        return saved if self._keeps[cell.folder] and isinstance(saved, CellResult) else None

    def never_ran(self, cell: Cell) -> bool:
        """Tell whether the earlier run has nothing of a cell but that it was left out."""
        saved = saved_cell(self._folder, cell.folder)
        return saved == "" or (isinstance(saved, CellResult) and saved.outcome == "skipped")

    def will_run(self, cell: Cell, settings: Settings) -> bool:
        """Tell whether a cell is to run, without changing anything."""
        return bool(self._why(cell, settings, saved_cell(self._folder, cell.folder)))

    def _why(self, cell: Cell, settings: Settings, saved: CellResult | str) -> str:
        """Return why a cell is to run; empty if its result is kept."""
        if isinstance(saved, CellResult):
            return self._why_again(cell, settings, saved)
        return (saved or DIED) if (self._folder / cell.folder).exists() else NEW

    def _why_again(self, cell: Cell, settings: Settings, result: CellResult) -> str:
        if cell.nodeid in self._failed or cell.nodeid.endswith(self._named):
            return ASKED_FOR
        if result.outcome in _WITHOUT_VERDICT:
            return result.outcome
        now = checksums_of(setting_of(cell, settings))
        before = result.checksums
        differ = [word for name, word in _WORDS.items() if now.get(name) != before.get(name)]
        return f"changed since: {', '.join(differ)}" if differ else ""


def read_told(told: Path, started: datetime) -> Resumption:
    """Return the cells that a session's processes kept and ran again."""
    again: dict[str, list[str]] = {}
    kept = 0
    lines = told.read_text(encoding="utf-8").splitlines() if told.exists() else []
    # A cell that lost its worker is recorded again by the next one.
    for nodeid, why in dict(map(json.loads, lines)).items():
        if why:
            again.setdefault(why, []).append(nodeid.partition("::")[2] or nodeid)
        else:
            kept += 1
    return Resumption(
        started=started.astimezone(UTC),
        kept=kept,
        ran={why: len(names) for why, names in again.items()},
        some={why: tuple(names[:_NAMED]) for why, names in again.items() if why != NEW},
    )
