"""The outside agents of a run, with their versions and what holds them."""

from collections.abc import Iterable

from pytest_autoweb.results.records import CellResult, OutsideAgent

_OLDER = "which reach files and the network as you do"
_ALL_THE_SAME = (
    "their browsers are confined by the egress proxy, their model calls by the gateway, their time "
    "by a kill"
)


def what_holds(agent: OutsideAgent) -> str:
    """Return the note in header and report about an agent that runs outside the worker."""
    by = f"outside the sandbox, as processes of their own, {agent.held or _OLDER}"
    return f"{by}; {_ALL_THE_SAME}"


class ReportedAgent(OutsideAgent):
    """An outside agent with the part that it had in the run."""

    models: tuple[str, ...] = ()
    """The models that it asked, as the report names them."""
    cells: int = 0
    """The number of cells that it drove."""
    not_held: str = ""
    """What holds it, and what does not."""


def agents_of(cells: Iterable[CellResult]) -> tuple[ReportedAgent, ...]:
    """Return the distinct outside agents that drove cells."""
    found: dict[OutsideAgent, list[CellResult]] = {}
    for cell in cells:
        if cell.agent is not None and cell.attempts:
            found.setdefault(cell.agent, []).append(cell)
    return tuple(
        ReportedAgent(
            **dict(agent),
            not_held=what_holds(agent),
            models=tuple(dict.fromkeys(cell.model for cell in driven)),
            cells=len(driven),
        )
        for agent, driven in found.items()
    )


def agents_by_hold(agents: Iterable[OutsideAgent]) -> dict[str, str]:
    """Return the agents in one line for each note about what holds them."""
    found: dict[str, list[OutsideAgent]] = {}
    for agent in agents:
        found.setdefault(what_holds(agent), []).append(agent)
    return {named_agents(held): note for note, held in found.items()}


def named_agents(agents: Iterable[OutsideAgent]) -> str:
    """Return the agents in one line, each with its version if known."""
    words = (f"{one.name} ({one.version})" if one.version else one.name for one in agents)
    return ", ".join(dict.fromkeys(words))
