"""Which cells need pages that can offer tools by WebMCP."""

from pytest_autoweb.cell.cell_inputs import Cell
from pytest_autoweb.cell.strategies import WEBMCP
from pytest_autoweb.judging.checks.site_tool_checks import WebmcpCheck
from pytest_autoweb.settings.run_settings import Settings


def needs_site_tools(cell: Cell, settings: Settings) -> bool:
    """Return whether a cell's pages are to have the API of WebMCP.

    Where the run compares `webmcp` with other agents, all of them get the same pages. An attack
    may need tools for what it plants.
    """
    return (
        cell.strategy == WEBMCP.name
        or WEBMCP.name in settings.agents
        or "webmcp" in settings.attack
        or any(isinstance(check, WebmcpCheck) for check in cell.case.shape.expect)
    )
