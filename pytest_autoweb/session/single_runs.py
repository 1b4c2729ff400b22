"""Each cell runs once in a session, however often other plugins run its item.

A plugin that runs failed tests again would otherwise hide a failed first attempt. Plugins do it by
many ways: another protocol, another call of the item, more items of the same name. So it is not
asked which plugin it is, but whether the cell has run.
"""

from collections.abc import Iterable
from pathlib import Path

import pytest

from pytest_autoweb.report.wording import count_of
from pytest_autoweb.results import CellResult
from pytest_autoweb.run.prepared_cell import Cell
from pytest_autoweb.runs.run_folder import saved_cell
from pytest_autoweb.runs.saving import STARTED_FILE
from pytest_autoweb.session.run_session import RunSession

_ENDED: pytest.StashKey[dict[str, CellResult]] = pytest.StashKey()
"""The cells that have ended in this process, by their folder."""
ONCE = (
    "a cell runs once, because a failed first attempt would be lost; use --autoweb-repeat=N, which "
    "counts every try"
)


class BegunBefore(Exception):
    """Raised when a cell that another process has begun and not ended is to run again."""

    def __init__(self) -> None:
        super().__init__(f"the cell was begun before in this session, and {ONCE}")


def note_end(config: pytest.Config, cell: Cell, result: CellResult) -> None:
    """Remember that a cell has ended, with this result."""
    config.stash.setdefault(_ENDED, {})[cell.folder] = result


def first_result(config: pytest.Config, session: RunSession, cell: Cell) -> CellResult | None:
    """Return the result of a cell that has already run in this session; None if it has not.

    Raises:
        BegunBefore: another process has begun it.
    """
    result = config.stash.setdefault(_ENDED, {}).get(cell.folder)
    if result is None and session.away is None and not session.settings.resume:
        saved = saved_cell(session.run_folder, cell.folder)
        result = saved if isinstance(saved, CellResult) else None
        if result is None and (session.run_folder / cell.folder / STARTED_FILE).exists():
            raise BegunBefore
    if result is not None and session.away is None:
        with session.shared.second_runs_file.open("a", encoding="utf-8") as file:
            file.write(f"{cell.folder}\n")
    return result


def second_runs_notice(file: Path) -> Iterable[str]:
    """Yield a sentence if another plugin wanted to run cells again."""
    try:
        cells = len(set(file.read_text(encoding="utf-8").splitlines()))
    except OSError:
        return
    yield f"a second run of {count_of(cells, 'cell')} by another plugin was refused: {ONCE}"
