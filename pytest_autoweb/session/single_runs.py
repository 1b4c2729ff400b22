"""Each cell runs once in a session, however often other plugins run its item.

A plugin that runs failed tests again would otherwise hide a failed first attempt. Plugins do it by
many ways: another protocol, another call of the item, more items of the same name. So it is not
asked which plugin it is, but whether the cell has run.
"""

import hashlib
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

import pytest

from pytest_autoweb.cell.cell_inputs import Cell
from pytest_autoweb.report.wording import count_of
from pytest_autoweb.results.records import CellResult
from pytest_autoweb.results.runs.run_folder import saved_cell
from pytest_autoweb.session.run_session import RunSession

_ENDED: pytest.StashKey[dict[str, CellResult]] = pytest.StashKey()
"""The cells that have ended in this process, by their folder."""
ONCE = (
    "a cell runs once, because a failed first attempt would be lost; use --autoweb-repeat=N, which "
    "counts every try"
)


class BegunBefore(Exception):
    """Raised when a cell that another process has begun is to run again."""

    def __init__(self) -> None:
        super().__init__(f"the cell was begun before in this session, and {ONCE}")


def note_end(config: pytest.Config, session: RunSession, cell: Cell, result: CellResult) -> None:
    """Remember that a cell has ended, with this result."""
    claims(session, cell.folder)
    config.stash.setdefault(_ENDED, {})[cell.folder] = result


def has_ended(config: pytest.Config, cell: Cell) -> bool:
    """Tell whether a cell has ended in this process."""
    return cell.folder in config.stash.get(_ENDED, {})


def first_result(config: pytest.Config, session: RunSession, cell: Cell) -> CellResult | None:
    """Return the result of a cell that has already run in this session; None if it may run now.

    Raises:
        BegunBefore: it has begun elsewhere, and its result is not known.
    """
    result = config.stash.setdefault(_ENDED, {}).get(cell.folder)
    if result is None and claims(session, cell.folder):
        return None
    _note_refusal(session, cell)
    if result is None:
        saved = saved_cell(session.run_folder, cell.folder)
        if not isinstance(saved, CellResult):
            raise BegunBefore
        result = saved
    return result


def note_mark(config: pytest.Config, session: RunSession, cell: Cell) -> None:
    """Note that a mark asked to run a cell again, if it did not pass."""
    result = config.stash.get(_ENDED, {}).get(cell.folder)
    if result is not None and result.outcome not in ("passed", "healed"):
        _note_refusal(session, cell)


def _note_refusal(session: RunSession, cell: Cell) -> None:
    # The notice is worth less than the result.
    with suppress(OSError), session.shared.second_runs_file.open("a", encoding="utf-8") as file:
        file.write(f"{cell.folder}\n")


def claims(session: RunSession, what: str) -> bool:
    """Tell whether this process is the first of the session to claim something, such as a cell.

    Args:
        session: that of this process.
        what: the cell's folder, or another text that names nothing else.
    """
    if session.away is not None:
        # Where nodes are lost, the session gives their cells to others.
        return True
    name = hashlib.sha256(what.encode()).hexdigest()[:32]
    try:
        session.shared.claims_folder.mkdir(exist_ok=True)
        (session.shared.claims_folder / name).touch(exist_ok=False)
    except FileExistsError:
        return False
    except OSError:
        # A full disk must not keep a cell from running.
        return True
    return True


def second_runs_notice(file: Path) -> Iterable[str]:
    """Yield a sentence if another plugin wanted to run cells again."""
    try:
        cells = len(set(file.read_text(encoding="utf-8").splitlines()))
    except OSError:
        return
    yield f"a second run of {count_of(cells, 'cell')} by another plugin was refused: {ONCE}"
