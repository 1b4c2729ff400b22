"""What follows for a cell from the settings of its run, looked up once for all its attempts."""

from msgspec import Struct

from pytest_autoweb.agents.attempt.strategy import Strategy
from pytest_autoweb.agents.outside.adapters import identity_of
from pytest_autoweb.cell.cell_inputs import Cell
from pytest_autoweb.cell.cell_recording import CellRecording, recording_of
from pytest_autoweb.cell.strategies import strategy_of
from pytest_autoweb.results.records import OutsideAgent
from pytest_autoweb.settings.run_settings import Settings


class CellSetting(Struct, frozen=True):
    """A cell and the settings of its run, with what follows from both."""

    cell: Cell
    settings: Settings
    strategy: Strategy
    """The strategy, in the variant for the cell's model."""
    recording: CellRecording
    agent: OutsideAgent | None
    """The outside agent that drives the browser; None for a built-in one."""


def strategy_for(cell: Cell) -> Strategy:
    """Return what a cell does: the strategy that it names, or the call in a test."""
    return cell.called.strategy if cell.called else strategy_of(cell.strategy, cell.spec)


def setting_of(cell: Cell, settings: Settings) -> CellSetting:
    strategy = strategy_for(cell)
    agent = None
    if strategy.outside is not None:
        agent = identity_of(cell.strategy, strategy.outside, cell.spec, cell.case.command, settings)
    return CellSetting(cell, settings, strategy, recording_of(cell, settings), agent)
