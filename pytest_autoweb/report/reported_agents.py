"""The outside agents of a run, with their versions and a note that they are not confined."""

from collections.abc import Iterable

from pytest_autoweb.results.records import CellResult, OutsideAgent

NOT_HELD = (
    "outside the sandbox, as processes of their own that reach files and the network as you do; "
    "their browsers are confined by the egress proxy, their model calls by the gateway, their time "
    "by a kill"
)
"""The note in header and report about agents that run outside the worker."""


class ReportedAgent(OutsideAgent):
    """An outside agent with the part that it had in the run."""

    models: tuple[str, ...] = ()
    """The models that it asked, as the report names them."""
    cells: int = 0
    """The number of cells that it drove."""
    not_held: str = NOT_HELD
    """What it is not held by, and what holds it all the same."""


def agents_of(cells: Iterable[CellResult]) -> tuple[ReportedAgent, ...]:
    """Return the distinct outside agents that drove cells."""
    found: dict[OutsideAgent, list[CellResult]] = {}
    for cell in cells:
        if cell.agent is not None and cell.attempts:
            found.setdefault(cell.agent, []).append(cell)
    return tuple(
        ReportedAgent(
            **dict(agent),
            models=tuple(dict.fromkeys(cell.model for cell in driven)),
            cells=len(driven),
        )
        for agent, driven in found.items()
    )


def named_agents(agents: Iterable[OutsideAgent]) -> str:
    """Return the agents in one line, each with its version if known."""
    words = (f"{one.name} ({one.version})" if one.version else one.name for one in agents)
    return ", ".join(dict.fromkeys(words))
