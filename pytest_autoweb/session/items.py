"""The pytest item of a cell, with real fixtures."""

from pathlib import Path
from typing import Any

import pytest

from pytest_autoweb.cell.cell_inputs import Cell
from pytest_autoweb.session.playwright_fixtures import CELL
from pytest_autoweb.session.pytest_outcome import CellEnded, describe
from pytest_autoweb.session.single_runs import BegunBefore


class CellItem(pytest.Function):
    """One cell. Its fixtures, markers, flags and reports are those of a test function."""

    outside: bool = False
    """Whether an outside agent drives its browser."""

    @property
    def cell(self) -> Cell:
        """Return what the item runs."""
        return self.stash[CELL]

    def repr_failure(  # type: ignore[override]  # as in pytest.Function itself
        self, excinfo: pytest.ExceptionInfo[BaseException]
    ) -> Any:
        """Show a failed cell's outcome instead of a traceback through this package."""
        if isinstance(excinfo.value, CellEnded):
            return "\n".join(describe(excinfo.value.result))
        if isinstance(excinfo.value, BegunBefore):
            return str(excinfo.value)
        return super().repr_failure(excinfo)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """Return where the case is defined, with its own line in the file."""
        return self.path, max(0, self.cell.case.line - 1), self.name
