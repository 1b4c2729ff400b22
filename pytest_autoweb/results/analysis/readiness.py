"""How ready a site is for agents: the same tasks by several agents, compared in pairs; pure.

A pair is one case, model and repeat that two agents both have a verdict on. So the test speaks of
these tasks, and of what a repeat of them would show.
"""

from collections.abc import Mapping, Sequence
from itertools import combinations

from pytest_autoweb.results.analysis.cell_numbers import Cost, PassRate, is_graded, number, rate_of
from pytest_autoweb.results.analysis.controls import is_control
from pytest_autoweb.results.analysis.failed_elements import FailedElement, failed_elements
from pytest_autoweb.results.analysis.statistics import (
    LEAST_DISCORDANT,
    Interval,
    holm,
    mcnemar,
    wilson,
)
from pytest_autoweb.results.records import CellResult, Outcome, Record

_GOOD: frozenset[Outcome] = frozenset({"passed", "healed"})
MAX_ELEMENTS = 200
"""Elements that a report keeps."""

_Key = tuple[str, str, str, int]


class AgentNumbers(Record):
    """What one agent did."""

    agent: str
    """The agent, as flags name it."""
    cells: int
    """Its cells with a verdict."""
    passed: int
    """Those that passed, some of them after a repair."""
    interval: Interval | None
    """The 95% interval (Wilson) of its rate; the cells are counted as independent."""
    rate: PassRate
    """The rate over cases, as in the leaderboard."""
    tokens_per_cell: float | None
    """Tokens in and out; None without cells."""
    calls_per_cell: float | None
    """Model calls."""
    cost: Cost
    """The cost of all its cells."""
    cost_per_cell: float | None
    """None if the price is not known."""
    median_s: float | None
    """The median seconds of a cell."""
    tool_calls: int = 0
    """Calls of the pages' own tools."""
    without_tools: int = 0
    """Cells whose pages offered no tool, of agents that ask for tools."""
    engine: str = ""
    """Who gave pages the API for tools: `browser`, `script`, or both."""


class AgentPair(Record):
    """Two agents on the same cases, models and repeats."""

    a: str
    """One agent."""
    b: str
    """The other agent."""
    pairs: int
    """How many they share."""
    only_a: int
    """Pairs that only the first one passed."""
    only_b: int
    """Pairs that only the second one passed."""
    p: float | None
    """The p value of the exact McNemar test; None without pairs."""
    p_holm: float | None
    """The same, corrected for all pairs of agents of the run."""

    @property
    def can_decide(self) -> bool:
        """Return whether so many differing pairs could be significant at all."""
        return self.only_a + self.only_b >= LEAST_DISCORDANT


class Readiness(Record):
    """Several agents on the same tasks, and the elements at which they failed."""

    agents: tuple[AgentNumbers, ...]
    """The agents, in the order of the run."""
    pairs: tuple[AgentPair, ...]
    """Each two of them."""
    elements: tuple[FailedElement, ...] = ()
    """Where they failed, what cost most cells first."""
    elements_left_out: int = 0
    """Elements beyond the first 200."""


def readiness_of(cells: Sequence[CellResult]) -> Readiness | None:
    """Compare the agents of a run; None with fewer than two."""
    ours = [cell for cell in cells if not is_control(cell.model) and cell.outcome != "skipped"]
    names = {cell.folder: agent_of(cell) for cell in ours}
    groups: dict[str, list[CellResult]] = {}
    for cell in ours:
        groups.setdefault(names[cell.folder], []).append(cell)
    if len(groups) < 2:
        return None
    found = failed_elements(ours, names)
    return Readiness(
        agents=tuple(_numbers(agent, own) for agent, own in groups.items()),
        pairs=_pairs(groups),
        elements=found[:MAX_ELEMENTS],
        elements_left_out=max(0, len(found) - MAX_ELEMENTS),
    )


def agent_of(cell: CellResult) -> str:
    """Return the agent of a cell as flags name it, such as `codegen:refs`."""
    _, at, named = cell.model.rpartition("@")
    return named if at and named.partition(":")[0] == cell.strategy else cell.strategy


def _model_of(cell: CellResult) -> str:
    agent = agent_of(cell)
    return cell.model.removesuffix(f"@{agent}")


def _numbers(agent: str, cells: Sequence[CellResult]) -> AgentNumbers:
    numbers = number(cells)
    graded = [cell for cell in cells if is_graded(cell)]
    passed = sum(cell.passed for cell in graded)
    used = numbers.input_tokens + numbers.output_tokens
    tools = [attempt.site_tools for cell in cells for attempt in cell.attempts]
    seen = [one for one in tools if one is not None]
    without = [
        cell
        for cell in cells
        if cell.attempts and (own := cell.attempts[-1].site_tools) is not None and not own.names
    ]
    return AgentNumbers(
        agent=agent,
        cells=len(graded),
        passed=passed,
        interval=wilson(passed, len(graded)) if graded else None,
        rate=rate_of(graded, _GOOD),
        tokens_per_cell=used / len(cells) if cells else None,
        calls_per_cell=numbers.calls / len(cells) if cells else None,
        cost=numbers.cost,
        cost_per_cell=numbers.cost_per_cell,
        median_s=numbers.median_s,
        tool_calls=sum(one.calls for one in seen),
        without_tools=len(without),
        engine=" and ".join(sorted({one.engine for one in seen if one.engine})),
    )


def _pairs(groups: Mapping[str, Sequence[CellResult]]) -> tuple[AgentPair, ...]:
    graded = {agent: _verdicts(cells) for agent, cells in groups.items()}
    made = [_pair(a, b, graded[a], graded[b]) for a, b in combinations(graded, 2)]
    tested = [pair for pair in made if pair.p is not None]
    corrected = iter(holm([pair.p for pair in tested if pair.p is not None]))
    return tuple(
        pair.model_copy(update={"p_holm": next(corrected)}) if pair.p is not None else pair
        for pair in made
    )


def _verdicts(cells: Sequence[CellResult]) -> dict[_Key, bool]:
    # An agent with a form of its own runs once for all capture modes, and others in each of them;
    # the first mode of the run stands for these.
    found: dict[_Key, bool] = {}
    for cell in cells:
        if is_graded(cell):
            key = (cell.case_path, cell.case_id, _model_of(cell), cell.repeat)
            found.setdefault(key, cell.passed)
    return found


def _pair(a: str, b: str, ours: Mapping[_Key, bool], theirs: Mapping[_Key, bool]) -> AgentPair:
    both = [(ours[key], theirs[key]) for key in ours if key in theirs]
    only_a = sum(one and not other for one, other in both)
    only_b = sum(other and not one for one, other in both)
    p = mcnemar(only_a, only_b) if both else None
    return AgentPair(a=a, b=b, pairs=len(both), only_a=only_a, only_b=only_b, p=p, p_holm=None)
